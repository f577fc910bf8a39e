#!/usr/bin/env python3
"""Does what people asked for in public threads, one script a job, and holds the result in its engine against transformers.

usage: run.py MODELPATCH [NAME …] [--table docs/measured/jobs.md]
       (needs torch, transformers, onnxruntime, onnxruntime-genai; LLAMA_SERVER; llama.cpp's sources beside GGUF_VOCAB_DIR)

A script's first line is the thread's repository and number. Its function `job(lab)` makes a small model with the published
position configuration and random weights, exports or converts it by the tool that the thread used, changes the file, and compares.
A job is solved when the engine gives what transformers gives with the edited configuration; a refusal is told in its own words.
"""
import argparse
import contextlib
import importlib
import io
import os
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import lab as L

NO_JOBS = ("run", "lab", "convert")


def names():
    return sorted(f[:-3] for f in os.listdir(HERE) if f.endswith(".py") and f[:-3] not in NO_JOBS)


def thread(name):
    with open(os.path.join(HERE, name + ".py")) as f:
        return f.readline().strip("# \n")


def attempt(name, tool):
    """What came of a job: a word, the commands, and what was measured or said."""
    with tempfile.TemporaryDirectory(prefix="job-") as folder:
        lab, printed = L.Lab(tool, folder), io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                importlib.import_module(name).job(lab)
            return "solved", lab, ""
        except L.Refused as e:
            return "refused", lab, str(e).replace(folder + os.sep, "")
        except L.Skipped as e:
            return "skipped", lab, str(e)
        except L.Failed as e:
            return "failed", lab, str(e).replace(folder + os.sep, "")
        except Exception:
            return "failed", lab, "\n".join(traceback.format_exc().splitlines()[-12:])[-3000:]


def told(row):
    what, now, before = row
    if now is None:
        return what
    return f"{what}: {now:.1e}" + ("" if before is None else f" (before {before:.1e})")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("tool")
    arguments.add_argument("only", nargs="*")
    arguments.add_argument("--table")
    o = arguments.parse_args()
    count, lines = {"solved": 0, "refused": 0, "failed": 0, "skipped": 0}, []
    for name in o.only or names():
        began = time.monotonic()
        end, lab, words = attempt(name, os.path.abspath(o.tool))
        count[end] += 1
        measured = "; ".join(told(r) for r in lab.rows)
        print(f"{name}: {end} ({thread(name)}, {time.monotonic() - began:.0f} s): {measured}{'; ' if measured and words else ''}{words}", flush=True)
        purpose = (importlib.import_module(name).__doc__ or "").strip().replace("\n", " ")
        lines.append(f"| {thread(name)} | {purpose} | {'<br>'.join('`' + c + '`' for c in lab.commands)} | {end}: {measured or words} |")
    print(f"{count['solved']} solved, {count['refused']} refused, {count['failed']} failed, {count['skipped']} skipped")
    if o.table:
        write(o.table, lines, count)
    return 1 if count["failed"] else 0


def write(path, lines, count):
    import onnxruntime
    import torch
    import transformers

    with open(path, "w") as f:
        f.write(f"""# Jobs from public threads

What people asked for, done with a small model of random weights at the published position configuration, and run in the engine of the
thread (llama-server, ONNX Runtime {onnxruntime.__version__}) against transformers {transformers.__version__} with the edited configuration (PyTorch {torch.__version__}). Numbers
are the largest difference: of log-probabilities for GGUF (at most {L.LLAMA_TOLERANCE:g}, and {L.GELU_TOLERANCE:g} with GELU, which ggml takes from 16-bit numbers), over the largest output for ONNX (at most {L.ONNX_TOLERANCE:g}); "before" is the
file as it was against the same reference. Made by `test/jobs/run.py --table`: {count['solved']} of {len(lines)} solved, {count['refused']} refused.

| thread | job | commands | end |
|---|---|---|---|
""")
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
