"""Runs parts of ONNX models in ONNX Runtime: for each job of a JSON file the largest
difference of an output from what is wanted, relative to the largest number."""
import json
import sys

import numpy
import onnx
import onnxruntime

TYPES = {1: numpy.float32, 10: numpy.float16, 7: numpy.int64, 6: numpy.int32, 9: numpy.bool_, 11: numpy.float64, 2: numpy.uint8, 3: numpy.int8}


def part(model, names, output):
    """The nodes behind an output, up to the values that are given."""
    makers = {o: n for n in model.graph.node for o in n.output}
    initial = {i.name for i in model.graph.initializer}
    kept, queue, seen, needed = set(), [output], set(), set()
    while queue:
        name = queue.pop()
        if name in seen or not name:
            continue
        seen.add(name)
        if name in names or name in initial:
            needed.add(name)
            continue
        node = makers.get(name)
        if node is None:
            needed.add(name)
            continue
        kept.add(id(node))
        queue.extend(node.input)
        for attribute in node.attribute:
            for graph in [attribute.g] + list(attribute.graphs):
                queue.extend(i for n in graph.node for i in n.input)
                queue.extend(o.name for o in graph.output)
    return [n for n in model.graph.node if id(n) in kept], needed


def run(job):
    model = onnx.load(job["path"])
    types = {i.name: i.type.tensor_type.elem_type for i in model.graph.input}
    nodes, needed = part(model, set(job["inputs"]), job["output"])
    inputs, feeds = [], {}
    for name, value in job["inputs"].items():
        if name not in needed:
            continue
        kind = types.get(name)
        if kind is None:
            kind = next((v.type.tensor_type.elem_type for v in model.graph.value_info if v.name == name), 0) or job.get("half") or 1
        inputs.append(onnx.helper.make_tensor_value_info(name, kind, [None] * len(value["shape"])))
        feeds[name] = numpy.array(value["data"]).reshape(value["shape"]).astype(TYPES[kind])
    outputs = [onnx.helper.make_empty_tensor_value_info(job["output"])]
    initializers = [i for i in model.graph.initializer if i.name in needed]
    graph = onnx.helper.make_graph(nodes, "part", inputs, outputs, initializers)
    small = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=min(model.ir_version, 10), functions=model.functions)
    session = onnxruntime.InferenceSession(small.SerializeToString(), providers=["CPUExecutionProvider"])
    out = session.run([job["output"]], feeds)[0].astype(numpy.float64).ravel()
    want = numpy.array(job["want"])
    if out.shape != want.shape:
        return {"apart": 9.0, "why": f"{out.shape} and {want.shape}"}
    return {"apart": float(numpy.abs(out - want).max() / max(numpy.abs(want).max(), 1e-30)), "why": ""}


def answer(job):
    error = None
    for half in (None, 10):
        try:
            return run(dict(job, half=half))
        except Exception as e:  # the engine refuses
            error = error or e
    return {"apart": -1, "why": str(error)}


onnxruntime.set_default_logger_severity(4)
with open(sys.argv[1], encoding="utf-8") as f:
    print(json.dumps([answer(job) for job in json.load(f)]))
