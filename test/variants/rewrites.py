"""Other ways to write what the nodes of an ONNX graph do, as other exporters, optimisers and frameworks leave it: each is a variant of
variants.py, and a model is read alike in all of them. The numbers that a graph computes stay the same but for rounding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import helper, numpy_helper

Node: TypeAlias = Any  # onnx.NodeProto
Make = Callable[[Path, Path], None]
make_node = helper.make_node


class Around:
    """What is known of the graph around a node: constants, types, and room for more constants."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
        self.graph, self.constants, self.types = model.graph, {}, {}
        for i in model.graph.initializer:
            self.constants[i.name] = numpy_helper.to_array(i)
        for n in model.graph.node:
            if n.op_type == "Constant" and n.attribute[0].name == "value":
                self.constants[n.output[0]] = numpy_helper.to_array(n.attribute[0].t)
        inferred = onnx.shape_inference.infer_shapes(model).graph
        for v in [*inferred.value_info, *inferred.input, *inferred.output]:
            self.types[v.name] = v.type.tensor_type
        self.added = 0

    def constant(self, value: Any) -> str:
        self.added += 1
        name = f"rewritten_{self.added}"
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def value(self, name: str) -> Any:
        return self.constants.get(name)

    def is_float(self, name: str) -> bool:
        known = self.value(name)
        return known.dtype == np.float32 if known is not None else name in self.types and self.types[name].elem_type == 1

    def shape(self, name: str) -> list[int] | None:
        """The sizes of a value, 0 where one is free; None where not even their number is known."""
        if (known := self.value(name)) is not None:
            return list(known.shape)
        if name not in self.types or not self.types[name].HasField("shape"):
            return None
        return [d.dim_value for d in self.types[name].shape.dim]


Rewrite = Callable[[Node, Around], "list[Node] | None"]


def attribute(n: Node, name: str, default: Any = None) -> Any:
    return next((helper.get_attribute_value(a) for a in n.attribute if a.name == name), default)


def commuted(n: Node, _: Around) -> list[Node] | None:
    if n.op_type in ("Add", "Mul", "And", "Or", "Max", "Min", "Equal") and len(n.input) == 2:
        return [make_node(n.op_type, [n.input[1], n.input[0]], list(n.output))]
    return None


def less_as_sum(n: Node, g: Around) -> list[Node] | None:
    if n.op_type != "Sub" or not g.is_float(n.input[1]):
        return None
    return [make_node("Neg", [n.input[1]], [n.output[0] + "_n"]), make_node("Add", [n.input[0], n.output[0] + "_n"], list(n.output))]


def quotient_as_product(n: Node, g: Around) -> list[Node] | None:
    if n.op_type != "Div" or g.value(n.input[1]) is None or not g.is_float(n.input[1]):
        return None
    return [make_node("Mul", [n.input[0], g.constant((1 / g.value(n.input[1])).astype(np.float32))], list(n.output))]


def negative_as_product(n: Node, g: Around) -> list[Node] | None:
    return [make_node("Mul", [n.input[0], g.constant(np.float32(-1))], list(n.output))] if n.op_type == "Neg" and g.is_float(n.input[0]) else None


def split_as_slices(n: Node, g: Around) -> list[Node] | None:
    if n.op_type != "Split":
        return None
    axis, shape = attribute(n, "axis", 0), g.shape(n.input[0])
    sizes = list(g.value(n.input[1])) if len(n.input) > 1 and g.value(n.input[1]) is not None else attribute(n, "split")
    if not sizes and shape and shape[axis] and shape[axis] % len(n.output) == 0:
        sizes = [shape[axis] // len(n.output)] * len(n.output)
    if not sizes:
        return None
    ends = np.cumsum(sizes)
    return [make_node("Slice", [n.input[0], g.constant(np.array([e - s])), g.constant(np.array([e])), g.constant(np.array([axis]))], [o]) for o, s, e in zip(n.output, sizes, ends)]


def run_of(n: Node, g: Around) -> tuple[int, int, int, int] | None:
    """The axis of a Slice of one axis with a size, where it begins and ends, and that size."""
    if n.op_type != "Slice" or len(n.input) < 4 or any(g.value(i) is None for i in n.input[1:] if i) or (shape := g.shape(n.input[0])) is None:
        return None
    begin, end, axis = (g.value(i).reshape(-1) for i in n.input[1:4])
    if begin.size != 1 or len(n.input) > 4 and n.input[4] and g.value(n.input[4]).reshape(-1)[0] != 1 or not shape[int(axis[0])]:
        return None
    size = shape[int(axis[0])]
    first, last, _ = slice(int(begin[0]), int(min(end[0], size))).indices(size)
    return (int(axis[0]) % len(shape), first, last, size) if first < last else None


def slice_as_split(n: Node, g: Around) -> list[Node] | None:
    if (run := run_of(n, g)) is None:
        return None
    axis, first, last, size = run
    parts = [(first, n.output[0] + "_before"), (last - first, n.output[0]), (size - last, n.output[0] + "_behind")]
    parts = [p for p in parts if p[0]]
    return [make_node("Split", [n.input[0], g.constant(np.array([p[0] for p in parts]))], [p[1] for p in parts], axis=axis)] if len(parts) > 1 else None


def slice_as_gather(n: Node, g: Around) -> list[Node] | None:
    if (run := run_of(n, g)) is None or not g.is_float(n.input[0]):
        return None
    return [make_node("Gather", [n.input[0], g.constant(np.arange(run[1], run[2]))], list(n.output), axis=run[0])]


def unsqueeze_as_reshape(n: Node, g: Around) -> list[Node] | None:
    shape = g.shape(n.input[0]) if n.op_type == "Unsqueeze" and len(n.input) > 1 and g.value(n.input[0]) is None else None
    if not shape or g.value(n.input[1]) is None or shape.count(0) > 1:
        return None
    axes = g.value(n.input[1]).reshape(-1)
    rank, sizes = len(shape) + len(axes), iter(shape)
    out = [1 if d in {int(a) % rank for a in axes} else next(sizes) or -1 for d in range(rank)]
    return [make_node("Reshape", [n.input[0], g.constant(np.array(out))], list(n.output))]


def expand_as_product(n: Node, g: Around) -> list[Node] | None:
    if n.op_type != "Expand" or not g.is_float(n.input[0]):
        return None
    ones = helper.make_tensor("value", onnx.TensorProto.FLOAT, [1], [1])
    return [make_node("ConstantOfShape", [n.input[1]], [n.output[0] + "_ones"], value=ones), make_node("Mul", [n.input[0], n.output[0] + "_ones"], list(n.output))]


def range_as_count(n: Node, g: Around) -> list[Node] | None:
    if n.op_type != "Range" or g.value(n.input[0]) is None or g.value(n.input[2]) is None or g.value(n.input[0]) != 0 or g.value(n.input[2]) != 1:
        return None
    o, ones = n.output[0], numpy_helper.from_array(np.array([1], g.value(n.input[0]).dtype))
    return [make_node("Cast", [n.input[1]], [o + "_whole"], to=7), make_node("Reshape", [o + "_whole", g.constant(np.array([1]))], [o + "_shape"]),
            make_node("ConstantOfShape", [o + "_shape"], [o + "_ones"], value=ones), make_node("CumSum", [o + "_ones", g.constant(np.array(0))], [o], exclusive=1)]


def product_as_einsum(n: Node, g: Around) -> list[Node] | None:
    a, b = (g.shape(i) for i in n.input[:2]) if n.op_type == "MatMul" else (None, None)
    if not a or not b or not 2 <= len(a) <= 4 or len(b) not in (2, len(a)):
        return None
    lead = "abcd"[: len(a) - 2]
    return [make_node("Einsum", list(n.input), list(n.output), equation=f"{lead}ij,{lead if len(b) > 2 else ''}jk->{lead}ik")]


def weights_of(n: Node, g: Around) -> Any:
    """The matrix of weights that states of three axes are multiplied with, None elsewhere."""
    w = g.value(n.input[1]) if n.op_type == "MatMul" else None
    return w if w is not None and w.ndim == 2 and len(g.shape(n.input[0]) or []) == 3 else None


def weights_transposed(n: Node, g: Around) -> list[Node] | None:
    if (w := weights_of(n, g)) is None:
        return None
    return [make_node("Transpose", [g.constant(np.ascontiguousarray(w.T))], [n.output[0] + "_w"], perm=[1, 0]), make_node("MatMul", [n.input[0], n.output[0] + "_w"], list(n.output))]


def product_as_convolution(n: Node, g: Around) -> list[Node] | None:
    if (w := weights_of(n, g)) is None:
        return None
    o = n.output[0]
    return [make_node("Transpose", [n.input[0]], [o + "_channels"], perm=[0, 2, 1]), make_node("Conv", [o + "_channels", g.constant(np.ascontiguousarray(w.T[:, :, None]))], [o + "_made"], kernel_shape=[1]),
            make_node("Transpose", [o + "_made"], [o], perm=[0, 2, 1])]


def product_as_gemm(n: Node, g: Around) -> list[Node] | None:
    if (w := weights_of(n, g)) is None:
        return None
    o = n.output[0]
    return [make_node("Shape", [n.input[0]], [o + "_shape"]), make_node("Slice", [o + "_shape", g.constant(np.array([0])), g.constant(np.array([2]))], [o + "_lead"]),
            make_node("Concat", [o + "_lead", g.constant(np.array([w.shape[1]]))], [o + "_wanted"], axis=0), make_node("Reshape", [n.input[0], g.constant(np.array([-1, w.shape[0]]))], [o + "_rows"]),
            make_node("Gemm", [o + "_rows", g.constant(np.ascontiguousarray(w.T))], [o + "_made"], transB=1), make_node("Reshape", [o + "_made", o + "_wanted"], [o])]


def normalised_by_nodes(n: Node, g: Around) -> list[Node] | None:
    if n.op_type != "LayerNormalization" or attribute(n, "axis", -1) != -1 or len(n.output) > 1 or len(n.input) < 3 or g.opset < 18:
        return None
    o, last = n.output[0], g.constant(np.array([-1]))
    return [make_node("ReduceMean", [n.input[0], last], [o + "_mean"]), make_node("Sub", [n.input[0], o + "_mean"], [o + "_off"]), make_node("Mul", [o + "_off", o + "_off"], [o + "_squares"]),
            make_node("ReduceMean", [o + "_squares", last], [o + "_variance"]), make_node("Add", [o + "_variance", g.constant(np.float32(attribute(n, "epsilon", 1e-5)))], [o + "_more"]),
            make_node("Sqrt", [o + "_more"], [o + "_root"]), make_node("Div", [o + "_off", o + "_root"], [o + "_unit"]), make_node("Mul", [o + "_unit", n.input[1]], [o + "_scaled"]), make_node("Add", [o + "_scaled", n.input[2]], [o])]


def cosine_as_sine(n: Node, g: Around) -> list[Node] | None:
    if n.op_type != "Cos" or not g.is_float(n.input[0]):
        return None
    return [make_node("Add", [n.input[0], g.constant(np.float32(np.pi / 2))], [n.output[0] + "_angle"]), make_node("Sin", [n.output[0] + "_angle"], list(n.output))]


def joined_by_two(n: Node, _: Around) -> list[Node] | None:
    if n.op_type != "Concat" or len(n.input) < 3:
        return None
    names = [n.input[0], *(f"{n.output[0]}_{i}" for i in range(len(n.input) - 2)), n.output[0]]
    return [make_node("Concat", [names[i], x], [names[i + 1]], axis=attribute(n, "axis")) for i, x in enumerate(n.input[1:])]


def rows_by(form: str) -> Rewrite:
    """Rows of a table that are taken otherwise than by Gather."""

    def rewrite(n: Node, g: Around) -> list[Node] | None:
        table = g.value(n.input[0]) if n.op_type == "Gather" and attribute(n, "axis", 0) == 0 else None
        if table is None or table.ndim != 2 or table.dtype != np.float32 or not g.shape(n.input[1]):
            return None
        o = n.output[0] + "_index"
        if form == "GatherND":
            return [make_node("Unsqueeze", [n.input[1], g.constant(np.array([-1]))], [o]), make_node("GatherND", [n.input[0], o], list(n.output))]
        return [make_node("OneHot", [n.input[1], g.constant(np.array(len(table))), g.constant(np.array([0, 1], np.float32))], [o], axis=-1), make_node("MatMul", [o, n.input[0]], list(n.output))]

    return rewrite


def softmax_by_nodes(n: Node, g: Around) -> list[Node] | None:
    if n.op_type != "Softmax" or g.opset < 18:
        return None
    o, axis = n.output[0], g.constant(np.array([attribute(n, "axis", -1)]))
    return [make_node("ReduceMax", [n.input[0], axis], [o + "_largest"]), make_node("Sub", [n.input[0], o + "_largest"], [o + "_less"]), make_node("Exp", [o + "_less"], [o + "_powers"]),
            make_node("ReduceSum", [o + "_powers", axis], [o + "_sum"]), make_node("Div", [o + "_powers", o + "_sum"], [o])]


def in_float64(n: Node, g: Around) -> list[Node] | None:
    if n.op_type not in ("Sin", "Cos", "Mul") or not all(g.is_float(i) for i in n.input):
        return None
    wide = [f"{n.output[0]}_{i}" for i in range(len(n.input))]
    return [*(make_node("Cast", [x], [w], to=11) for x, w in zip(n.input, wide)), make_node(n.op_type, wide, [n.output[0] + "_wide"]), make_node("Cast", [n.output[0] + "_wide"], list(n.output), to=1)]


def rewritten(rewrite: Rewrite) -> Make:
    """A variant in which a rewrite is made wherever it can be; exit 1 where it can be made nowhere."""

    def make(source: Path, target: Path) -> None:
        model = onnx.load(source)
        around, nodes, done = Around(model), [], False
        for n in model.graph.node:
            instead = rewrite(n, around) if n.domain in ("", "ai.onnx") else None
            done = done or instead is not None
            nodes += instead or [n]
        if not done:
            raise SystemExit(1)
        del model.graph.node[:], model.graph.value_info[:]
        model.graph.node.extend(nodes)
        onnx.save(model, target)

    return make


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for n in graph.node:
        for a in n.attribute:
            for inner in [a.g] if a.type == onnx.AttributeProto.GRAPH else a.graphs:
                yield from graphs(inner)


def renamed(source: Path, target: Path) -> None:
    """No name is left but those of inputs and outputs."""
    model = onnx.load(source)
    keep = {"", *(v.name for v in [*model.graph.input, *model.graph.output])}
    names: dict[str, str] = {}

    def name(x: str) -> str:
        return x if x in keep else names.setdefault(x, f"v{len(names)}")

    for g in graphs(model.graph):
        for n in g.node:
            n.name, n.doc_string = "", ""
            n.input[:], n.output[:] = map(name, n.input), map(name, n.output)
        for v in [*g.input, *g.output, *g.initializer]:
            v.name = name(v.name)
        del g.value_info[:]
    model.producer_name = ""
    onnx.save(model, target)


def in_functions(source: Path, target: Path) -> None:
    """Each operator is called by a function of its own, an addition with the factor of its second term that torch has (torch_lib of onnxscript)."""
    model = onnx.load(source)
    if model.functions:
        raise ValueError("it has functions already")
    names: dict[tuple[Any, ...], str] = {}
    for n in model.graph.node:
        if n.domain not in ("", "ai.onnx") or n.op_type == "Constant" or "" in n.input or any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in n.attribute):
            continue
        key = (n.op_type, tuple(a.SerializeToString() for a in n.attribute), len(n.input), len(n.output))
        if key not in names:
            names[key] = f"aten_{n.op_type.lower()}_{len(names)}"
            given, made = [f"in_{i}" for i in range(len(n.input))], [f"out_{i}" for i in range(len(n.output))]
            inner = make_node(n.op_type, given, made)
            inner.attribute.extend(n.attribute)
            body, defaults = [inner], []
            if n.op_type == "Add":
                factor = make_node("Constant", [], ["alpha"])
                factor.attribute.append(onnx.AttributeProto(name="value_float", type=onnx.AttributeProto.FLOAT, ref_attr_name="alpha"))
                body = [factor, make_node("CastLike", ["alpha", "in_1"], ["alpha_cast"]), make_node("Mul", ["in_1", "alpha_cast"], ["scaled"]), make_node("Add", ["in_0", "scaled"], made)]
                defaults = [helper.make_attribute("alpha", 1.0)]
            function = helper.make_function("pkg.torch_lib", names[key], given, made, body, [o for o in model.opset_import if o.domain == ""], attribute_protos=defaults)
            model.functions.append(function)
        n.op_type, n.domain = names[key], "pkg.torch_lib"
        del n.attribute[:]
    model.opset_import.append(helper.make_opsetid("pkg.torch_lib", 1))
    model.ir_version = max(model.ir_version, 9)
    onnx.save(model, target)


def last_first(source: Path, target: Path) -> None:
    """The nodes stand in no order in which they run (onnxruntime.transformers.float16 leaves Casts behind all others): engines sort them."""
    model = onnx.load(source)
    for owner in [*graphs(model.graph), *model.functions]:
        nodes = list(owner.node)
        del owner.node[:]
        owner.node.extend(reversed(nodes))
    onnx.save(model, target)


REWRITES: dict[str, Make] = {"renamed": renamed, "in-functions": in_functions, "last-first": last_first} | {name: rewritten(r) for name, r in {
    "commuted": commuted, "less-as-sum": less_as_sum, "quotient-as-product": quotient_as_product, "negative-as-product": negative_as_product, "split-as-slices": split_as_slices,
    "slice-as-split": slice_as_split, "slice-as-gather": slice_as_gather, "unsqueeze-as-reshape": unsqueeze_as_reshape, "expand-as-product": expand_as_product, "range-as-count": range_as_count,
    "product-as-einsum": product_as_einsum, "weights-transposed": weights_transposed, "product-as-convolution": product_as_convolution, "product-as-gemm": product_as_gemm,
    "normalised-by-nodes": normalised_by_nodes, "cosine-as-sine": cosine_as_sine, "joined-by-two": joined_by_two, "rows-by-gathernd": rows_by("GatherND"), "rows-by-onehot": rows_by("OneHot"),
    "softmax-by-nodes": softmax_by_nodes, "float64": in_float64}.items()}
