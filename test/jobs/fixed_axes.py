# onnx/onnx #4419
"""Free axes of a published model as numbers, with what follows from them in the whole graph."""
import numpy as np
import onnx
import torch

from lab import ENCODER, One, prompts


def job(lab):
    model = lab.model("BertModel", "BertConfig", **ENCODER, max_position_embeddings=512)
    source = lab.onnx(One(model), (torch.tensor(prompts(11)),), ["input_ids"], {"input_ids": {0: "batch", 1: "sequence"}, "out0": {0: "batch", 1: "sequence"}})
    changed = lab.change(source, "extend", "--fix", "batch=1,sequence=128")
    graph = onnx.shape_inference.infer_shapes(onnx.load(changed)).graph
    free = [v.name for v in [*graph.input, *graph.output, *graph.value_info] for d in v.type.tensor_type.shape.dim if not d.HasField("dim_value")]
    lab.expect("no axis is left free", not free)
    text = np.array(prompts(128))
    lab.compare("128 tokens", lab.run(changed, input_ids=text), lab.outputs(model, torch.tensor(text)))
