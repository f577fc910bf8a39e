#!/usr/bin/env python3
"""OpenVINO runs what it ran before: models that modelpatch rewrote, on its CPU device.

usage: openvino_runs.py MODELPATCH CORPUS      (needs openvino, and onnxruntime for the other opinion)

For files of the corpus (../shared/corpus/onnx) that OpenVINO runs as they are, each verb that applies writes a new file; that has to
run as well, and its outputs have to be those of ONNX Runtime on the same inputs as nearly as the file's own were. What OpenVINO
does not run before is told, and no fault of a verb. `bake` leaves neither Cos nor Sin for it to run. Stops after 90 seconds.
"""
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
import openvino

LIMIT = 90
FILES = {
    "llama-dy18": ("bake", "yarn", "base", "layers", "contrib"), "llama-legacy-dy18": ("unbake", "base"), "qwen2-ts17": ("bake", "yarn"), "gptj-dy18": ("base",),
    "gpt2-ts17": ("extend", "alibi"), "bert-ts14": ("extend", "alibi"), "opt-ts17": ("extend", "alibi"), "t5-enc-ts17": ("relative", "bake"),
    "whisper-enc-ts17": (), "runtime-sinusoid-ts17": ("bake",), "phi2-ts17": ("linear",), "mpt-ts17": ("extend",), "stablelm-ts17": ("bake", "llama3"), "distilbert-sin-ts17": ("extend",),
}
VERBS = {
    "bake": ["bake", "--len", "64"], "unbake": ["unbake"], "base": ["rope", "--base", "500000"], "yarn": ["rope", "--scaling", "yarn", "--factor", "4", "--original-length", "64"],
    "linear": ["rope", "--scaling", "linear", "--factor", "4"], "llama3": ["rope", "--scaling", "llama3", "--factor", "8", "--original-length", "64"],
    "layers": ["rope", "--base", "500000", "--layers", "0"], "extend": ["extend", "--len", "96"], "alibi": ["alibi", "--replace"], "relative": ["relative", "--max-distance", "256"],
    "contrib": ["rope", "--to-ops", "contrib"],
}


def feeds(session, length):
    out = {}
    for i in session.get_inputs():
        dims = [d if isinstance(d, int) else 1 if k == 0 else length for k, d in enumerate(i.shape)]
        kind = np.int64 if "int64" in i.type else np.int32 if "int32" in i.type else np.float32
        if "mask" in i.name or "float" in i.type:
            out[i.name] = np.ones(dims, kind)
        elif "token_type" in i.name:
            out[i.name] = np.zeros(dims, kind)
        elif "position" in i.name:
            out[i.name] = np.broadcast_to(np.arange(dims[-1], dtype=kind), dims).copy()
        else:
            out[i.name] = np.random.RandomState(3).randint(3, 30, dims).astype(kind)
    return out


def outputs(path, length):
    """The first output of ONNX Runtime, and of OpenVINO or why it does not run there."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    s = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    fed = feeds(s, length)
    want = s.run(None, fed)[0]
    try:
        core = openvino.Core()
        model = core.compile_model(path, "CPU", {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"})
        got = list(model({i.get_any_name(): fed[next(n for n in i.get_names() if n in fed)] for i in model.inputs}).values())[0]
    except Exception as e:
        return want, str(e).strip().splitlines()[-1][:120]
    return want, got


def off(want, got):
    return float(np.abs(want - got).max() / max(1e-30, np.abs(want).max()))


def main():
    tool, corpus = os.path.abspath(sys.argv[1]), sys.argv[2]
    begun, failed, ran = time.time(), 0, 0
    print("OpenVINO", openvino.__version__)
    with tempfile.TemporaryDirectory() as folder:
        for name, verbs in FILES.items():
            path = os.path.join(corpus, "onnx", name + ".onnx")
            if not os.path.exists(path):
                continue
            if time.time() - begun > LIMIT:
                print(f"{name}: left out, {LIMIT} seconds are over")
                continue
            want, got = outputs(path, 24)
            if isinstance(got, str):
                print(f"{name}: OpenVINO does not run the file itself: {got}")
                continue
            usual = off(want, got)
            for verb in verbs:
                target = os.path.join(folder, f"{name}-{verb}.onnx")
                done = subprocess.run([tool, *VERBS[verb], path, "-o", target], capture_output=True, text=True)
                if done.returncode:
                    print(f"{name} {verb}: FAIL: {done.stderr.strip()}")
                    failed += 1
                    continue
                want, got = outputs(target, 24)
                left = {n.op_type for n in onnx.load(target, load_external_data=False).graph.node} & {"Cos", "Sin"} if verb == "bake" else set()
                if isinstance(got, str) and verb == "contrib":
                    print(f"{name} {verb}: not run, an operator of com.microsoft: {got}")
                    continue
                ok = not isinstance(got, str) and off(want, got) <= max(1e-4, 4 * usual) and not left
                failed, ran = failed + (not ok), ran + 1
                print(f"{name} {verb}: {'ok' if ok else 'FAIL'}: {got if isinstance(got, str) else f'{off(want, got):.1e} off ONNX Runtime, {usual:.1e} before'}{' with ' + ', '.join(left) if left else ''}")
    print(f"all {ran} passed" if not failed and ran else f"{failed} of {ran} failed")
    return 1 if failed or not ran else 0


sys.exit(main())
