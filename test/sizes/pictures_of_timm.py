"""Models of pictures of timm (github.com/huggingface/pytorch-image-models), which its own set_input_size brings to another size."""
import copy
import logging

from model import Row, Run, lively, sides, words
from pictures import SIDES, windowed

VIT = dict(embed_dim=32, depth=2, num_heads=2)
SWIN = dict(embed_dim=16, depths=(2, 2), num_heads=(2, 2))
NARROW = {32: 4, 40: 5, 48: 6, 64: 4}  # a network makes biases of all pairs in a window, which takes modelpatch its time
PATCHES = (64, 48, 96, (48, 96))
FOLDED = {"": ["--kernel", "bicubic-antialias"]}  # resample_abs_pos_embed
GEOMETRIC = {"": ["--window-method", "geometric"]}  # resize_rel_pos_bias_table


def timm(name, **config):
    def build(size):
        import timm

        logging.getLogger("timm").setLevel(logging.ERROR)
        return lively(timm.create_model(name, pretrained=False, num_classes=10, img_size=sides(size), **config))

    return build


def features(model, x):
    return model.forward_features(x)


def resized(window):
    """timm's own way, with windows of a side, or of one that the picture's tells; without any, windows grow as the picture does."""

    def reference(row, model, now):
        new, by = copy.deepcopy(model), window if isinstance(window, dict) else dict.fromkeys(sides(now), window)
        new.set_input_size(img_size=sides(now), **(dict(window_size=tuple(by[side] for side in sides(now))) if window else {}))
        return Run(new, row.run)

    return reference


def picture(name, sizes, config, window=None, **more):
    return Row(timm(name, **config), sizes, run=features, reference=resized(window), library="timm", **more)


def whole(was, now, want):
    """Windows that grow as the picture does, from 7 places at 56 pixels."""
    return ["--image", words(now), "--window", words(tuple(n // 8 for n in sides(now)))]


MODELS = {
    "timm, ViT": picture("vit_tiny_patch16_224", PATCHES, VIT, more=FOLDED),
    "timm, DeiT III": picture("deit3_small_patch16_224", PATCHES, VIT, more=FOLDED),
    "timm, EVA-02": picture("eva02_tiny_patch14_224", (56, 42, 84, (42, 98)), VIT, more={"": ["--kernel", "bicubic-antialias", "--method", "linear"]}),
    "timm, ViT with RoPE": picture("vit_small_patch16_rope_224", PATCHES, VIT, more={"": ["--method", "linear"]}),
    "timm, ViT with mixed RoPE": picture("vit_small_patch16_rope_mixed_224", PATCHES, VIT),
    "timm, ViT with distances": picture("vit_relpos_small_patch16_224", PATCHES, VIT),
    "timm, ViT with shared distances": picture("vit_srelpos_small_patch16_224", PATCHES, VIT),
    "timm, ViT with distances and a class token": picture("vit_relpos_base_patch16_cls_224", PATCHES, VIT),
    "timm, ViT with distances and a class token that is no feature": picture("vit_relpos_base_patch16_clsgap_224", PATCHES, VIT),
    "timm, ViT with a table of distances": picture("vit_relpos_small_patch16_224", PATCHES, dict(VIT, rel_pos_type="bias"), more=GEOMETRIC),
    "timm, Swin": picture("swin_tiny_patch4_window7_224", (112, 56, 168, (56, 112)), dict(SWIN, window_size=7), 7),
    "timm, Swin, windows of another side": picture("swin_tiny_patch4_window7_224", (56, 64, 72, 80, 96), dict(SWIN, window_size=7), SIDES, extend=windowed(SIDES), more=GEOMETRIC),
    "timm, Swin, windows that grow with the picture": picture("swin_tiny_patch4_window7_224", (56, 64, 112, (56, 112)), dict(SWIN, window_size=7), extend=whole, more=GEOMETRIC),
    "timm, Swin v2": picture("swinv2_tiny_window8_256", (64, 32, 96, (64, 96)), dict(SWIN, window_size=4), 4),
    "timm, Swin v2, windows of another side": picture("swinv2_tiny_window8_256", (56, 64, 72, 80, 96), dict(SWIN, window_size=7), SIDES, extend=windowed(SIDES, "--method", "linear")),
    "timm, Swin v2, windows of another side, measured by the first": picture("swinv2_tiny_window8_256", (56, 64, 72, 80, 96), dict(SWIN, window_size=7, pretrained_window_sizes=(7, 7)), SIDES, extend=windowed(SIDES, "--method", "none")),
    "timm, Swin v2-CR": picture("swinv2_cr_tiny_ns_224", (64, 32, 96, (64, 96)), dict(SWIN, window_size=4, img_window_ratio=None), 4),
    "timm, Swin v2-CR, windows of another side": picture("swinv2_cr_tiny_ns_224", tuple(NARROW), dict(SWIN, window_size=4, img_window_ratio=None), NARROW, extend=windowed(NARROW)),
}
