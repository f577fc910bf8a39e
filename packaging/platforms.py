"""The platforms that releases are built for, and what each packaging system calls them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Platform:
    """One pair of GOOS and GOARCH.

    wheel are the platform tags of PEP 425. The Linux binary is static, so one file serves glibc and musl:
    manylinux (PEP 600) and musllinux (PEP 656) both hold. Go 1.26 runs on macOS 12 and later.
    npm are the names of process.platform and process.arch in Node. deb is the architecture in Debian's control files.
    """

    os: str
    arch: str
    wheel: tuple[str, ...]
    npm: tuple[str, str]
    deb: str | None = None

    @property
    def name(self) -> str:
        return f"{self.os}/{self.arch}"

    @property
    def suffix(self) -> str:
        """The end of an executable's file name."""
        return ".exe" if self.os == "windows" else ""


PLATFORMS = (
    Platform("linux", "amd64", ("manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"), ("linux", "x64"), "amd64"),
    Platform("linux", "arm64", ("manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"), ("linux", "arm64"), "arm64"),
    Platform("darwin", "amd64", ("macosx_12_0_x86_64",), ("darwin", "x64")),
    Platform("darwin", "arm64", ("macosx_12_0_arm64",), ("darwin", "arm64")),
    Platform("windows", "amd64", ("win_amd64",), ("win32", "x64")),
    Platform("windows", "arm64", ("win_arm64",), ("win32", "arm64")),
)


def named(name: str) -> Platform:
    """The platform with this GOOS/GOARCH; ValueError lists those that there are."""
    for platform in PLATFORMS:
        if platform.name == name:
            return platform
    raise ValueError(f"no platform {name!r}; there are {', '.join(p.name for p in PLATFORMS)}")
