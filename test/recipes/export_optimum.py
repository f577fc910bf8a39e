#!/usr/bin/env python3
"""Exports small models of transformers by optimum's exporter (encoders, decoders with their cache, merged decoders, pictures,
speech), with what their configurations say of positions, as a manifest that score-inspect reads.

usage: export_optimum.py FOLDER [WORD …]     (only models whose name holds a WORD)

Writes FOLDER/onnx.json and FOLDER/onnx/NAME-FILE.onnx. Needs torch, optimum-onnx and a transformers that it takes (4.57);
weights are seeded noise. The truth was written before any file was inspected.
"""

import json
import os
import shutil
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers as T
from optimum.exporters.onnx import onnx_export_from_model

from truth import encoding, none, patches, table

small = dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48)


def an(s, **p):
    return encoding(s, "runtime", None, {"form": ["runtime", "cache", "baked", "table"], "capacity": [None, *range(1, 3000)]}, **p)


MODELS = []


def add(name, cls, cfg, task, truths):
    MODELS.append((name, cls, cfg, task, truths))


R = lambda dim=16, head=16, layout="half", base=10000: an("rope", rotary_dim=dim, head_dim=head, layout=layout, base=base)
dec = "text-generation-with-past"
add("distilbert", "DistilBertModel", T.DistilBertConfig(vocab_size=96, dim=32, n_layers=2, n_heads=2, hidden_dim=48, max_position_embeddings=40), "feature-extraction", {"model": [table(40, 32)]})
add("roberta", "RobertaForMaskedLM", T.RobertaConfig(**small, max_position_embeddings=42), "fill-mask", {"model": [table(42, 32, 40, offset=2)]})
add("mpnet", "MPNetModel", T.MPNetConfig(**small, max_position_embeddings=42), "feature-extraction", {"model": [table(42, 32, 40, accept={"offset": [2]}), an("t5-bias", heads=2)]})
add("xlm", "XLMModel", T.XLMConfig(vocab_size=96, emb_dim=32, n_layers=2, n_heads=2, max_position_embeddings=40), "feature-extraction", {"model": [table(40, 32)]})
add("nomic", "ModernBertModel", T.ModernBertConfig(**small, local_attention=8, global_attn_every_n_layers=2, pad_token_id=0, max_position_embeddings=64), "feature-extraction", {"model": [R(base=160000), R()]})
add(
    "bart",
    "BartForConditionalGeneration",
    T.BartConfig(vocab_size=96, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=40),
    "text2text-generation-with-past",
    {"encoder_model": [table(42, 32, 40, offset=2)], "decoder_model": [table(42, 32, 40, offset=2)], "decoder_model_merged": [table(42, 32, 40, offset=2)], "decoder_with_past_model": [table(42, 32, 40, offset=2)]},
)
add(
    "t5",
    "T5ForConditionalGeneration",
    T.T5Config(vocab_size=96, d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2),
    "text2text-generation-with-past",
    {
        "encoder_model": [an("t5-bias", heads=2, buckets=32, max_distance=128, bidirectional=True)],
        "decoder_model": [an("t5-bias", heads=2, buckets=32, max_distance=128, bidirectional=False)],
        "decoder_model_merged": [an("t5-bias", heads=2, buckets=32, max_distance=128, bidirectional=False)],
        "decoder_with_past_model": [an("t5-bias", heads=2, buckets=32, max_distance=128, bidirectional=False)],
    },
)
add(
    "whisper",
    "WhisperForConditionalGeneration",
    T.WhisperConfig(vocab_size=96, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=48, max_target_positions=32, max_source_positions=1500, num_mel_bins=80, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3),
    "automatic-speech-recognition-with-past",
    {"encoder_model": [an("sinusoidal", dim=32)], "decoder_model": [table(32, 32)], "decoder_model_merged": [table(32, 32)], "decoder_with_past_model": [table(32, 32)]},
)
add(
    "marian",
    "MarianMTModel",
    T.MarianConfig(vocab_size=96, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=40, pad_token_id=95, decoder_start_token_id=95),
    "text2text-generation-with-past",
    {k: [an("sinusoidal", dim=32)] for k in ("encoder_model", "decoder_model", "decoder_model_merged", "decoder_with_past_model")},
)
add(
    "pegasus",
    "PegasusForConditionalGeneration",
    T.PegasusConfig(vocab_size=96, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=40),
    "text2text-generation-with-past",
    {k: [an("sinusoidal", dim=32)] for k in ("encoder_model", "decoder_model", "decoder_model_merged", "decoder_with_past_model")},
)
for name, cls, cfg, tr in [
    ("gpt2", "GPT2LMHeadModel", T.GPT2Config(vocab_size=96, n_embd=32, n_layer=2, n_head=2, n_positions=40), [table(40, 32)]),
    ("opt", "OPTForCausalLM", T.OPTConfig(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=48, max_position_embeddings=40, word_embed_proj_dim=32), [table(42, 32, 40, offset=2)]),
    ("bloom", "BloomForCausalLM", T.BloomConfig(vocab_size=96, hidden_size=32, n_layer=2, n_head=2), [an("alibi", heads=2)]),
    ("mpt", "MptForCausalLM", T.MptConfig(vocab_size=96, d_model=32, n_layers=2, n_heads=2, max_seq_len=40), [an("alibi", heads=2)]),
    ("falcon", "FalconForCausalLM", T.FalconConfig(**{k: v for k, v in small.items() if k != "intermediate_size"}, new_decoder_architecture=False), [R()]),
    ("gptneox", "GPTNeoXForCausalLM", T.GPTNeoXConfig(**small, rotary_pct=0.5, max_position_embeddings=40), [R(8)]),
    ("gptj", "GPTJForCausalLM", T.GPTJConfig(vocab_size=96, n_embd=32, n_layer=2, n_head=2, rotary_dim=8, n_positions=40), [R(8, 16, "interleaved")]),
    ("codegen", "CodeGenForCausalLM", T.CodeGenConfig(vocab_size=96, n_embd=64, n_layer=2, n_head=4, rotary_dim=8, n_positions=40), [R(8, 16, "interleaved")]),
    ("gptbigcode", "GPTBigCodeForCausalLM", T.GPTBigCodeConfig(vocab_size=96, n_embd=32, n_layer=2, n_head=2, n_positions=40), [table(40, 32)]),
    ("gptneo", "GPTNeoForCausalLM", T.GPTNeoConfig(vocab_size=96, hidden_size=32, num_layers=2, num_heads=2, attention_types=[[["global", "local"], 1]], max_position_embeddings=40, window_size=8), [table(40, 32)]),
    ("llama", "LlamaForCausalLM", T.LlamaConfig(**small), [R()]),
    ("mistral", "MistralForCausalLM", T.MistralConfig(**small, num_key_value_heads=1, sliding_window=16), [R()]),
    ("qwen2", "Qwen2ForCausalLM", T.Qwen2Config(**small, num_key_value_heads=1), [R()]),
    ("qwen3", "Qwen3ForCausalLM", T.Qwen3Config(**small, num_key_value_heads=1, head_dim=16), [R()]),
    ("phi", "PhiForCausalLM", T.PhiConfig(**small, partial_rotary_factor=0.5), [R(8)]),
    ("phi3", "Phi3ForCausalLM", T.Phi3Config(**small, pad_token_id=0), [R()]),
    ("gemma", "GemmaForCausalLM", T.GemmaConfig(**small, head_dim=16, num_key_value_heads=1), [R()]),
    ("gemma2", "Gemma2ForCausalLM", T.Gemma2Config(**small, head_dim=16, num_key_value_heads=1, sliding_window=16), [R()]),
    ("olmo", "OlmoForCausalLM", T.OlmoConfig(**small, pad_token_id=0, eos_token_id=1), [R()]),
    ("olmo2", "Olmo2ForCausalLM", T.Olmo2Config(**small, pad_token_id=0, eos_token_id=1), [R()]),
    ("stablelm", "StableLmForCausalLM", T.StableLmConfig(**small, partial_rotary_factor=0.25), [R(4)]),
    ("granite", "GraniteForCausalLM", T.GraniteConfig(**small), [R()]),
    ("glm", "GlmForCausalLM", T.GlmConfig(**small, head_dim=16, num_key_value_heads=1, pad_token_id=0, eos_token_id=1), [R(8, 16, "interleaved")]),
    ("helium", "HeliumForCausalLM", T.HeliumConfig(**small, head_dim=16, num_key_value_heads=1, pad_token_id=0), [R(16, 16, "interleaved", 100000)]),
    ("cohere", "CohereForCausalLM", T.CohereConfig(**small, pad_token_id=0), [R(16, 16, "interleaved")]),
    ("smollm3", "SmolLM3ForCausalLM", T.SmolLM3Config(**dict(small, num_hidden_layers=4), num_key_value_heads=1, pad_token_id=0), [R(base=2000000)]),
]:
    add(name, cls, cfg, dec, {"model": tr})
add("vit", "ViTModel", T.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, image_size=32, patch_size=8), "feature-extraction", {"model": [patches(4, 32, 1)]})
add(
    "clip",
    "CLIPModel",
    T.CLIPConfig(
        text_config=dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, max_position_embeddings=24, bos_token_id=1, eos_token_id=2),
        vision_config=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, image_size=32, patch_size=8),
        projection_dim=16,
    ),
    "zero-shot-image-classification",
    {"model": [patches(4, 32, 1), an("learned", rows=24, dim=32)]},
)
add("segformer", "SegformerForSemanticSegmentation", T.SegformerConfig(hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16), "semantic-segmentation", {"model": [none()]})
add("yolos", "YolosForObjectDetection", T.YolosConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, image_size=[32, 32], patch_size=8, num_detection_tokens=4), "object-detection", {"model": [an("learned", dim=32), an("learned", dim=32)]})
add(
    "wav2vec2",
    "Wav2Vec2ForCTC",
    T.Wav2Vec2Config(vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2),
    "automatic-speech-recognition",
    {"model": [encoding("conv", None, None)]},
)


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    entries = []
    for name, kind, config, task, truths in MODELS:
        if words and not any(w in name for w in words):
            continue
        scratch = tempfile.mkdtemp()
        try:
            torch.manual_seed(7)
            model = getattr(T, kind)(config).eval()
            with torch.no_grad():
                for p in model.parameters():
                    p.uniform_(-0.3, 0.3)
                if "marian" in name or "pegasus" in name or "whisper" in name:  # whose sines are parameters
                    model = getattr(T, kind)(config).eval()
            onnx_export_from_model(model, output=scratch, task=task, do_validation=False, no_post_process=False, monolith=False)
            for file, truth in sorted(truths.items()):
                if os.path.exists(os.path.join(scratch, file + ".onnx")):
                    target = f"onnx/{name}-{file}.onnx"
                    shutil.copy(os.path.join(scratch, file + ".onnx"), os.path.join(folder, target))
                    entries.append(dict(file=target, truth=dict(length={}, encodings=truth), accept={}))
        except Exception as problem:
            print(f"{name}: not exported: {str(problem).strip()[:200] or type(problem)}", file=sys.stderr)
        finally:
            shutil.rmtree(scratch)
    with open(os.path.join(folder, "onnx.json"), "w") as f:
        json.dump(entries, f)
    print(f"{len(entries)} graphs")


if __name__ == "__main__":
    main()
