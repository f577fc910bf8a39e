# ggml-org/llama.cpp #8650
"""Llama 3.1 converted before its scaling was known: no rope_freqs, and beyond 8,192 tokens worse and worse."""
from lab import SMALL, prompts


def job(lab):
    llama3 = dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192)
    model = lab.model("LlamaForCausalLM", "LlamaConfig", **SMALL, max_position_embeddings=131072, rope_parameters=llama3)
    source = lab.gguf(model, drop=("rope_freqs.weight",))
    changed = lab.change(source, "rope", "--scaling", "llama3", "--factor", "8", "--original-length", "8192")
    asked = prompts(700, 8500)
    lab.compare("prompts of 700 and 8,500 tokens", lab.served(changed, asked, 9000), lab.wanted(model, asked), lab.served(source, asked, 9000))
