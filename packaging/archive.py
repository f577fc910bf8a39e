"""Release archives: the executables with licences, man pages and completions; tar.gz, and zip on Windows."""

import io
import zipfile
from pathlib import Path

import tarball
import wheel
from release import Built, Release


def write(release: Release, built: Built, out: Path) -> Path:
    """Writes modelpatch_VERSION_OS_ARCH.tar.gz or .zip, without a folder around its files."""
    platform = built.platform
    entries = [tarball.Entry(built.file_name(name), path.read_bytes(), 0o755) for name, path in built.executables.items()]
    entries += [tarball.Entry("LICENSE", release.license), tarball.Entry("README.md", release.readme)]
    entries += [tarball.Entry(f"licenses/{name}", release.notices[name]) for name in built.executables if name in release.notices]
    entries += [tarball.Entry(f"man/{name}", data) for name, data in sorted(release.manual.items())]
    entries += [tarball.Entry(f"completions/{name}", data) for name, data in sorted(release.completions.items())]
    stem = f"modelpatch_{release.version.semver}_{platform.os}_{platform.arch}"
    if platform.os != "windows":
        target = out / f"{stem}.tar.gz"
        target.write_bytes(tarball.compress(tarball.write(entries, release.time)))
        return target
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for e in entries:
            archive.writestr(wheel.entry(e.name, e.mode, release.time), e.data or b"", zipfile.ZIP_DEFLATED, 9)
    target = out / f"{stem}.zip"
    target.write_bytes(buffer.getvalue())
    return target
