#!/usr/bin/env python3
"""Compares `modelpatch extend --image` with transformers' own interpolation of image positions.

usage: grid_reference.py MODELPATCH      (needs torch, transformers and onnxruntime)

Exports tiny ViT and DeiT models at 32 pixels, extends the files to 48 and runs them in ONNX Runtime; the reference is the
same PyTorch model called with interpolate_pos_encoding=True on a 48 pixel picture. Within 1e-5 of the output's scale.
"""
import os, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnxruntime
import torch
import transformers as T

TOLERANCE = 1e-5


class Plain(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pixels):
        return self.model(pixel_values=pixels)[0]


def main():
    failed = 0
    for name in ("ViT", "DeiT"):
        torch.manual_seed(3)
        config = getattr(T, name + "Config")(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8)
        config._attn_implementation = "eager"
        model = getattr(T, name + "Model")(config, add_pooling_layer=False).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.numel() > 1 and parameter.min() == parameter.max():
                    parameter.add_(torch.randn_like(parameter))
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "a.onnx"), os.path.join(folder, "b.onnx")
            torch.onnx.export(Plain(model), (torch.randn(1, 3, 32, 32),), source, input_names=["pixel_values"], opset_version=17, dynamo=False)
            run = subprocess.run([sys.argv[1], "extend", "--image", "48", source, "-o", target], capture_output=True, text=True)
            if run.returncode:
                print(f"{name}: FAIL: {run.stderr}")
                failed += 1
                continue
            pixels = torch.randn(1, 3, 48, 48)
            got = onnxruntime.InferenceSession(target, providers=["CPUExecutionProvider"]).run(None, {"pixel_values": pixels.numpy()})[0]
        with torch.no_grad():
            want = model(pixel_values=pixels, interpolate_pos_encoding=True)[0].numpy()
        worst = float(np.abs(got - want).max() / np.abs(want).max())
        failed += worst > TOLERANCE
        print(f"{name}: {'ok' if worst <= TOLERANCE else 'FAIL'}: differs by {worst:.1e} of its scale")
    print(f"{2 - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
