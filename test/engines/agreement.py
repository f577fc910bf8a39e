#!/usr/bin/env python3
"""Holds the verdicts of `modelpatch verify` against what the engines make of the same files.

usage: agreement.py MODELPATCH CORPUS… [--llama-server PATH] [--files N --seed S] [--only WORD] [--jobs N] [--write]

Every model below the folders is changed by every verb that applies to it (a refusal, exit code 4, is none that does),
and `verify BEFORE AFTER --plan PLAN --engine` says two things of the pair: what modelpatch finds by its own numbers, and
what ONNX Runtime or llama.cpp computes. The plan promises the verdict. The two agree when files whose old positions are
encoded as before give equal outputs, and files whose encoding changed give others. What disagrees must be in ARGUED.
Needs modelpatch-engine beside MODELPATCH, and the engines themselves ($ORT_LIB, --llama-server).

--write writes docs/measured/engines.md (the agreement) and docs/measured/verdicts.md (each file and change) of this checkout.
Exit 1: a promised verdict is missing, or a disagreement is not argued.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile

# Disagreements that are understood: (pattern of the file, of the change, of what the engine did) and why it is so.
ARGUED = [
    (r"marian-enc-ts17-fp16", "unbake", "differs by 0.00", "weights and sums are of 16 bits though the output is float32: the sines are rounded at another place, within the 2e-3 allowed for 16 bits"),
    (r"nodetests/", "window.*", "equal", "the node tests have two positions, of which a window of two hides none"),
    (r"mt5-dec-ts17", "relative", "equal", "buckets of distances below 16 are exact in both: the largest distance matters beyond the 16 positions that are run of a graph that states no length"),
    (r"table-(given|exchanged)\.onnx", "window.*|alibi", "equal", "tokens come before the batch, or the names of the axes say the opposite of what they are: the engine is given one token of many texts"),
    (r"rope-rounded-step\.onnx", ".*", "equal", "the engine is given one token and none before it: at position 0 nothing turns, and no key is farther away"),
    (r"table-flat\.onnx", "alibi-replace", "fails", "once its table is gone, nothing in the file says which axis is that of cached tokens: the engine is given as many of them as tokens"),
]

# Verdicts that are not the promised ones and stand so far: (pattern of the file, of the change) and what is wrong.
OPEN = []

ENGINE_RUNS = re.compile(r"differ by up to ([0-9.e+-]+|NaN)")


def run(*args):
    p = subprocess.run(args, capture_output=True, timeout=900)
    return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace").strip().replace("\n", " | ")


def first_line(text):
    try:
        return json.loads(text.splitlines()[0])
    except (IndexError, ValueError):
        return None


def length_of(report):
    length = report["length"]
    return length["capacity"] or length["stated"] or 0


def changes(report):
    """The commands to try, by name. Those that do not apply are refused."""
    schemes = {e["scheme"]: e for e in report["encodings"]}
    onnx, n = report["format"] == "onnx", length_of(report)
    grid = next((e["parameters"]["grid"] for e in report["encodings"] if e["parameters"].get("grid")), None)
    out = {}
    if grid:
        out["grid"] = ["extend", "--grid", "x".join(str(2 * x) for x in grid)]
    elif n:
        out["extend"] = ["extend", "--len", str(2 * n)]
    if "rope" in schemes:
        p = schemes["rope"]["parameters"]
        original = ["--original-length", str(n or 64)]
        out["base"] = ["rope", "--base", "%g" % (2 * p.get("base", 10000))]
        out["linear"] = ["rope", "--scaling", "linear", "--factor", "2"]
        out["yarn"] = ["rope", "--scaling", "yarn", "--factor", "2", *original]
        out["llama3"] = ["rope", "--scaling", "llama3", "--factor", "2", *original]
        if p.get("scaling", {}).get("type", "none") != "none":
            out["none"] = ["rope", "--scaling", "none"]
        if onnx:
            for operators in "plain", "contrib", "standard":
                out[operators] = ["rope", "--to-ops", operators]
    if onnx:
        out["bake"] = ["bake", "--len", str(n or 64)]
        out["unbake"] = ["unbake"]
    if "t5-bias" in schemes:
        out["relative"] = ["relative", "--max-distance", str(2 * schemes["t5-bias"]["parameters"].get("max_distance", 128))]
    out["window"] = ["window", "--len", "2"]
    if onnx:
        out["window-sinks"] = ["window", "--len", "2", "--sinks", "1"]
    if "alibi" in schemes:
        out["alibi-remove"] = ["alibi", "--remove"]
    elif schemes:
        out["alibi"] = ["alibi"]
        out["alibi-replace"] = ["alibi", "--replace"]
    return out


def engine_says(checks):
    """equal, differs, fails, crashes or absent, and the words."""
    mine = [k for k in checks if k["name"] == "engine"]
    if not mine or any(k["verdict"] == "skipped" for k in mine):
        return "not run", next((k["why"] for k in mine if k["verdict"] == "skipped"), "no check")
    failed = [k for k in mine if k["verdict"] == "fail"]
    if failed:
        return "fails", failed[0]["why"]
    differ = [k["why"] for k in mine if (m := ENGINE_RUNS.search(k["why"])) and not float(m.group(1)) <= 1e-6]
    if differ:
        return "differs", differ[0]
    if any("are not compared" in k["why"] for k in mine):
        return "runs", mine[0]["why"]
    return "equal", mine[0]["why"]


def attention_says(checks):
    mine = [k for k in checks if k["name"] == "attention"]
    whole = next((k["why"] for k in mine if re.match(r"\d+ of \d+ layers", k.get("why", ""))), None)
    if whole is None:
        why = next((k["why"] for k in mine), "not made")
        return 0, 0, why
    done, of = map(int, re.match(r"(\d+) of (\d+)", whole).groups())
    reason = whole.split("; not checked: ")[1]
    reason = "" if reason == "quality" else reason.removesuffix("; quality")
    return done, of, reason


PROMISED = {"same": ("same", "same-on-prefix"), "same-on-prefix": ("same", "same-on-prefix"), "changed": ("changed-as-planned",)}


def one(tool, path, name, server):
    """The rows of one file."""
    code, out, _ = run(tool, "inspect", "--json", path)
    report = first_line(out)
    if code or not report or report.get("kind") not in ("model", "vocabulary"):
        return []
    rows = []
    for change, command in changes(report).items():
        with tempfile.TemporaryDirectory() as folder:
            after = os.path.join(folder, os.path.basename(path))
            code, out, err = run(tool, *command, path, "-o", after, "--json")
            plan = first_line(out)
            if code == 4 or code == 0 and not plan["changes"]:
                continue  # it does not apply, or there is nothing to do
            row = {"file": name, "change": change, "format": report["format"]}
            rows.append(row)
            if code:
                row.update(verdict="error", promised="", why=err, engine="not run", says="", attention=(0, 0, err))
                continue
            expect = max((c["expect"] for c in plan["changes"]), key=["same", "same-on-prefix", "changed"].index)
            with open(os.path.join(folder, "plan.json"), "w") as f:
                f.write(out)
            _, out, err = run(tool, "verify", path, after, "--plan", os.path.join(folder, "plan.json"), "--engine", "--json", *(["--llama-server", server] if server else []))
            v = first_line(out)
            if v is None:
                row.update(verdict="error", promised=expect, why=err, engine="not run", says="", attention=(0, 0, err))
                continue
            own = [k for k in v["checks"] if k["name"] != "engine"]
            engine, says = engine_says(v["checks"])
            verdict = v["verdict"]
            if verdict == "different" and not any(k["verdict"] == "fail" for k in own):
                verdict = {"changed": "changed-as-planned"}.get(expect, "same-on-prefix")  # the engine alone says otherwise
            elif verdict == "consistent" and v["summary"].startswith("the engine runs neither"):
                verdict = "changed-as-planned"
            row.update(verdict=verdict, promised=expect, why=v["summary"], engine=engine, says=says.replace(folder, "").replace(os.path.dirname(path), ""), attention=attention_says(own))
    return rows


def agrees(row):
    if row["engine"] == "not run":
        return None
    if row["engine"] == "runs":
        return row["verdict"] in PROMISED[row["promised"]]
    return row["engine"] == ("differs" if row["verdict"] == "changed-as-planned" else "equal")


def argument(row):
    for file, change, says, why in ARGUED:
        if re.search(file, row["file"]) and re.fullmatch(change, row["change"]) and re.search(says, row["engine"] + ": " + row["says"]):
            return why
    return None


def stands(row):
    return next((why for file, change, why in OPEN if re.search(file, row["file"]) and re.fullmatch(change, row["change"])), None)


def kept(row):
    return row["verdict"] in PROMISED.get(row["promised"], ())


def models(folders):
    """Paths and names of models; of files with the same bytes the first."""
    seen = set()
    for folder in folders:
        base = os.path.basename(os.path.normpath(folder))
        for root, _, files in sorted(os.walk(folder)):
            for f in sorted(files):
                if f.endswith((".onnx", ".gguf")) and not re.search(r"-0000[2-9]-of-\d+\.gguf$", f):
                    path = os.path.join(root, f)
                    with open(path, "rb") as model:
                        digest = hashlib.file_digest(model, "sha256").digest()
                    if digest in seen:
                        continue
                    seen.add(digest)
                    yield os.path.abspath(path), os.path.join(base, os.path.relpath(path, folder))


def cell(text, most=260):
    text = text.replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= most else text[:most] + "…"


def only(rows):
    return sum(r["engine"] == "runs" and agrees(r) for r in rows)


def write_engines(rows, path):
    say = []
    put = say.append
    put("# Engines: our verdicts and theirs\n")
    put("Made by `test/engines/agreement.py … --write`: every model of the corpus and of `testdata`, changed by every verb that applies, is judged")
    put("by `verify --plan` from the numbers in both files, and run whole, before and after, in ONNX Runtime or llama.cpp (`--engine`).")
    put("They agree when files whose old positions are said to be encoded as before give equal outputs at old lengths, when files whose")
    put("encoding changed on purpose give others, and when the new file runs at its own length.\n")
    versions = sorted({m.group(0) for r in rows if (m := re.match(r"ONNX Runtime [\d.]+|llama\.cpp [^:]*", r["says"]))})
    put("Engines: " + "; ".join(versions) + ".\n")
    put("*Only run*: the file after takes inputs of other sizes (a fixed length, a picture), so that outputs are not compared.\n")
    put("| format | change | pairs | agree | of these only run | disagree, argued below | not run by the engine |")
    put("|---|---|---|---|---|---|---|")
    groups = collections.defaultdict(list)
    for r in rows:
        groups[r["format"], r["change"]].append(r)
    for (fmt, change), g in sorted(groups.items()):
        a = [agrees(r) for r in g]
        put(f"| {fmt} | {change} | {len(g)} | {a.count(True)} | {only(g)} | {a.count(False)} | {a.count(None)} |")
    a = [agrees(r) for r in rows]
    put(f"| all | | {len(rows)} | {a.count(True)} | {only(rows)} | {a.count(False)} | {a.count(None)} |\n")
    put("Two equal models need not give the same bits: an optimiser groups other operators. Allowed are 1e-5 of an output's largest element, 2e-3 for 16 bits")
    put("and for llama.cpp's log-probabilities (decision 0012).\n")
    put("## Differences\n")
    differing = [r for r in rows if agrees(r) is False]
    if not differing:
        put("None.\n")
    else:
        put("| file | change | verdict | the engine | why |")
        put("|---|---|---|---|---|")
        for r in differing:
            put(f"| {r['file']} | {r['change']} | {r['verdict']} | {cell(r['engine'] + ': ' + r['says'])} | {argument(r) or '**not argued**'} |")
        put("")
    put("## Not run\n")
    put("Files that the engine does not load or run before the change: nothing can be compared.\n")
    put("| files | changes | what the engine says |")
    put("|---|---|---|")
    groups = collections.defaultdict(list)
    for r in rows:
        if agrees(r) is None:
            groups[r["file"]].append(r)
    for file, g in sorted(groups.items()):
        put(f"| {file} | {', '.join(r['change'] for r in g)} | {cell(g[0]['says'])} |")
    with open(path, "w") as f:
        f.write("\n".join(say).rstrip() + "\n")


def write_verdicts(rows, path):
    say = []
    put = say.append
    good = [r for r in rows if kept(r)]
    checked = [r for r in rows if r["attention"][1] and r["attention"][0] == r["attention"][1]]
    put("# Verdicts: each file, each change\n")
    put("Made by `test/engines/agreement.py … --write`: every model of the corpus and of `testdata` is changed by every verb that does not refuse it, and")
    put("`verify BEFORE AFTER --plan PLAN` gives the verdict. The plan promises it: `same-on-prefix` where old positions stay as they are,")
    put("`changed-as-planned` where an encoding changes on purpose.\n")
    put(f"{len(good)} of {len(rows)} changes have the promised verdict. The attention of {len(checked)} of {len(rows)} ({100 * len(checked) / max(len(rows), 1):.1f} %) was run in all layers,")
    put("before and after; the others say why not. *Attention* is layers run of layers; the usual sample of heads and positions.\n")
    put("Names of changes: `extend`, twice the length; `grid`, twice the picture; `base`, `linear`, `yarn`, `llama3`, `none`, `rope` with twice the base or that scaling; `plain`, `contrib`,")
    put("`standard`, `rope --to-ops`; `bake`, `unbake`, `relative`, `alibi` as they are called.\n")
    bad = [r for r in rows if not kept(r)]
    if bad:
        put("The others are mistakes of `verify` that are known and stand:\n")
        put("| file | change | promised | verdict | why |")
        put("|---|---|---|---|---|")
        for r in bad:
            put(f"| {r['file']} | {r['change']} | {r['promised']} | {r['verdict']}: {cell(r['why'])} | {stands(r) or ''} |")
        put("")
    put("| file | change: verdict | attention |")
    put("|---|---|---|")
    files = collections.defaultdict(lambda: collections.defaultdict(list))
    for r in rows:
        done, of, why = r["attention"]
        files[r["file"]][f"{done} of {of}" + (f": {cell(why)}" if why else "")].append(r)
    for file, by in files.items():
        for attention, g in by.items():
            verdicts = collections.defaultdict(list)
            for r in g:
                verdicts[r["verdict"]].append(r["change"])
            put(f"| {file} | " + "; ".join(f"{', '.join(c)}: {v}" for v, c in verdicts.items()) + f" | {attention} |")
    with open(path, "w") as f:
        f.write("\n".join(say).rstrip() + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("folders", nargs="+")
    p.add_argument("--llama-server", default=os.environ.get("LLAMA_SERVER", ""))
    p.add_argument("--files", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", default="")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--write", action="store_true")
    p.add_argument("--keep", help="a file for the rows, as JSON")
    p.add_argument("--rows", help="rows of an earlier run, in place of running")
    o = p.parse_args()
    if o.rows:
        with open(o.rows) as f:
            rows = json.load(f)
    else:
        rows = []
        todo = [m for m in models(o.folders) if o.only in m[1]]
        if o.files and o.files < len(todo):
            todo = sorted(random.Random(o.seed).sample(todo, o.files))
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            for got in pool.map(lambda m: one(os.path.abspath(o.tool), m[0], m[1], o.llama_server), todo):
                rows += got
    if o.keep:
        with open(o.keep, "w") as f:
            json.dump(rows, f)
    if o.write:
        docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/measured")
        write_engines(rows, os.path.join(docs, "engines.md"))
        write_verdicts(rows, os.path.join(docs, "verdicts.md"))
    bad = 0
    for r in rows:
        if not kept(r) and not stands(r):
            bad += 1
            print(f"VERDICT {r['file']} {r['change']}: promised {r['promised']}, {r['verdict']}: {r['why']}")
        if agrees(r) is False and not argument(r):
            bad += 1
            print(f"DISAGREE {r['file']} {r['change']}: {r['verdict']}, engine {r['engine']}: {r['says']}")
    a = [agrees(r) for r in rows]
    print(f"{len(rows)} changes of {len({r['file'] for r in rows})} files: {sum(map(kept, rows))} promised verdicts; engines agree with {a.count(True)}, "
          f"disagree with {a.count(False)} ({a.count(False) - sum(1 for r in rows if agrees(r) is False and not argument(r))} argued), did not run {a.count(None)}")
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
