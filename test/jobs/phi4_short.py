# ggml-org/llama.cpp #24823
"""Phi-4-mini at a context above 4,096: llama.cpp gives short prompts the long list of LongRoPE. The file gets one list."""
from lab import SMALL, prompts


SHAPE = dict(SMALL, hidden_size=128, num_attention_heads=2)


def job(lab):
    longrope = dict(rope_type="longrope", rope_theta=10000.0, original_max_position_embeddings=4096, short_factor=[1.0 + 0.01 * i for i in range(24)], long_factor=[1.0 + 0.9 * i for i in range(24)], partial_rotary_factor=0.75)
    model = lab.model("Phi3ForCausalLM", "Phi3Config", **SHAPE, max_position_embeddings=131072, original_max_position_embeddings=4096, partial_rotary_factor=0.75, rope_parameters=longrope, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    source = lab.gguf(model, config={"rope_scaling": {"type": "longrope", "short_factor": longrope["short_factor"], "long_factor": longrope["long_factor"]}, "rope_theta": 10000.0, "tokenizer_class": "GPT2Tokenizer"}, tokenizer_class="GPT2Tokenizer")
    changed = lab.change(source, "rope", "--scaling", "longrope", "--use", "short")
    asked = prompts(9, 700)
    lab.compare("prompts of 9 and 700 tokens at -c 8192", lab.served(changed, asked, 8192), lab.wanted(model, asked), lab.served(source, asked, 8192))
