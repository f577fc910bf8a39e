#!/usr/bin/env python3
"""docs/measured/check-corpus.md: which rules of `modelpatch check` find something in which files of the corpus, and whether that is
right by the corpus' truth and by the engines.   corpus_table.py MODELPATCH CORPUS BADFILES DOCS/check-corpus.md"""
import collections
import json
import os
import subprocess
import sys

tool, corpus, bad, page = sys.argv[1:]


def checked(folder):
    out = subprocess.run([os.path.abspath(tool), "check", "--json", "--fail-on", "never", "."], cwd=folder, capture_output=True, text=True).stdout
    return {r["path"]: r for r in map(json.loads, out.splitlines())}


found, damaged = checked(corpus), checked(bad)
by = collections.defaultdict(lambda: ([], []))
for i, reports in enumerate((found, damaged)):
    for path, r in reports.items():
        for f in r["findings"]:
            if path not in by[(f["rule"], f["level"])][i]:
                by[(f["rule"], f["level"])][i].append(path)
truth = [t for name in ("onnx.json", "gguf.json") for t in json.load(open(os.path.join(corpus, name)))]
silent = missed = refused = unsaid = false = 0
notes = []
for t in truth:
    r = found[t["file"]]
    errors = [f["rule"] for f in r["findings"] if f["level"] == "error"]
    words = [e.get("beyond") for e in t["truth"].get("encodings", [])] + [t["truth"].get("length", {}).get("beyond")]
    runs = t.get("runs", {}).get("ok")
    if {"wrong", "clamps"} & set(words):
        silent += 1
        if "length-silently-wrong" not in errors:
            missed += 1
            notes.append(f"`{t['file']}` is silently wrong beyond its length by the truth, and is not found: {t.get('note', 'nothing in the file tells it')}")
    elif runs and errors:
        false += 1
        notes.append(f"`{t['file']}` runs in its engine, and has {', '.join(errors)}")
    if t["file"].endswith(".gguf") and runs is False and r["facts"]:
        if t["truth"].get("kind", "model") != "model" or "vocab" in t["file"] or "lora" in t["file"] or "imatrix" in t["file"]:
            continue
        refused += 1
        if not errors:
            unsaid += 1
            notes.append(f"`{t['file']}` is refused by llama.cpp, and has no error")


def some(paths):
    names = [f"`{os.path.basename(p)}`" if not p.endswith("model.onnx") else f"`{p.split('/')[-2]}`" for p in paths]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


with open(page, "w") as out:
    print("# `check` over the corpus\n\nMade by `test/formats/corpus_table.py`: files written by real exporters, whose truth is known, and files that are damaged on purpose.\n", file=out)
    print(f"- {len(truth)} files with a truth; {silent} are silently wrong beyond their length by it, {silent - missed} of them are found.", file=out)
    print(f"- {refused} GGUF models that llama.cpp refuses to load; {refused - unsaid} have a finding of level error. Adapters, matrices and vocabulary files, which it does not load as models either, are told as such.", file=out)
    print(f"- {false} files that run in their engine have an error (but for those that are silently wrong).", file=out)
    for n in notes:
        print(f"- {n}.", file=out)
    print("\n| rule | level | corpus | files | damaged files | |\n|---|---|---|---|---|---|", file=out)
    for (rule, level), (a, b) in sorted(by.items(), key=lambda x: ({"error": 0, "warning": 1, "note": 2}[x[0][1]], x[0][0])):
        print(f"| [{rule}](rules.md#{rule}) | {level} | {len(a)} | {some(a)} | {len(b)} | {some(b)} |", file=out)
print(f"{silent - missed} of {silent} silently wrong, {refused - unsaid} of {refused} refused, {false} false errors")
