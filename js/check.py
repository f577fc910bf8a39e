#!/usr/bin/env python3
"""Holds the JavaScript package against its schemas, its types and its tests, from what packaging/build.py makes.

    python3 js/check.py MODELPATCH CACHE [PLAYWRIGHT]

MODELPATCH is the executable of this checkout; CACHE is a folder outside the checkout that keeps TypeScript; PLAYWRIGHT is the
node_modules of the page's test, for a run in Chromium. What is not installed is skipped by name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TYPESCRIPT = "typescript@5.9.3"
TYPES = "@types/node@20.19.25"


def run(*command: str | Path, cwd: Path, **environment: str) -> None:
    subprocess.run([str(part) for part in command], check=True, cwd=cwd, env={**os.environ, **environment})


def typed(cache: Path, app: Path) -> None:
    """Checks a program that uses all of the package's types, and the document's code as TypeScript."""
    tools = cache / "node_modules"
    try:
        run(ROOT / ".ci/install", "120", "npm", cache, TYPESCRIPT, TYPES, cwd=ROOT)
    except subprocess.CalledProcessError:
        print("skipped by name: types (TypeScript could not be installed)")
        return
    shutil.copy(HERE / "test/types.ts", app)
    shutil.copytree(tools / "@types", app / "node_modules/@types", dirs_exist_ok=True)
    if (tools / "undici-types").is_dir():
        shutil.copytree(tools / "undici-types", app / "node_modules/undici-types", dirs_exist_ok=True)
    run("node", tools / "typescript/bin/tsc", "--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom", "--types", "node", "types.ts", cwd=app)


def main() -> int:
    executable, cache = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    run(sys.executable, HERE / "generate.py", executable, "--check", cwd=ROOT)
    if not shutil.which("npm"):
        print("skipped by name: the JavaScript package (no npm)")
        return 0
    with tempfile.TemporaryDirectory(prefix="modelpatch-js-") as folder:
        dist, app = Path(folder) / "dist", Path(folder) / "app"
        app.mkdir()
        system = subprocess.run(["go", "env", "GOHOSTOS", "GOHOSTARCH"], check=True, capture_output=True, text=True).stdout.split()
        run(sys.executable, ROOT / "packaging/build.py", "--version", "0.0.1", "--out", dist, "--platform", "/".join(system), "--only", "npm", "--without-engine", cwd=ROOT)
        run("npm", "init", "-y", "--silent", cwd=app)
        run("npm", "install", "--silent", "--no-audit", "--no-fund", "--offline", "--omit=optional", next(dist.glob("modelpatch-0*.tgz")), cwd=app)
        (app / "testdata").symlink_to(ROOT / "testdata")
        for test in (HERE / "test").glob("*.test.mjs"):
            shutil.copy(test, app)
        run("node", "--test", ".", cwd=app, MODELPATCH=str(executable), TESTDATA=str(ROOT / "testdata"), DOCUMENT=str(ROOT / "docs/javascript.md"))
        typed(cache, app)
        if len(sys.argv) > 3 and Path(sys.argv[3], "playwright-core").is_dir() and Path(os.environ.get("CHROMIUM", "/usr/bin/chromium")).is_file():
            run("node", HERE / "test/browser.mjs", app / "node_modules/modelpatch", ROOT / "testdata", cwd=app, NODE_PATH=sys.argv[3])
        else:
            print("skipped by name: the package in a browser (no playwright-core, or no Chromium)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
