"""Tar files whose bytes depend on nothing but names, contents, modes and one time."""

import gzip
import io
import tarfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A file, or a folder where data is None."""

    name: str
    data: bytes | None
    mode: int = 0o644
    owner: int = 0


def write(entries: list[Entry], when: int) -> bytes:
    """An uncompressed ustar archive, entries in the given order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for entry in entries:
            info = tarfile.TarInfo(entry.name)
            info.mode, info.mtime, info.uid, info.gid = entry.mode, when, entry.owner, entry.owner
            if entry.data is None:
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
            else:
                info.size = len(entry.data)
                tar.addfile(info, io.BytesIO(entry.data))
    return out.getvalue()


def compress(data: bytes) -> bytes:
    """gzip without a file name and with time 0."""
    return gzip.compress(data, compresslevel=9, mtime=0)
