#!/usr/bin/env python3
"""Compares `modelpatch alibi` with a float64 reference written apart from it.

usage: alibi_reference.py MODELPATCH CORPUS_DIR

The reference takes the ORIGINAL graph, makes every floating-point number in it a double, and evaluates it by onnx's
own reference evaluator with one operator replaced: Softmax first adds -m_h * |query - key|, with slopes computed here
from the paper's formula (Press et al. 2022, section 3). ONNX Runtime runs the file that modelpatch wrote, in float32.
The outputs must agree within 1e-5 of their scale. With --replace the reference also empties the old encoding's
constants, which this script names itself. Prints a line a case; exit 1 when one disagrees.
"""
import math, os, subprocess, sys, tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper, TensorProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

TOLERANCE = 1e-5  # of the largest output: float32 against float64 through a few layers

# file, further options, constants (by a part of their name) that --replace must empty
CASES = [
    ("onnx/gpt2-ts17.onnx", [], []),
    ("onnx/gpt2-dy18.onnx", [], []),
    ("onnx/bert-ts14.onnx", [], []),
    ("onnx/bert-dy18.onnx", [], []),
    ("onnx/llama-ts14.onnx", [], []),
    ("onnx/llama-dy18.onnx", [], []),
    ("onnx/gpt2-ts17.onnx", ["--replace"], ["wpe"]),
    ("onnx/bert-ts14.onnx", ["--replace"], ["position_embeddings"]),
    ("onnx/llama-dy18.onnx", ["--replace"], ["inv_freq"]),
]


def slopes(heads):
    near = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * k / near) for k in range(1, near + 1)]
    return np.array(first + [2 ** (-4 * (2 * j - 1) / near) for j in range(1, heads - near + 1)])


class Softmax(OpRun):
    """Softmax of scores (batch, heads, query, key) with ALiBi's bias added first."""

    def _run(self, x, axis=None):
        axis = -1 if axis is None else axis
        queries, keys = x.shape[-2:]
        distance = np.abs(np.arange(keys)[None, :] - np.arange(keys - queries, keys)[:, None])
        x = x - slopes(x.shape[-3])[:, None, None] * distance
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return (e / e.sum(axis=axis, keepdims=True),)


def double(tensor):
    if tensor.data_type == TensorProto.FLOAT:
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), name))


def to_double(model, empty):
    """Makes a model compute in float64; constants whose name holds a word of `empty` become zeros."""
    emptied = 0
    for tensor in model.graph.initializer:
        if any(word in tensor.name for word in empty):
            tensor.CopyFrom(numpy_helper.from_array(np.zeros_like(numpy_helper.to_array(tensor)), tensor.name))
            emptied += 1
        double(tensor)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                double(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del model.graph.value_info[:]
    if empty and not emptied:
        raise SystemExit(f"no constant is named after {empty}")
    return model


def feeds(session, length):
    random = np.random.RandomState(3)
    out = {}
    for want in session.get_inputs():
        shape = [2, length]
        if "mask" in want.name:
            out[want.name] = np.ones(shape, np.int64)
        elif "type" in want.name:
            out[want.name] = np.zeros(shape, np.int64)
        else:
            out[want.name] = random.randint(2, 40, size=shape).astype(np.int64)
    return out


def main():
    tool, corpus = os.path.abspath(sys.argv[1]), sys.argv[2]
    failed = 0
    for name, options, empty in CASES:
        source = os.path.join(corpus, name)
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, "biased.onnx")
            run = subprocess.run([tool, "alibi", *options, source, "-o", target], capture_output=True, text=True)
            if run.returncode:
                print(f"{name} {' '.join(options)}: FAIL: exit {run.returncode}: {run.stderr.strip()}")
                failed += 1
                continue
            session = onnxruntime.InferenceSession(target, providers=["CPUExecutionProvider"])
            inputs = feeds(session, 11)
            got = session.run(None, inputs)
        reference = ReferenceEvaluator(to_double(onnx.load(source), empty), new_ops=[Softmax])
        want = reference.run(None, inputs)
        plain = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"]).run(None, inputs)
        worst = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(got, want))
        moved = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(plain, want))
        ok = worst <= TOLERANCE < moved
        failed += not ok
        print(f"{name} {' '.join(options)}: {'ok' if ok else 'FAIL'}: differs by {worst:.1e} of its scale (the original by {moved:.1e})")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
