#!/usr/bin/env python3
"""Checks that `modelpatch extend` writes files that onnx.checker passes.

usage: extend_outputs.py MODELPATCH CORPUS_DIR

Every ONNX file of the corpus that onnx.checker passes is extended to twice its capacity, and the result must pass, too.
"""
import json
import os
import subprocess
import sys
import tempfile

import onnx


def passes(path):
    try:
        onnx.checker.check_model(path)
        return True
    except Exception:
        return False


def main():
    tool, corpus = os.path.abspath(sys.argv[1]), sys.argv[2]
    checked = refused = failed = 0
    for entry in json.load(open(os.path.join(corpus, "onnx.json"))):
        capacity = ((entry.get("truth") or {}).get("length") or {}).get("capacity")
        source = os.path.join(corpus, entry["file"])
        grid = any((e.get("parameters") or {}).get("grid") for e in entry["truth"]["encodings"])
        if not capacity or grid or not passes(source):
            continue
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, os.path.basename(source))
            run = subprocess.run([tool, "extend", "--len", str(2 * capacity), source, "-o", target], capture_output=True, text=True)
            if run.returncode == 4:
                refused += 1
                continue
            checked += 1
            if run.returncode or not passes(target):
                failed += 1
                print(f"{entry['file']}: FAIL: exit {run.returncode} {run.stderr.strip()}, or onnx.checker no longer passes")
    print(f"onnx.checker: {checked - failed} passed, {failed} failed, {refused} refused")
    return 1 if failed else 0


sys.exit(main())
