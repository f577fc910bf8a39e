# ggml-org/llama.cpp #1333
"""MPT, whose ALiBi has no end, beyond the 2,048 tokens that the file states."""
from lab import GELU_TOLERANCE, VOCABULARY, prompts


def job(lab):
    model = lab.model("MptForCausalLM", "MptConfig", vocab_size=VOCABULARY, d_model=64, n_layers=2, n_heads=4, max_seq_len=2048, expansion_ratio=2, attn_implementation="eager")
    longer = lab.edited(model, max_seq_len=8192)
    source = lab.gguf(model, config={"architectures": ["MPTForCausalLM"]})
    changed = lab.change(source, "extend", "--len", "8192")
    asked = prompts(700, 4000)
    lab.compare("prompts of 700 and 4,000 tokens", lab.served(changed, asked, 8192), lab.wanted(longer, asked), tolerance=GELU_TOLERANCE)
    lab.expect("the server grants 8,192 tokens, 2,048 before", (lab.granted(changed, 8192), lab.granted(source, 8192)) == (8192, 2048))
