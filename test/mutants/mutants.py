#!/usr/bin/env python3
"""Puts faults into the code one by one and asks the tests whether they notice (faults.py has the list).

    python3 test/mutants/mutants.py [NAME …] [--write FILE] [--jobs N]
    python3 test/mutants/mutants.py --check         (only sees that the text of every fault stands where it is to be put)

Nothing in the checkout is changed: each fault is an overlay of the compiler. A fault that does not compile, or whose text is not
there once, is an error. Exits 1 where a fault survives that is not said to be equivalent. --write writes the table
(docs/measured/mutants.md). All of them take about twenty minutes on two cores.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from faults import FIRST, MORE, Fault

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 240  # seconds of one fault's tests


def beside(file: str) -> tuple[str, ...]:
    """The package of a file and, of a mechanism, that of the model that it is of: where its graphs are built."""
    own = str(Path(file).parent)
    return tuple(dict.fromkeys([own, *(model for model in ("position/onnxpos", "position/ggufpos") if own.startswith(model))]))


def tried(fault: Fault) -> tuple[str, float]:
    """What became of a fault: killed, killed (time), survived, or why it is none."""
    path = ROOT / fault.file
    text = path.read_text(encoding="utf-8")
    if text.count(fault.before) != 1:
        return f"error: the text stands there {text.count(fault.before)} times", 0
    packages = [f"./{name}" for name in fault.packages or beside(fault.file)]
    # What loses power or dies at every step is tried less often with -short, too seldom for these.
    short = [] if fault.file.startswith("patch/") else ["-short"]
    with tempfile.TemporaryDirectory(prefix="modelpatch-mutant-") as folder:
        changed = Path(folder) / path.name
        changed.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
        overlay = Path(folder) / "overlay.json"
        overlay.write_text(json.dumps({"Replace": {str(path): str(changed)}}))
        built = subprocess.run(["go", "build", f"-overlay={overlay}", f"./{Path(fault.file).parent}"], cwd=ROOT, capture_output=True, text=True)
        if built.returncode:
            return "error: " + built.stderr.strip().splitlines()[-1], 0
        began = time.monotonic()
        try:
            done = subprocess.run(["go", "test", *short, "-vet=off", f"-overlay={overlay}", f"-timeout={LIMIT}s", *packages], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT + 120)
        except subprocess.TimeoutExpired:
            return "killed (time)", time.monotonic() - began
        if "[build failed]" in done.stdout or "[setup failed]" in done.stdout:
            return "error: " + (done.stderr.strip().splitlines() or done.stdout.strip().splitlines())[-1], 0
        return "killed" if done.returncode else "survived", time.monotonic() - began


def table(results: list[tuple[Fault, str, float]]) -> str:
    killed = sum(what.startswith("killed") for _, what, _ in results)
    lines = ["# Faults that tests notice", "",
             f"Faults put into the code one by one by `test/mutants/mutants.py`: {killed} of {len(results)} were noticed by the tests of the packages that the list names, "
             "with the corpus beside the checkout (and `-short` but for `patch`). A fault that nothing can notice says why.", "",
             "| fault | file | what a user would lose | |", "|---|---|---|---|"]
    lines += [f"| {fault.name} | {fault.file} | {fault.costs} | {'equivalent: ' + fault.equivalent if fault.equivalent and what == 'survived' else what} |" for fault, what, _ in results]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    o = parser.parse_args()
    if o.check:
        lost = [f"{fault.name}: {fault.file}" for fault in FIRST + MORE if (ROOT / fault.file).read_text(encoding="utf-8").count(fault.before) != 1]
        print(f"{len(FIRST + MORE)} faults" + "".join(f"\nthe text does not stand there once: {name}" for name in lost))
        return 1 if lost else 0
    chosen = [fault for fault in FIRST + MORE if not o.names or fault.name in o.names]
    results = []
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for fault, (what, seconds) in zip(chosen, pool.map(tried, chosen)):
            results.append((fault, what, seconds))
            print(f"{fault.name:24} {what}" + (" (equivalent)" if fault.equivalent and what == "survived" else "") + f"  {seconds:.0f} s", flush=True)
    if o.write:
        o.write.write_text(table(results), encoding="utf-8")
    bad = [fault.name for fault, what, _ in results if not what.startswith("killed") and not (what == "survived" and fault.equivalent)]
    print(f"{sum(what.startswith('killed') for _, what, _ in results)} of {len(results)} noticed" + (f"; not: {' '.join(bad)}" if bad else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
