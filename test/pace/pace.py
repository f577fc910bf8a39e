#!/usr/bin/env python3
"""Compares the processor time of two builds on the same models, as ratios: a slower machine or a busy one slows both.

usage: pace.py FOLDER… [--before REVISION] [--turns 5]

Builds REVISION (by default the last tag; without one, the commit ten before HEAD) and the checkout, and runs `inspect` on every model
below the folders and the changes of COMMANDS on some, in turns; of each the least of the turns counts. A ratio above NOTABLE is marked.
Never fails by time.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NOTABLE = 1.15
COMMANDS = {  # what is run, on how many of the models: all of them by one process, or each by its own
    "inspect": (["inspect", "--json"], None),
    "extend": (["extend", "--len", "4096", "--force", "-o", "{out}"], 12),
    "rope": (["rope", "--base", "50000", "--force", "-o", "{out}"], 12),
    "check": (["check", "--format", "json"], None),
}


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def revision() -> str:
    try:
        return git("describe", "--tags", "--abbrev=0")
    except subprocess.CalledProcessError:
        return git("rev-parse", "HEAD~10")


def build(folder: Path, source: Path) -> Path:
    target = folder / "modelpatch"
    subprocess.run(["go", "build", "-o", str(target), "./cmd/modelpatch"], cwd=source, check=True, env={**os.environ, "CGO_ENABLED": "0"})
    return target


def seconds(command: list[str]) -> float:
    """Processor seconds of a command; what it answers is not looked at."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def calls(tool: Path, name: str, models: list[str], out: Path) -> list[list[str]]:
    words, each = COMMANDS[name]
    if each is None:
        return [[str(tool), *words, *models]]
    chosen = models[:: max(1, len(models) // each)]
    return [[str(tool), *(w.format(out=out / Path(m).name) for w in words), m] for m in chosen]


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folders", nargs="+")
    p.add_argument("--before")
    p.add_argument("--turns", type=int, default=5)
    o = p.parse_args()
    models = sorted(str(f) for folder in o.folders for f in Path(folder).rglob("*") if f.suffix in (".onnx", ".gguf"))
    if not models:
        p.error("no models below " + ", ".join(o.folders))
    before = o.before or revision()
    with tempfile.TemporaryDirectory(prefix="modelpatch-pace-") as name:
        folder = Path(name)
        old = folder / "old"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(old)], check=True)
        subprocess.run(["git", "checkout", "-q", before], cwd=old, check=True)
        tools = {}
        for which, source in (("old", old), ("new", ROOT)):
            (folder / ("bin-" + which)).mkdir()
            tools[which] = build(folder / ("bin-" + which), source)
        print(f"{len(models)} models, against {before}, least of {o.turns} turns")
        for command in COMMANDS:
            least = dict.fromkeys(tools, float("inf"))
            for turn in range(o.turns):
                for which in (list(tools) if turn % 2 else reversed(list(tools))):
                    least[which] = min(least[which], sum(seconds(c) for c in calls(tools[which], command, models, folder)))
            ratio = least["new"] / max(least["old"], 1e-3)
            print(f"{command:8s} {least['old']:.2f} s, now {least['new']:.2f} s: {ratio:.2f} times{'  SLOWER' if ratio > NOTABLE else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
