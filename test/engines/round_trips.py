#!/usr/bin/env python3
"""Round trips of the rewriting verbs on every ONNX file of folders; prints the tables of docs/measured/rewriting.md.

usage: round_trips.py FOLDER_OF_BINARIES REWRITE FOLDER…     (modelpatch and modelpatch-engine; ../shared/rewrite; needs onnx)

bake → unbake, `rope --to-ops` there and back, and two halves of `rope --layers` against one change of all layers. A file that a verb
refuses or leaves as it is stands in no row. Each result passes onnx.checker where the file does, and is held against the file it
comes from by `verify --require-engine`: both whole in ONNX Runtime, without optimisation and with all of it, on seeded inputs of
several lengths. Then ALiBi: what REWRITE's cases of `alibi` have for heads and forms.
"""
import collections
import glob
import json
import os
import subprocess
import sys
import tempfile

import onnx

LENGTH = "64"


def main():
    tool = os.path.join(os.path.abspath(sys.argv[1]), "modelpatch")
    failed = 0

    def run(*words):
        return subprocess.run([tool, *words], capture_output=True, text=True)

    def made(source, target, *words):
        """Whether the verb made another file."""
        done = run(*words, source, "-o", target, "--force", "--json")
        return done.returncode == 0 and "changes" in done.stdout and bool(json.loads(done.stdout.splitlines()[0])["changes"])

    def checked(path):
        try:
            onnx.checker.check_model(path)
            return True
        except Exception:
            return False

    def compared(before, after, wellformed):
        """The greatest difference in ONNX Runtime, as text; None: it did not run there."""
        nonlocal failed
        r = run("verify", before, after, "--engine", "--json")
        checks = [c for c in json.loads(r.stdout.splitlines()[0])["checks"] if c["name"] == "engine"]
        if wellformed and not checked(after):
            failed += 1
            return "onnx.checker refuses it"
        if not checks or any(c["verdict"] == "skipped" for c in checks):
            return "not run"
        if any(c["verdict"] != "pass" for c in checks):
            failed += 1
            return "DIFFERS"
        worst = max(abs((c.get("measure") or {}).get("max_rel") or 0) for c in checks)
        return "equal" if worst == 0 else f"{worst:.0e}"

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name + ".onnx")
        for path in sorted(p for f in sys.argv[3:] for p in glob.glob(os.path.join(f, "*.onnx"))):
            said = json.loads(run("inspect", "--json", path).stdout or "{}")
            if not any(e["scheme"] in ("rope", "sinusoidal", "relative_buckets", "t5") or e["form"] == "runtime" for e in said.get("encodings", [])):
                continue
            wellformed, row = checked(path), {}
            if made(path, at("baked"), "bake", "--len", LENGTH):
                row["bake"] = compared(path, at("baked"), wellformed)
                if made(at("baked"), at("free"), "unbake"):
                    row["→ unbake"] = compared(path, at("free"), wellformed)
            for to in ("standard", "contrib", "plain"):
                if made(path, at(to), "rope", "--to-ops", to):
                    row[to] = compared(path, at(to), wellformed)
                    if to != "plain" and made(at(to), at("back"), "rope", "--to-ops", "plain"):
                        row[to + " → plain"] = compared(path, at("back"), wellformed)
            if made(path, at("half"), "rope", "--base", "54321", "--layers", "0") and made(at("half"), at("both"), "rope", "--base", "54321", "--layers", "1") and made(path, at("all"), "rope", "--base", "54321", "--layers", "0,1"):
                row["layers"] = compared(at("all"), at("both"), wellformed)
            if row:
                rows.append((os.path.basename(path)[:-5], row))
                print(rows[-1], file=sys.stderr, flush=True)
    columns = ("bake", "→ unbake", "standard", "standard → plain", "contrib", "contrib → plain", "plain", "layers")
    print("| file | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
    for name, row in rows:
        print(f"| {name} | " + " | ".join(row.get(c, "") for c in columns) + " |")
    with open(os.path.join(sys.argv[2], "onnx.json")) as f:
        cases = [c for c in json.load(f) if c["id"].startswith("alibi/")]
    forms = collections.Counter(c["id"].split("/")[1] for c in cases)
    print(f"\nALiBi: {len(cases)} cases in {len(forms)} files")
    print("all passed" if not failed else f"{failed} failed")
    return 1 if failed else 0


sys.exit(main())
