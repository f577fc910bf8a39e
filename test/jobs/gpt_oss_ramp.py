# vllm-project/vllm #27722
"""gpt-oss trains with YaRN's bounds as they are, and engines round them: the same frequencies in llama.cpp."""
from lab import VOCABULARY, prompts


def job(lab):
    yarn = dict(rope_type="yarn", rope_theta=150000.0, factor=32.0, beta_fast=32.0, beta_slow=1.0, truncate=False, original_max_position_embeddings=4096)
    model = lab.model("GptOssForCausalLM", "GptOssConfig", vocab_size=VOCABULARY, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=64,
                      num_local_experts=4, num_experts_per_tok=2, sliding_window=128, max_position_embeddings=131072, rope_parameters=yarn, attn_implementation="eager")
    source = lab.gguf(model)
    changed = lab.change(source, "rope", "--scaling", "yarn", "--factor", "32", "--original-length", "4096", "--as", "transformers", "--truncate=false")
    asked = prompts(700, 3000)
    lab.compare("prompts of 700 and 3,000 tokens", lab.served(changed, asked, 4096), lab.wanted(model, asked), lab.served(source, asked, 4096))
