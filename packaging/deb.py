"""Debian packages, written without dpkg: an ar archive of debian-binary, control.tar.gz and data.tar.gz (deb(5)).

modelpatch depends on nothing. modelpatch-engine is a package of its own, because its executable needs the C library's loader.
"""

import gzip
import hashlib
from pathlib import Path

import tarball
from binaries import ENGINE, MAIN, REMOTE
from release import HOMEPAGE, SUMMARY, Built, Release

COMPLETIONS = {
    "modelpatch.bash": "usr/share/bash-completion/completions/modelpatch",
    "_modelpatch": "usr/share/zsh/vendor-completions/_modelpatch",
    "modelpatch.fish": "usr/share/fish/vendor_completions.d/modelpatch.fish",
}


def ar(members: list[tuple[str, bytes]], when: int) -> bytes:
    """The common ar format: 60 bytes of header a member, padded to even lengths."""
    out = b"!<arch>\n"
    for name, data in members:
        out += f"{name:<16}{when:<12}{0:<6}{0:<6}{0o100644:<8o}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return out


def write(release: Release, built: Built, executable: str, out: Path) -> Path:
    """Writes the package of one executable for one Linux platform."""
    if built.platform.deb is None:
        raise ValueError(f"no Debian packages for {built.platform.name}")
    copyright_text = release.license + b"\n" + release.notices[executable]
    files = [(f"usr/bin/{executable}", built.executables[executable].read_bytes(), 0o755),
             (f"usr/share/doc/{executable}/copyright", copyright_text, 0o644)]
    if executable == MAIN:
        if REMOTE in built.executables:
            files.append((f"usr/bin/{REMOTE}", built.executables[REMOTE].read_bytes(), 0o755))
        files += [(COMPLETIONS[name], data, 0o644) for name, data in release.completions.items() if name in COMPLETIONS]
    files += [(f"usr/share/man/man1/{name}.gz", gzip.compress(data, 9, mtime=0), 0o644) for name, data in release.manual.items()
              if (name == f"{ENGINE}.1") == (executable == ENGINE)]
    files.sort()
    folders = sorted({str(parent) for name, _, _ in files for parent in Path(name).parents})
    data = tarball.write([tarball.Entry("./" if f == "." else f"./{f}/", None, 0o755) for f in folders]
                         + [tarball.Entry(f"./{name}", content, mode) for name, content, mode in files], release.time)
    relations = {MAIN: "Recommends: modelpatch-engine", ENGINE: f"Depends: libc6\nEnhances: {MAIN}"}[executable]
    short = {MAIN: SUMMARY, ENGINE: "Runs models in ONNX Runtime and llama.cpp for modelpatch verify"}[executable]
    control = (f"Package: {executable}\nVersion: {release.version.debian}\nSection: utils\nPriority: optional\n"
               f"Architecture: {built.platform.deb}\nMaintainer: The modelpatch maintainers <modelpatch@users.noreply.github.com>\n"
               f"Installed-Size: {-(-sum(len(content) for _, content, _ in files) // 1024)}\n{relations}\nHomepage: {HOMEPAGE}\nDescription: {short}\n")
    sums = "".join(f"{hashlib.md5(content, usedforsecurity=False).hexdigest()}  {name}\n" for name, content, _ in files)
    head = tarball.write([tarball.Entry("./", None, 0o755), tarball.Entry("./control", control.encode()), tarball.Entry("./md5sums", sums.encode())], release.time)
    target = out / f"{executable}_{release.version.semver}_{built.platform.deb}.deb"  # GitHub renames files with a tilde
    target.write_bytes(ar([("debian-binary", b"2.0\n"), ("control.tar.gz", tarball.compress(head)), ("data.tar.gz", tarball.compress(data))], release.time))
    return target
