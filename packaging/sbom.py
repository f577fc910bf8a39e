"""The software bill of materials of a release: an SPDX 2.3 document with every executable and the modules that it links.

The list is what the executables say of themselves (go version -m), with the module's hash of go.sum.
"""

import hashlib
import json
import subprocess
import time
from base64 import b64decode
from pathlib import Path

from release import HOMEPAGE, LICENSE, Built, Release


def linked(executable: Path) -> list[tuple[str, str, str]]:
    """Module, version and hash of what an executable links; Go itself first."""
    told = subprocess.run(["go", "version", "-m", str(executable)], check=True, capture_output=True, text=True).stdout.splitlines()
    out = [("Go", told[0].rsplit(": ", 1)[1].split()[0], "")]
    for line in told[1:]:
        fields = line.split("\t")[1:]
        if fields[:1] == ["dep"]:
            out.append((fields[1], fields[2], fields[3] if len(fields) > 3 else ""))
    return out


def identifier(kind: str, *parts: str) -> str:
    return f"SPDXRef-{kind}-" + "-".join("".join(c if c.isalnum() or c in ".-" else "-" for c in p) for p in parts)


def document(release: Release, all_built: list[Built]) -> dict:
    """The document. Packages are the executables of each platform and the modules; each executable contains its modules."""
    version = release.version.semver
    packages: dict[str, dict] = {}
    relations = []
    for built in all_built:
        for name, path in sorted(built.executables.items()):
            own = identifier("executable", built.platform.os, built.platform.arch, name)
            packages[own] = {"SPDXID": own, "name": name, "versionInfo": version, "packageFileName": f"{built.platform.os}/{built.platform.arch}/{built.file_name(name)}",
                             "downloadLocation": HOMEPAGE, "filesAnalyzed": False, "licenseConcluded": LICENSE, "licenseDeclared": LICENSE, "copyrightText": "NOASSERTION",
                             "primaryPackagePurpose": "APPLICATION", "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(path.read_bytes()).hexdigest()}]}
            relations.append(("SPDXRef-DOCUMENT", "DESCRIBES", own))
            for module, number, digest in linked(path):
                part = identifier("module", module, number)
                packages[part] = {"SPDXID": part, "name": module, "versionInfo": number, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                                  "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", "primaryPackagePurpose": "LIBRARY",
                                  "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                                    "referenceLocator": f"pkg:golang/{'stdlib' if module == 'Go' else module}@{number.removeprefix('go') if module == 'Go' else number}"}]}
                if digest.startswith("h1:"):  # the hash of go.sum, which is of the module's files
                    packages[part]["comment"] = f"go.sum {digest} (SHA-256 {b64decode(digest[3:]).hex()} of the list of files)"
                relations.append((own, "CONTAINS", part))
    body = {
        "packages": [packages[key] for key in sorted(packages)],
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in sorted(set(relations))],
    }
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"modelpatch-{version}",
        "documentNamespace": f"{HOMEPAGE}/spdx/{version}-{digest}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(release.time)), "creators": ["Tool: modelpatch-packaging"]},
        **body,
    }


def write(release: Release, all_built: list[Built], out: Path) -> Path:
    """Writes modelpatch_VERSION.spdx.json."""
    target = out / f"modelpatch_{release.version.semver}.spdx.json"
    target.write_text(json.dumps(document(release, all_built), indent=1) + "\n")
    return target
