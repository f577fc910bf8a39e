"""Writes the node tests of the onnx package as files: nodetests.py DIR OPERATOR,OPERATOR…

DIR/NAME/model.onnx, input_I.pb and output_I.pb (TensorProto), for the tests of the named operators.
"""
import os
import sys

import numpy
import onnx
from onnx.backend.test.loader import load_model_tests  # noqa: F401  (the package must be complete)
from onnx.backend.test.case.node import collect_testcases
from onnx import numpy_helper

out, wanted = sys.argv[1], set(sys.argv[2].split(","))
for case in collect_testcases(None):
    if not any(n.op_type in wanted for n in case.model.graph.node) or "training" in case.name:
        continue
    for inputs, outputs in case.data_sets:
        try:
            tensors = [("input", i, v, n) for i, (v, n) in enumerate(zip(inputs, case.model.graph.input))]
            tensors += [("output", i, v, n) for i, (v, n) in enumerate(zip(outputs, case.model.graph.output))]
            files = {f"{kind}_{i}.pb": (v if isinstance(v, onnx.TensorProto) else numpy_helper.from_array(numpy.asarray(v), n.name)).SerializeToString()
                     for kind, i, v, n in tensors}
        except Exception:
            continue  # sequences and optionals
        folder = os.path.join(out, case.name)
        os.makedirs(folder, exist_ok=True)
        files["model.onnx"] = case.model.SerializeToString()
        for name, data in files.items():
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data)
        break
