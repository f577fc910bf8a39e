# ggml-org/llama.cpp #2841
"""LLaMA-2-7B-32K, trained with linear scaling by 8: a file without it is used with --rope-scale by hand."""
from lab import SMALL, prompts


def job(lab):
    model = lab.model("LlamaForCausalLM", "LlamaConfig", **SMALL, max_position_embeddings=32768, rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=8.0))
    source = lab.gguf(model, drop=("ARCH.rope.scaling.type", "ARCH.rope.scaling.factor"))
    changed = lab.change(source, "set", "rope.scaling.type=linear", "rope.scaling.factor=8")
    asked = prompts(9, 700)
    lab.compare("prompts of 9 and 700 tokens", lab.served(changed, asked, 1024), lab.wanted(model, asked), lab.served(source, asked, 1024))
