# ggml-org/llama.cpp #2768
"""CodeLlama converted without its base of 1,000,000: the engine takes 10,000."""
from lab import SMALL, prompts


def job(lab):
    model = lab.model("LlamaForCausalLM", "LlamaConfig", **SMALL, max_position_embeddings=16384, rope_parameters=dict(rope_type="default", rope_theta=1e6))
    source = lab.gguf(model, drop=("ARCH.rope.freq_base",))
    changed = lab.change(source, "set", "rope.freq_base=1000000")
    asked = prompts(9, 700)
    lab.compare("prompts of 9 and 700 tokens", lab.served(changed, asked, 1024), lab.wanted(model, asked), lab.served(source, asked, 1024))
