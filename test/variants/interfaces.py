"""Other ways to declare what the caller of an ONNX graph sees: names of inputs and of their axes, types, and whether a shape is declared at all.
Each is a variant of variants.py; the graph computes the same, and a model is read alike in all of them, or as unknown, never otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import onnx
from onnx import TensorProto, helper
from rewrites import graphs

Make = Callable[[Path, Path], None]
Value: TypeAlias = Any  # onnx.ValueInfoProto


def free(values: list[Value]) -> Iterator[tuple[Value, int, Any]]:
    """The axes of values that have no size, and where they stand."""
    for v in values:
        for i, d in enumerate(v.type.tensor_type.shape.dim):
            if not d.HasField("dim_value"):
                yield v, i, d


def declared(change: Callable[[onnx.ModelProto], bool]) -> Make:
    """A variant whose inputs and outputs are declared otherwise; exit 1 where nothing is to be changed."""

    def make(source: Path, target: Path) -> None:
        model = onnx.load(source)
        if not change(model):
            raise SystemExit(1)
        for g in graphs(model.graph):
            del g.value_info[:]
        onnx.save(model, target)

    return make


def given(model: onnx.ModelProto) -> list[Value]:
    stored = {i.name for i in model.graph.initializer}
    return [i for i in model.graph.input if i.name not in stored]


def without_shapes(model: onnx.ModelProto) -> bool:
    """Of inputs with a free axis beside the first: sizes that stand in shapes alone are lost with them."""
    if any(all(d.HasField("dim_value") for d in list(v.type.tensor_type.shape.dim)[1:]) for v in given(model)):
        return False
    for v in [*given(model), *model.graph.output]:
        v.type.tensor_type.ClearField("shape")
    return True


def without_axis_names(model: onnx.ModelProto) -> bool:
    for _, _, d in free([*given(model), *model.graph.output]):
        d.ClearField("dim_param")
    return True


def numbered_axes(model: onnx.ModelProto) -> bool:
    """As shape inference and converters name them."""
    for n, (_, _, d) in enumerate(free([*given(model), *model.graph.output])):
        d.dim_param = f"unk__{n}"
    return True


def axes_by_input(model: onnx.ModelProto) -> bool:
    """As torch.onnx names the axes of dynamic_axes that are given as lists."""
    for v, i, d in free([*given(model), *model.graph.output]):
        d.dim_param = f"{v.name}_dynamic_axes_{i + 1}"
    return True


def letters(model: onnx.ModelProto) -> bool:
    names: dict[str, str] = {}
    for _, _, d in free([*given(model), *model.graph.output]):
        if d.dim_param:
            d.dim_param = names.setdefault(d.dim_param, "NTKLMRUVWXYZ"[len(names) % 12])
    return len(names) > 0


def symbols(model: onnx.ModelProto) -> bool:
    """As torch.export names them."""
    names: dict[str, str] = {}
    for _, _, d in free([*given(model), *model.graph.output]):
        if d.dim_param:
            d.dim_param = names.setdefault(d.dim_param, f"s{7 * len(names) + 10}")
    return len(names) > 0


def rename(model: onnx.ModelProto, names: dict[str, str]) -> bool:
    def name(x: str) -> str:
        return names.get(x, x)

    for g in graphs(model.graph):
        for n in g.node:
            n.input[:], n.output[:] = map(name, n.input), map(name, n.output)
        for v in [*g.input, *g.output, *g.initializer]:
            v.name = name(v.name)
    return True


def numbered_inputs(model: onnx.ModelProto) -> bool:
    return rename(model, {v.name: f"input_{k}" for k, v in enumerate(given(model))} | {v.name: f"output_{k}" for k, v in enumerate(model.graph.output)})


def positional_inputs(model: onnx.ModelProto) -> bool:
    """As converters name the arguments of functions."""
    return rename(model, {v.name: f"args_{k}" for k, v in enumerate(given(model))})


def opaque_inputs(model: onnx.ModelProto) -> bool:
    return rename(model, {v.name: f"x{k}" for k, v in enumerate(given(model))})


def inputs_backwards(model: onnx.ModelProto) -> bool:
    stored = {i.name for i in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in stored]
    rest = [i for i in model.graph.input if i.name in stored]
    del model.graph.input[:]
    model.graph.input.extend([*reversed(inputs), *rest])
    return len(inputs) > 1


def in_32_bits(model: onnx.ModelProto) -> bool:
    """Whole numbers of 32 bits, which the graph casts."""
    casts, names = [], {}
    for v in given(model):
        if v.type.tensor_type.elem_type == TensorProto.INT64:
            v.type.tensor_type.elem_type = TensorProto.INT32
            names[v.name] = v.name + "_as_int64"
            casts.append(helper.make_node("Cast", [v.name], [names[v.name]], to=TensorProto.INT64))
    for g in graphs(model.graph):
        for n in g.node:
            n.input[:] = [names.get(x, x) for x in n.input]
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return len(casts) > 0


def one_sequence(model: onnx.ModelProto) -> bool:
    """The first axis is one sequence or picture."""
    changed = False
    for _, i, d in free([*given(model), *model.graph.output]):
        if i == 0:
            d.dim_value = 1
            changed = True
    return changed


def embeddings_given(name: str) -> Callable[[onnx.ModelProto], bool]:
    """The rows of the table of tokens come in, instead of their numbers, as where a graph is cut in two; of models whose places see each other:
    in others nothing tells which axis of what comes in runs over places."""

    def change(model: onnx.ModelProto) -> bool:
        if not any(n.op_type == "Softmax" or "Attention" in n.op_type for n in model.graph.node):
            return False
        inputs = {v.name: v for v in given(model)}
        tables = {i.name: i for i in model.graph.initializer if len(i.dims) == 2 and i.data_type == TensorProto.FLOAT}
        taken = [n for n in model.graph.node if n.op_type == "Gather" and n.input[0] in tables and n.input[1] in inputs and len(inputs[n.input[1]].type.tensor_type.shape.dim) == 2]
        taken = [n for n in taken if "position" not in n.input[1] and "type" not in n.input[1]]
        if len(taken) != 1 or name in inputs:
            return False
        (n,) = taken
        tokens = inputs[n.input[1]]
        dims = [d.dim_param or (d.dim_value if d.HasField("dim_value") else None) for d in tokens.type.tensor_type.shape.dim]
        value = helper.make_tensor_value_info(name, TensorProto.FLOAT, [*dims, tables[n.input[0]].dims[1]])
        model.graph.input.insert(0, value)
        model.graph.node.remove(n)
        rename(model, {n.output[0]: name})
        if not any(tokens.name in m.input for g in graphs(model.graph) for m in g.node):
            model.graph.input.remove(tokens)
        return True

    return change


def both(*changes: Callable[[onnx.ModelProto], bool]) -> Callable[[onnx.ModelProto], bool]:
    return lambda model: all([change(model) for change in changes])


INTERFACES: dict[str, Make] = {name: declared(change) for name, change in {
    "without-shapes": without_shapes, "without-axis-names": without_axis_names, "numbered-axes": numbered_axes, "axes-by-input": axes_by_input, "letters": letters, "symbols": symbols,
    "numbered-inputs": numbered_inputs, "positional-inputs": positional_inputs, "opaque-inputs": opaque_inputs, "inputs-backwards": inputs_backwards, "in-32-bits": in_32_bits,
    "one-sequence": one_sequence, "embeddings-given": embeddings_given("inputs_embeds"), "opaque-embeddings": embeddings_given("x"), "opaque-without-axis-names": both(opaque_inputs, without_axis_names), "opaque-symbols": both(symbols, opaque_inputs),
    "numbered-by-input": both(numbered_inputs, axes_by_input), "opaque-without-shapes": both(opaque_inputs, without_shapes), "opaque-in-32-bits": both(in_32_bits, opaque_inputs, letters)}.items()}
# Names say which numbers are kinds and which positions: without them a model that has no encoding may be read as one that has a table of kinds.
NAMELESS = {name for name in INTERFACES if name.startswith(("numbered-", "positional-", "opaque-"))}
