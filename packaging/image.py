"""A container image made without a daemon and without root: the static executables, /tmp, and a user that is not root.

The file is an OCI image layout (https://github.com/opencontainers/image-spec/blob/main/image-layout.md) with an index over the
platforms, and has the manifest.json that `docker load` reads, for its first platform.
"""

import hashlib
import json
import time
from pathlib import Path

import tarball
from binaries import MAIN, TOGETHER
from release import HOMEPAGE, LICENSE, SUMMARY, Built, Release

USER = 65532


def layer(release: Release, built: Built) -> bytes:
    """The file system. /tmp is there because `inspect -` and compressed inputs are unpacked into it."""
    folder = tarball.Entry
    return tarball.write([
        folder("etc/", None, 0o755),
        tarball.Entry("etc/passwd", f"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/models:/sbin/nologin\n".encode()),
        tarball.Entry("etc/group", f"root:x:0:\nnonroot:x:{USER}:\n".encode()),
        folder("tmp/", None, 0o1777),
        folder("usr/", None, 0o755),
        folder("usr/bin/", None, 0o755),
        *(tarball.Entry(f"usr/bin/{name}", built.executables[name].read_bytes(), 0o755) for name in TOGETHER if name in built.executables),
        folder("usr/share/", None, 0o755),
        folder("usr/share/doc/", None, 0o755),
        folder(f"usr/share/doc/{MAIN}/", None, 0o755),
        tarball.Entry(f"usr/share/doc/{MAIN}/LICENSE", release.license),
        tarball.Entry(f"usr/share/doc/{MAIN}/THIRD_PARTY_LICENSES", release.notices[MAIN]),
        folder("models/", None, 0o755, USER),
    ], release.time)


def write(release: Release, all_built: list[Built], out: Path) -> Path:
    """Writes one file with an image for each of the Linux platforms."""
    blobs: dict[str, bytes] = {}

    def add(data: bytes | dict, kind: str) -> dict:
        raw = data if isinstance(data, bytes) else json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.sha256(raw).hexdigest()
        blobs[digest] = raw
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(raw)}

    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(release.time))
    labels = {"org.opencontainers.image.title": MAIN, "org.opencontainers.image.description": SUMMARY, "org.opencontainers.image.source": HOMEPAGE,
              "org.opencontainers.image.licenses": LICENSE, "org.opencontainers.image.version": release.version.semver}
    manifests, loadable = [], []
    for built in all_built:
        files = add(layer(release, built), "layer.v1.tar")
        config = add({
            "architecture": built.platform.arch, "os": built.platform.os, "created": created,
            "config": {"User": f"{USER}:{USER}", "Env": ["PATH=/usr/bin", "TMPDIR=/tmp"], "Entrypoint": [f"/usr/bin/{MAIN}"], "WorkingDir": "/models", "Labels": labels},
            "rootfs": {"type": "layers", "diff_ids": [files["digest"]]},
            "history": [{"created": created, "created_by": "modelpatch packaging"}],
        }, "config.v1+json")
        manifest = add({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": [files], "annotations": labels}, "manifest.v1+json")
        manifests.append({**manifest, "platform": {"architecture": built.platform.arch, "os": built.platform.os}})
        path = "blobs/sha256/" + "{}"
        loadable.append({"Config": path.format(config["digest"][7:]), "RepoTags": [f"modelpatch:{release.version.semver}"], "Layers": [path.format(files["digest"][7:])]})
    index = add({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}, "index.v1+json")
    top = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
           "manifests": [{**index, "annotations": {"org.opencontainers.image.ref.name": release.version.semver}}]}
    entries = [tarball.Entry("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'), tarball.Entry("index.json", json.dumps(top, sort_keys=True).encode()),
               tarball.Entry("manifest.json", json.dumps(loadable[:1], sort_keys=True).encode()),
               tarball.Entry("blobs/", None, 0o755), tarball.Entry("blobs/sha256/", None, 0o755)]
    entries += [tarball.Entry(f"blobs/sha256/{digest}", data) for digest, data in sorted(blobs.items())]
    target = out / f"modelpatch_{release.version.semver}_image.tar"
    target.write_bytes(tarball.write(entries, release.time))
    return target
