#!/usr/bin/env python3
"""Compares `modelpatch extend` on image and audio models with transformers' own code.

usage: grid_reference.py MODELPATCH      (needs torch, transformers and onnxruntime)

Images: tiny models exported at 32 pixels are extended to 48 and run in ONNX Runtime; the reference is the same PyTorch model
called with interpolate_pos_encoding=True on a 48 pixel picture (DINOv2 interpolates by itself). Graphs that resample their
table themselves are exported that way, too. Audio: Whisper's encoder of 20 positions is extended to 40; the reference is the
same weights with 40 rows of Whisper's sinusoid. Within 1e-5 of the output's scale.
"""
import os
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnxruntime
import torch
import transformers as T

TOLERANCE = 1e-5
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8)


class Plain(torch.nn.Module):
    def __init__(self, model, key, more):
        super().__init__()
        self.model, self.key, self.more = model, key, more

    def forward(self, x):
        return self.model(**{self.key: x}, **self.more)[0]


def seeded(model):
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.numel() > 1 and parameter.min() == parameter.max():
                parameter.add_(torch.randn_like(parameter))
    return model.eval()


def image(name, model, exporter=False, **more):
    """A model, how it is exported (with or without its own resampling), and how the reference is called."""
    return name, model, "pixel_values", (1, 3, 32, 32), (1, 3, 48, 48), ["--image", "48"], more if exporter else {}, more, model


def audio(length):
    config = T.WhisperConfig(vocab_size=64, d_model=16, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
                             encoder_ffn_dim=32, decoder_ffn_dim=32, num_mel_bins=8, max_source_positions=length, max_target_positions=24)
    config._attn_implementation = "eager"
    return T.models.whisper.modeling_whisper.WhisperEncoder(config)


def cases():
    interpolate = dict(interpolate_pos_encoding=True)
    config = lambda c, **more: (setattr(made := getattr(T, c + "Config")(**{**SMALL, **more}), "_attn_implementation", "eager"), made)[1]
    yield image("vit", seeded(T.ViTModel(config("ViT"), add_pooling_layer=False)), **interpolate)
    yield image("vit that resamples", seeded(T.ViTModel(config("ViT"), add_pooling_layer=False)), True, **interpolate)
    yield image("deit", seeded(T.DeiTModel(config("DeiT"), add_pooling_layer=False)), **interpolate)
    yield image("clip", seeded(T.CLIPVisionModel(config("CLIPVision"))), **interpolate)
    yield image("siglip", seeded(T.SiglipVisionModel(config("SiglipVision", vision_use_head=False))), **interpolate)
    yield image("dinov2", seeded(T.Dinov2Model(config("Dinov2"))))
    still = dict(drop_path_rate=0.0)  # which the exporter would leave switched on
    biased = dict(use_relative_position_bias=True, **still)
    yield image("beit", seeded(T.BeitModel(config("Beit", **biased), add_pooling_layer=False)), **interpolate)
    yield image("beit with a table", seeded(T.BeitModel(config("Beit", **biased, use_absolute_position_embeddings=True), add_pooling_layer=False)), **interpolate)
    shared = T.BeitModel(config("Beit", use_shared_relative_position_bias=True, **still), add_pooling_layer=False)
    yield image("beit with a shared bias", seeded(shared), **interpolate)
    short, long = seeded(audio(20)), audio(40).eval()
    state = short.state_dict()
    state["embed_positions.weight"] = long.state_dict()["embed_positions.weight"]
    long.load_state_dict(state)
    yield "whisper encoder", short, "input_features", (1, 8, 40), (1, 8, 80), ["--len", "40"], {}, {}, long


def main():
    failed = count = 0
    for name, model, key, small, large, options, exported, called, reference in cases():
        for exporter in ("ts17", "dy18"):
            torch.manual_seed(3)
            count += 1
            with tempfile.TemporaryDirectory() as folder:
                source, target = os.path.join(folder, "a.onnx"), os.path.join(folder, "b.onnx")
                how = dict(opset_version=17, dynamo=False) if exporter == "ts17" else dict(opset_version=18, dynamo=True, verbose=False)
                torch.onnx.export(Plain(model, key, exported), (torch.randn(small),), source, input_names=[key], **how)
                run = subprocess.run([sys.argv[1], "extend", *options, source, "-o", target], capture_output=True, text=True)
                if run.returncode:
                    print(f"{name}-{exporter}: FAIL: {run.stderr}")
                    failed += 1
                    continue
                x = torch.randn(large)
                got = onnxruntime.InferenceSession(target, providers=["CPUExecutionProvider"]).run(None, {key: x.numpy()})[0]
            with torch.no_grad():
                want = reference(**{key: x}, **called)[0].numpy()
            worst = float(np.abs(got - want).max() / np.abs(want).max())
            failed += worst > TOLERANCE
            print(f"{name}-{exporter}: {'ok' if worst <= TOLERANCE else 'FAIL'}: differs by {worst:.1e} of its scale")
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
