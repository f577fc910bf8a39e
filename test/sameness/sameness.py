#!/usr/bin/env python3
"""Compares what two builds of modelpatch do, byte by byte: for moves of code, which must change nothing.

    CGO_ENABLED=0 go build -o /tmp/before ./cmd/modelpatch      (of the commit before)
    test/sameness/sameness.py /tmp/before /tmp/after ../shared/corpus testdata

For every model file below the folders both run inspect, verify, extend (to 2 and 2.5 times its length, and to a grid
of two more rows and columns where it has one), rope, alibi, bake, unbake and relative; standard output, standard error, exit code and the
SHA-256 of every file that was written are compared. Exits 1 where anything differs, and names it.

--keep FILE remembers what the first binary did, by its SHA-256, so that the next run asks only the second one.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TIMEOUT = 120  # seconds of one command: reported, not compared


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def models(folders):
    out = set()
    for folder in map(pathlib.Path, folders):
        found = [folder] if folder.is_file() else folder.rglob("*")
        out.update(str(p.resolve()) for p in found if p.suffix in (".onnx", ".gguf") and p.is_file())
    return sorted(out)


def length_of(report):
    """The length that the file states or holds; 16 where it does neither, so that extend has to say no."""
    length = report.get("length") or {}
    return length.get("stated") or length.get("capacity") or 16


def commands(model, report):
    """The commands of a model by name, each with the name of its output (None: none)."""
    n = length_of(report)
    out = "new" + pathlib.Path(model).suffix
    yield "inspect", ["inspect", "--json", model], None
    yield "verify", ["verify", model, "--json"], None
    yield "extend 2x", ["extend", "--len", str(2 * n), model, "-o", out], out
    yield "extend 2.5x", ["extend", "--len", str(n + 3 * n // 2), model, "-o", out], out
    for e in report.get("encodings") or []:
        grid = (e.get("parameters") or {}).get("grid")
        if grid and len(grid) == 2:
            yield "extend grid", ["extend", "--grid", f"{grid[0] + 2}x{grid[1] + 2}", model, "-o", out], out
            break
    yield "rope", ["rope", "--scaling", "linear", "--factor", "2", model, "-o", out], out
    yield "alibi", ["alibi", model, "-o", out], out
    yield "bake", ["bake", "--len", "64", model, "-o", out], out
    yield "unbake", ["unbake", model, "-o", out], out
    yield "window", ["window", "--len", "8", model, "-o", out], out
    yield "relative", ["relative", "--max-distance", "256", model, "-o", out], out
    yield "to-ops", ["rope", "--to-ops", "standard", model, "-o", out], out


def run(binary, arguments):
    """What a command did, in a folder of its own whose name nobody can print twice the same."""
    with tempfile.TemporaryDirectory(prefix="sameness-") as folder:
        try:
            p = subprocess.run([binary, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return {"timeout": True}
        said = (p.stdout + b"\0" + p.stderr).replace(folder.encode(), b"FOLDER")
        files = {str(f.relative_to(folder)): sha256(f) for f in sorted(pathlib.Path(folder).rglob("*")) if f.is_file()}
        return {"code": p.returncode, "said": hashlib.sha256(said).hexdigest(), "files": files, "text": said.decode(errors="replace")[:2000]}


def inspected(binary, model):
    p = subprocess.run([binary, "inspect", "--json", model], stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)
    try:
        return json.loads(p.stdout)
    except ValueError:
        return {}


def compare(before, after, model, kept):
    """The commands of a model that were compared, those that differ, and what the first binary did."""
    did = kept.get(model)
    if did is None:
        report = inspected(before, model)
        did = {name: {"arguments": a, "result": run(before, a)} for name, a, _ in commands(model, report)}
    different = []
    for name, what in did.items():
        old, new = what["result"], run(after, what["arguments"])
        if old != new:
            different.append((name, old, new))
    return len(did), different, did


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("before")
    p.add_argument("after")
    p.add_argument("folders", nargs="+")
    p.add_argument("--keep", help="a file for what the first binary did")
    p.add_argument("--jobs", type=int, default=2)
    a = p.parse_args()
    before, after = os.path.abspath(a.before), os.path.abspath(a.after)

    kept, signature = {}, sha256(before)
    if a.keep and os.path.exists(a.keep):
        with open(a.keep) as f:
            stored = json.load(f)
        if stored["binary"] == signature:
            kept = stored["models"]

    files = models(a.folders)
    if not files:
        sys.exit("no model files below " + ", ".join(a.folders))
    total, failed = 0, 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for model, (n, different, did) in zip(files, pool.map(lambda m: compare(before, after, m, kept), files)):
            total, failed, kept[model] = total + n, failed + len(different), did
            for name, old, new in different:
                print(f"DIFFERS {name}: {model}")
                for side, result in (("before", old), ("after", new)):
                    print(f"  {side}: exit {result.get('code')}, files {result.get('files')}, timeout {result.get('timeout', False)}")
                    print("    " + result.get("text", "").strip().replace("\n", "\n    ")[:600])
    if a.keep:
        with open(a.keep, "w") as f:
            json.dump({"binary": signature, "models": kept}, f)
    wrote = sum(1 for did in kept.values() for w in did.values() if w["result"].get("files"))
    print(f"{total - failed} of {total} commands agree on {len(files)} models ({wrote} wrote files)")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
