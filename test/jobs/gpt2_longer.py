# openai/gpt-2 #137
"""GPT-2 beyond 1,024 tokens, in llama.cpp: rows are computed, and old texts keep their outputs."""
import torch

from lab import GELU_TOLERANCE, VOCABULARY, prompts


def job(lab):
    model = lab.model("GPT2LMHeadModel", "GPT2Config", vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=2, n_positions=1024)
    longer = lab.edited(model, n_positions=2048)
    with torch.no_grad():
        rows = model.transformer.wpe.weight
        longer.transformer.wpe.weight.copy_(torch.cat([rows, rows]))
    source = lab.gguf(model, config={"n_ctx": 1024})
    changed = lab.change(source, "extend", "--len", "2048", "--method", "tile")
    asked = prompts(9, 1000)
    lab.compare("prompts of 9 and 1,000 tokens", lab.served(changed, asked, 2048), lab.served(source, asked, 1024), tolerance=1e-5)
    long = prompts(2000)
    lab.compare("a prompt of 2,000 tokens", lab.served(changed, long, 2048), lab.wanted(longer, long), tolerance=GELU_TOLERANCE)
