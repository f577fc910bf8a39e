#!/usr/bin/env python3
"""Inspects every model that the onnx package brings along: files that nobody made for this tool.

usage: onnx_wheel.py MODELPATCH        (needs the Python package onnx)

Reads each file under onnx/backend/test/data and each node test that the package builds (about 2000). All must be read, and
an encoding may be claimed only by the tests of CLAIMS; `unknown` claims none: shapes and axes that are inputs of a test, and operators
that are not followed, are no proof that there is none. (RotaryEmbedding's node tests have their caches as inputs: no file
of them holds an encoding.)
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
import onnx
from onnx.backend.test.case import node

# Node tests that encode positions, by the start of their names: a bias of query − key, linear in the distance.
CLAIMS = ("test_flexattention_relative_positional",)


def models(folder):
    data = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    for root, _, files in os.walk(data):
        for name in files:
            if name.endswith(".onnx"):
                yield os.path.join(root, name)
    for case in node.collect_testcases(None):
        if case.model is None:
            continue
        path = os.path.join(folder, case.name + ".onnx")
        with open(path, "wb") as f:
            f.write(case.model.SerializeToString())
        yield path


def main(tool):
    failed, read, schemes, findings = 0, 0, collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        paths = list(models(folder))
        for start in range(0, len(paths), 100):
            r = subprocess.run([tool, "inspect", "--json", *paths[start:start + 100]], capture_output=True, text=True)
            if r.returncode:
                failed += 1
                print(r.stderr)
            for line in r.stdout.splitlines():
                report = json.loads(line)
                if report["schema"] != "modelpatch.inspect/1":
                    continue
                read += 1
                name = os.path.basename(os.path.dirname(report["path"]) if report["path"].endswith("/model.onnx") else report["path"])
                for e in (e for e in report["encodings"] if e["scheme"] != "none"):
                    schemes[e["scheme"]] += 1
                    if e["scheme"] != "unknown" and not name.startswith(CLAIMS):
                        failed += 1
                        print(f"{name}: claims {e['scheme']} {json.dumps(e['parameters'])} {json.dumps(e['where'])}")
                for f in report["findings"]:
                    findings[f["rule"]] += 1
    print(f"{read} of {len(paths)} models of the onnx package read; claims: {dict(schemes) or 'none'}; findings: {dict(findings) or 'none'}")
    return failed or read != len(paths)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(1 if main(sys.argv[1]) else 0)
