# marella/ctransformers #126
"""Yarn-Llama-2 of 64k tokens in a file without YaRN's keys: gibberish beyond 4,096."""
from lab import SMALL, prompts


def job(lab):
    yarn = dict(rope_type="yarn", rope_theta=10000.0, factor=16.0, original_max_position_embeddings=4096)
    model = lab.model("LlamaForCausalLM", "LlamaConfig", **SMALL, max_position_embeddings=65536, rope_parameters=yarn)
    source = lab.gguf(model, drop=tuple("ARCH.rope.scaling." + k for k in ("type", "factor", "original_context_length", "attn_factor", "yarn_beta_fast", "yarn_beta_slow", "yarn_ext_factor", "yarn_attn_factor")))
    changed = lab.change(source, "rope", "--scaling", "yarn", "--factor", "16", "--original-length", "4096")
    asked = prompts(700, 6000)
    lab.compare("prompts of 700 and 6,000 tokens", lab.served(changed, asked, 8192), lab.wanted(model, asked), lab.served(source, asked, 8192))
