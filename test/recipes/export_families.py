#!/usr/bin/env python3
"""Exports tiny models of many families with both PyTorch exporters and says what `modelpatch inspect` makes of them.

usage: export_families.py MODELPATCH FOLDER [WORD …]     (only families whose name holds a WORD)

Needs torch, transformers and onnxscript (the `torch` part of the engine set-up). Weights are seeded noise; every family
comes with the encodings that its configuration means. Prints a line a file: ok, or what differs. A file that an exporter
cannot write is named and skipped: exporters fail on some families.
"""
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
ROPE = {"scheme": "rope", "form": "runtime"}


def decoder(name, want, **config):
    base = dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, num_key_value_heads=2, intermediate_size=48,
                max_position_embeddings=64, attn_implementation="eager", pad_token_id=0, bos_token_id=1, eos_token_id=2)
    base.update(config)
    return name, base, want


def rope(base=10000.0, dim=D // H, layout="half", head=None, **scaling):
    return dict(ROPE, base=base, rotary_dim=dim, layout=layout, head_dim=head or D // H, scaling=scaling.get("scaling", "none"))


def learned(rows, offset=0, dim=D):
    return dict(scheme="learned", form="table", rows=rows, offset=offset, dim=dim)


# class name (of transformers), configuration, encodings
FAMILIES = [
    decoder("Mistral", [rope()]), decoder("Mixtral", [rope(1e6)], num_local_experts=2, rope_parameters={"rope_type": "default", "rope_theta": 1e6}),
    decoder("Qwen2", [rope()]), decoder("Qwen3", [rope(dim=8)], head_dim=8), decoder("Gemma", [rope(dim=8)], head_dim=8), decoder("Gemma2", [rope(dim=8)], head_dim=8),
    decoder("Olmo", [rope()]), decoder("Olmo2", [rope()]), decoder("Starcoder2", [rope()]), decoder("Granite", [rope()]), decoder("Phi3", [rope()]),
    decoder("Phi", [rope(dim=4)]), decoder("GPTNeoX", [rope(dim=2)], intermediate_size=48), decoder("StableLm", [rope(dim=2)]),
    decoder("Persimmon", [rope(dim=4)]), decoder("Nemotron", [rope(dim=4)]), decoder("Cohere", [rope(layout="interleaved", base=500000.0)]),
    decoder("Glm", [rope(dim=4, layout="interleaved")], head_dim=8), decoder("Helium", [rope(layout="interleaved", base=100000.0)], head_dim=8),
    decoder("Ernie4_5", [rope(layout="interleaved", base=500000.0)], head_dim=8), decoder("SmolLM3", [rope(2e6)]), decoder("Llama", [rope(scaling="linear")],
            rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}),
    decoder("Llama", [rope(dim=32, head=32, scaling="yarn")], rope_parameters={"rope_type": "yarn", "factor": 8.0, "rope_theta": 10000.0, "original_max_position_embeddings": 64}, max_position_embeddings=512, head_dim=32),
    ("GPT2", dict(vocab_size=V, n_embd=D, n_layer=L, n_head=H, n_positions=48), [learned(48)]),
    ("GPTBigCode", dict(vocab_size=V, n_embd=D, n_layer=L, n_head=H, n_positions=48), [learned(48)]),
    ("OPT", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, ffn_dim=48, max_position_embeddings=36, word_embed_proj_dim=D), [learned(38, 2)]),
    ("BioGpt", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, max_position_embeddings=36), [learned(38, 2)]),
    ("XGLM", dict(vocab_size=V, d_model=D, num_layers=L, attention_heads=H, ffn_dim=48, max_position_embeddings=36), [dict(scheme="sinusoidal", form="table")]),
    ("CTRL", dict(vocab_size=V, n_embd=D, n_layer=L, n_head=H, dff=48, n_positions=40), [dict(scheme="sinusoidal", form="table")]),
    ("GPTJ", dict(vocab_size=V, n_embd=D, n_layer=L, n_head=H, n_positions=48, rotary_dim=4), [dict(scheme="rope", form="cache", rotary_dim=4, layout="interleaved")]),
    ("CodeGen", dict(vocab_size=V, n_embd=D * 2, n_layer=L, n_head=H, n_positions=48, rotary_dim=8), [dict(scheme="rope", form="cache", rotary_dim=8, layout="interleaved")]),
    ("Bloom", dict(vocab_size=V, hidden_size=D, n_layer=L, n_head=H), [dict(scheme="alibi", heads=H)]),
    ("Falcon", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, alibi=True), [dict(scheme="alibi", heads=H)]),
    ("Mpt", dict(vocab_size=V, d_model=D, n_layers=L, n_heads=H, max_seq_len=48), [dict(scheme="alibi", heads=H)]),
    ("Bert", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, max_position_embeddings=40), [learned(40)]),
    ("Roberta", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, max_position_embeddings=42), [learned(42, 2)]),
    ("Camembert", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, max_position_embeddings=42), [learned(42, 2)]),
    ("MPNet", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, max_position_embeddings=42), [learned(42, 2), dict(scheme="t5-bias", buckets=32, heads=H)]),
    ("Electra", dict(vocab_size=V, embedding_size=16, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, max_position_embeddings=40), [learned(40, dim=16)]),
    ("DistilBert", dict(vocab_size=V, dim=D, n_layers=L, n_heads=H, hidden_dim=48, max_position_embeddings=40), [learned(40)]),
    ("RoFormer", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, max_position_embeddings=40), [dict(scheme="rope", form="cache", layout="interleaved")]),
    ("ModernBert", dict(vocab_size=V, hidden_size=D, num_hidden_layers=3, num_attention_heads=H, intermediate_size=48, max_position_embeddings=64, pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2), [rope(160000.0), rope(10000.0)]),
    ("DebertaV2", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, relative_attention=True, position_buckets=8, max_relative_positions=32, pos_att_type=["c2p", "p2c"], position_biased_input=False), [dict(scheme="disentangled")]),
    ("Deberta", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, relative_attention=True, max_relative_positions=24, pos_att_type=["c2p", "p2c"], position_biased_input=False), [dict(scheme="disentangled")]),
    ("Nystromformer", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, max_position_embeddings=40, num_landmarks=4, segment_means_seq_len=4, conv_kernel_size=3), [learned(42, 2)]),
    ("XLM", dict(vocab_size=V, emb_dim=D, n_layers=L, n_heads=H, max_position_embeddings=40), [learned(40)]),
    ("Esm", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, max_position_embeddings=42, pad_token_id=1, position_embedding_type="rotary"), [rope()]),
    ("NomicBert", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, max_position_embeddings=64), [rope(1000.0)]),
    ("ViT", dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, image_size=32, patch_size=8), [dict(scheme="learned", grid=[4, 4], prefix=1)]),
    ("Dinov2", dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, image_size=32, patch_size=8), [dict(scheme="learned", grid=[4, 4], prefix=1)]),
    ("Beit", dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, image_size=32, patch_size=8, use_relative_position_bias=True, use_absolute_position_embeddings=False), [dict(scheme="relative-table")]),
    ("Yolos", dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, image_size=[32, 32], patch_size=8, num_detection_tokens=3), [dict(scheme="learned")]),
    ("SiglipVision", dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=48, image_size=32, patch_size=8), [dict(scheme="learned", grid=[4, 4], prefix=0)]),
    ("Swinv2", dict(embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4, image_size=32, patch_size=4), [dict(scheme="relative-table")]),
    ("Mamba", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, state_size=4), [dict(scheme="none")]),
    ("Wav2Vec2", dict(hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=48, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2), [dict(scheme="conv")]),
    ("GptOss", dict(vocab_size=V, hidden_size=D, num_hidden_layers=L, num_attention_heads=H, num_key_value_heads=2, head_dim=32, intermediate_size=48, num_local_experts=2, max_position_embeddings=512), [dict(scheme="rope", form="runtime", rotary_dim=32)]),
    ("Gemma3Text", dict(vocab_size=V, hidden_size=D, num_hidden_layers=6, num_attention_heads=H, num_key_value_heads=2, head_dim=8, intermediate_size=48, max_position_embeddings=64), [dict(scheme="rope", base=1e6), dict(scheme="rope", base=1e4)]),
    ("T5Encoder", dict(vocab_size=V, d_model=D, d_kv=8, num_layers=L, num_heads=H, d_ff=48), [dict(scheme="t5-bias", buckets=32, max_distance=128, heads=H)]),
    ("Pegasus", dict(vocab_size=V, d_model=D, encoder_layers=L, decoder_layers=L, encoder_attention_heads=H, decoder_attention_heads=H, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=40), None),
]


class Bare(torch.nn.Module):
    """Only tensors in and out, no cache."""

    def __init__(self, model, keys):
        super().__init__()
        self.model, self.keys = model, keys

    def forward(self, *inputs):
        arguments = dict(zip(self.keys, inputs))
        if "input_ids" in self.keys and self.takes_cache():
            arguments["use_cache"] = False
        return self.model(**arguments)[0]

    def takes_cache(self):
        import inspect
        return "use_cache" in inspect.signature(self.model.forward).parameters


def build(name, config):
    name_config = {"T5Encoder": "T5Config", "SiglipVision": "SiglipVisionConfig", "Gemma3Text": "Gemma3TextConfig"}.get(name, name + "Config")
    cfg = getattr(T, name_config)(**config)
    cls = {"T5Encoder": "T5EncoderModel", "Gemma3Text": "Gemma3ForCausalLM"}.get(name, name + "Model")
    torch.manual_seed(1)
    cfg._attn_implementation = "eager"
    model = getattr(T, cls)(cfg).eval()
    with torch.no_grad():  # tables that start as zeros say nothing
        for parameter in model.parameters():
            if parameter.numel() > 1 and parameter.min() == parameter.max():
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model, cfg


def sample(name, cfg):
    if hasattr(cfg, "image_size"):
        size = cfg.image_size if isinstance(cfg.image_size, int) else cfg.image_size[0]
        return ["pixel_values"], (torch.randn(1, 3, size, size),), {"pixel_values": {0: "batch"}}
    if name == "Wav2Vec2":
        return ["input_values"], (torch.randn(1, 800),), {"input_values": {0: "batch", 1: "samples"}}
    ids = torch.randint(3, V, (2, 11))
    return ["input_ids", "attention_mask"], (ids, torch.ones_like(ids)), {k: {0: "batch", 1: "seq"} for k in ("input_ids", "attention_mask")}


def export(model, name, cfg, path, kind):
    keys, inputs, axes = sample(name, cfg)
    bare = Bare(model, keys)
    with torch.no_grad():
        bare(*inputs)
        if kind == "ts":
            torch.onnx.export(bare, inputs, path, input_names=keys, output_names=["out"], dynamic_axes=axes, opset_version=17, dynamo=False)
        else:
            shapes = tuple({i: torch.export.Dim(axes[k][i], min=2, max=1 << 15) if axes[k][i] != "batch" else torch.export.Dim("batch", min=1, max=64) for i in axes[k]} for k in keys)
            torch.onnx.export(bare, inputs, path, input_names=keys, output_names=["out"], dynamic_shapes=(shapes,), dynamo=True, opset_version=18, verbose=False, external_data=False)


def differences(want, report):
    if want is None:
        return json.dumps([(e["scheme"], e["form"]) for e in report["encodings"]])
    found = list(report["encodings"])
    out = []
    for w in want:
        same = [e for e in found if e["scheme"] == w["scheme"]]
        if not same:
            out.append(f"{w['scheme']} not reported")
            continue
        def misses(e, w=w):
            miss = []
            for k, v in w.items():
                p = e["parameters"]
                have = {"scheme": e["scheme"], "form": e["form"], "scaling": (p.get("scaling") or {}).get("type")}.get(k, p.get(k, 0))
                if have != v and not (isinstance(v, float) and isinstance(have, (int, float)) and abs(have - v) <= 2e-4 * v):
                    miss.append(f"{k}: want {v}, got {have}")
            return miss
        best = min(same, key=lambda e: len(misses(e)))
        found.remove(best)
        out += misses(best)
    out += [f"{e['scheme']} ({e['form']}) reported, not there" for e in found]
    return "; ".join(out)


def main():
    tool, folder, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    ok = wrong = failed = 0
    for number, (name, config, want) in enumerate(FAMILIES):
        if words and not any(w.lower() in name.lower() for w in words):
            continue
        for kind in ("ts", "dynamo"):
            path = os.path.join(folder, f"{name.lower()}-{number}-{kind}.onnx")
            if not os.path.exists(path):
                try:
                    model, cfg = build(name, config)
                    export(model, name, cfg, path, kind)
                except Exception as why:
                    failed += 1
                    print(f"{name} {kind}: not exported: {type(why).__name__}: {str(why).strip().splitlines()[0][:120] if str(why).strip() else ''}", flush=True)
                    continue
            run = subprocess.run([tool, "inspect", "--json", path], capture_output=True, text=True)
            text = differences(want, json.loads(run.stdout)) if run.returncode == 0 else run.stderr.strip()[:200]
            ok, wrong = ok + (not text), wrong + bool(text)
            print(f"{os.path.basename(path)}: {text or 'ok'}", flush=True)
    print(f"{ok} right, {wrong} to look at, {failed} not exported")


main()
