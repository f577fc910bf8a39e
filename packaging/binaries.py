"""Builds the executables for a platform, reproducibly, and collects the licences of what is linked into them."""

import os
import subprocess
from pathlib import Path

from platforms import Platform
from release import Built, Version

ROOT = Path(__file__).resolve().parent.parent

# modelpatch is static on Linux. modelpatch-engine opens ONNX Runtime's library while it runs and is therefore started by the
# system's loader: it goes where a C library is (archives, deb), never into wheels, npm packages or the image.
MAIN = "modelpatch"
# modelpatch-remote, which modelpatch starts to read models by their address, is as static, and lies beside it in every package.
REMOTE = "modelpatch-remote"
TOGETHER = (MAIN, REMOTE)
ENGINE = "modelpatch-engine"


def build(platform: Platform, version: Version, out: Path, executables: tuple[str, ...], commit: str = "", root: Path = ROOT) -> Built:
    """Compiles executables below root for platform into out. Neither the folder nor the checkout's state gets into them, only the
    commit that is named.
    """
    if MAIN in executables and REMOTE not in executables:
        executables = (*executables, REMOTE)
    environment = dict(os.environ, GOOS=platform.os, GOARCH=platform.arch, CGO_ENABLED="0", GOFLAGS="", GOWORK="off",
                       GOAMD64="v1", GOARM64="v8.0", GOEXPERIMENT="")
    out.mkdir(parents=True, exist_ok=True)
    files = {}
    for name in executables:
        files[name] = out / (name + platform.suffix)
        flags = "-s -w -buildid="
        if name == MAIN:
            flags += f" -X main.release=v{version.semver}" + (f" -X main.commit={commit}" if commit else "")
        subprocess.run(["go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", flags,
                        "-o", str(files[name]), f"./cmd/{name}"], cwd=root, env=environment, check=True)
    return Built(platform, files)


def notices(executable: str, root: Path = ROOT) -> bytes:
    """The licences of Go and of every module that is linked into an executable, and what lies beside it, on any platform, which binary copies must reproduce."""
    sources = [f"./cmd/{name}" for name in (TOGETHER if executable == MAIN else (executable,))]
    return subprocess.run(["go", "run", "./internal/notices", "-os", "linux,darwin,windows", *sources],
                          cwd=root, env=dict(os.environ, GOFLAGS="", GOWORK="off"), check=True, capture_output=True).stdout
