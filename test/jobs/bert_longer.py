# alexandrainst/danlp #54
"""BERT in ONNX beyond 512 tokens, where it fails with an index out of range."""
import numpy as np
import torch

from lab import ENCODER, One, prompts


def job(lab):
    model = lab.model("BertModel", "BertConfig", **ENCODER, max_position_embeddings=512)
    longer = lab.edited(model, max_position_embeddings=1024)
    with torch.no_grad():
        rows = model.embeddings.position_embeddings.weight
        longer.embeddings.position_embeddings.weight.copy_(torch.cat([rows, rows]))
    source = lab.onnx(One(model), (torch.tensor(prompts(11)),), ["input_ids"], {"input_ids": {0: "batch", 1: "sequence"}})
    changed = lab.change(source, "extend", "--len", "1024", "--method", "tile")
    for n in (11, 512, 1000):
        text = np.array(prompts(n))
        lab.compare(f"{n} tokens", lab.run(changed, input_ids=text), lab.outputs(longer, torch.tensor(text)))
    lab.ends(source, "1,000 tokens", input_ids=text)
