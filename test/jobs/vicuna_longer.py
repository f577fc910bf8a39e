# LostRuins/koboldcpp #1847
"""A Llama of 2,048 tokens at 8,192 by linear scaling, held in the file instead of in flags."""
from lab import SMALL, prompts


def job(lab):
    model = lab.model("LlamaForCausalLM", "LlamaConfig", **SMALL, max_position_embeddings=2048, rope_parameters=dict(rope_type="default", rope_theta=10000.0))
    linear = lab.edited(model, max_position_embeddings=8192, rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=4.0))
    source = lab.gguf(model)
    changed = lab.change(source, "extend", "--len", "8192", "--method", "linear")
    short, long = prompts(9, 700), prompts(8100)
    lab.compare("prompts of 9 and 700 tokens", lab.served(changed, short, 1024), lab.wanted(linear, short), lab.served(source, short, 1024))
    lab.compare("a prompt of 8,100 tokens", lab.served(changed, long, 8192), lab.wanted(linear, long))
