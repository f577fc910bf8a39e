"""The files of the JavaScript package: the command as WebAssembly, and the modules of js/ that run it."""

import os
import subprocess
from pathlib import Path

from binaries import ROOT
from release import Version

# Modules of js/ as they are.
MODULES = ("node.mjs", "web.mjs", "library.mjs", "command.mjs", "sources.mjs", "errors.mjs", "index.d.ts", "reports.d.ts")


def files(version: Version, out: Path, commit: str = "", root: Path = ROOT) -> dict[str, bytes]:
    """The content of the package by name; out is a folder for what is compiled."""
    program = out / "command.wasm"
    environment = dict(os.environ, GOOS="js", GOARCH="wasm", CGO_ENABLED="0", GOFLAGS="", GOWORK="off", GOWASM="", GOEXPERIMENT="")
    flags = f"-s -w -buildid= -X main.release=v{version.semver}" + (f" -X main.commit={commit}" if commit else "")
    # Without inlining (-l) the program is smaller, and as fast within the noise.
    subprocess.run(["go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-gcflags=all=-l", "-ldflags", flags, "-o", str(program), "./cmd/modelpatch"],
                   cwd=root, env=environment, check=True)
    goroot = subprocess.run(["go", "env", "GOROOT"], cwd=root, check=True, capture_output=True, text=True).stdout.strip()
    start = (Path(goroot) / "lib/wasm/wasm_exec.js").read_text(encoding="utf-8")
    system = (root / "web/static/files.js").read_text(encoding="utf-8")
    return {
        "command.wasm": program.read_bytes(),
        # Go's own start of WebAssembly, which writes into the globals that it is given.
        "go.mjs": f"export function load(globalThis) {{\nconst {{ fs }} = globalThis;\n{start}\nreturn globalThis.Go;\n}}\n".encode(),
        "files.mjs": f"{system}\nexport {{ Files, Memory, fault }};\n".encode(),
        **{name: (root / "js" / name).read_bytes() for name in MODULES},
    }


def notices(root: Path = ROOT) -> bytes:
    """The licences of Go and of every module that is linked into the program."""
    return subprocess.run(["go", "run", "./internal/notices", "-os", "js", "-arch", "wasm", "./cmd/modelpatch"],
                          cwd=root, env=dict(os.environ, GOFLAGS="", GOWORK="off"), check=True, capture_output=True).stdout
