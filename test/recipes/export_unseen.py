#!/usr/bin/env python3
"""Exports tiny models of families that no other recipe and no file of the shared corpus has, with both PyTorch exporters, and
says what `modelpatch inspect` makes of them: the schemes that it names beside those that the architecture has.

usage: export_unseen.py MODELPATCH FOLDER [WORD …]     (only families whose name holds a WORD)

Needs torch, transformers and onnxscript (the `torch` part of the engine set-up). Weights are seeded noise.
"""
import collections
import json
import os
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers as T

V, D, H, L = 64, 32, 4, 2
TEXT = dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
GQA = dict(TEXT, num_key_value_heads=2, head_dim=8)
BART = dict(vocab_size=V, d_model=D, encoder_layers=L, decoder_layers=L, encoder_attention_heads=H, decoder_attention_heads=H, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=40, pad_token_id=0, bos_token_id=1, eos_token_id=2)
VISION = dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, image_size=32, patch_size=8)

# model class, configuration class, configuration, kind of input, schemes that it has
FAMILIES = [
    # text encoders
    ("FunnelBaseModel", "FunnelConfig", dict(vocab_size=V, d_model=D, n_head=H, d_head=8, d_inner=48, block_sizes=[1, 1], num_decoder_layers=1), "text", ["relative-sinusoid"]),
    ("LongT5EncoderModel", "LongT5Config", dict(vocab_size=V, d_model=D, d_kv=8, num_layers=L, num_heads=H, d_ff=48, local_radius=3), "text", ["t5-bias"]),
    ("UMT5EncoderModel", "UMT5Config", dict(vocab_size=V, d_model=D, d_kv=8, num_layers=L, num_heads=H, d_ff=48), "text", ["t5-bias"]),
    ("SwitchTransformersEncoderModel", "SwitchTransformersConfig", dict(vocab_size=V, d_model=D, d_kv=8, num_layers=L, num_heads=H, d_ff=48, num_experts=2, num_sparse_encoder_layers=1), "text", ["t5-bias"]),
    ("BigBirdModel", "BigBirdConfig", dict(TEXT, attention_type="original_full"), "text", ["learned"]),
    ("LongformerModel", "LongformerConfig", dict(TEXT, attention_window=4), "text16", ["learned"]),
    ("ConvBertModel", "ConvBertConfig", dict(TEXT, embedding_size=D, head_ratio=2, conv_kernel_size=3), "text", ["learned"]),
    ("FNetModel", "FNetConfig", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, intermediate_size=48, max_position_embeddings=40), "ids", ["learned"]),
    ("IBertModel", "IBertConfig", dict(TEXT), "text", ["learned"]),
    ("LukeModel", "LukeConfig", dict(TEXT, entity_vocab_size=8, entity_emb_size=16), "text", ["learned"]),
    ("MobileBertModel", "MobileBertConfig", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, embedding_size=16, intra_bottleneck_size=16, max_position_embeddings=40), "text", ["learned"]),
    ("MegatronBertModel", "MegatronBertConfig", dict(TEXT), "text", ["learned"]),
    ("RemBertModel", "RemBertConfig", dict(TEXT, input_embedding_size=16, output_embedding_size=16), "text", ["learned"]),
    ("SqueezeBertModel", "SqueezeBertConfig", dict(TEXT, embedding_size=D), "text", ["learned"]),
    ("SplinterModel", "SplinterConfig", dict(TEXT), "text", ["learned"]),
    ("YosoModel", "YosoConfig", dict(TEXT, use_expectation=True), "text", ["learned"]),
    ("XLMRobertaXLModel", "XLMRobertaXLConfig", dict(TEXT), "text", ["learned"]),
    ("XmodModel", "XmodConfig", dict(TEXT, languages=["en"], default_language="en"), "text", ["learned"]),
    ("FlaubertModel", "FlaubertConfig", dict(vocab_size=V, emb_dim=D, n_layers=L, n_heads=H, max_position_embeddings=40), "text", ["learned"]),
    ("MarkupLMModel", "MarkupLMConfig", dict(TEXT, max_depth=4, xpath_unit_hidden_size=8, max_xpath_tag_unit_embeddings=12, max_xpath_subs_unit_embeddings=12, tag_pad_id=10, subs_pad_id=10), "text", ["learned"]),
    ("EuroBertModel", "EuroBertConfig", dict(GQA), "text", ["rope"]),
    ("JinaEmbeddingsV3Model", "JinaEmbeddingsV3Config", dict(TEXT), "text", ["rope"]),
    ("LayoutLMModel", "LayoutLMConfig", dict(TEXT, max_2d_position_embeddings=32), "text", ["learned"]),
    ("BrosModel", "BrosConfig", dict(TEXT), "bbox", ["learned"]),
    ("LiltModel", "LiltConfig", dict(TEXT, max_2d_position_embeddings=32), "bbox-int", ["learned"]),
    ("CanineModel", "CanineConfig", dict(TEXT, num_hash_buckets=16, num_hash_functions=4, local_transformer_stride=8, upsampling_kernel_size=2, downsampling_rate=2), "text16", ["learned"]),
    ("MvpEncoder", "MvpConfig", BART, "text", ["learned"]),
    ("BlenderbotSmallEncoder", "BlenderbotSmallConfig", BART, "text", ["learned"]),
    ("BlenderbotEncoder", "BlenderbotConfig", BART, "text", ["learned"]),
    ("PLBartEncoder", "PLBartConfig", BART, "text", ["learned"]),
    ("FSMTEncoder", "FSMTConfig", dict(langs=["en", "de"], src_vocab_size=V, tgt_vocab_size=V, d_model=D, encoder_layers=L, decoder_layers=L, encoder_attention_heads=H, decoder_attention_heads=H, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=40), "text", ["sinusoidal"]),
    ("NllbMoeEncoder", "NllbMoeConfig", dict(BART, num_experts=2, encoder_sparse_step=2, decoder_sparse_step=2), "text", ["sinusoidal"]),
    ("ProphetNetEncoder", "ProphetNetConfig", dict(vocab_size=V, hidden_size=D, encoder_ffn_dim=48, num_encoder_layers=L, num_encoder_attention_heads=H, decoder_ffn_dim=48, num_decoder_layers=L, num_decoder_attention_heads=H, max_position_embeddings=40), "text", ["learned"]),
    # decoders
    ("DeepseekV2Model", "DeepseekV2Config", dict(TEXT, num_key_value_heads=H, kv_lora_rank=8, q_lora_rank=None, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=8, head_dim=8, n_routed_experts=2, num_experts_per_tok=1, first_k_dense_replace=2, moe_intermediate_size=16), "text", ["rope"]),
    ("DeepseekV3Model", "DeepseekV3Config", dict(TEXT, num_key_value_heads=H, kv_lora_rank=8, q_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=8, n_routed_experts=8, n_group=2, topk_group=1, num_experts_per_tok=2, first_k_dense_replace=2, moe_intermediate_size=16), "text", ["rope"]),
    ("MiniMaxModel", "MiniMaxConfig", dict(GQA, num_local_experts=2, layer_types=["full_attention", "full_attention"]), "text", ["rope"]),
    ("Cohere2Model", "Cohere2Config", dict(GQA, num_hidden_layers=4), "text", ["rope"]),
    ("Exaone4Model", "Exaone4Config", dict(GQA, num_hidden_layers=4), "text", ["rope"]),
    ("Glm4Model", "Glm4Config", dict(GQA, partial_rotary_factor=0.5), "text", ["rope"]),
    ("BitNetModel", "BitNetConfig", dict(GQA), "text", ["rope"]),
    ("DogeModel", "DogeConfig", dict(GQA), "text", ["rope"]),
    ("Lfm2Model", "Lfm2Config", dict(GQA, layer_types=["conv", "full_attention"]), "text", ["rope"]),
    ("SeedOssModel", "SeedOssConfig", dict(GQA), "text", ["rope"]),
    ("ApertusModel", "ApertusConfig", dict(GQA), "text", ["rope"]),
    ("ArceeModel", "ArceeConfig", dict(GQA), "text", ["rope"]),
    ("HunYuanDenseV1Model", "HunYuanDenseV1Config", dict(GQA), "text", ["rope"]),
    ("OlmoeModel", "OlmoeConfig", dict(GQA, num_experts=2, num_experts_per_tok=1), "text", ["rope"]),
    ("Olmo3Model", "Olmo3Config", dict(GQA), "text", ["rope"]),
    ("Qwen2MoeModel", "Qwen2MoeConfig", dict(GQA, num_experts=2, num_experts_per_tok=1, moe_intermediate_size=16, shared_expert_intermediate_size=16), "text", ["rope"]),
    ("JambaModel", "JambaConfig", dict(GQA, attn_layer_offset=1, attn_layer_period=2, expert_layer_offset=3, expert_layer_period=4, use_mamba_kernels=False, mamba_d_state=4, mamba_dt_rank=4), "text", ["none"]),
    ("BambaModel", "BambaConfig", dict(GQA, attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=8, mamba_d_state=8, mamba_chunk_size=8), "text", ["rope"]),
    ("Mamba2Model", "Mamba2Config", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, state_size=8, num_heads=8, head_dim=8, n_groups=2, chunk_size=8), "ids", ["none"]),
    ("FalconMambaModel", "FalconMambaConfig", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, state_size=4), "ids", ["none"]),
    ("RwkvModel", "RwkvConfig", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, attention_hidden_size=D, intermediate_size=48), "ids", ["none"]),
    ("RecurrentGemmaModel", "RecurrentGemmaConfig", dict(vocab_size=V, hidden_size=D, num_hidden_layers=3, num_attention_heads=H, num_key_value_heads=2, head_dim=8, intermediate_size=48, lru_width=D, attention_window_size=32), "text", ["rope"]),
    ("Gemma3nTextModel", "Gemma3nTextConfig", dict(GQA, num_hidden_layers=3, layer_types=["sliding_attention", "sliding_attention", "full_attention"], num_kv_shared_layers=0, vocab_size_per_layer_input=V, hidden_size_per_layer_input=8, laurel_rank=8, altup_num_inputs=2, activation_sparsity_pattern=[0.0, 0.0, 0.0]), "text", ["rope"]),
    ("DiffLlamaModel", "DiffLlamaConfig", dict(GQA), "text", ["rope"]),
    ("GPTNeoXJapaneseModel", "GPTNeoXJapaneseConfig", dict(TEXT, rotary_pct=1.0), "text", ["rope"]),
    ("ImageGPTModel", "ImageGPTConfig", dict(vocab_size=V, n_embd=D, n_layer=L, n_head=H, n_positions=48), "ids", ["learned"]),
    ("OpenAIGPTModel", "OpenAIGPTConfig", dict(vocab_size=V, n_embd=D, n_layer=L, n_head=H, n_positions=48), "text", ["learned"]),
    ("MusicgenMelodyDecoder", "MusicgenMelodyDecoderConfig", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, ffn_dim=48, num_codebooks=1), "ids", ["sinusoidal"]),
    ("DecisionTransformerGPT2Model", "DecisionTransformerConfig", dict(vocab_size=V, hidden_size=D, n_layer=L, n_head=H, n_positions=48), "text", ["learned"]),
    ("TrOCRForCausalLM", "TrOCRConfig", dict(vocab_size=V, d_model=D, decoder_layers=L, decoder_attention_heads=H, decoder_ffn_dim=48, max_position_embeddings=40), "text", ["learned"]),
    # pictures
    ("DPTModel", "DPTConfig", dict(VISION, backbone_out_indices=[0, 0, 1, 1], neck_hidden_sizes=[8, 8, 8, 8], is_hybrid=False), "image", ["learned"]),
    ("ViTMSNModel", "ViTMSNConfig", VISION, "image", ["learned"]),
    ("IJepaModel", "IJepaConfig", VISION, "image", ["learned"]),
    ("Data2VecVisionModel", "Data2VecVisionConfig", dict(VISION, use_relative_position_bias=True), "image", ["relative-table"]),
    ("Swin2SRModel", "Swin2SRConfig", dict(embed_dim=16, depths=[1], num_heads=[2], window_size=4, image_size=32, patch_size=1), "image", ["relative-table"]),
    ("DonutSwinModel", "DonutSwinConfig", dict(embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4, image_size=32, patch_size=4), "image", ["relative-table"]),
    ("CvtModel", "CvtConfig", dict(embed_dim=[8, 16], num_heads=[1, 2], depth=[1, 1], patch_sizes=[7, 3], patch_stride=[4, 2], patch_padding=[2, 1], mlp_ratio=[2.0, 2.0], attention_drop_rate=[0.0, 0.0], drop_rate=[0.0, 0.0], drop_path_rate=[0.0, 0.0], qkv_bias=[True, True], cls_token=[False, True], qkv_projection_method=["dw_bn", "dw_bn"], kernel_qkv=[3, 3], padding_kv=[1, 1], stride_kv=[2, 2], padding_q=[1, 1], stride_q=[1, 1]), "image", ["none"]),
    ("LevitModel", "LevitConfig", dict(image_size=64, hidden_sizes=[16, 24, 32], num_attention_heads=[2, 2, 2], depths=[1, 1, 1], key_dim=[8, 8, 8], drop_path_rate=0, mlp_ratio=[2, 2, 2], attention_ratio=[2, 2, 2], down_ops=[["Subsample", 8, 2, 4, 2, 2], ["Subsample", 8, 3, 4, 2, 2]]), "image64", ["relative-table"]),
    ("MobileViTModel", "MobileViTConfig", dict(hidden_sizes=[16, 16, 16], neck_hidden_sizes=[8, 8, 8, 8, 8, 8, 8], num_attention_heads=2, image_size=64, patch_size=2), "image64", ["none"]),
    ("PvtModel", "PvtConfig", dict(image_size=64, num_encoder_blocks=4, depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 16, 32], num_attention_heads=[1, 2, 2, 4], mlp_ratios=[2, 2, 2, 2]), "image64", ["learned"]),
    ("PvtV2Model", "PvtV2Config", dict(image_size=64, depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 16, 32], num_attention_heads=[1, 2, 2, 4], mlp_ratios=[2, 2, 2, 2]), "image64", ["none"]),
    ("PoolFormerModel", "PoolFormerConfig", dict(depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 16, 16]), "image64", ["none"]),
    ("ConvNextV2Model", "ConvNextV2Config", dict(depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 16, 16], image_size=64), "image64", ["none"]),
    ("ResNetModel", "ResNetConfig", dict(embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], layer_type="basic"), "image64", ["none"]),
    ("HieraModel", "HieraConfig", dict(embed_dim=16, image_size=[64, 64], patch_size=[7, 7], patch_stride=[4, 4], patch_padding=[3, 3], depths=[1, 1, 1, 1], num_heads=[1, 2, 4, 8], mlp_ratio=2.0), "image64", ["learned"]),
    ("Owlv2VisionTransformer", "Owlv2VisionConfig", VISION, "image", ["learned"]),
    ("ChineseCLIPVisionModel", "ChineseCLIPVisionConfig", VISION, "image", ["learned"]),
    ("BlipVisionModel", "BlipVisionConfig", VISION, "image", ["learned"]),
    ("Blip2VisionModel", "Blip2VisionConfig", VISION, "image", ["learned"]),
    ("InstructBlipVisionModel", "InstructBlipVisionConfig", VISION, "image", ["learned"]),
    ("GitVisionModel", "GitVisionConfig", VISION, "image", ["learned"]),
    ("AltCLIPVisionModel", "AltCLIPVisionConfig", VISION, "image", ["learned"]),
    ("Aimv2VisionModel", "Aimv2VisionConfig", VISION, "image", ["learned"]),
    ("Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", dict(VISION, num_register_tokens=2), "image", ["learned"]),
    ("DINOv3ViTModel", "DINOv3ViTConfig", dict(VISION, num_register_tokens=2), "image", ["rope"]),
    ("SamVisionModel", "SamVisionConfig", dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, image_size=32, patch_size=8, window_size=2, global_attn_indexes=[1], output_channels=8, mlp_dim=48), "image", ["learned", "relative-table"]),
    ("VitDetModel", "VitDetConfig", dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, image_size=32, pretrain_image_size=32, patch_size=8, use_relative_position_embeddings=True), "image", ["learned", "relative-table"]),
    ("FocalNetModel", "FocalNetConfig", dict(image_size=32, embed_dim=8, depths=[1, 1], focal_levels=[1, 1], focal_windows=[3, 3], hidden_sizes=[8, 16]), "image", ["none"]),
    ("EfficientNetModel", "EfficientNetConfig", dict(image_size=64, width_coefficient=0.25, depth_coefficient=0.1), "image64", ["none"]),
    ("VideoMAEModel", "VideoMAEConfig", dict(VISION, num_frames=4, tubelet_size=2), "video", ["sinusoidal"]),
    ("TimesformerModel", "TimesformerConfig", dict(VISION, num_frames=4), "video", ["learned"]),
    ("VivitModel", "VivitConfig", dict(VISION, image_size=32, num_frames=4, tubelet_size=[2, 8, 8]), "video", ["learned"]),
    ("DetrModel", "DetrConfig", dict(use_timm_backbone=False, backbone_config=None, d_model=D, encoder_layers=L, decoder_layers=L, encoder_attention_heads=H, decoder_attention_heads=H, encoder_ffn_dim=48, decoder_ffn_dim=48, num_queries=5), "image64", ["sinusoidal"]),
    # sound
    ("HubertModel", "HubertConfig", dict(hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=48, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2), "wave", ["conv"]),
    ("SEWModel", "SEWConfig", dict(hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=48, squeeze_factor=2, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3)), "wave", ["conv"]),
    ("WavLMModel", "WavLMConfig", dict(hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=48, num_buckets=16, max_bucket_distance=32, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3)), "wave", ["conv", "t5-bias"]),
    ("Data2VecAudioModel", "Data2VecAudioConfig", dict(hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=48, num_conv_pos_embeddings=2, conv_pos_kernel_size=5, num_conv_pos_embedding_groups=4, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3)), "wave", ["conv"]),
    ("Wav2Vec2ConformerModel", "Wav2Vec2ConformerConfig", dict(hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=48, position_embeddings_type="rotary", conv_depthwise_kernel_size=3, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3)), "wave", ["rope"]),
    ("Wav2Vec2BertModel", "Wav2Vec2BertConfig", dict(hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=48, feature_projection_input_dim=16, position_embeddings_type="relative_key", left_max_position_embeddings=6, right_max_position_embeddings=3, conv_depthwise_kernel_size=3), "frames", ["relative-table"]),
    ("SpeechT5Encoder", "SpeechT5Config", dict(vocab_size=V, hidden_size=D, encoder_layers=L, encoder_attention_heads=H, encoder_ffn_dim=48, encoder_max_relative_position=8), "states", ["relative-table"]),
    ("ASTModel", "ASTConfig", dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, patch_size=4, frequency_stride=4, time_stride=4, max_length=24, num_mel_bins=16), "ast", ["learned"]),
    ("ClapAudioModel", "ClapAudioConfig", dict(spec_size=32, window_size=4, num_mel_bins=8, patch_size=4, patch_stride=[4, 4], hidden_size=16, patch_embeds_hidden_size=8, depths=[1, 1], num_attention_heads=[2, 2], num_hidden_layers=2), "clap", ["relative-table"]),
    ("ParakeetEncoder", "ParakeetEncoderConfig", dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, subsampling_conv_channels=8, num_mel_bins=16, conv_kernel_size=3, subsampling_factor=4, max_position_embeddings=64), "mel", ["relative-sinusoid"]),
    # time series
    ("PatchTSTModel", "PatchTSTConfig", dict(num_input_channels=2, context_length=32, patch_length=4, patch_stride=4, d_model=D, num_hidden_layers=L, num_attention_heads=H, ffn_dim=48, do_mask_input=False), "series", ["learned"]),
    # a later batch: detectors, speech, translation, forecasts, towers of models that see
    ("XLNetModel", "XLNetConfig", dict(vocab_size=V, d_model=D, n_layer=L, n_head=H, d_inner=48), "text", ["relative-sinusoid"]),
    ("DebertaModel", "DebertaConfig", dict(TEXT, relative_attention=True, pos_att_type=["c2p", "p2c"], max_relative_positions=16), "text", ["disentangled", "learned"]),
    ("MraModel", "MraConfig", dict(TEXT, block_per_row=2), "text", ["learned"]),
    ("ErnieModel", "ErnieConfig", dict(TEXT), "text", ["learned"]),
    ("RoCBertModel", "RoCBertConfig", dict(TEXT, enable_pronunciation=False, enable_shape=False), "text", ["learned"]),
    ("RoFormerModel", "RoFormerConfig", dict(TEXT, embedding_size=D), "text", ["rope"]),
    ("EsmModel", "EsmConfig", dict(TEXT, position_embedding_type="absolute"), "text", ["learned"]),
    ("NystromformerModel", "NystromformerConfig", dict(TEXT, num_landmarks=4, segment_means_seq_len=16), "text16", ["learned"]),
    ("M2M100Encoder", "M2M100Config", dict(BART), "text", ["sinusoidal"]),
    ("BlenderbotEncoder", "BlenderbotConfig", dict(BART), "text", ["learned"]),
    ("BlenderbotSmallEncoder", "BlenderbotSmallConfig", dict(BART), "text", ["learned"]),
    ("PLBartEncoder", "PLBartConfig", dict(BART), "text", ["learned"]),
    ("PegasusXEncoder", "PegasusXConfig", dict(BART, stagger_local_blocks=False, block_size=4, num_global_tokens=2), "text16", ["sinusoidal"]),
    ("LEDEncoder", "LEDConfig", dict(BART, attention_window=4, max_encoder_position_embeddings=40, max_decoder_position_embeddings=40), "text16", ["learned"]),
    ("ProphetNetEncoder", "ProphetNetConfig", dict(vocab_size=V, hidden_size=D, num_encoder_layers=L, num_decoder_layers=L, num_encoder_attention_heads=H, num_decoder_attention_heads=H, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=40), "text", ["learned"]),
    ("NllbMoeEncoder", "NllbMoeConfig", dict(BART, num_experts=2, encoder_sparse_step=0, decoder_sparse_step=0), "text", ["sinusoidal"]),
    ("BertGenerationEncoder", "BertGenerationConfig", dict(TEXT), "text", ["learned"]),
    ("BioGptModel", "BioGptConfig", dict(TEXT), "text", ["learned"]),
    ("PersimmonModel", "PersimmonConfig", dict(TEXT), "text", ["rope"]),
    ("GPTNeoXModel", "GPTNeoXConfig", dict(TEXT, rotary_pct=0.5), "text", ["rope"]),
    ("Starcoder2Model", "Starcoder2Config", dict(TEXT, num_key_value_heads=2), "text", ["rope"]),
    ("NemotronModel", "NemotronConfig", dict(GQA), "text", ["rope"]),
    ("JetMoeModel", "JetMoeConfig", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_key_value_heads=2, kv_channels=8, intermediate_size=48, num_local_experts=2), "text", ["rope"]),
    ("Ernie4_5Model", "Ernie4_5Config", dict(GQA), "text", ["rope"]),
    ("VaultGemmaModel", "VaultGemmaConfig", dict(GQA, sliding_window=8), "text", ["rope"]),
    ("MptModel", "MptConfig", dict(vocab_size=V, d_model=D, n_layers=L, n_heads=H, max_seq_len=40), "text", ["alibi"]),
    ("ConditionalDetrModel", "ConditionalDetrConfig", dict(d_model=D, encoder_layers=L, decoder_layers=L, encoder_attention_heads=H, decoder_attention_heads=H, encoder_ffn_dim=48, decoder_ffn_dim=48, num_queries=4, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=T.ResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], out_features=["stage4"])), "image64", ["sinusoidal"]),
    ("TableTransformerModel", "TableTransformerConfig", dict(d_model=D, encoder_layers=L, decoder_layers=L, encoder_attention_heads=H, decoder_attention_heads=H, encoder_ffn_dim=48, decoder_ffn_dim=48, num_queries=4, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=T.ResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], out_features=["stage4"])), "image64", ["sinusoidal"]),
    ("MaskFormerSwinModel", "MaskFormerSwinConfig", dict(image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4), "image", ["relative-table"]),
    ("SwinModel", "SwinConfig", dict(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 2], window_size=4), "image", ["relative-table"]),
    ("GLPNModel", "GLPNConfig", dict(hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2]), "image64", ["none"]),
    ("OwlViTVisionModel", "OwlViTVisionConfig", dict(VISION), "image", ["learned"]),
    ("SiglipVisionModel", "SiglipVisionConfig", dict(VISION), "image", ["learned"]),
    ("PixtralVisionModel", "PixtralVisionConfig", dict(VISION, head_dim=8), "image", ["rope"]),
    ("InternVLVisionModel", "InternVLVisionConfig", dict(VISION, image_size=[32, 32], patch_size=[8, 8]), "image", ["learned"]),
    ("JanusVisionModel", "JanusVisionConfig", dict(VISION), "image", ["learned"]),
    ("EncodecModel", "EncodecConfig", dict(num_filters=4, hidden_size=16, codebook_size=16, codebook_dim=16, num_lstm_layers=1), "wave3", ["none"]),
    ("UniSpeechModel", "UniSpeechConfig", dict(vocab_size=32, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2), "wave", ["conv"]),
    ("UniSpeechSatModel", "UniSpeechSatConfig", dict(vocab_size=32, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2), "wave", ["conv"]),
    ("ParakeetEncoder", "ParakeetEncoderConfig", dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, num_mel_bins=16, subsampling_conv_channels=8, conv_kernel_size=5, max_position_embeddings=200), "mel", ["relative-sinusoid"]),
    ("SeamlessM4Tv2SpeechEncoder", "SeamlessM4Tv2Config", dict(hidden_size=D, speech_encoder_layers=L, speech_encoder_attention_heads=H, speech_encoder_intermediate_size=48, feature_projection_input_dim=16, conv_depthwise_kernel_size=5, left_max_position_embeddings=8, right_max_position_embeddings=4, position_embeddings_type="relative_key", add_adapter=False, adaptor_kernel_size=3), "frames", ["relative-table"]),
    ("PatchTSMixerModel", "PatchTSMixerConfig", dict(context_length=32, patch_length=8, patch_stride=8, num_input_channels=2, d_model=16, num_layers=2), "series", ["none"]),
]



class Bare(torch.nn.Module):
    def __init__(self, model, keys):
        super().__init__()
        import inspect
        self.model, self.keys = model, keys
        self.cache = "use_cache" in inspect.signature(model.forward).parameters and "input_ids" in keys

    def forward(self, *inputs):
        more = {"use_cache": False} if self.cache else {}
        out = self.model(**dict(zip(self.keys, inputs)), **more)
        return out[0] if not torch.is_tensor(out) else out


def build(name, config_name, config):
    cfg = getattr(T, config_name)(**config) if hasattr(T, config_name) else find(config_name)(**config)
    torch.manual_seed(1)
    cfg._attn_implementation = "eager"
    model = find(name)(cfg).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.numel() > 1 and parameter.min() == parameter.max():
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model, cfg


def find(name):
    if hasattr(T, name):
        return getattr(T, name)
    import importlib
    import pkgutil
    stems = sorted((m.name for m in pkgutil.iter_modules(T.models.__path__)), key=len, reverse=True)
    flat = name.lower()
    for stem in stems:
        if flat.startswith(stem.replace("_", "")):
            for kind in ("modeling_", "configuration_"):
                try:
                    module = importlib.import_module(f"transformers.models.{stem}.{kind}{stem}")
                except Exception:
                    continue
                if hasattr(module, name):
                    return getattr(module, name)
    raise KeyError(name)


def sample(kind):
    b = {0: "batch"}
    if kind in ("text", "text16", "ids"):
        n = {"text": 11, "text16": 16, "ids": 11}[kind]
        ids = torch.randint(3, V, (2, n))
        keys = ["input_ids"] if kind == "ids" else ["input_ids", "attention_mask"]
        return keys, (ids, torch.ones_like(ids))[:len(keys)], {k: {0: "batch", 1: "seq"} for k in keys}
    if kind in ("bbox", "bbox-int"):
        ids = torch.randint(3, V, (2, 11))
        box = torch.rand(2, 11, 4) if kind == "bbox" else torch.randint(0, 30, (2, 11, 4)).sort(-1).values
        return ["input_ids", "bbox", "attention_mask"], (ids, box, torch.ones_like(ids)), {k: {0: "batch", 1: "seq"} for k in ("input_ids", "bbox", "attention_mask")}
    if kind in ("image", "image64"):
        s = 64 if kind == "image64" else 32
        return ["pixel_values"], (torch.randn(2, 3, s, s),), {"pixel_values": b}
    if kind == "video":
        return ["pixel_values"], (torch.randn(1, 4, 3, 32, 32),), {"pixel_values": b}
    if kind == "wave":
        return ["input_values"], (torch.randn(1, 800),), {"input_values": {0: "batch", 1: "samples"}}
    if kind == "wave3":
        return ["input_values"], (torch.randn(1, 1, 640),), {"input_values": {0: "batch", 2: "samples"}}
    if kind == "frames":
        return ["input_features"], (torch.randn(2, 11, 16),), {"input_features": {0: "batch", 1: "frames"}}
    if kind == "states":
        return ["hidden_states"], (torch.randn(2, 11, D),), {"hidden_states": {0: "batch", 1: "frames"}}
    if kind == "mel":
        return ["input_features"], (torch.randn(2, 40, 16),), {"input_features": {0: "batch", 1: "frames"}}
    if kind == "ast":
        return ["input_values"], (torch.randn(2, 24, 16),), {"input_values": b}
    if kind == "clap":
        return ["input_features"], (torch.randn(2, 1, 64, 8),), {"input_features": b}
    if kind == "series":
        return ["past_values"], (torch.randn(2, 32, 2),), {"past_values": b}
    raise KeyError(kind)


def export(model, kind, path, exporter):
    keys, inputs, axes = sample(kind)
    bare = Bare(model, keys)
    with torch.no_grad():
        bare(*inputs)
        if exporter == "ts":
            torch.onnx.export(bare, inputs, path, input_names=keys, output_names=["out"], dynamic_axes=axes, opset_version=17, dynamo=False)
        else:
            shapes = tuple({i: torch.export.Dim.DYNAMIC for i in axes[k]} for k in keys)
            torch.onnx.export(bare, inputs, path, input_names=keys, output_names=["out"], dynamic_shapes=(shapes,), dynamo=True, opset_version=18, verbose=False, external_data=False)


def main():
    tool, folder, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    score = collections.Counter()
    for name, config_name, config, kind, want in FAMILIES:
        if words and not any(w.lower() in name.lower() for w in words):
            continue
        for exporter in ("ts", "dynamo"):
            path = os.path.join(folder, f"{name.lower()}-{exporter}.onnx")
            if not os.path.exists(path):
                if os.path.exists(path + ".failed"):
                    score["not exported"] += 1
                    continue
                try:
                    torch._dynamo.reset()
                    model, _ = build(name, config_name, config)
                    export(model, kind, path, exporter)
                except BaseException as e:
                    if isinstance(e, KeyboardInterrupt):
                        raise
                    open(path + ".failed", "w").write(f"{type(e).__name__}: {e}")
                    score["not exported"] += 1
                    print(f"{name} {exporter}: not exported: {type(e).__name__}: {' '.join(str(e).split())[:100]}", flush=True)
                    continue
            run = subprocess.run([tool, "inspect", "--json", path], capture_output=True, text=True)
            if run.returncode:
                score["error"] += 1
                print(f"{os.path.basename(path)}: ERROR {run.stderr.strip()[:200]}", flush=True)
                continue
            have = sorted({e["scheme"] for e in json.loads(run.stdout)["encodings"]})
            ok = all(w in have for w in want) and all(h in want for h in have)
            verdict = "right" if ok else "careful" if have == ["unknown"] else "wrong"
            score[verdict] += 1
            if not ok:
                print(f"{os.path.basename(path)}: {verdict}: want {' + '.join(want)}, told {' + '.join(have)}", flush=True)
    print(dict(score))


main()
