#!/usr/bin/env python3
"""Loads in llama.cpp, gguf-py and ONNX Runtime what `modelpatch --in-place` leaves: an inserted block, a reserve, a grown table.

usage: inplace_engines.py MODELPATCH CORPUS LLAMA_SERVER

Each case changes a copy of a corpus file in place, once or several times. Then gguf-py must read every key and tensor,
tensors that were not meant must be the bytes they were, llama-server must load the file, grant the stated context and
answer a prompt; and the undo patches, the latest first, must give back the file byte for byte. An ONNX file changed in place must compute in ONNX
Runtime, bit for bit, what the same change in a new file does; that needs no such file system. The first part needs a file system that
inserts blocks (ext4, XFS) under the temporary folder; elsewhere the cases are skipped by name. Exit 1 when one fails.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request

import gguf
import numpy as np
import onnxruntime

EXTEND = ["extend", "--len"]

# name, file, commands, tensors that may differ, granted context (None: not asked), loads in llama.cpp
CASES = [
    ("block before the file", "llama-plain", [EXTEND + ["8192"]], [], 8192),
    ("then out of its reserve", "llama-plain", [EXTEND + ["8192"], ["rope", "--base", "70000", "--scaling", "yarn", "--factor", "4", "--original-length", "2048", "--beta-fast", "32"]], [], 8192),
    ("keys put out of use", "qwen2-yarn4", [["rope", "--scaling", "none"]], [], None),
    ("there and anew", "qwen2-yarn4", [["rope", "--scaling", "none"], ["rope", "--scaling", "yarn", "--factor", "8", "--original-length", "64", "--len", "512"]], [], 512),
    ("alignment 64", "edit-align64", [EXTEND + ["4096"]], [], 4096),
    ("version 2", "edit-v2", [EXTEND + ["4096"]], [], 4096),
    ("many keys", "edit-manykeys", [EXTEND + ["4096"]], [], 4096),
    ("new tensor", "llama-plain", [["rope", "--scaling", "llama3", "--factor", "8", "--original-length", "32", "--len", "256"]], ["rope_freqs.weight"], 256),
    ("new tensor after a block", "llama-plain", [EXTEND + ["2048"], ["rope", "--scaling", "llama3", "--factor", "8", "--original-length", "32", "--len", "256"]], ["rope_freqs.weight"], 256),
    ("divisors become ones", "llama-llama3", [["rope", "--scaling", "none"]], ["rope_freqs.weight"], None),
    ("divisors become ones under YaRN", "llama-llama3", [["rope", "--scaling", "yarn", "--factor", "4", "--original-length", "64", "--len", "256"]], ["rope_freqs.weight"], 256),
    ("LongRoPE's lists become ones", "phi3-longrope", [["rope", "--scaling", "none"]], ["rope_factors_long.weight", "rope_factors_short.weight"], None),
    ("grown table", "gpt2-learned", [EXTEND + ["304"]], ["position_embd.weight"], 304),
    ("table grown twice", "gpt2-learned", [EXTEND + ["304"], EXTEND + ["560"]], ["position_embd.weight"], 560),
    ("grown table, starcoder", "starcoder-learned", [EXTEND + ["280"]], ["position_embd.weight"], 280),
    ("table near the start", "gpt2-f32", [EXTEND + ["88"]], ["position_embd.weight"], 88),
]

# file, command, tokens that are run
ONNX_CASES = [
    ("llama-dy18", ["rope", "--base", "20000"], 24),
    ("llama-dy18ext", ["rope", "--base", "20000"], 24),
    ("genai-llama-fp32-ext", EXTEND + ["200"], 200),
]


def run(*command):
    p = subprocess.run(command, capture_output=True, text=True)
    return p.returncode, (p.stdout + p.stderr).strip()


def serve(server, path, prompt):
    """Returns the context that llama-server grants, after it answered."""
    log = []
    process = subprocess.Popen([server, "-m", path, "--port", "0", "-c", "0", "-np", "1", "-t", "1", "--no-warmup", "--no-ui", "--fit", "off",
                                "-fa", "off", "-ctk", "f32", "-ctv", "f32"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    ready, url = threading.Event(), []

    def drain():
        for line in process.stderr:
            log.append(line)
            if "listening on " in line and not url:
                url.append(line.split("listening on ")[1].split()[0])
                ready.set()
        ready.set()

    threading.Thread(target=drain, daemon=True).start()
    try:
        if not ready.wait(60) or not url:
            raise RuntimeError("refused: " + " ".join(line.strip() for line in log if " E " in line)[-300:])
        for _ in range(600):
            try:
                urllib.request.urlopen(url[0] + "/health")
                break
            except urllib.error.HTTPError:
                pass
        body = {"prompt": prompt, "n_predict": 1, "temperature": 0, "cache_prompt": False, "logit_bias": [[prompt[0], 100]]}
        urllib.request.urlopen(url[0] + "/completion", json.dumps(body).encode()).read()
        return json.load(urllib.request.urlopen(url[0] + "/slots"))[0]["n_ctx"]
    finally:
        process.terminate()
        process.wait()


def tensors(path):
    return {t.name: (t.tensor_type, tuple(t.shape), bytes(t.data.tobytes())) for t in gguf.GGUFReader(path).tensors}


def keys(path):
    """Decodes every key, so that a reserve no reader could print is found."""
    return {name: f.contents() for name, f in gguf.GGUFReader(path).fields.items()}


def check(modelpatch, source, commands, may_differ, context, server, folder):
    path = os.path.join(folder, "model.gguf")
    shutil.copyfile(source, path)
    for command in commands:
        code, said = run(modelpatch, *command, "--in-place", path)
        if code == 4 and "file system cannot insert" in said:
            return "skipped: " + said.splitlines()[-2]
        if code != 0:
            return f"FAILED: exit {code}: {said}"
    before, after = tensors(source), tensors(path)
    for name in set(before) | set(after):
        if name not in may_differ and before.get(name) != after.get(name):
            return f"FAILED: tensor {name} differs"
    keys(path)
    granted = serve(server, path, [5, 6, 7, 8, 9, 10, 11, 12])
    if context is not None and granted != context:
        return f"FAILED: a context of {granted}, not {context}"
    for n in range(len(commands), 0, -1):
        undo = path + (".undo.mpatch" if n == 1 else f".undo.{n}.mpatch")
        code, said = run(modelpatch, "revert", undo, path, "--in-place")
        if code != 0:
            return f"FAILED: revert: exit {code}: {said}"
    if open(path, "rb").read() != open(source, "rb").read():
        return "FAILED: revert does not give the old bytes"
    return "ok"


def reserved(modelpatch, source, server, folder):
    """A reserve in a new file serves where blocks cannot be inserted; here, that the edit takes from it."""
    new = os.path.join(folder, "reserved.gguf")
    code, said = run(modelpatch, "rope", "--base", "20000", "--reserve", "512", source, "-o", new)
    size = os.path.getsize(new) if code == 0 else 0
    code2, said2 = run(modelpatch, *EXTEND, "4096", "--in-place", new)
    if code or code2:
        return f"FAILED: {said} {said2}"
    if os.path.getsize(new) != size:
        return "FAILED: the file grew"
    keys(new)
    granted = serve(server, new, [5, 6, 7, 8])
    return "ok" if granted == 4096 else f"FAILED: a context of {granted}"


def compute(path, tokens):
    """Runs a decoder without a past on fixed ids."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {}
    for want in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 if "batch" in d else 0 if "past" in d else 16 if "dim" in d else tokens for d in want.shape]
        kind = np.int64 if want.type == "tensor(int64)" else np.float32
        feeds[want.name] = np.arange(np.prod(shape)).reshape(shape).astype(kind) % 7 + 3 if "ids" in want.name else np.ones(shape, kind)
    return session.run(None, feeds)


def check_onnx(modelpatch, corpus, file, command, tokens, folder):
    paths = {}
    for way in ("place", "new"):
        os.mkdir(os.path.join(folder, way))
        paths[way] = os.path.join(folder, way, file + ".onnx")
    names = [n for n in os.listdir(corpus) if n.startswith(file + ".onnx")]
    for name in names:
        shutil.copyfile(os.path.join(corpus, name), os.path.join(folder, "place", name))
    for arguments in (["--in-place", paths["place"]], [os.path.join(corpus, file + ".onnx"), "-o", paths["new"]]):
        code, said = run(modelpatch, *command, *arguments)
        if code != 0:
            return f"FAILED: exit {code}: {said}"
    old, place, new = (compute(p, n) for p, n in ((os.path.join(corpus, file + ".onnx"), 8), (paths["place"], tokens), (paths["new"], tokens)))
    if not all(np.array_equal(a, b) for a, b in zip(place, new)):
        return "FAILED: in place computes other numbers than a new file"
    if command[0] == "extend" and not all(np.array_equal(a, b) for a, b in zip(old, compute(paths["place"], 8))):
        return "FAILED: short inputs give other numbers"
    code, said = run(modelpatch, "revert", paths["place"] + ".undo.mpatch", paths["place"], "--in-place")
    if code != 0:
        return f"FAILED: revert: exit {code}: {said}"
    for name in names:
        old, back = (open(os.path.join(where, name), "rb").read() for where in (corpus, os.path.join(folder, "place")))
        if back != old and not (name.endswith(".data") and back.startswith(old)):  # what was added to a data file stays, unused
            return f"FAILED: revert does not give the old bytes of {name}"
    if not all(np.array_equal(a, b) for a, b in zip(compute(os.path.join(corpus, file + ".onnx"), 8), compute(paths["place"], 8))):
        return "FAILED: after revert it computes other numbers"
    return "ok"


def main():
    modelpatch, corpus, server = sys.argv[1:4]
    failed = 0
    onnx_corpus, corpus = os.path.join(corpus, "onnx"), os.path.join(corpus, "gguf")
    for name, file, commands, may_differ, context in CASES:
        with tempfile.TemporaryDirectory() as folder:
            outcome = "FAILED"
            try:
                outcome = check(modelpatch, os.path.join(corpus, file + ".gguf"), commands, may_differ, context, server, folder)
            except Exception as e:
                outcome = f"FAILED: {type(e).__name__}: {e}"
        print(f"{name} ({file}): {outcome}")
        failed += outcome.startswith("FAILED")
    with tempfile.TemporaryDirectory() as folder:
        outcome = reserved(modelpatch, os.path.join(corpus, "llama-plain.gguf"), server, folder)
        print(f"reserve in a new file (llama-plain): {outcome}")
        failed += outcome.startswith("FAILED")
    for file, command, tokens in ONNX_CASES:
        with tempfile.TemporaryDirectory() as folder:
            outcome = check_onnx(modelpatch, onnx_corpus, file, command, tokens, folder)
        print(f"in ONNX Runtime ({file}): {outcome}")
        failed += outcome.startswith("FAILED")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
