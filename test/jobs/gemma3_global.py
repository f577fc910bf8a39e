# ggml-org/llama.cpp #14367
"""Gemma 3 with linear scaling by 8 in the layers that see everything, and none in those with a window."""
from lab import GELU_TOLERANCE, SMALL, prompts


def job(lab):
    both = lambda factor: {"full_attention": dict(rope_type="linear", rope_theta=1e6, factor=8.0) if factor else dict(rope_type="default", rope_theta=1e6), "sliding_attention": dict(rope_type="default", rope_theta=10000.0)}
    shape = dict(SMALL, num_hidden_layers=6, layer_types=["sliding_attention"] * 5 + ["full_attention"], sliding_window=512, query_pre_attn_scalar=64)
    model = lab.model("Gemma3ForCausalLM", "Gemma3TextConfig", **shape, max_position_embeddings=32768, rope_parameters=both(0))
    linear = lab.edited(model, max_position_embeddings=131072, rope_parameters=both(8))
    source = lab.gguf(model, tokenizer="sentencepiece")
    changed = lab.change(source, "rope", "--scaling", "linear", "--factor", "8", "--len", "131072")
    asked = prompts(9, 700)
    lab.compare("prompts of 9 and 700 tokens", lab.served(changed, asked, 1024), lab.wanted(linear, asked), lab.served(source, asked, 1024), tolerance=GELU_TOLERANCE)
