"""Exports a model of pictures at its real size with random weights: BEiT-base and ViT-B/16 at 224
pixels, SAM-B's image encoder at 1024 (the defaults of transformers' configurations), and Swin-B at 224 in windows of 7.

usage: pictures.py beit|vit|sam|swin OUT.onnx"""
import logging
import sys
import warnings

import torch
import transformers

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


def beit():
    return transformers.BeitModel(transformers.BeitConfig(image_size=224, patch_size=16, use_relative_position_bias=True, attn_implementation="eager"))


def vit():
    return transformers.ViTModel(transformers.ViTConfig(attn_implementation="eager"))


def sam():
    from transformers.models.sam.modeling_sam import SamVisionEncoder

    return SamVisionEncoder(transformers.SamVisionConfig(attn_implementation="eager"))


def swin():
    return transformers.SwinModel(transformers.SwinConfig(embed_dim=128, depths=[2, 2, 18, 2], num_heads=[4, 8, 16, 32]))


class First(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)[0]


name, path = sys.argv[1:]
torch.manual_seed(1)
model = First({"beit": beit, "vit": vit, "sam": sam, "swin": swin}[name]()).eval()
with torch.no_grad():
    for parameter in model.parameters():
        if parameter.numel() > 1 and parameter.min() == parameter.max():  # a table that starts as zeros says nothing
            parameter.normal_(std=0.02)
    side = 1024 if name == "sam" else 224
    torch.onnx.export(model, (torch.randn(1, 3, side, side),), path, dynamo=False, input_names=["x"], opset_version=17)
