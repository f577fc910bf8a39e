# neuralmagic/sparseml #1826
"""A TinyLlama whose rotation was folded at the 512 tokens of its export: it runs on, with wrong numbers, or not at all."""
import numpy as np
import torch

from lab import SMALL, prompts


class Folded(torch.nn.Module):
    """As LlamaRotaryEmbedding was until 4.38: a cache of sines and cosines that a slice reads."""

    def __init__(self, model, length):
        super().__init__()
        self.model = model
        cos, sin = model.model.rotary_emb(torch.zeros(1), torch.arange(length)[None])
        self.register_buffer("cos", cos[0])
        self.register_buffer("sin", sin[0])
        owner = self

        def rotary(x, position_ids):
            n = x.shape[1]
            return owner.cos[:n][None], owner.sin[:n][None]

        model.model.rotary_emb.forward = rotary

    def forward(self, ids):
        return self.model(ids, use_cache=False).logits


def job(lab):
    shape = dict(SMALL, max_position_embeddings=2048, rope_parameters=dict(rope_type="default", rope_theta=10000.0))
    model = lab.model("LlamaForCausalLM", "LlamaConfig", **shape)
    want = lab.edited(model)
    source = lab.onnx(Folded(model, 512), (torch.tensor(prompts(11)),), ["input_ids"], {"input_ids": {1: "sequence"}}, dynamo=True)
    changed = lab.change(source, "extend", "--len", "2048")
    for n in (11, 512, 1500):
        text = np.array(prompts(n))
        lab.compare(f"{n} tokens", lab.run(changed, input_ids=text), lab.outputs(lambda t: want(t).logits, torch.tensor(text)))
    lab.ends(source, "1,500 tokens", input_ids=text)
