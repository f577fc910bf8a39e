# ggml-org/llama.cpp #3440
"""StreamingLLM's window in a Llama's GGUF, which llama.cpp reads no window of."""
from lab import SMALL


def job(lab):
    model = lab.model("LlamaForCausalLM", "LlamaConfig", **SMALL, max_position_embeddings=2048)
    lab.change(lab.gguf(model), "window", "--len", "512", "--sinks", "4")
