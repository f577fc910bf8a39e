#!/usr/bin/env python3
"""Builds modelpatch for all platforms and packs it: archives, wheels, npm packages, Debian packages, an image, an SBOM, SHA256SUMS; and the
manual, licences and completions as files, which goreleaser packs.

    python3 packaging/build.py --version 1.2.3 --out dist
    python3 packaging/build.py --version 1.2.3 --out dist --platform linux/amd64 --only wheel

Needs Go and Python 3.11, nothing else. The same source, version, Go and Python give the same bytes; SOURCE_DATE_EPOCH sets the
time in what is packed.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import archive
import binaries
import deb
import image
import javascript
import manual
import npm
import platforms
import sbom
import wheel
from release import Release, Version, source_date

KINDS = ("archive", "wheel", "npm", "deb", "image", "sbom", "manual")


def here() -> platforms.Platform:
    """The platform that this script runs on, whose executable prints the manual."""
    system = subprocess.run(["go", "env", "GOHOSTOS", "GOHOSTARCH"], check=True, capture_output=True, text=True).stdout.split()
    return platforms.named("/".join(system))


def pack(version: Version, chosen: list[platforms.Platform], kinds: tuple[str, ...], executables: tuple[str, ...], out: Path,
         commit: str = "") -> list[Path]:
    """Builds for the chosen platforms and writes all kinds of packages into out, with their SHA256SUMS."""
    out.mkdir(parents=True, exist_ok=True)
    release = Release(version, readme=(binaries.ROOT / "README.md").read_bytes(), license=(binaries.ROOT / "LICENSE").read_bytes(),
                      notices={name: binaries.notices(name) for name in executables}, time=source_date())
    written: list[Path] = []
    with tempfile.TemporaryDirectory(prefix="modelpatch-packaging-") as folder:
        built = [binaries.build(p, version, Path(folder) / p.os / p.arch, executables, commit) for p in chosen]
        own = next((b for b in built if b.platform == here()), None) or binaries.build(here(), version, Path(folder) / "own", executables, commit)
        printed = own.executables[binaries.MAIN]
        helpers = [path for name, path in own.executables.items() if name != binaries.MAIN]
        release = replace(release, manual=manual.pages(printed, release, helpers), completions=manual.completions(printed))
        for b in built:
            if "archive" in kinds:
                written.append(archive.write(release, b, out))
            if "wheel" in kinds:
                written.append(wheel.write(release, b, out))
            if "npm" in kinds:
                written.append(npm.write_platform(release, b, out))
            if "deb" in kinds and b.platform.deb:
                written += [deb.write(release, b, name, out) for name in executables]
        linux = [b for b in built if b.platform.os == "linux"]
        if "image" in kinds and linux:
            written.append(image.write(release, linux, out))
        if "sbom" in kinds:
            written.append(sbom.write(release, built, out))
        if "npm" in kinds:
            written.append(npm.write_main(release, javascript.files(version, Path(folder), commit), javascript.notices(), out))
        if "manual" in kinds:
            manual.write(release, out / "manual")
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(written))
    (out / "SHA256SUMS").write_text(sums)
    return [*written, out / "SHA256SUMS"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True, type=Version.parse, help="1.2.3 or 1.2.3-rc.1")
    parser.add_argument("--commit", default="", help="the commit that this is, for `modelpatch version`")
    parser.add_argument("--out", required=True, type=Path, help="the folder to write into")
    parser.add_argument("--platform", action="append", type=platforms.named, metavar="OS/ARCH", help="default: all six")
    parser.add_argument("--only", action="append", choices=KINDS, help="default: all kinds")
    parser.add_argument("--without-engine", action="store_true", help="archives and Debian packages without modelpatch-engine")
    o = parser.parse_args()
    executables = (binaries.MAIN,) if o.without_engine else (binaries.MAIN, binaries.ENGINE)
    try:
        for path in pack(o.version, o.platform or list(platforms.PLATFORMS), tuple(o.only or KINDS), executables, o.out, o.commit):
            print(path)
    except (subprocess.CalledProcessError, OSError) as error:
        detail = getattr(error, "stderr", None)
        print(f"build.py: {error}" + (f"\n{detail}" if detail else ""), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
