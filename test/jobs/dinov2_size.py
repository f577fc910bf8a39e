# facebookresearch/dinov2 #216
"""DINOv2 exported for one picture, at another: the graph throws an exception there."""
import torch

from lab import One, PATCHES


def job(lab):
    model = lab.model("Dinov2Model", "Dinov2Config", **PATCHES, image_size=518, patch_size=14)
    source = lab.onnx(One(model), (torch.randn(1, 3, 224, 224),), ["pixel_values"], {"pixel_values": {0: "batch"}})
    for size in ("168", "336", "238x336"):
        changed = lab.change(source, "extend", "--image", size, name=f"dinov2-{size}.onnx")
        height, width = (int(s) for s in (size.split("x") * 2)[:2])
        picture = torch.randn(1, 3, height, width)
        lab.compare(f"{size} pixels", lab.run(changed, pixel_values=picture.numpy()), lab.outputs(model, picture))
    lab.ends(source, "238x336 pixels", pixel_values=picture.numpy())
