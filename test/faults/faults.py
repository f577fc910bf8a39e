#!/usr/bin/env python3
"""Plants faults into models and asks verify whether it finds them, and where.

    test/faults/faults.py MODELPATCH ../shared/corpus testdata [--only WORD] [--files N] [--verbose]

Each fault is planted twice: into a copy of a model, and into what an honest extend, rope or alibi made of it, there
with and without the change's plan. verify must call every one different, and name the place. Before any fault is
planted the honest change must not be called different. Needs onnx, gguf and numpy. Exits 1 where a fault is missed.
"""

import argparse
import collections
import copy
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import numpy
import onnx
from gguf import GGUFReader, GGUFValueType
from onnx import TensorProto, numpy_helper

FAULTS = {"onnx": [], "gguf": []}

# What leaves one formula, or another stated length, behind: without a plan nobody can say that it was not meant.
EXPLAIN_THEMSELVES = {"the base × 1.0001", "the base × 10", "the base of layers that slide", "the scaling factor", "the attention factor", "the original length",
                      "the size of an input", "the stated length + 1", "the stated length ÷ 2", "the largest bias", "frequencies × 0.9"}
# So do all numbers of a sinusoid, and new rows of a trained table.
EXPLAIN_TABLES = {"all rows × 1.5", "halves of the columns exchanged", "negated", "half of the rows zeroed", "the last row zeroed", "the last row of a table", "the second half of the rows"}


def fault(kind, format):
    """Registers a fault: a function of a model that changes it and returns the place, or None where it cannot."""
    def register(f):
        FAULTS[format].append((kind, f))
        return f
    return register


class Graph:
    """An ONNX model that is to be damaged, and what inspect says of it."""

    def __init__(self, path, report, rng):
        self.model = onnx.load(path)
        self.graph, self.report, self.rng = self.model.graph, report, rng
        self.grew = None  # the change that the file came by, where one made it longer
        self.initializers = {t.name: t for t in self.graph.initializer}
        self.of_positions = {w["tensor"] for e in report["encodings"] for w in e["where"] if w.get("tensor")}

    def set(self, t, array):
        t.CopyFrom(numpy_helper.from_array(numpy.ascontiguousarray(array), t.name))

    def floats(self, positions):
        """Initializers and constants of floating-point numbers that belong to encodings, or do not."""
        out = [t for t in self.graph.initializer if t.data_type in (TensorProto.FLOAT, TensorProto.FLOAT16) and (t.name in self.of_positions) == positions]
        if positions:
            for n in self.graph.node:
                for a in n.attribute:
                    if a.name == "value" and n.output[0] in self.of_positions and a.t.data_type == TensorProto.FLOAT:
                        out.append(a.t)
        return out

    def some(self, things):
        things = list(things)
        return self.rng.choice(things) if things else None

    def nodes(self, *ops):
        return [n for n in self.graph.node if n.op_type in ops]

    def name(self, t):
        for n in self.graph.node:
            for a in n.attribute:
                if a.name == "value" and a.t is t:
                    return n.output[0]
        return t.name


def changed(array, f):
    out = array.copy()
    f(out)
    return None if numpy.array_equal(out, array) else out


def table(g, f, rows=2):
    """Applies f to a table or cache of an encoding, as rows by columns."""
    for t in g.floats(True):
        if len(t.dims) >= 2 and t.dims[-1] > 1 and numpy.prod(t.dims) >= rows * t.dims[-1]:
            x = numpy_helper.to_array(t)
            y = x.reshape(-1, x.shape[-1]).copy()
            before = y.copy()
            f(y)
            if not numpy.array_equal(before, y):
                g.set(t, y.reshape(x.shape)) if t.name in g.initializers else t.CopyFrom(numpy_helper.from_array(y.reshape(x.shape), t.name))
                return g.name(t)
    return None


def numbers(kind, what):
    """A fault that applies what to the rows of a table."""
    fault(kind, "onnx")(lambda g: table(g, what))


def assign(y, index, value):
    y[index] = value


numbers("a row × 1.5", lambda y: assign(y, 1, y[1] * 1.5))
numbers("all rows × 1.5", lambda y: assign(y, slice(None), y * 1.5))
numbers("a number + 0.25", lambda y: assign(y, (1, 0), y[1, 0] + 0.25))
numbers("the last bit of a number", lambda y: assign(y, (1, 1), numpy.nextafter(y[1, 1], numpy.inf, dtype=y.dtype)))
numbers("the last row zeroed", lambda y: assign(y, -1, 0))
numbers("half of the rows zeroed", lambda y: assign(y, slice(len(y) // 2, None), 0))
numbers("two rows exchanged", lambda y: assign(y, [0, 1], y[[1, 0]]))
numbers("rows shifted by one", lambda y: assign(y, slice(1, None), y[:-1].copy()))
numbers("halves of the columns exchanged", lambda y: assign(y, slice(None), numpy.roll(y, y.shape[1] // 2, axis=1)))
numbers("negated", lambda y: assign(y, slice(None), -y))
numbers("NaN in the last row", lambda y: assign(y, (-1, 0), numpy.nan))
numbers("1e30 in a row", lambda y: assign(y, (1, 0), 6e4 if y.dtype == numpy.float16 else 1e30))
numbers("one column zeroed", lambda y: assign(y, (slice(None), 0), 0))
numbers("the last column doubled", lambda y: assign(y, (slice(None), -1), y[:, -1] * 2))


@fault("every table after the first negated", "onnx")
def second_table(g):
    for t in g.floats(True)[1:]:
        if len(t.dims) >= 2 and t.dims[-1] > 1:
            g.set(t, -numpy_helper.to_array(t)) if t.name in g.initializers else t.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(t), t.name))
            return g.name(t)


@fault("two tables of one shape exchanged", "onnx")
def exchanged(g):
    seen = {}
    for t in g.floats(True):
        key = tuple(t.dims), t.data_type
        if len(t.dims) >= 2 and key in seen and t.name in g.initializers:
            a, b = numpy_helper.to_array(seen[key]), numpy_helper.to_array(t)
            if not numpy.array_equal(a, b):
                g.set(seen[key], b), g.set(t, a)
                return seen[key].name
        if t.name in g.initializers:
            seen[key] = t


def vector(g, f):
    """Applies f to a vector of an encoding: frequencies or slopes."""
    for t in g.floats(True):
        x = numpy_helper.to_array(t).copy()
        if x.size > 1 and x.size == max(x.shape):
            y = x.reshape(-1)
            before = y.copy()
            f(y)
            if not numpy.array_equal(before, y):
                t.CopyFrom(numpy_helper.from_array(x, t.name))
                return g.name(t)


for kind, what in {
    "a frequency × 1.0001": lambda y: assign(y, 1, y[1] * y.dtype.type(1.0001)),
    "a frequency zeroed": lambda y: assign(y, -1, 0),
    "frequencies reversed": lambda y: assign(y, slice(None), y[::-1].copy()),
    "two frequencies exchanged": lambda y: assign(y, [0, 1], y[[1, 0]]),
    "frequencies × 0.9": lambda y: assign(y, slice(None), y * y.dtype.type(0.9)),
}.items():
    fault(kind, "onnx")(lambda g, what=what: vector(g, what))


@fault("a scalar of an encoding", "onnx")
def scalar(g):
    for t in g.floats(True):
        x = numpy_helper.to_array(t)
        if x.size == 1:
            t.CopyFrom(numpy_helper.from_array((x * 1.25 + 0.1).astype(x.dtype), t.name))
            return g.name(t)


@fault("a scalar of the graph", "onnx")
def any_scalar(g):
    t = g.some(t for t in g.floats(False) if numpy.prod(t.dims) == 1)
    if t is not None:
        x = numpy_helper.to_array(t)
        g.set(t, (x * 1.25 + 0.1).astype(x.dtype))
        return t.name


@fault("an amplitude of sines", "onnx")
def amplitude(g):
    made = {o: n for n in g.graph.node for o in n.output}
    for n in g.nodes("Sin", "Cos"):
        for m in g.nodes("Mul"):
            if n.output[0] in m.input:
                other = m.input[1 - list(m.input).index(n.output[0])]
                t = g.initializers.get(other)
                if t is None and other in made and made[other].op_type == "Constant":
                    t = made[other].attribute[0].t
                if t is not None and numpy.prod(t.dims) == 1 and n.op_type == "Sin":
                    t.CopyFrom(numpy_helper.from_array((numpy_helper.to_array(t) * 1.5).astype(numpy_helper.to_array(t).dtype), t.name))
                    return other


@fault("a weight", "onnx")
def weight(g):
    t = g.some(t for t in g.floats(False) if len(t.dims) >= 2)
    if t is not None:
        x = numpy_helper.to_array(t).copy()
        x.flat[x.size // 2] += 0.125
        g.set(t, x)
        return t.name


def integers(kind, what, least=1):
    @fault(kind, "onnx")
    def plant(g):
        candidates = [t for t in g.graph.initializer if t.data_type in (TensorProto.INT64, TensorProto.INT32) and numpy.prod(t.dims) >= least]
        for n in g.graph.node:
            if n.op_type == "Constant":
                candidates += [a.t for a in n.attribute if a.name == "value" and a.t.data_type == TensorProto.INT64 and numpy.prod(a.t.dims) >= least]
        g.rng.shuffle(candidates)
        for t in candidates:
            x = numpy_helper.to_array(t)
            y = changed(x, lambda y: what(y.reshape(-1), g))
            if y is not None:
                t.CopyFrom(numpy_helper.from_array(y, t.name))
                return g.name(t)


integers("an integer + 1", lambda y, g: assign(y, -1, y[-1] + 1))
integers("an integer + what the length grew", lambda y, g: assign(y, -1, y[-1] + g.grew if g.grew else y[-1] + 7))
integers("two integers exchanged", lambda y, g: assign(y, [0, 1], y[[1, 0]]), 2)
integers("the last of a list again", lambda y, g: assign(y, -1, y[-2]), 8)


@fault("a list of positions too short", "onnx")
def short_list(g):
    for t in g.graph.initializer:
        x = numpy_helper.to_array(t)
        if t.data_type == TensorProto.INT64 and x.size >= 8 and x.size == max(x.shape) and numpy.array_equal(x.reshape(-1), numpy.arange(x.size)):
            axis = int(numpy.argmax(x.shape))
            g.set(t, numpy.take(x, range(x.size - 4), axis=axis))
            return t.name


@fault("a mask", "onnx")
def mask(g):
    for t in g.graph.initializer:
        x = numpy_helper.to_array(t)
        if x.ndim >= 2 and x.shape[-1] == x.shape[-2] > 3 and len(numpy.unique(x)) == 2:
            y = x.copy()
            y[..., 2, 0] = x[..., 0, -1] if x[..., 2, 0].flat[0] != x[..., 0, -1].flat[0] else x[..., -1, 0]
            if not numpy.array_equal(x, y):
                g.set(t, y)
                return t.name


@fault("an attribute", "onnx")
def attribute(g):
    n = g.some(n for n in g.nodes("LayerNormalization", "Softmax", "Transpose", "RMSNormalization", "SimplifiedLayerNormalization", "Gather", "Concat") if n.attribute)
    if n is not None:
        a = n.attribute[0]
        if a.ints:
            a.ints[:] = list(reversed(a.ints))
            if list(reversed(a.ints)) == list(a.ints):
                return None
        elif a.type == onnx.AttributeProto.FLOAT:
            a.f *= 2
        else:
            a.i = 0 if a.i else 1
        return n.output[0]


@fault("an attention without its mask or bias", "onnx")
def unmasked(g):
    made = {o: n for n in g.graph.node for o in n.output}
    softmax = g.some(n for n in g.nodes("Softmax") if n.input[0] in made and made[n.input[0]].op_type in ("Add", "Where"))
    if softmax is not None:
        n = made[softmax.input[0]]
        softmax.input[0] = n.input[0] if n.op_type == "Add" else n.input[1]
        return softmax.output[0]


@fault("scores of another layer", "onnx")
def other_layer(g):
    found = g.nodes("Softmax")
    if len(found) > 1:
        found[-1].input[0] = found[0].input[0]
        return found[-1].output[0]


@fault("a Softmax along another axis", "onnx")
def other_axis(g):
    n = g.some(g.nodes("Softmax"))
    if n is not None:
        del n.attribute[:]
        n.attribute.append(onnx.helper.make_attribute("axis", 1))
        return n.output[0]


@fault("scores subtracted", "onnx")
def sign(g):
    made = {o: n for n in g.graph.node for o in n.output}
    n = g.some(n for n in g.nodes("Softmax") if n.input[0] in made and made[n.input[0]].op_type == "Add")
    if n is not None:
        made[n.input[0]].op_type = "Sub"
        return n.input[0]


@fault("an Add that is a Mul", "onnx")
def operator(g):
    n = g.some(g.nodes("Add"))
    if n is not None:
        n.op_type = "Mul"
        return n.output[0]


@fault("an Abs that is a Neg", "onnx")
def absolute(g):
    n = g.some(g.nodes("Abs"))
    if n is not None:
        n.op_type = "Neg"
        return n.output[0]


@fault("operands exchanged", "onnx")
def operands(g):
    n = g.some(g.nodes("Sub", "Div", "Concat"))
    if n is not None and len(n.input) > 1 and n.input[0] != n.input[1]:
        n.input[0], n.input[1] = n.input[1], n.input[0]
        return n.output[0]


@fault("cosine and sine exchanged", "onnx")
def trigonometry(g):
    sines, cosines = g.nodes("Sin"), g.nodes("Cos")
    if sines and cosines:
        sines[0].op_type, cosines[0].op_type = "Cos", "Sin"
        return "Sin"


@fault("a node named as modelpatch's in between", "onnx")
def between(g):
    n = g.some(g.nodes("Softmax", "MatMul"))
    if n is not None:
        at = list(g.graph.node).index(n)
        new = onnx.helper.make_node("Neg", [n.input[0]], ["modelpatch/between"], name="modelpatch/Neg")
        n.input[0] = "modelpatch/between"
        g.graph.node.insert(at, new)
        return n.output[0]


@fault("the size of an input", "onnx")
def input_size(g):
    for v in g.graph.input:
        for d in v.type.tensor_type.shape.dim:
            if v.name not in g.initializers and d.dim_value > 1:
                d.dim_value += 1
                return v.name


@fault("the size of an output", "onnx")
def output_size(g):
    for v in g.graph.output:
        for d in v.type.tensor_type.shape.dim:
            if d.dim_value > 1:
                d.dim_value += 1
                return v.name


@fault("the type of a value", "onnx")
def value_type(g):
    for v in g.graph.value_info:
        if v.type.tensor_type.elem_type == TensorProto.FLOAT:
            v.type.tensor_type.elem_type = TensorProto.DOUBLE
            return v.name


@fault("the name of an output", "onnx")
def output_name(g):
    v = g.graph.output[0]
    for n in g.graph.node:
        for i, o in enumerate(n.output):
            if o == v.name:
                n.output[i] = "renamed"
        for i, o in enumerate(n.input):
            if o == v.name:
                n.input[i] = "renamed"
    was, v.name = v.name, "renamed"
    return was


@fault("two outputs exchanged", "onnx")
def outputs(g):
    if len(g.graph.output) > 1:
        a, b = copy.deepcopy(g.graph.output[0]), copy.deepcopy(g.graph.output[1])
        g.graph.output[0].CopyFrom(b), g.graph.output[1].CopyFrom(a)
        return a.name


@fault("a node before what it reads", "onnx")
def order(g):
    nodes = list(g.graph.node)
    made = {o: i for i, n in enumerate(nodes) for o in n.output}
    for i, n in enumerate(nodes):
        if any(x in made for x in n.input):
            nodes.insert(0, nodes.pop(i))
            del g.graph.node[:]
            g.graph.node.extend(nodes)
            return "stands before"


@fault("the operator set", "onnx")
def opset(g):
    g.model.opset_import[0].version -= 1
    return ""


@fault("a node left out", "onnx")
def dropped(g):
    n = g.some(n for n in g.nodes("Relu", "Gelu", "Tanh", "Erf", "Sigmoid", "LayerNormalization", "Sqrt", "Mul"))
    if n is not None:
        reader = None
        for m in g.graph.node:
            for i, name in enumerate(m.input):
                if name == n.output[0]:
                    m.input[i], reader = n.input[0], reader or m
        return reader.output[0] if reader else None


# ---- GGUF: in place, byte by byte.

class File:
    def __init__(self, path, report, rng):
        self.path, self.report, self.rng = path, report, rng
        self.reader = GGUFReader(path, "r+")
        self.arch = bytes(self.reader.fields["general.architecture"].parts[-1]).decode()

    def field(self, *suffixes, types=(GGUFValueType.UINT32, GGUFValueType.FLOAT32, GGUFValueType.INT32, GGUFValueType.UINT64)):
        for s in suffixes:
            f = self.reader.fields.get(s if "." in s and s.startswith("general") else f"{self.arch}.{s}")
            if f is not None and f.types and f.types[0] in types:
                return f

    def tensor(self, *words):
        for t in self.reader.tensors:
            if any(w in t.name for w in words):
                return t


def key(kind, f, *suffixes):
    @fault(kind, "gguf")
    def plant(m):
        field = m.field(*suffixes)
        if field is not None:
            part = field.parts[field.data[0]]
            before = part[0]
            part[0] = f(part[0])
            return field.name if part[0] != before else None


key("the base × 1.0001", lambda x: x * numpy.float32(1.0001), "rope.freq_base")
key("the base × 10", lambda x: x * 10, "rope.freq_base")
key("the base of layers that slide", lambda x: x * 2, "rope.freq_base_swa")
key("the scaling factor", lambda x: x * 2, "rope.scaling.factor")
key("the attention factor", lambda x: x * 1.1, "rope.scaling.attn_factor", "attention.temperature_scale", "rope.scaling.yarn_log_multiplier")
key("the original length", lambda x: x // 2, "rope.scaling.original_context_length")
key("the stated length + 1", lambda x: x + 1, "context_length")
key("the stated length ÷ 2", lambda x: x // 2, "context_length")
key("the rotary dimensions", lambda x: x // 2, "rope.dimension_count")
key("the heads of keys", lambda x: max(x // 2, 1) if x > 1 else x + 1, "attention.head_count_kv")
key("the window", lambda x: x + 1, "attention.sliding_window")
key("the epsilon", lambda x: x * 2, "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon")
key("the largest bias", lambda x: x / 2, "attention.max_alibi_bias")
key("the number of layers", lambda x: x - 1 if x > 1 else x + 1, "block_count")
key("the buckets", lambda x: x * 2, "attention.relative_buckets_count")
key("the length of keys", lambda x: x * 2, "attention.key_length")
key("a soft cap", lambda x: x * 2, "attn_logit_softcapping", "final_logit_softcapping")
key("an expert", lambda x: x + 1, "expert_used_count", "expert_count")


@fault("M-RoPE sections exchanged", "gguf")
def sections(m):
    f = m.reader.fields.get(f"{m.arch}.rope.dimension_sections")
    if f is not None and len(f.data) > 2:
        a, b = f.parts[f.data[0]], f.parts[f.data[1]]
        if a[0] != b[0]:
            a[0], b[0] = int(b[0]), int(a[0])
            return f.name


@fault("a word of the scaling", "gguf")
def word(m):
    f = m.reader.fields.get(f"{m.arch}.rope.scaling.type")
    if f is not None:
        f.parts[f.data[0]][0] ^= 1
        return f.name


@fault("the type of the base", "gguf")
def base_type(m):
    f = m.reader.fields.get(f"{m.arch}.rope.freq_base")
    if f is not None:
        f.parts[2][0] = int(GGUFValueType.UINT32)
        return f.name


@fault("the type of the length", "gguf")
def length_type(m):
    f = m.reader.fields.get(f"{m.arch}.context_length")
    if f is not None:
        f.parts[2][0] = int(GGUFValueType.FLOAT32)
        return f.name


@fault("a letter of the length's key", "gguf")
def length_key(m):
    f = m.reader.fields.get(f"{m.arch}.context_length")
    if f is not None:
        f.parts[1][-1] ^= 1
        return "context_length"


@fault("a token", "gguf")
def token(m):
    f = m.reader.fields.get("tokenizer.ggml.tokens")
    if f is not None and len(f.data) > 3:
        f.parts[f.data[3]][0] ^= 1
        return f.name


def data(kind, words, f):
    @fault(kind, "gguf")
    def plant(m):
        t = m.tensor(*words)
        if t is not None:
            raw = t.data.view(numpy.uint8).reshape(-1)
            before = raw.copy()
            f(raw)
            return t.name if not numpy.array_equal(before, raw) else None


def flip(at):
    def f(raw):
        i = at if at >= 0 else len(raw) + at
        if i < len(raw):
            raw[i] ^= 0x10
    return f


data("a factor of a frequency", ["rope_freqs", "rope_factors"], flip(2))
data("the last factor of a frequency", ["rope_freqs", "rope_factors"], flip(-2))
data("the long factors", ["rope_factors_long"], flip(2))
data("the short factors", ["rope_factors_short"], flip(2))
data("the first row of a table", ["position_embd"], flip(2))
data("the last row of a table", ["position_embd"], flip(-2))
data("a row zeroed", ["position_embd"], lambda raw: assign(raw, slice(0, 32), 0))
data("the second half of the rows", ["position_embd"], lambda raw: assign(raw, slice(len(raw) // 2, None), 0))
data("rows exchanged", ["position_embd"], lambda raw: assign(raw, slice(None), numpy.roll(raw, 64)))
data("a bias by distance", ["attn_rel_b"], flip(2))
data("a bias by distance, the last", ["attn_rel_b"], flip(-2))
data("the decoder's bias", ["dec.blk.0.attn_rel_b"], flip(2))
data("a query's weight", ["attn_q", "attn_qkv"], flip(2))
data("a weight of the last layer", ["ffn_down", "ffn_up"], flip(-2))
data("an embedding", ["token_embd"], flip(2))
data("a norm", ["attn_norm", "output_norm"], flip(2))
data("a sink", ["attn_sinks"], flip(2))
data("a norm of queries", ["attn_q_norm"], flip(2))


@fault("two tensors' places exchanged", "gguf")
def places(m):
    by = collections.defaultdict(list)
    for t in m.reader.tensors:
        by[tuple(t.shape), t.tensor_type].append(t)
    for list_ in by.values():
        if len(list_) > 1 and not numpy.array_equal(list_[0].data, list_[1].data):
            a, b = list_[0].field.parts[-1], list_[1].field.parts[-1]
            a[0], b[0] = int(b[0]), int(a[0])
            return list_[0].name


@fault("a tensor's name", "gguf")
def tensor_name(m):
    t = m.reader.tensors[-1]
    t.field.parts[1][0] ^= 1
    return t.name[1:]


CHANGES = {
    "onnx": [["extend", "--len", "LEN"], ["bake", "--len", "64"], ["rope", "--base", "30000"], ["rope", "--scaling", "yarn", "--factor", "4", "--original-length", "64"], ["alibi"], ["alibi", "--replace"]],
    "gguf": [["extend", "--len", "LEN"], ["extend", "--len", "LEN", "--method", "none"], ["rope", "--base", "30000"], ["rope", "--scaling", "linear", "--factor", "2"], ["alibi", "--replace"]],
}


def run(tool, *arguments):
    p = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return p.returncode, p.stdout


def verdict(tool, *arguments):
    code, out = run(tool, "verify", *arguments, "--json", "--no-engine")
    if not out.strip():
        return "refused", ""
    v = json.loads(out)
    if v.get("schema") == "modelpatch.error/1":
        return "refused", ""
    failed = [k for k in v["checks"] if k["verdict"] == "fail"]
    return v["verdict"], " ".join(json.dumps([k.get("why"), k.get("at")]) for k in failed)


def copies(path, folder):
    """Copies a model with its data."""
    for p in path.parent.glob(path.name + "*"):
        shutil.copy(p, folder / p.name)
    return folder / path.name


def plant(f, format, path, report, rng, grew):
    """Plants a fault into a file; the place, or None where it does not apply."""
    try:
        if format == "onnx":
            g = Graph(path, report, rng)
            g.grew = grew
            place = f(g)
            if place is not None:
                onnx.save(g.model, path)
            return place
        m = File(path, report, rng)
        place = f(m)
        if place is not None:
            m.reader.data.flush()
        return place
    except (ValueError, IndexError, KeyError, StopIteration):
        return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("folders", nargs="+")
    p.add_argument("--only", default="")
    p.add_argument("--files", type=int, default=0, help="so many of each format, 0: all")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--verbose", action="store_true")
    p.add_argument("--table", action="store_true", help="print the catalogue as a table of Markdown (docs/measured/faults.md)")
    o = p.parse_args()
    rng = random.Random(o.seed)
    planted: collections.Counter[str] = collections.Counter()
    missed: list[tuple] = []
    misplaced: list[tuple] = []
    alarms: list[tuple] = []
    for format in ("onnx", "gguf"):
        files = sorted(f for d in o.folders for f in pathlib.Path(d).rglob("*." + format) if f.stat().st_size < 3_000_000 and "nodetests" not in str(f))
        rng.shuffle(files)
        if o.files:
            files = files[:o.files]
        for path in files:
            for change in [None] + CHANGES[format]:
                with tempfile.TemporaryDirectory() as folder:
                    one(o, rng, format, path, change, pathlib.Path(folder), planted, missed, misplaced, alarms)
    total = sum(planted.values())
    for kind, n in sorted(planted.items()):
        m = sum(1 for x in missed if x[0] == kind)
        if m or o.verbose:
            print(f"{kind}: {n} planted, {m} missed")
    if o.table:
        print("| fault | format | planted | missed | told at another place |\n|---|---|---|---|---|")
        for format in FAULTS:
            for kind, _ in FAULTS[format]:
                if planted[kind]:
                    print(f"| {kind} | {format} | {planted[kind]} | {sum(x[0] == kind for x in missed)} | {sum(x[0] == kind for x in misplaced)} |")
    for line in alarms:
        print("FALSE ALARM", *line)
    for line in missed[:60]:
        print("MISSED", *line)
    for line in misplaced[:20]:
        print("ELSEWHERE", *line)
    print(f"{total} faults of {len(planted)} kinds: {len(missed)} missed, {len(misplaced)} found at another place; {len(alarms)} false alarms")
    return 1 if missed or alarms else 0


def one(o, rng, format, path, change, folder, planted, missed, misplaced, alarms):
    code, out = run(o.tool, "inspect", path, "--json")
    if code or not out.strip():
        return
    report = json.loads(out)
    if "encodings" not in report:
        return
    base, plan, grew = path, None, 0
    if change:
        n = report["length"]["capacity"] or report["length"]["stated"]
        if not n or n > 5000:
            return
        grew = n
        arguments = [str(2 * n) if a == "LEN" else a for a in change]
        base = folder / ("changed" + path.suffix)
        code, out = run(o.tool, arguments[0], path, *arguments[1:], "-o", base, "--json")
        if code or not base.exists():
            return
        # A list of factors in the place of a formula, or too few frequencies to tell a formula by, explain nothing without a plan.
        listed = any((e.get("parameters", {}).get("scaling") or {}).get("type") == "longrope" for f in (path, base)
                     for e in json.loads(run(o.tool, "inspect", f, "--json")[1])["encodings"])
        plan = folder / "plan.json"
        plan.write_text(out)
        for options in ([], ["--plan", plan]):
            word, why = verdict(o.tool, path, base, *options)
            if word == "different" and not ((change[0] == "alibi" or listed) and not options):
                alarms.append((path.name, change[0], "with its plan" if options else "without a plan", why[:160]))
        code, out = run(o.tool, "inspect", base, "--json")
        report = json.loads(out)
    faults = [f for f in FAULTS[format] if o.only in f[0]]
    if change:
        faults = rng.sample(faults, min(len(faults), 14))
    for kind, f in faults:
        inner = folder / "planted"
        shutil.rmtree(inner, ignore_errors=True)
        inner.mkdir()
        target = copies(base, inner)
        os.chmod(target, 0o644)
        place = plant(f, format, target, report, rng, grew)
        if place is None or target.read_bytes() == path.read_bytes():
            continue  # what was halved had been doubled
        for options in ([], ["--plan", plan]) if plan else ([],):
            if change and change[0] == "alibi" and not options:
                continue  # different in any case
            planted[kind] += 1
            word, why = verdict(o.tool, path, target, *options)
            where = [path.name, " ".join(change) if change else "copy", "plan" if options else "no plan"]
            said = word in ("different", "refused", "broken")
            if not said and not options and (kind in EXPLAIN_THEMSELVES and word in ("consistent", "same-on-prefix")
                                             or kind in EXPLAIN_TABLES and (word == "consistent" or change)
                                             or kind == "the last bit of a number" and change and change[0] == "rope"):
                planted[kind] -= 1
                continue
            if not said:
                missed.append([kind, *where, place, word])
            elif place and word == "different" and place not in json.loads(json.dumps(why)) and place.split("/")[-1] not in why:
                misplaced.append([kind, *where, place, why[:120]])


sys.exit(main())
