"""Writes nodes of com.microsoft and what ONNX Runtime gives of them, as nodetests.py does: fusednodes.py DIR

DIR/fused-NAME/model.onnx, input_I.pb and output_0.pb: what ONNX Runtime makes of a product, a sum or a convolution and what stands around it.
"""
import os
import sys

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

chance = numpy.random.default_rng(1)


def of(*shape):
    return chance.standard_normal(shape).astype(numpy.float32)


ACTIVATIONS = {"Relu": {}, "Sigmoid": {}, "Tanh": {}, "LeakyRelu": {"alpha": 0.3}, "HardSigmoid": {"alpha": 0.3, "beta": 0.4}}
CASES = {
    "FusedMatMul": [([of(2, 3, 4), of(2, 4, 5)], {"alpha": 0.25}), ([of(2, 4, 3), of(2, 4, 5)], {"transA": 1, "alpha": 3.0}), ([of(2, 3, 4), of(2, 5, 4)], {"transB": 1}),
                    ([of(3, 2, 4), of(2, 4, 5)], {"transBatchA": 1, "alpha": 2.0}), ([of(3, 4), of(4, 5)], {})],
    "FusedGemm": [([of(3, 4), of(5, 4), of(5)], {"activation": name, "transB": 1, "alpha": 0.5, "beta": 2.0, **{f"activation_{k}": v for k, v in given.items()}}) for name, given in ACTIVATIONS.items()],
    "BiasGelu": [([of(3, 4), of(4)], {})],
    "FastGelu": [([of(3, 4)], {}), ([of(3, 4), of(4)], {})],
    "Gelu": [([of(3, 4)], {})],
    "QuickGelu": [([of(3, 4)], {}), ([of(3, 4)], {"alpha": 1.0})],
    "MatMulIntegerToFloat": [([chance.integers(0, 255, (3, 4)).astype(numpy.uint8), chance.integers(-127, 127, (4, 5)).astype(numpy.int8), numpy.float32(0.02), numpy.float32(0.03),
                               numpy.uint8(100), numpy.int8(3), of(5)], {})],
    "FusedConv": [([of(1, 3, 4, 4), of(5, 3, 1, 1), of(5)], {"activation": name, "kernel_shape": [1, 1], **({"activation_params": list(given.values())} if given else {})}) for name, given in ACTIVATIONS.items()]
                 + [([of(1, 3, 4, 4), of(5, 3, 1, 1)], {"activation": "Clip", "activation_params": [-0.2, 0.5], "kernel_shape": [1, 1]})],
    "SkipLayerNormalization": [([of(2, 3, 4), of(2, 3, 4), of(4), of(4), of(4)], {"epsilon": 1e-5})],
}
for operator, cases in CASES.items():
    for i, (inputs, attributes) in enumerate(cases):
        inputs = [numpy.asarray(x) for x in inputs]
        names = [f"x{k}" for k in range(len(inputs))]
        node = helper.make_node(operator, names, ["y"], domain="com.microsoft", **attributes)
        infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in zip(names, inputs)]
        graph = helper.make_graph([node], "fused", infos, [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        result = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, dict(zip(names, inputs)))[0]
        folder = os.path.join(sys.argv[1], f"fused-{operator}-{i}")
        os.makedirs(folder)
        files = {f"input_{k}.pb": numpy_helper.from_array(x, n) for k, (n, x) in enumerate(zip(names, inputs))} | {"output_0.pb": numpy_helper.from_array(result, "y"), "model.onnx": model}
        for name, message in files.items():
            with open(os.path.join(folder, name), "wb") as f:
                f.write(message.SerializeToString())
