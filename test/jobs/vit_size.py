# facebookresearch/dino #168
"""ViT at 384 pixels: with 224 it exports, with interpolation it did not."""
import torch

from lab import One, PATCHES


def job(lab):
    model = lab.model("ViTModel", "ViTConfig", **PATCHES, image_size=224, patch_size=16)
    source = lab.onnx(One(model), (torch.randn(1, 3, 224, 224),), ["pixel_values"], {"pixel_values": {0: "batch"}})
    changed = lab.change(source, "extend", "--image", "384", "--kernel", "bicubic")
    picture = torch.randn(1, 3, 384, 384)
    lab.compare("384 pixels", lab.run(changed, pixel_values=picture.numpy()), lab.outputs(lambda x: model(x, interpolate_pos_encoding=True)[0], picture))
