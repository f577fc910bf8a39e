# microsoft/onnxruntime-genai #1932
"""Phi-4 built for ONNX Runtime GenAI is chaotic once a text passes 4,096 tokens, where the caches change; one list for all lengths."""
import numpy as np
import torch

from lab import SMALL, prompts


def job(lab):
    original = 256  # a sixteenth of the published 4,096, so that a text of both lists stays short
    lists = dict(short_factor=[1.0 + 0.01 * i for i in range(32)], long_factor=[1.0 + 0.9 * i for i in range(32)])
    longrope = dict(type="longrope", rope_type="longrope", rope_theta=10000.0, original_max_position_embeddings=original, **lists)
    # The builder takes any Linear of as many rows as there are words for the head: one head of keys keeps q, k and v below that.
    shape = dict(SMALL, hidden_size=128, num_attention_heads=2, num_key_value_heads=1)
    model = lab.model("Phi3ForCausalLM", "Phi3Config", **shape, max_position_embeddings=8 * original, original_max_position_embeddings=original, rope_parameters=longrope, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    one = lab.edited(model, rope_parameters=dict(longrope, short_factor=lists["long_factor"]))
    source = lab.genai(model)
    changed = lab.change(source, "rope", "--scaling", "longrope", "--use", "long", name="genai-long.onnx")
    for n in (200, 400):
        text = np.array(prompts(n))
        with torch.no_grad():
            want = one(torch.tensor(text)).logits.numpy()
        lab.compare(f"{n} tokens", lab.decode(changed, text, model.config), want, lab.decode(source, text, model.config) if n < original else None)
