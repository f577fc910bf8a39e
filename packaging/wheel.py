"""Python wheels: the package modelpatch of python/, and the executable in .data/scripts: pip copies it to bin, and no Python runs when it starts.

Format: https://packaging.python.org/en/latest/specifications/binary-distribution-format/
"""

import base64
import hashlib
import io
import stat
import time
import zipfile
from pathlib import Path

from binaries import MAIN, ROOT, TOGETHER
from release import HOMEPAGE, LICENSE, SUMMARY, Built, Release, Version

PACKAGE = ROOT / "python" / "modelpatch"


def metadata(release: Release) -> bytes:
    head = "\n".join([
        "Metadata-Version: 2.4",
        "Name: modelpatch",
        f"Version: {release.version.pep440}",
        f"Summary: {SUMMARY}",
        f"Project-URL: Homepage, {HOMEPAGE}",
        f"License-Expression: {LICENSE}",
        "License-File: LICENSE",
        "License-File: THIRD_PARTY_LICENSES",
        "Keywords: onnx,gguf,rope,context-length,position-encoding",
        "Requires-Python: >=3.10",
        "Classifier: Environment :: Console",
        "Classifier: Programming Language :: Go",
        "Classifier: Programming Language :: Python :: 3",
        "Classifier: Typing :: Typed",
        "Description-Content-Type: text/markdown",
    ])
    return head.encode() + b"\n\n" + release.readme


def package(version: Version) -> list[tuple[str, bytes]]:
    """The files of the Python package, which knows its version and that of the executable."""
    own = f'"""The version of the package, and of the executable in its wheel."""\n\nVERSION = "{version.pep440}"\nEXECUTABLE = "v{version.semver}"\n'
    return [(f"modelpatch/{path.name}", own.encode() if path.name == "_version.py" else path.read_bytes())
            for path in sorted(PACKAGE.iterdir()) if path.suffix in (".py", ".typed")]


def write(release: Release, built: Built, out: Path) -> Path:
    """Writes the wheel for one platform."""
    version, tags = release.version.pep440, built.platform.wheel
    info = f"modelpatch-{version}.dist-info"
    wheel = "\n".join(["Wheel-Version: 1.0", "Generator: modelpatch packaging", "Root-Is-Purelib: false", *(f"Tag: py3-none-{tag}" for tag in tags)]) + "\n"
    files = [
        *((name, data, 0o644) for name, data in package(release.version)),
        *((f"modelpatch-{version}.data/scripts/{built.file_name(name)}", built.executables[name].read_bytes(), 0o755) for name in TOGETHER if name in built.executables),
        (f"{info}/METADATA", metadata(release), 0o644),
        (f"{info}/WHEEL", wheel.encode(), 0o644),
        (f"{info}/licenses/LICENSE", release.license, 0o644),
        (f"{info}/licenses/THIRD_PARTY_LICENSES", release.notices[MAIN], 0o644),
    ]
    record = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}" for name, data, _ in files]
    files.append((f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]).encode() + b"\n", 0o644))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data, mode in files:
            archive.writestr(entry(name, mode, release.time), data, zipfile.ZIP_DEFLATED, 9)
    target = out / f"modelpatch-{version}-py3-none-{'.'.join(tags)}.whl"
    target.write_bytes(buffer.getvalue())
    return target


def entry(name: str, mode: int, when: int) -> zipfile.ZipInfo:
    """A zip entry with Unix permissions, the same on whatever system it is written."""
    out = zipfile.ZipInfo(name, time.gmtime(when)[:6])
    out.create_system = 3
    out.external_attr = (stat.S_IFREG | mode) << 16
    return out
