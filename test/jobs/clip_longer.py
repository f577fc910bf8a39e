# openai/CLIP #468
"""CLIP's text model beyond 77 tokens, stretched as Long-CLIP does: 20 rows stay, the others are interpolated."""
import numpy as np
import torch

from lab import ENCODER, One, prompts


def stretched(rows, keep=20, times=4):
    """Long-CLIP's load_from_clip: kept rows, then every row and what lies between it and the next, going on beyond the last."""
    place = keep + torch.arange(times * (len(rows) - keep)) / times
    low = place.floor().long().clamp(max=len(rows) - 2)
    return torch.cat([rows[:keep], torch.lerp(rows[low], rows[low + 1], (place - low)[:, None])])


def job(lab):
    model = lab.model("CLIPTextModel", "CLIPTextConfig", **ENCODER, max_position_embeddings=77, eos_token_id=2, bos_token_id=0)
    longer = lab.edited(model, max_position_embeddings=248)
    embeddings = lambda m: (getattr(m, "text_model", None) or m).embeddings
    model_rows = embeddings(model).position_embedding.weight.detach()
    with torch.no_grad():
        embeddings(longer).position_embedding.weight.copy_(stretched(model_rows))
    source = lab.onnx(One(model), (torch.tensor(prompts(11)),), ["input_ids"], {"input_ids": {0: "batch", 1: "sequence"}})
    changed = lab.change(source, "extend", "--len", "248", "--method", "stretch")
    for n in (20, 200):
        text = np.array(prompts(n))
        lab.compare(f"{n} tokens", lab.run(changed, input_ids=text), lab.outputs(longer, torch.tensor(text)))
    lab.ends(source, "200 tokens", input_ids=text)
