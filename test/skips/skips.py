#!/usr/bin/env python3
"""Holds that a clone alone proves as much as it did: which Go tests skip there is a list, and a test that is not on it must run.

usage: skips.py            clones the checkout (its last commit) away from ../shared, runs all Go tests, compares with skips.txt
       skips.py --write    writes skips.txt anew

skips.txt has a line for each test that skips, or whose every case does, because of what is not beside the clone (files of ../shared, engines): package, test, and why. What skips
for the machine's sake (its file system, -short) is told and not counted. Exits 1 where tests fail, and where one skips that is not listed.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

BESIDE = re.compile(r"\.\./shared|ENGINES_PYTHON|GGUF_VOCAB_DIR|llama-server|ONNX Runtime")
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIST = os.path.join(HERE, "skips.txt")
MODULE = "github.com/modelpatch/modelpatch"


def run(folder):
    """Packages and tests that skipped, and those that failed."""
    process = subprocess.run(["go", "test", "-short", "-json", "./..."], cwd=folder, capture_output=True, text=True)
    skipped, ran, failed, why = set(), set(), [], collections.defaultdict(str)
    for line in process.stdout.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        test = event.get("Test")
        if test is None:
            if event["Action"] == "fail":
                failed.append(event["Package"])
            continue
        key = (event["Package"].removeprefix(MODULE).lstrip("/") or ".", test.split("/")[0])
        if event["Action"] == "output" and ": " in event["Output"] and "_test.go" in event["Output"]:
            why[key] = event["Output"].split(": ", 1)[1].strip()
        elif event["Action"] == "skip":
            skipped.add(key)
        elif event["Action"] == "pass" and ("/" in test or key not in skipped):
            ran.add((key, test))
        elif event["Action"] == "fail":
            failed.append(f"{key[0]} {test}")
    whole = set()
    for key in skipped:  # all of it, not a case among others
        cases = [test for k, test in ran if k == key and test != key[1]]
        if not cases:
            whole.add(key)
    for key in sorted(whole):
        if not BESIDE.search(why[key]):
            print(f"skips here: {key[0]} {key[1]}: {why[key]}")
    return {key: why[key] for key in whole if BESIDE.search(why[key])}, failed


def main():
    with tempfile.TemporaryDirectory() as folder:
        clone = os.path.join(folder, "clone", "modelpatch")
        subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
        found, failed = run(clone)
    if failed:
        sys.exit("fails in a clone alone: " + ", ".join(sorted(set(failed))[:20]))
    if "--write" in sys.argv:
        with open(LIST, "w") as f:
            for (package, test), why in sorted(found.items()):
                f.write(f"{package}\t{test}\t{why}\n")
        print(f"{len(found)} tests skip in a clone alone")
        return
    with open(LIST) as f:
        listed = {tuple(line.split("\t")[:2]) for line in f if line.strip()}
    more, fewer = sorted(set(found) - listed), sorted(listed - set(found))
    for package, test in more:
        print(f"{package} {test} skips in a clone alone, and is not in test/skips/skips.txt: {found[package, test]}", file=sys.stderr)
    for package, test in fewer:
        print(f"{package} {test} is in test/skips/skips.txt, and does not skip here")
    print(f"{len(found)} tests skip in a clone alone, of {len(listed)} that may")
    sys.exit(1 if more else 0)


if __name__ == "__main__":
    main()
