#!/usr/bin/env python3
"""Holds the Python package against its schemas, its types and its tests, from the wheel that packaging/build.py makes.

    python3 python/check.py MODELPATCH CACHE

MODELPATCH is the executable of this checkout, whose schemas reports.py must be made of; CACHE is a folder outside the checkout
that keeps pytest, mypy, pyright, onnx, onnxruntime and a notebook's kernel.
"""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TOOLS = ("pytest", "mypy", "pyright", "ruff", "onnx", "onnxruntime", "tqdm", "nbclient", "ipykernel")


def run(*command: str | Path, **environment: str) -> None:
    """Runs a command outside the checkout, so that nothing there is imported by accident."""
    with tempfile.TemporaryDirectory(prefix="modelpatch-check-") as folder:
        subprocess.run([str(part) for part in command], check=True, cwd=folder, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment})


def scripts(folder: Path) -> Path:
    return folder / ("Scripts" if os.name == "nt" else "bin")


def tools(cache: Path) -> Path:
    """A virtual environment with what the checks need, made once."""
    folder = cache / "tools"
    run(ROOT / ".ci/install", "300", "venv", folder, *TOOLS)
    return folder


def document(file: Path) -> str:
    """The code of docs/python.md, a function a section, for the checkers of types."""
    out = ["# pyright: reportUnusedExpression=false", "import modelpatch", ""]
    for number, section in enumerate(file.read_text(encoding="utf-8").split("\n## ")):
        out.append(f"def section_{number}() -> None:")
        out += ["    " + line for example in doctest.DocTestParser().get_examples(section) for line in example.source.splitlines()] or ["    pass"]
    return "\n".join(out) + "\n"


def main() -> int:
    executable, cache = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    run(sys.executable, HERE / "generate.py", executable, "--check")
    try:
        kept = tools(cache)
    except subprocess.CalledProcessError:
        print(f"skipped by name: the Python package ({', '.join(TOOLS)} could not be installed)")
        return 0
    schemas, js = ROOT / "packaging/schemas.py", ROOT / "js"
    sources = (HERE / "modelpatch", HERE / "tests", HERE / "generate.py", HERE / "check.py", HERE / "after_optimum.py", schemas, cache / "document.py")
    path = os.pathsep.join(str(folder) for folder in (HERE, HERE / "tests", schemas.parent))
    (cache / "document.py").write_text(document(ROOT / "docs/python.md"), encoding="utf-8")
    # What runs the checks is checked as well: names that are not there, or not used.
    run(scripts(kept) / "ruff", "check", "--quiet", "--no-cache", "--select", "E9,F", *(ROOT / part for part in ("test", "packaging", "python", "js", "benchmarks", "docs")))
    # At the oldest Python that the tools still check for.
    run(scripts(kept) / "mypy", "--strict", "--python-version", "3.10", "--cache-dir", os.devnull, *sources, MYPYPATH=path)
    for own in (js / "generate.py", js / "check.py"):  # each a main module of its name
        run(scripts(kept) / "mypy", "--strict", "--python-version", "3.10", "--cache-dir", os.devnull, own, MYPYPATH=path)
    run(scripts(kept) / "pyright", "--pythonpath", scripts(kept) / "python", *sources, PYTHONPATH=path)
    with tempfile.TemporaryDirectory(prefix="modelpatch-wheel-") as folder:
        dist, empty = Path(folder) / "dist", Path(folder) / "venv"
        goos, goarch = subprocess.run(["go", "env", "GOHOSTOS", "GOHOSTARCH"], check=True, capture_output=True, text=True).stdout.split()
        run(sys.executable, ROOT / "packaging/build.py", "--version", "0.0.1", "--out", dist, "--platform", f"{goos}/{goarch}", "--only", "wheel", "--without-engine")
        venv.create(empty, with_pip=False)
        python = scripts(empty) / "python"
        run(scripts(kept) / "python", "-m", "pip", "--python", python, "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", next(dist.glob("*.whl")))
        # Without any other package, and from that wheel's executable.
        run(python, "-c", "import modelpatch, sys; assert modelpatch.__version__ == '0.0.1'; assert modelpatch.inspect(sys.argv[1]).version == 'v0.0.1'",
            ROOT / "testdata/gguf/llama-plain.gguf", PATH=os.defpath)
        found = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True, capture_output=True, text=True).stdout.strip()
        beside = subprocess.run([scripts(kept) / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True, capture_output=True, text=True)
        (Path(found) / "tools.pth").write_text(beside.stdout)
        run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / "tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
