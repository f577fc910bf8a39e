#!/usr/bin/env python3
"""Exports models of usual widths and lengths, a layer of each, and says what `modelpatch inspect` makes of them.

usage: export_usual.py MODELPATCH FOLDER [WORD …]     (only models whose name holds a WORD)

Needs what export_families.py needs, and a gigabyte. Tiny models hide what depends on size: a table of a picture or of a fixed
length has more numbers than are looked at elsewhere. Weights are seeded noise. Prints a line a file: ok, or what differs; the
greatest memory of an inspect last.
"""
import contextlib
import io
import json
import os
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")
import torch
import transformers as T

V = 64
THIN = dict(num_hidden_layers=1, intermediate_size=64)


def learned(rows, dim, **more):
    return dict(scheme="learned", rows=rows, dim=dim, **more)


def text(name, length, want, model, **config):
    return f"{name}-{length}", lambda: getattr(T, model)(getattr(T, model.replace("EncoderModel", "Model").replace("Model", "Config"))(**config)), \
        "input_ids", torch.randint(3, V, (1, length)), {}, want


def image(name, size, want, model, **config):
    return f"{name}-{size}", lambda: getattr(T, model)(getattr(T, model.replace("Model", "Config"))(image_size=size, **config)), \
        "pixel_values", torch.randn(1, 3, size, size), {"pixel_values": {0: "batch"}}, want


MODELS = [
    text("bert", 512, [learned(512, 768)], "BertModel", vocab_size=V, **THIN),
    text("gpt2-xl", 1024, [learned(1024, 1600)], "GPT2Model", vocab_size=V, n_embd=1600, n_head=25, n_layer=1, n_inner=64),
    text("t5", 512, [dict(scheme="t5-bias", heads=12, buckets=32, max_distance=128)], "T5EncoderModel", vocab_size=V, d_model=768, num_heads=12, d_ff=64, num_layers=1),
    text("bloom", 512, [dict(scheme="alibi", heads=16)], "BloomModel", vocab_size=V, hidden_size=1024, n_head=16, n_layer=1),
    text("llama", 2048, [dict(scheme="rope", base=10000.0, rotary_dim=128)], "LlamaModel", vocab_size=V, hidden_size=1024, num_attention_heads=8, **THIN),
    image("vit", 224, [learned(197, 768, grid=[14, 14], prefix=1)], "ViTModel", **THIN),
    image("clip", 336, [learned(577, 1024, grid=[24, 24], prefix=1)], "CLIPVisionModel", hidden_size=1024, num_attention_heads=16, patch_size=14, **THIN),
    image("siglip", 384, [learned(729, 1152, grid=[27, 27], prefix=0)], "SiglipVisionModel", hidden_size=1152, num_attention_heads=16, patch_size=14, **THIN),
    image("dinov2", 518, [learned(1370, 768, grid=[37, 37], prefix=1)], "Dinov2Model", num_hidden_layers=1, patch_size=14, mlp_ratio=1),
    image("beit", 224, [dict(scheme="relative-table", rows=732, heads=12, window=[14, 14])], "BeitModel", use_relative_position_bias=True, use_mask_token=False, **THIN),
    image("levit", 224, [dict(scheme="relative-table", rows=196, heads=4, window=[14, 14])], "LevitModel", depths=[1, 1, 1]),
    image("pvt", 224, [learned(3136, 64, grid=[56, 56]), learned(784, 128, grid=[28, 28]), learned(196, 320, grid=[14, 14]), learned(50, 512, grid=[7, 7], prefix=1)],
          "PvtModel", depths=[1, 1, 1, 1]),
]


def build(make):
    torch.manual_seed(1)
    model = make().eval()
    model.config._attn_implementation = "eager"
    with torch.no_grad():  # tables that start as zeros say nothing
        for parameter in model.parameters():
            if parameter.numel() > 1 and parameter.min() == parameter.max():
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


class Bare(torch.nn.Module):
    def __init__(self, model, key):
        super().__init__()
        self.model, self.key = model, key
        self.more = {"use_cache": False} if hasattr(model.config, "use_cache") and key == "input_ids" and "T5" not in type(model).__name__ else {}

    def forward(self, x):
        return self.model(**{self.key: x}, **self.more)[0]


def export(model, key, x, axes, path, dynamo):
    bare, options = Bare(model, key), dict(input_names=[key], output_names=["out"], opset_version=18, dynamo=dynamo)
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if dynamo:
            shapes = ({i: torch.export.Dim.DYNAMIC for i in axes[key]},) if axes else None
            x = torch.cat([x, x]) if axes else x
            torch.onnx.export(bare, (x,), path, dynamic_shapes=shapes, external_data=False, **options)
        else:
            torch.onnx.export(bare, (x,), path, dynamic_axes=axes, **options)


def misses(want, encodings):
    left = list(encodings)
    out = []
    for w in want:
        fits = [e for e in left if all(dict(e["parameters"], scheme=e["scheme"]).get(k) == v for k, v in w.items())]
        if fits:
            left.remove(fits[0])
        else:
            out.append(f"no {w}")
    return "; ".join(out + [f"{e['scheme']} {e['parameters']} reported" for e in left])


def main():
    tool, folder, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    for name, make, key, x, axes, want in MODELS:
        if words and not any(w in name for w in words):
            continue
        for kind in ("ts", "dynamo"):
            path = os.path.join(folder, f"{name}-{kind}.onnx")
            try:
                os.path.exists(path) or export(build(make), key, x, axes, path, kind == "dynamo")
            except Exception as why:
                print(f"{name} {kind}: not exported: {type(why).__name__}", flush=True)
                continue
            run = subprocess.run([tool, "inspect", "--json", path], capture_output=True, text=True)
            text = misses(want, json.loads(run.stdout)["encodings"]) if run.returncode == 0 else run.stderr.strip()
            print(f"{os.path.basename(path)}: {text or 'ok'}", flush=True)


main()
