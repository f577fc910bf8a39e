# huggingface/transformers #530
"""GPT-2 in ONNX on texts longer than 1,024 tokens, exported by torch.export."""
import numpy as np
import torch

from lab import VOCABULARY, One, prompts


def job(lab):
    model = lab.model("GPT2LMHeadModel", "GPT2Config", vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=2, n_positions=1024, use_cache=False)
    longer = lab.edited(model, n_positions=2048)
    with torch.no_grad():
        rows = model.transformer.wpe.weight
        longer.transformer.wpe.weight.copy_(torch.cat([rows, rows]))
    source = lab.onnx(One(model), (torch.tensor(prompts(11)),), ["input_ids"], {"input_ids": {1: "sequence"}}, dynamo=True)
    changed = lab.change(source, "extend", "--len", "2048", "--method", "tile")
    for n in (11, 1500):
        text = np.array(prompts(n))
        lab.compare(f"{n} tokens", lab.run(changed, input_ids=text), lab.outputs(longer, torch.tensor(text)))
    lab.ends(source, "1,500 tokens", input_ids=text)
