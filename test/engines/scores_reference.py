#!/usr/bin/env python3
"""Compares `modelpatch alibi` and `modelpatch window` with a float64 reference written apart from them.

usage: scores_reference.py MODELPATCH CORPUS_DIR

The reference takes the ORIGINAL graph, makes every floating-point number in it a double, and evaluates it by onnx's
own reference evaluator with one operator replaced: Softmax first adds -m_h * |query - key|, with slopes computed here
from the paper's formula (Press et al. 2022, section 3), or hides the keys outside of a window but for the first ones
(Xiao et al. 2023, section 3.2). ONNX Runtime runs the file that modelpatch wrote, in float32. The outputs must agree
within 1e-5 of their scale. With --replace the reference also empties the old encoding's constants, which this script
names itself. Of GroupQueryAttention, which onnx does not evaluate, a token outside of all windows must have no
effect. Prints a line a case; exit 1 when one disagrees.
"""
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper, TensorProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

TOLERANCE = 1e-5  # of the largest output: float32 against float64 through a few layers

# file, verb and options, constants (by a part of their name) that --replace must empty
CASES = [
    ("onnx/gpt2-ts17.onnx", ["alibi"], []),
    ("onnx/gpt2-dy18.onnx", ["alibi"], []),
    ("onnx/bert-ts14.onnx", ["alibi"], []),
    ("onnx/bert-dy18.onnx", ["alibi"], []),
    ("onnx/llama-ts14.onnx", ["alibi"], []),
    ("onnx/llama-dy18.onnx", ["alibi"], []),
    ("onnx/gpt2-ts17.onnx", ["alibi", "--replace"], ["wpe"]),
    ("onnx/bert-ts14.onnx", ["alibi", "--replace"], ["position_embeddings"]),
    ("onnx/llama-dy18.onnx", ["alibi", "--replace"], ["inv_freq"]),
    ("onnx/gpt2-ts17.onnx", ["window", "--len", "4"], []),
    ("onnx/bert-dy18.onnx", ["window", "--len", "3"], []),
    ("onnx/bert-ts14.onnx", ["window", "--len", "3", "--sinks", "1"], []),
    ("onnx/llama-dy18.onnx", ["window", "--len", "1"], []),
    ("onnx/llama-ts14.onnx", ["window", "--len", "4", "--sinks", "2"], []),
    ("onnx/bloom-dy18.onnx", ["window", "--len", "4", "--sinks", "2"], []),
    ("onnx/optimum-llama-past.onnx", ["window", "--len", "4", "--sinks", "2"], []),
    ("onnx/mpt-dy18.onnx", ["window", "--len", "4"], []),
    ("onnx/whisper-enc-ts17.onnx", ["window", "--len", "4"], []),
]
# GroupQueryAttention, with the window and the sinks
FUSED = [("onnx/genai-llama-fp32-ext.onnx", 3, 0), ("onnx/genai-llama-fp32-ext.onnx", 3, 1)]


def slopes(heads):
    near = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * k / near) for k in range(1, near + 1)]
    return np.array(first + [2 ** (-4 * (2 * j - 1) / near) for j in range(1, heads - near + 1)])


class Softmax(OpRun):
    """Softmax of scores (batch, heads, query, key) with ALiBi's bias added first."""

    def added(self, x, distance, key):
        return -slopes(x.shape[-3])[:, None, None] * np.abs(distance)

    def _run(self, x, axis=None):
        axis = -1 if axis is None else axis
        queries, keys = x.shape[-2:]
        key = np.arange(keys)[None, :]
        x = x + self.added(x, np.arange(keys - queries, keys)[:, None] - key, key)
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return (e / e.sum(axis=axis, keepdims=True),)


def windowed(length, sinks):
    """Softmax of scores whose keys are hidden that are `length` positions from a query or more, but for the first."""
    shown = lambda distance, key: (np.abs(distance) < length) | (key < sinks)
    added = lambda self, x, distance, key: np.where(shown(distance, key), 0, -np.inf)
    return type("Softmax", (Softmax,), {"added": added})


def operator(command):
    if command[0] == "alibi":
        return Softmax
    numbers = dict(zip(command[1::2], command[2::2]))
    return windowed(int(numbers["--len"]), int(numbers.get("--sinks", 0)))


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
        elif "position" in want.name:
            out[want.name] = np.tile(np.arange(length), (2, 1))
        elif "past" in want.name:
            out[want.name] = np.zeros([2, want.shape[1], 0, want.shape[3] if isinstance(want.shape[3], int) else 16], np.float32)
        elif want.type == "tensor(float)":
            out[want.name] = random.randn(*(d if isinstance(d, int) else 2 for d in want.shape)).astype(np.float32)
        else:
            out[want.name] = random.randint(2, 40, size=shape).astype(np.int64)
    return out


def written(tool, command, source, folder):
    """Runs a verb: the path of what it wrote, or why it wrote nothing."""
    target = os.path.join(folder, "changed.onnx")
    run = subprocess.run([tool, *command, source, "-o", target], capture_output=True, text=True)
    return target, run.returncode and f"exit {run.returncode}: {run.stderr.strip()}"


def session(path):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def compared(tool, source, command, empty):
    with tempfile.TemporaryDirectory() as folder:
        target, why = written(tool, command, source, folder)
        if why:
            return False, why
        changed = session(target)
        inputs = feeds(changed, 11)
        got = changed.run(None, inputs)
    reference = ReferenceEvaluator(to_double(onnx.load(source), empty), new_ops=[operator(command)])
    want = reference.run(None, {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in inputs.items()})
    plain = session(source).run(None, inputs)
    worst = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(got, want))
    moved = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(plain, want))
    return worst <= TOLERANCE < moved, f"differs by {worst:.1e} of its scale (the original by {moved:.1e})"


def fused(tool, source, length, sinks):
    """A token has an effect on those that see it through the layers, and on no other."""
    with tempfile.TemporaryDirectory() as folder:
        target, why = written(tool, ["window", "--len", str(length), "--sinks", str(sinks)], source, folder)
        if why:
            return False, why
        layers = sum(n.op_type == "GroupQueryAttention" for n in onnx.load(source, load_external_data=False).graph.node)
        changed, plain = session(target), session(source)
        inputs = feeds(changed, 2 * layers * length)
        other = {k: v.copy() for k, v in inputs.items()}
        other["input_ids"][:, sinks] += 1
        far = sinks + layers * (length - 1)  # the last position that the token reaches
        effect = lambda s: np.abs(s.run(["logits"], inputs)[0] - s.run(["logits"], other)[0]).max(axis=(0, 2))
        moved, before = effect(changed), effect(plain)
        same = np.abs(changed.run(["logits"], inputs)[0] - plain.run(["logits"], inputs)[0])[:, :length].max()
    ok = moved[far + 1:].max() == 0 < min(moved[far], before[far + 1:].min()) and same <= TOLERANCE
    return ok, f"a token acts {far - sinks} positions far, and {len(moved) - 1 - sinks} without the window"


def main():
    tool, corpus = os.path.abspath(sys.argv[1]), sys.argv[2]
    cases = [(name, " ".join(command), lambda n=name, c=command, e=empty: compared(tool, os.path.join(corpus, n), c, e)) for name, command, empty in CASES]
    cases += [(name, f"window --len {length} --sinks {sinks}", lambda n=name, w=length, k=sinks: fused(tool, os.path.join(corpus, n), w, k)) for name, length, sinks in FUSED]
    failed = 0
    for name, command, run in cases:
        ok, says = run()
        failed += not ok
        print(f"{name} {command}: {'ok' if ok else 'FAIL'}: {says}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
