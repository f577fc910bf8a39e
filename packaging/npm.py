"""npm packages as esbuild makes them: one for each platform with os and cpu, and a main one that depends on all of them optionally.

npm installs the one whose os and cpu fit; the main package's shim starts it. No install script runs.
"""

import json
from pathlib import Path

import tarball
from binaries import MAIN, TOGETHER
from platforms import PLATFORMS, Platform
from release import HOMEPAGE, LICENSE, SUMMARY, Built, Release

SHIM = Path(__file__).resolve().parent / "shim.js"


def name(platform: Platform) -> str:
    return "@modelpatch/" + "-".join(platform.npm)


def pack(manifest: dict, files: list[tarball.Entry], release: Release, out: Path) -> Path:
    """Writes NAME-VERSION.tgz as `npm pack` names it."""
    common = {"version": release.version.semver, "license": LICENSE, "homepage": HOMEPAGE, "repository": {"type": "git", "url": f"git+{HOMEPAGE}.git"}}
    text = json.dumps({"name": manifest["name"], **common, **manifest}, indent=2) + "\n"
    entries = [tarball.Entry("package/package.json", text.encode()), *files,
               tarball.Entry("package/LICENSE", release.license)]
    target = out / f"{manifest['name'].removeprefix('@').replace('/', '-')}-{release.version.semver}.tgz"
    target.write_bytes(tarball.compress(tarball.write(entries, release.time)))
    return target


def write_platform(release: Release, built: Built, out: Path) -> Path:
    """Writes the package that carries the executable of one platform."""
    system, cpu = built.platform.npm
    manifest = {"name": name(built.platform), "description": f"{SUMMARY} ({system}, {cpu})", "os": [system], "cpu": [cpu], "preferUnplugged": True}
    files = [*(tarball.Entry(f"package/bin/{built.file_name(e)}", built.executables[e].read_bytes(), 0o755) for e in TOGETHER if e in built.executables),
             tarball.Entry("package/THIRD_PARTY_LICENSES", release.notices[MAIN])]
    return pack(manifest, files, release, out)


def write_main(release: Release, library: dict[str, bytes], notices: bytes, out: Path) -> Path:
    """Writes the package that users name: the command, and the library, whose files by name are given."""
    manifest = {
        "name": "modelpatch",
        "description": SUMMARY,
        "keywords": ["onnx", "gguf", "rope", "context-length", "position-encoding"],
        "bin": {"modelpatch": "bin/modelpatch.js"},
        "exports": {
            ".": {"types": "./js/index.d.ts", "node": "./js/node.mjs", "default": "./js/web.mjs"},
            "./command.wasm": "./js/command.wasm",
            "./package.json": "./package.json",
        },
        "types": "./js/index.d.ts",
        "engines": {"node": ">=20"},
        "optionalDependencies": {name(p): release.version.semver for p in PLATFORMS},
    }
    files = [tarball.Entry("package/bin/modelpatch.js", SHIM.read_bytes(), 0o755), tarball.Entry("package/README.md", release.readme),
             tarball.Entry("package/THIRD_PARTY_LICENSES", notices), *(tarball.Entry(f"package/js/{name}", content) for name, content in library.items())]
    return pack(manifest, files, release, out)
