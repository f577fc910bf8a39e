# tenstorrent/tt-forge-onnx #634
"""A rotation for an engine without Sin and Cos: tables of 2,048 positions in their place."""
import numpy as np
import onnx
import torch

from lab import SMALL, One, prompts


def job(lab):
    model = lab.model("LlamaForCausalLM", "LlamaConfig", **SMALL, max_position_embeddings=2048, rope_parameters=dict(rope_type="default", rope_theta=10000.0), use_cache=False)
    source = lab.onnx(One(model), (torch.tensor(prompts(11)),), ["input_ids"], {"input_ids": {1: "sequence"}}, dynamo=True)
    changed = lab.change(source, "bake", "--len", "2048")
    lab.expect("no Sin and no Cos is left", not {n.op_type for n in onnx.load(changed).graph.node} & {"Sin", "Cos"})
    for n in (11, 1500):
        text = np.array(prompts(n))
        lab.compare(f"{n} tokens", lab.run(changed, input_ids=text), lab.outputs(model, torch.tensor(text)))
