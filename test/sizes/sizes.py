#!/usr/bin/env python3
"""Gives models of pictures and recordings other sizes and holds them against the library's own model built for that size.

usage: sizes.py MODELPATCH [--only NAME …] [--table docs/measured/sizes.md]      (needs torch, transformers, onnxscript and onnxruntime)

Each model is made small with random weights at one picture size, exported (TorchScript with a fixed picture and with free
axes, and dynamo), changed by `extend --image` or `--len`, and run in ONNX Runtime. The reference is the same class of transformers built
for the new size with the same weights; what is of another size there is resized as transformers itself does (named in
RESIZED). Told is the largest difference over the largest output. A refusal is told with its first words.
"""
import argparse
import logging
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
import transformers as T
from torch.nn import functional as F

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
onnxruntime.set_default_logger_severity(4)
TOLERANCE = 2e-5  # float32: sums in another order, behind four resizings in a row (Depth Anything)


class First(torch.nn.Module):
    """The one output that is compared."""

    def __init__(self, model, **more):
        super().__init__()
        self.model, self.more = model, more

    def forward(self, x):
        out = self.model(x, **self.more)
        for name in ("logits", "predicted_depth", "last_hidden_state"):
            if getattr(out, name, None) is not None:
                return getattr(out, name)
        return out[0]


class Masked(First):
    """A masked autoencoder's encoder, which drops patches by noise: here that of the picture's own brightness."""

    def forward(self, x):
        return self.model(x, noise=F.avg_pool2d(x.mean(1, keepdim=True), 16).flatten(1)).last_hidden_state


def grid(rows, shape, prefix=0, mode="bicubic", antialias=False):
    """Rows of a grid behind others, as interpolate_pos_encoding resamples them."""
    flat = rows.reshape(-1, rows.shape[-1])
    old, new = (round((n - prefix) ** 0.5) for n in (flat.shape[0], np.prod(shape[:-1])))
    t = F.interpolate(flat[prefix:].reshape(1, old, old, -1).permute(0, 3, 1, 2), size=(new, new), mode=mode, align_corners=False, antialias=antialias)
    return torch.cat([flat[:prefix], t.permute(0, 2, 3, 1).reshape(new * new, -1)]).reshape(shape)


def bias_table(rows, shape):
    """Of the distances in a window, before three rows of a class token where there is one (BeitRelativePositionBias)."""
    old, new = round((rows.shape[0] - 3) ** 0.5), round((shape[0] - 3) ** 0.5)
    behind = 3 if old**2 + 3 == rows.shape[0] else 0
    if not behind:
        old, new = round(rows.shape[0] ** 0.5), round(shape[0] ** 0.5)
    t = F.interpolate(rows[: old**2].T.reshape(1, -1, old, old), size=(new, new), mode="bilinear")
    return torch.cat([t.reshape(rows.shape[1], -1).T, rows[old**2 :]])


def of_video(rows, was, now, mode, prefix=1):
    """Rows of a grid of (patches along time, rows, columns) behind a class token at another size."""
    t = F.interpolate(rows[0, prefix:].reshape(1, *was, -1).permute(0, 4, 1, 2, 3), size=now, mode=mode)
    return torch.cat([rows[0, :prefix], t.permute(0, 2, 3, 4, 1).flatten(0, 3)])[None]


def resized_video(model, name, rows, was, now):
    """A table of a model of videos for patches (time, rows, columns), in place of others."""
    if isinstance(model, T.VivitModel):  # as V-JEPA's interpolate_pos_encoding does: ViViT's own code is for pictures
        return of_video(rows, was, now, "trilinear")
    if name.startswith("embeddings.time"):  # TimesformerEmbeddings, both
        return of_video(rows, (was[0], 1, 1), (now[0], 1, 1), "nearest", 0)
    return of_video(rows, (1, *was[1:]), (1, *now[1:]), "nearest")


RESIZED = {  # end of a parameter's name: how transformers resizes it
    "relative_position_bias_table": bias_table,
    "relative_coords_table": lambda v, shape: None,  # of distances (Swinv2SelfAttention): those of the new model
    "position_embedding.weight": lambda v, shape: grid(v, shape, 1),  # OwlViTVisionEmbeddings
    "pos_embed": lambda v, shape: F.interpolate(v.permute(0, 3, 1, 2), size=shape[1:3], mode="bicubic", align_corners=False).permute(0, 2, 3, 1),
    "rel_pos_h": lambda v, shape: F.interpolate(v.T[None], size=shape[0], mode="linear")[0].T,  # SamVisionAttention.get_rel_pos
    "rel_pos_w": lambda v, shape: F.interpolate(v.T[None], size=shape[0], mode="linear")[0].T,
    "backbone.embeddings.position_embeddings": lambda v, shape: grid(v, shape, 1, "bicubic", True),  # RfDetrDinov2Embeddings
    "position_embeddings": lambda v, shape: grid(v, shape, 1, "bilinear"),  # DPTViTEmbeddings
    "embed_positions.weight": lambda v, shape: None,  # of sines and cosines (WhisperEncoder): those of the new model
}
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2)


def sam(size):
    from transformers.models.sam.modeling_sam import SamVisionEncoder

    return SamVisionEncoder(T.SamVisionConfig(hidden_size=32, output_channels=16, num_hidden_layers=3, num_attention_heads=2, image_size=size, patch_size=16, mlp_dim=64,
                                              window_size=4, global_attn_indexes=[1], attn_implementation="eager"))


def depth_anything(size):
    stages = dict(out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False, apply_layernorm=True)
    return T.DepthAnythingForDepthEstimation(T.DepthAnythingConfig(backbone_config=T.Dinov2Config(**{**SMALL, "num_hidden_layers": 4}, image_size=70, patch_size=14, **stages),
                                                                   reassemble_hidden_size=32, patch_size=14, neck_hidden_sizes=[8] * 4, fusion_hidden_size=8, head_hidden_size=8))


def vit_mae(size):
    """Sines and cosines of rows and columns, as a checkpoint has them."""
    model = T.ViTMAEModel(T.ViTMAEConfig(**SMALL, intermediate_size=64, image_size=size, patch_size=16, mask_ratio=0.0))
    model.embeddings.patch_embeddings.projection._is_hf_initialized = False
    model.embeddings.initialize_weights()
    return model


def detr(size):
    backbone = T.ResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], out_features=["stage4"])
    return T.DetrModel(T.DetrConfig(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32,
                                    num_queries=5, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone))


def two_stage(kind):
    """Detectors that propose boxes at places of three grids: their anchors are constants of the size."""
    backbone = T.RTDetrResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 16, 16], depths=[1] * 4, layer_type="basic", out_features=["stage2", "stage3", "stage4"])
    shape = dict(backbone_config=backbone, d_model=32, encoder_hidden_dim=32, encoder_in_channels=[16] * 3, decoder_in_channels=[32] * 3, encoder_ffn_dim=32, decoder_ffn_dim=32,
                 encoder_attention_heads=2, decoder_attention_heads=2, num_queries=5, decoder_layers=2, num_labels=5, num_denoising=0)

    def build(_):
        model = T.DFineForObjectDetection(T.DFineConfig(**shape)) if kind == "D-FINE" else T.RTDetrForObjectDetection(T.RTDetrConfig(**shape, anchor_image_size=None))
        for p in model.parameters():
            if p.ndim == 4:  # else what reaches the proposals is so small that all are alike
                torch.nn.init.kaiming_normal_(p)
        return model

    return build


def rf_detr(size):
    backbone = T.RfDetrDinov2Config(hidden_size=32, num_hidden_layers=4, num_attention_heads=2, image_size=size, patch_size=14, num_windows=2, out_features=["stage2", "stage4"], intermediate_size=64)
    return T.RfDetrForObjectDetection(T.RfDetrConfig(backbone_config=backbone, d_model=32, decoder_ffn_dim=32, decoder_layers=1, decoder_self_attention_heads=2, decoder_cross_attention_heads=2,
                                                     num_queries=10, group_detr=1, num_labels=5))


def swin(model, config, size, **more):
    return model(config(embed_dim=16, depths=[2, 2], num_heads=[2, 2], image_size=size, patch_size=4, window_size=SIDES[size], **more), add_pooling_layer=False)


def conformer(kind):
    shape = dict(conv_dim=(16,) * 3, conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_feat_extract_layers=3, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, conv_depthwise_kernel_size=5)
    return lambda samples: T.Wav2Vec2ConformerModel(T.Wav2Vec2ConformerConfig(**SMALL, intermediate_size=48, position_embeddings_type=kind, max_source_positions=samples // 20 + 5, vocab_size=20, **shape))


def parakeet(frames):
    return T.ParakeetEncoder(T.ParakeetEncoderConfig(**SMALL, intermediate_size=48, num_mel_bins=16, subsampling_conv_channels=8, max_position_embeddings=64, conv_kernel_size=5,
                                                     attn_implementation="eager"))


def whisper(frames):
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    return WhisperEncoder(T.WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=48, num_mel_bins=8, max_source_positions=frames // 2))


RECORDINGS = {  # name: (shape of an input, the axis of its frames)
    "Wav2Vec2-Conformer, relative": ((1, 0), 1),
    "Wav2Vec2-Conformer, rotary": ((1, 0), 1),
    "Parakeet": ((1, 0, 16), 1),
    "Whisper's encoder": ((1, 8, 0), 2),
}
MODELS = {  # name: (model of a size, sizes: the first is exported)
    "BEiT": (lambda s: T.BeitModel(T.BeitConfig(**SMALL, intermediate_size=64, image_size=s, patch_size=16, use_relative_position_bias=True, use_mean_pooling=False)), (224, 160, 256, 384, (160, 256))),
    "SAM": (sam, (128, 64, 192, 256)),
    "ViTDet": (lambda s: T.VitDetModel(T.VitDetConfig(**{**SMALL, "num_hidden_layers": 3}, image_size=s, patch_size=16, pretrain_image_size=128, window_size=4, window_block_indices=[0, 2],
                                                      residual_block_indices=[], use_relative_position_embeddings=True)), (128, 64, 192, 256, (64, 192))),
    "Depth Anything": (depth_anything, (70, 56, 98, 140, (56, 98))),
    "DPT": (lambda s: T.DPTForDepthEstimation(T.DPTConfig(**{**SMALL, "num_hidden_layers": 4}, intermediate_size=64, image_size=s, patch_size=16, backbone_out_indices=[0, 1, 2, 3],
                                                          neck_hidden_sizes=[8] * 4, fusion_hidden_size=8, reassemble_factors=[4, 2, 1, 0.5])), (64, 96, 128, 192)),
    "YOLOS": (lambda s: T.YolosModel(T.YolosConfig(**SMALL, intermediate_size=64, image_size=[64, 64], patch_size=16, num_detection_tokens=5, use_mid_position_embeddings=True)), (64, 48, 96, 128, (48, 96))),
    "OWL-ViT": (lambda s: T.OwlViTVisionModel(T.OwlViTVisionConfig(**SMALL, intermediate_size=64, image_size=s, patch_size=16)), (64, 48, 96, 128, (48, 96))),
    "DETR": (detr, (64, 96, 128, 160, (96, 160))),
    "RT-DETR": (two_stage("RT-DETR"), (64, 96, 128, 320, (96, 160))),
    "D-FINE": (two_stage("D-FINE"), (64, 96, 128, 320, (96, 160))),
    "RF-DETR": (rf_detr, (112, 84, 168, 224)),  # the library cuts pictures that are not square across their rows
    "SegFormer": (lambda s: T.SegformerForSemanticSegmentation(T.SegformerConfig(depths=[1] * 4, hidden_sizes=[8, 8, 16, 16], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16)), (64, 96, 128, 160, (96, 160))),
    "DINOv2": (lambda s: T.Dinov2Model(T.Dinov2Config(**SMALL, image_size=518, patch_size=14)), (224, 238, 336, 518, (238, 336))),
    "Swin": (lambda s: T.SwinModel(T.SwinConfig(embed_dim=16, depths=[2, 2], num_heads=[2, 2], image_size=s, patch_size=4, window_size=7), add_pooling_layer=False), (56, 64, 96, 112, 168, (64, 112), (112, 168))),
    "Swin v2": (lambda s: T.Swinv2Model(T.Swinv2Config(embed_dim=16, depths=[2, 2], num_heads=[2, 2], image_size=s, patch_size=4, window_size=7), add_pooling_layer=False), (56, 64, 112, 168, (64, 112))),
    "Swin, windows of another side": (lambda s: swin(T.SwinModel, T.SwinConfig, s), (56, 64, 72, 80, 96)),
    "Swin v2, windows of another side": (lambda s: swin(T.Swinv2Model, T.Swinv2Config, s, pretrained_window_sizes=[7, 7]), (56, 64, 72, 80, 96)),
    "Swin v2, windows of another side, measured by them": (lambda s: swin(T.Swinv2Model, T.Swinv2Config, s), (56, 64, 72, 80, 96)),
    "DINOv3": (lambda s: T.DINOv3ViTModel(T.DINOv3ViTConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=s, patch_size=16, num_register_tokens=2)), (64, 48, 96, 128, (48, 96))),
    "ViT-MAE": (vit_mae, (64, 48, 96, 128)),
    "VideoMAE": (lambda s: T.VideoMAEModel(T.VideoMAEConfig(**SMALL, intermediate_size=64, image_size=s[1:], patch_size=8, num_frames=s[0])), ((4, 40, 40), (8, 40, 40), (4, 56, 56), (12, 24, 48))),
    "ViViT": (lambda s: T.VivitModel(T.VivitConfig(**SMALL, intermediate_size=64, image_size=s[1:], num_frames=s[0], tubelet_size=[2, 8, 8]), add_pooling_layer=False), ((4, 40, 40), (8, 40, 40), (4, 56, 56), (12, 24, 48))),
    "TimeSformer": (lambda s: T.TimesformerModel(T.TimesformerConfig(**SMALL, intermediate_size=64, image_size=s[1], num_frames=s[0], patch_size=8)), ((4, 40, 40), (8, 40, 40), (4, 56, 56), (12, 24, 24))),
    "V-JEPA 2": (lambda s: T.VJEPA2Model(T.VJEPA2Config(hidden_size=48, num_hidden_layers=2, num_attention_heads=2, crop_size=s[1], patch_size=8, frames_per_clip=s[0], tubelet_size=2, pred_hidden_size=24,
                                                        pred_num_attention_heads=1, pred_num_hidden_layers=1, pred_num_mask_tokens=2)), ((4, 40, 40), (8, 40, 40), (4, 56, 56), (12, 24, 24))),
    "Wav2Vec2-Conformer, relative": (conformer("relative"), (800, 1210, 1600, 2400)),
    "Wav2Vec2-Conformer, rotary": (conformer("rotary"), (800, 1210, 1600, 2400)),
    "Parakeet": (parakeet, (160, 200, 320, 480)),
    "Whisper's encoder": (whisper, (80, 100, 160, 240)),
}
KERNELS = {"RF-DETR": "bicubic-antialias", "DPT": "bilinear", "ViViT": "bilinear", "TimeSformer": "nearest"}  # of a table that the exporter folded: its own code's is not in the file
SIDES = {56: 7, 64: 8, 72: 8, 80: 5, 96: 12}  # of Swin's windows, by the picture
WINDOWS = {"RF-DETR": {side: side // 28 for side in (84, 112, 168, 224)}, "Swin, windows of another side": SIDES, "Swin v2, windows of another side": SIDES, "Swin v2, windows of another side, measured by them": SIDES}
PLACES = {"Swin v2, windows of another side": "none", "Swin v2, windows of another side, measured by them": "linear"}  # of distances, which the file does not tell
ASKED = {T.VJEPA2Model: {"skip_predictor": True}}  # of a model's forward
VIDEO_MODELS = (T.VideoMAEModel, T.VivitModel, T.TimesformerModel, T.VJEPA2Model)  # of sizes (frames, height, width)
METHODS = {("Wav2Vec2-Conformer, rotary", "TorchScript, free"): ["--method", "none"]}  # what nothing in the file bounds
KINDS = ("TorchScript, fixed", "TorchScript, free", "dynamo, fixed")
OPTIMISED = {  # what is done to a file after its export: by ONNX Runtime (its basic level keeps to operators of ONNX), by onnxslim
    "ONNX Runtime's optimiser": lambda path: optimised(path),
    "onnxslim": lambda path: slimmed(path),
}
# The most that is refused, of models and kinds that cannot be changed: what they are is in docs/measured/sizes.md.
REFUSED = 6


def random_positions(model):
    torch.manual_seed(7)
    for name, p in model.named_parameters():
        if re.search("position|pos_embed|rel_pos|cls|bias_table|time_embed|score_head", name) and not name.startswith("embed_positions") and p.requires_grad:
            torch.nn.init.normal_(p, std=0.3)
    return model.eval()


def carried(model, new, patches=None):
    """The new model with the old one's weights; of a video with its patches, before and now."""
    weights, state = model.state_dict(), new.state_dict()
    for name, v in state.items():
        if weights[name].shape == v.shape:
            state[name] = weights[name]
        elif patches:
            state[name] = resized_video(model, name, weights[name], *patches)
        elif name in dict(new.named_parameters()) and not dict(new.named_parameters())[name].requires_grad:
            continue  # sines and cosines of the new size (ViTMAEEmbeddings)
        elif v.dtype.is_floating_point:
            resized = next(how for end, how in RESIZED.items() if name.endswith(end))(weights[name], v.shape)
            state[name] = v if resized is None else resized
    new.load_state_dict(state)
    return new.eval()


REMEMBERING = (T.SwinModel, T.Swinv2Model, T.RTDetrForObjectDetection)


def reference(model, build, was, size):
    """The library's model of a size; of one that is not square the model itself, which resizes what it must, but for
    those that remember a size: Swin's never shift windows again once they ran with a single one, RT-DETR keeps its anchors."""
    if isinstance(model, VIDEO_MODELS):
        return First(carried(model, build(size), [patched(model, s) for s in (was, size)]), **ASKED.get(type(model), {}))
    if isinstance(model, T.ViTMAEModel):
        return Masked(carried(model, build(size)))
    if isinstance(size, int) or isinstance(model, REMEMBERING):
        return First(carried(model, build(size)))
    asked = {"interpolate_pos_encoding": True} if isinstance(model, T.OwlViTVisionModel) else {}
    return First(model.eval(), **asked)


def sides(size):
    """Height and width."""
    return (size, size) if isinstance(size, int) else size


def words(size):
    return "x".join(map(str, size)) if isinstance(size, tuple) else str(size)


def patched(model, size):
    """Patches along time, rows and columns of a video of frames, height and width."""
    c = model.config
    tubelet = getattr(c, "tubelet_size", 1)
    along, *sides = tubelet if isinstance(tubelet, list) else (tubelet, c.patch_size, c.patch_size)
    sides = sides if len(sides) == 2 else [c.patch_size, c.patch_size]
    return (size[0] // along, size[1] // sides[0], size[2] // sides[1])


def sample(name, size):
    """A picture, or a recording."""
    shape = [n or size for n in RECORDINGS[name][0]] if name in RECORDINGS else (1, 3, *sides(size)) if not isinstance(size, tuple) or len(size) == 2 else (1, size[0], 3, *size[1:])
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3))


def export(name, model, kind, size, path):
    with torch.no_grad():
        if kind.startswith("dynamo"):
            torch.onnx.export(model, (sample(name, size),), dynamo=True, input_names=["x"], opset_version=18, verbose=False).save(path)
        else:
            free = {RECORDINGS[name][1]: "frames"} if name in RECORDINGS else {0: "batch", 2: "height", 3: "width"}
            if isinstance(size, tuple):
                free = {0: "batch", 1: "frames", 3: "height", 4: "width"}
            torch.onnx.export(model, (sample(name, size),), path, dynamo=False, input_names=["x"], opset_version=17, dynamic_axes={"x": free} if kind.endswith("free") else None)


def optimised(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = path + ".optimised"
    onnxruntime.InferenceSession(path, options)
    os.replace(path + ".optimised", path)


def slimmed(path):
    import onnxslim

    onnx.save(onnxslim.slim(onnx.load(path)), path)


def fed(path, name, size):
    """The sample that a file takes: of several lengths of a recording that give as many positions its own."""
    x = sample(name, size).numpy()
    if name not in RECORDINGS:
        return x
    axis = RECORDINGS[name][1]
    n = onnx.load(path, load_external_data=False).graph.input[0].type.tensor_type.shape.dim[axis].dim_value or size
    return np.pad(x, [(0, max(n - size, 0) if i == axis else 0) for i in range(x.ndim)])[(slice(None),) * axis + (slice(n),)]


def several(path, name, size):
    """How many pictures a file with a free batch takes at once: the exporter may have counted one."""
    try:
        onnxruntime.InferenceSession(path).run(None, {"x": np.repeat(sample(name, size).numpy(), 3, 0)})
    except Exception:
        return 1
    return 3


def one(binary, name, kind, folder, after=None):
    """What became of one export: a cell for each size."""
    build, sizes = MODELS[name]
    old = os.path.join(folder, "old.onnx")
    model = random_positions(build(sizes[0]))
    try:
        export(name, (Masked if isinstance(model, T.ViTMAEModel) else First)(model, **ASKED.get(type(model), {})), kind, sizes[0], old)
    except Exception as e:  # an exporter's own limits
        return [f"not exported: PyTorch's exporter ends with {type(e).__name__}"] * (len(sizes) - 1)
    if after:
        OPTIMISED[after](old)
    cells = []
    for size in sizes[1:]:
        new = os.path.join(folder, "new.onnx")
        if os.path.exists(new):
            os.remove(new)
        kernel = ["--kernel", KERNELS[name]] if name in KERNELS and (kind.startswith("dynamo") or isinstance(model, VIDEO_MODELS)) else []
        with torch.no_grad():
            want = reference(model, build, sizes[0], size)(sample(name, size)).numpy()
        asked = ["--len", str(want.shape[1]), *METHODS.get((name, kind), [])] if name in RECORDINGS else ["--image", words(size)]
        if name in WINDOWS:
            asked += ["--window", "x".join(str(WINDOWS[name][side]) for side in sides(size))]
        if name in PLACES:
            asked += ["--method", PLACES[name]]
        if isinstance(model, VIDEO_MODELS):
            asked = ["--grid", words(patched(model, size))]
        p = subprocess.run([binary, "extend", *asked, old, "-o", new, *kernel], capture_output=True, text=True)
        way = re.search("extend --fix ([^ ]+)", p.stderr)
        if p.returncode == 4 and way:  # as the refusal says: the exported size first
            numbers = way[1]
            for letter, number in zip("THW", sizes[0] if isinstance(sizes[0], tuple) else (0, sizes[0], sizes[0])):
                numbers = numbers.replace(f"={letter}", f"={number}")
            fixed = os.path.join(folder, "fixed.onnx")
            subprocess.run([binary, "extend", "--force", "--fix", numbers, old, "-o", fixed], capture_output=True, check=True)
            p = subprocess.run([binary, "extend", *asked, fixed, "-o", new, *kernel], capture_output=True, text=True)
        if p.returncode == 4:
            cells.append("refused: " + p.stderr.split("refused: ")[1].split("\n")[0])
            continue
        if p.returncode:
            cells.append(f"FAIL: exit {p.returncode}: {p.stderr.strip()}")
            continue
        try:
            copies = several(old, name, sizes[0]) if not way and kind.endswith("free") and name not in RECORDINGS else 1
            got = onnxruntime.InferenceSession(new).run(None, {"x": np.repeat(fed(new, name, size), copies, 0)})[0][copies - 1 :]
        except Exception as e:
            cells.append("FAIL: does not run: " + str(e).replace("\n", " ")[:120])
            continue
        apart = float(np.abs(got - want).max() / np.abs(want).max()) if got.shape == want.shape else float("inf")
        cells.append(f"{apart:.1e}{', in two steps' if way else ''}" if apart <= TOLERANCE else f"FAIL: {got.shape} for {want.shape}, apart by {apart:.1e}")
    return cells


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("modelpatch")
    arguments.add_argument("--only", nargs="*", default=list(MODELS))
    arguments.add_argument("--table")
    arguments.add_argument("--after", choices=OPTIMISED, help="what is done to each file after its export")
    a = arguments.parse_args()
    rows, notes, refused, failed, equal = [], [], 0, 0, 0
    for name in a.only:
        sizes = MODELS[name][1]
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                cells = one(a.modelpatch, name, kind, folder, a.after)
            for size, cell in zip(sizes[1:], cells):
                print(f"{name}, {kind}, {words(sizes[0])} → {words(size)}: {cell}", flush=True)
                failed += cell.startswith("FAIL")
                refused += cell.startswith("refused")
                equal += cell[0].isdigit()
            short = []
            for cell in cells:
                if not cell[0].isdigit() and cell not in notes:
                    notes.append(cell)
                short.append(cell if cell[0].isdigit() else f"({notes.index(cell) + 1})")
            rows.append(f"| {name} | {kind} | {words(sizes[0])} | " + " | ".join(f"{words(s)}: {c}" for s, c in zip(sizes[1:], short)) + " |")
    print(f"{equal} equal to {TOLERANCE}, {refused} refused, {failed} failed")
    if a.table:
        with open(a.table, "w") as f:
            f.write("# Other sizes of pictures and recordings\n\n")
            f.write(f"Models of transformers {T.__version__}, small, with random weights, exported by PyTorch {torch.__version__.split('+')[0]}, changed by `extend --image`, `--grid` (videos, in frames and pixels), or `--len` of as many positions, and run in ONNX Runtime\n")
            f.write(f"{onnxruntime.__version__}. Each cell is the largest difference to the library's own model of the new size, over the largest output; in two steps where a refusal wants the exported size by `--fix` first; of RF-DETR with `--window`, as its number of windows stays, and of Swin where windows get another side (of Swin v2 with `--method none`, or `linear` where it measures distances by its windows). Made by `test/sizes/sizes.py --table`.\n\n")
            f.write("| model | export | size | | | | |\n|---|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n\n")
            f.write("\n".join(f"{i + 1}. {note}" for i, note in enumerate(notes)) + "\n")
    return 1 if failed or refused > REFUSED else 0


sys.exit(main())
