#!/usr/bin/env python3
"""ALiBi with 1, 6, 12, 16 and 20 heads in every form of attention, against NumPy in float64.

usage: alibi_heads.py MODELPATCH

One layer of attention is built in each form that has a place for a bias: plain operators (whole, and with a cache of past
keys), ai.onnx Attention 23 (whole, and with past), com.microsoft Attention, MultiHeadAttention and GroupQueryAttention (with
past). `modelpatch alibi` adds the bias; ONNX Runtime runs the file whole, and step by step where it has a cache. The
reference computes the same attention with -m_h * |query - key| on the scores (Press et al. 2022, section 3). Prints a table for
docs/measured/rewriting.md; exit 1 when a case disagrees.
"""
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T, helper as h, numpy_helper as nh

HEADS = [1, 6, 12, 16, 20]
HEAD_DIM, LENGTH, WORDS = 8, 9, 40
TOLERANCE = 1e-5  # of the largest output: float32 against float64


def slopes(heads):
    near = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * k / near) for k in range(1, near + 1)]
    return np.array(first + [2 ** (-4 * (2 * j - 1) / near) for j in range(1, heads - near + 1)])


def weights(heads):
    r = np.random.default_rng(heads)
    width = heads * HEAD_DIM
    w = {n: (r.standard_normal((width, width)) / math.sqrt(width)).astype("f") for n in ("wq", "wk", "wv", "wo")}
    w["wte"] = r.standard_normal((WORDS, width)).astype("f")
    return w


def reference(w, heads, ids, causal):
    x = w["wte"][ids].astype(np.float64)
    q, k, v = (np.moveaxis((x @ w[n].astype(np.float64)).reshape(len(ids), heads, HEAD_DIM), 1, 0) for n in ("wq", "wk", "wv"))
    at = np.arange(len(ids))
    scores = q @ np.swapaxes(k, 1, 2) / math.sqrt(HEAD_DIM) - slopes(heads)[:, None, None] * np.abs(at[:, None] - at[None, :])
    if causal:
        scores = np.where(at[None, :] > at[:, None], -np.inf, scores)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return np.moveaxis(e / e.sum(-1, keepdims=True) @ v, 0, 1).reshape(len(ids), -1) @ w["wo"].astype(np.float64)


def model(form, w, heads, path):
    """A graph of one form; returns whether it is causal, and the names of its past and present."""
    width = heads * HEAD_DIM
    nodes, init = [h.make_node("Gather", ["wte", "ids"], ["x"])], {n: w[n] for n in ("wte", "wo")}
    inputs, outputs = [h.make_tensor_value_info("ids", T.INT64, [1, "seq"])], []
    causal = None
    node = lambda op, ins, outs, **a: nodes.append(h.make_node(op, ins, outs, **a))
    constant = lambda name, value, dtype: init.__setitem__(name, np.array(value, dtype))

    def cache(name):
        inputs.append(h.make_tensor_value_info("past_" + name, T.FLOAT, [1, heads, "past", HEAD_DIM]))
        outputs.append(h.make_tensor_value_info("present_" + name, T.FLOAT, [1, heads, None, HEAD_DIM]))

    def project(*names):
        for n in names:
            init["w" + n] = w["w" + n]
            node("MatMul", ["x", "w" + n], [n])

    def apart(*names):
        constant("apart", [0, 0, heads, HEAD_DIM], np.int64)
        for n in names:
            node("Reshape", [n, "apart"], [n + "4"])
            node("Transpose", [n + "4"], [n + "h"], perm=[0, 2, 1, 3])

    with_past = form.endswith("past")
    if form.startswith("plain"):
        project("q", "k", "v")
        apart("q", "k", "v")
        k, v = "kh", "vh"
        if with_past:
            cache("key")
            cache("value")
            node("Concat", ["past_key", "kh"], ["present_key"], axis=2)
            node("Concat", ["past_value", "vh"], ["present_value"], axis=2)
            k, v = "present_key", "present_value"
        constant("scale", 1 / math.sqrt(HEAD_DIM), np.float32)
        node("Transpose", [k], ["kt"], perm=[0, 1, 3, 2])
        node("MatMul", ["qh", "kt"], ["product"])
        node("Mul", ["product", "scale"], ["scores"])
        causal = False
        node("Softmax", ["scores"], ["p"], axis=-1)
        node("MatMul", ["p", v], ["oh"])
        node("Transpose", ["oh"], ["o4"], perm=[0, 2, 1, 3])
        constant("together", [0, 0, width], np.int64)
        node("Reshape", ["o4", "together"], ["o"])
    elif form.startswith("Attention 23"):
        project("q", "k", "v")
        ins = ["q", "k", "v"]
        outs = ["o"]
        causal = not with_past
        if with_past:
            cache("key")
            cache("value")
            ins += ["", "past_key", "past_value"]
            outs += ["present_key", "present_value"]
        node("Attention", ins, outs, q_num_heads=heads, kv_num_heads=heads, is_causal=int(causal))
    elif form == "com.microsoft Attention":
        init["wqkv"] = np.concatenate([w["wq"], w["wk"], w["wv"]], 1)
        constant("bias", np.zeros(3 * width), np.float32)
        causal = True
        node("Attention", ["x", "wqkv", "bias"], ["o"], domain="com.microsoft", num_heads=heads, unidirectional=1)
    elif form == "MultiHeadAttention":
        project("q", "k", "v")
        causal = False
        node("MultiHeadAttention", ["q", "k", "v"], ["o"], domain="com.microsoft", num_heads=heads)
    elif form == "GroupQueryAttention, past":
        project("q", "k", "v")
        cache("key")
        cache("value")
        causal = True
        inputs += [h.make_tensor_value_info("seqlens_k", T.INT32, [1]), h.make_tensor_value_info("total", T.INT32, [])]
        node("GroupQueryAttention", ["q", "k", "v", "past_key", "past_value", "seqlens_k", "total"], ["o", "present_key", "present_value"],
             domain="com.microsoft", num_heads=heads, kv_num_heads=heads)
    node("MatMul", ["o", "wo"], ["y"])
    outputs.insert(0, h.make_tensor_value_info("y", T.FLOAT, [1, "seq", width]))
    g = h.make_graph(nodes, form, inputs, outputs, [nh.from_array(v, n) for n, v in init.items()])
    m = h.make_model(g, opset_imports=[h.make_opsetid("", 23), h.make_opsetid("com.microsoft", 1)], ir_version=10)
    onnx.save(m, path)
    return causal, with_past or "past" in form


def run(session, heads, ids, past):
    feed = {"ids": np.array([ids])}
    names = {i.name for i in session.get_inputs()}
    if "past_key" in names:
        feed["past_key"], feed["past_value"] = past or (np.zeros((1, heads, 0, HEAD_DIM), "f"),) * 2
        total = feed["past_key"].shape[2] + len(ids)
        if "total" in names:
            feed["seqlens_k"], feed["total"] = np.array([total - 1], "i"), np.array(total, "i")
    out = session.run(None, feed)
    return out[0][0], tuple(out[1:])


def main():
    tool = os.path.abspath(sys.argv[1])
    forms = ["plain", "plain, past", "Attention 23", "Attention 23, past", "com.microsoft Attention", "MultiHeadAttention", "GroupQueryAttention, past"]
    failed = False
    print("| form | " + " | ".join(f"{n} heads" for n in HEADS) + " | step by step |\n|---" * 1 + "|---" * (len(HEADS) + 1) + "|")
    with tempfile.TemporaryDirectory() as work:
        for form in forms:
            cells, steps = [], "no cache"
            for heads in HEADS:
                w = weights(heads)
                before, after = os.path.join(work, "m.onnx"), os.path.join(work, "a.onnx")
                causal, cached = model(form, w, heads, before)
                r = subprocess.run([tool, "alibi", before, "-o", after, "--force", "--verify"], capture_output=True, text=True)
                if r.returncode != 0:
                    cells.append("refused" if r.returncode == 4 else f"exit {r.returncode}")
                    print(form, heads, r.stderr.strip(), file=sys.stderr)
                    failed = True
                    continue
                onnx.checker.check_model(after)
                ids = np.random.default_rng(1).integers(0, WORDS, LENGTH)
                session = onnxruntime.InferenceSession(after, providers=["CPUExecutionProvider"])
                want = reference(w, heads, ids, causal)
                off = lambda got, want: float(np.abs(got - want).max() / np.abs(want).max())
                worst = off(run(session, heads, ids, None)[0], want)
                cells.append(f"{worst:.0e}")
                failed |= not worst <= TOLERANCE
                if cached:
                    # Without a causal mask a step sees what is behind it alone: a causal reference.
                    rows, past = [], None
                    for i in range(LENGTH):
                        y, past = run(session, heads, ids[i:i + 1], past)
                        rows.append(y[0])
                    step = off(np.array(rows), reference(w, heads, ids, True))
                    failed |= not step <= TOLERANCE
                    steps = max(float(steps), step) if steps != "no cache" else step
            print(f"| {form} | " + " | ".join(cells) + f" | {steps if isinstance(steps, str) else format(steps, '.0e')} |")
    sys.exit(failed)


main()
