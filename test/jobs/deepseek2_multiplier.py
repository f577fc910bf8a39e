# ggml-org/llama.cpp #7118
"""DeepSeek-V2 without yarn_log_multiplier: the attention's scale lacks mscale_all_dim."""
from lab import VOCABULARY, prompts


def job(lab):
    yarn = dict(rope_type="yarn", rope_theta=10000.0, factor=40.0, beta_fast=32.0, beta_slow=1.0, mscale=0.707, mscale_all_dim=0.707, original_max_position_embeddings=4096)
    model = lab.model("DeepseekV2ForCausalLM", "DeepseekV2Config", vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, moe_intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
                      q_lora_rank=32, kv_lora_rank=32, qk_rope_head_dim=16, qk_nope_head_dim=32, v_head_dim=32, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, first_k_dense_replace=1,
                      topk_method="greedy", routed_scaling_factor=1.0, norm_topk_prob=False, max_position_embeddings=163840, rope_parameters=yarn)
    source = lab.gguf(model, drop=("ARCH.rope.scaling.yarn_log_multiplier",), config={"scoring_func": "softmax"})
    changed = lab.change(source, "set", "rope.scaling.yarn_log_multiplier=0.0707")
    asked = prompts(9, 700)
    lab.compare("prompts of 9 and 700 tokens", lab.served(changed, asked, 1024), lab.wanted(model, asked), lab.served(source, asked, 1024))
