"""What all packages of one release share: version, time, and the built files."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from platforms import Platform

SUMMARY = "Reads and changes the position encodings of ONNX and GGUF models"
HOMEPAGE = "https://github.com/modelpatch/modelpatch"
LICENSE = "Apache-2.0"

# Zip files cannot tell times before 1980.
EARLIEST = 315532800


@dataclass(frozen=True)
class Version:
    """A semantic version, MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-rc.N, and how each packaging system writes it."""

    number: str
    candidate: int | None = None

    @classmethod
    def parse(cls, text: str) -> "Version":
        match = re.fullmatch(r"v?((?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2})(?:-rc\.(0|[1-9]\d*))?", text)
        if not match:
            raise ValueError(f"version {text!r} is not of the form 1.2.3 or 1.2.3-rc.1")
        return cls(match[1], None if match[2] is None else int(match[2]))

    @property
    def semver(self) -> str:
        return self.number if self.candidate is None else f"{self.number}-rc.{self.candidate}"

    @property
    def pep440(self) -> str:
        return self.number if self.candidate is None else f"{self.number}rc{self.candidate}"

    @property
    def debian(self) -> str:
        """A tilde sorts before the end of the text, so a candidate comes before its release."""
        return self.number if self.candidate is None else f"{self.number}~rc.{self.candidate}"


@dataclass(frozen=True)
class Built:
    """The executables for one platform, by their name without suffix."""

    platform: Platform
    executables: dict[str, Path]

    def file_name(self, executable: str) -> str:
        return executable + self.platform.suffix


@dataclass(frozen=True)
class Release:
    """What packages are made from. notices are the licences of what is linked into each executable; time is the modification time
    of everything packed, in seconds since 1970.
    """

    version: Version
    readme: bytes
    license: bytes
    notices: dict[str, bytes]
    manual: dict[str, bytes] = field(default_factory=dict)
    completions: dict[str, bytes] = field(default_factory=dict)
    time: int = EARLIEST


def source_date() -> int:
    """SOURCE_DATE_EPOCH (reproducible-builds.org), or the earliest time that a zip file can tell."""
    return max(EARLIEST, int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST)))
