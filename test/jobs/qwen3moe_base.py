# paiml/aprender #2148
"""Qwen3-MoE without rope.freq_base in the file, read with a base of 10,000: named by inspect, and set."""
from lab import MIXTURE, prompts


def job(lab):
    model = lab.model("Qwen3MoeForCausalLM", "Qwen3MoeConfig", **MIXTURE, max_position_embeddings=32768, rope_parameters=dict(rope_type="default", rope_theta=1e6))
    source = lab.gguf(model, drop=("ARCH.rope.freq_base",))
    lab.expect("inspect finds that the base is missing", any("base" in f["message"] for f in lab.inspect(source)["findings"]))
    changed = lab.change(source, "rope", "--base", "1000000")
    asked = prompts(9, 700)
    lab.compare("prompts of 9 and 700 tokens", lab.served(changed, asked, 1024), lab.wanted(model, asked), lab.served(source, asked, 1024))
