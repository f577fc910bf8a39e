# gpustack/gpustack #1616
"""nomic-embed-text from 2,048 tokens to 8,192 without flags of YaRN."""
from lab import VOCABULARY, prompts


# config.json as the published model has it: the converter reads its names.
PUBLISHED = dict(n_positions=8192, n_embd=64, n_head=2, n_layer=2, n_inner=96, activation_function="swiglu", causal=False, qkv_proj_bias=False, mlp_fc1_bias=False, mlp_fc2_bias=False, prenorm=False,
                 rotary_emb_fraction=1.0, rotary_emb_interleaved=False, rotary_emb_scale_base=None, rotary_emb_base=1000.0, layer_norm_epsilon=1e-12)


def job(lab):
    model = lab.model("NomicBertModel", "NomicBertConfig", vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=2048, rope_parameters=dict(rope_type="default", rope_theta=1000.0))
    yarn = lab.edited(model, max_position_embeddings=8192, rope_parameters=dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=2048))
    source = lab.gguf(model, tokenizer="wordpiece", config=PUBLISHED)
    changed = lab.change(source, "extend", "--len", "8192")
    short, long = prompts(9, 700), prompts(5000)
    lab.compare("texts of 9 and 700 tokens", lab.served(changed, short, 1024, embedding=True), lab.wanted(yarn, short, embedding=True), lab.served(source, short, 1024, embedding=True))
    lab.compare("a text of 5,000 tokens", lab.served(changed, long, 8192, embedding=True), lab.wanted(yarn, long, embedding=True))
