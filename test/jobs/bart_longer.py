# huggingface/transformers #4277
"""BART on documents of 2,048 tokens, by the copied rows that the thread's code makes."""
import numpy as np
import torch
from transformers.models.bart.modeling_bart import BartEncoder

import transformers as T
from lab import VOCABULARY, One, prompts


def job(lab):
    torch.manual_seed(1)
    shape = dict(vocab_size=VOCABULARY, d_model=64, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=96, init_std=0.1, pad_token_id=1, bos_token_id=0, eos_token_id=2)
    model = BartEncoder(T.BartConfig(**shape, max_position_embeddings=1024)).eval()
    longer = BartEncoder(T.BartConfig(**shape, max_position_embeddings=2048)).eval()
    state = model.state_dict()
    rows = state["embed_positions.weight"]
    state["embed_positions.weight"] = torch.cat([rows, rows[2:]])  # its first two rows are those of an offset
    longer.load_state_dict(state)
    source = lab.onnx(One(model), (torch.tensor(prompts(11)),), ["input_ids"], {"input_ids": {0: "batch", 1: "sequence"}})
    changed = lab.change(source, "extend", "--len", "2048", "--method", "tile")
    for n in (11, 1024, 2000):
        text = np.array(prompts(n))
        lab.compare(f"{n} tokens", lab.run(changed, input_ids=text), lab.outputs(longer, torch.tensor(text)))
    lab.ends(source, "2,000 tokens", input_ids=text)
