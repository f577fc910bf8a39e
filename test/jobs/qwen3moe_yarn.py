# ggml-org/llama.cpp #13322
"""Qwen3-MoE beyond 32,768 tokens by YaRN: converted files lacked the keys, and were to be converted again."""
from lab import MIXTURE, prompts


def job(lab):
    model = lab.model("Qwen3MoeForCausalLM", "Qwen3MoeConfig", **MIXTURE, max_position_embeddings=32768, rope_parameters=dict(rope_type="default", rope_theta=1e6))
    yarn = lab.edited(model, max_position_embeddings=131072, rope_parameters=dict(rope_type="yarn", rope_theta=1e6, factor=4.0, original_max_position_embeddings=32768))
    source = lab.gguf(model)
    changed = lab.change(source, "extend", "--len", "131072")
    short = prompts(9, 700)
    lab.compare("prompts of 9 and 700 tokens", lab.served(changed, short, 1024), lab.wanted(yarn, short), lab.served(source, short, 1024))
    long = prompts(33500)
    lab.compare("a prompt of 33,500 tokens", lab.served(changed, long, 34000), lab.wanted(yarn, long))
