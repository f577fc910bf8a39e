# ollama/ollama #8493
"""Qwen2.5 at 128k: its instructions edit config.json and convert again; here the converted file gets YaRN."""
from lab import SMALL, prompts


SHAPE = dict(SMALL, hidden_size=128, num_attention_heads=2, num_key_value_heads=1)


def job(lab):
    model = lab.model("Qwen2ForCausalLM", "Qwen2Config", **SHAPE, max_position_embeddings=32768, rope_parameters=dict(rope_type="default", rope_theta=1e6))
    yarn = lab.edited(model, max_position_embeddings=131072, rope_parameters=dict(rope_type="yarn", rope_theta=1e6, factor=4.0, original_max_position_embeddings=32768))
    source = lab.gguf(model)
    changed = lab.change(source, "extend", "--len", "131072")
    short = prompts(9, 700)
    lab.compare("prompts of 9 and 700 tokens", lab.served(changed, short, 1024), lab.wanted(yarn, short), lab.served(source, short, 1024))
    lab.expect("the server grants 131,072 tokens", lab.granted(changed, 131072) == 131072)
