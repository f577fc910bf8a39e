"""Models of pictures of transformers."""
import torch
import transformers as T
from model import SMALL, Row, Run, by_ends, grid, line, rebuilt_square, sides, words
from torch.nn import functional as F


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


def resampled_to(side):
    """Gives a DINOv2 the rows of a smaller grid in the place of its trained ones."""

    def folded(model):
        rows = model.embeddings.position_embeddings
        model.embeddings.position_embeddings = torch.nn.Parameter(grid(1)(rows.data, (1, 1 + side * side, rows.shape[-1])))

    return folded


def masked(model, x):
    """A masked autoencoder's encoder, which drops patches by noise: here that of the picture's own brightness."""
    return model(x, noise=F.avg_pool2d(x.mean(1, keepdim=True), 16).flatten(1)).last_hidden_state


def bias_table(rows, shape):
    """Of the distances in a window, before three rows of a class token where there is one (BeitRelativePositionBias)."""
    behind = 3 if round((rows.shape[0] - 3) ** 0.5) ** 2 + 3 == rows.shape[0] else 0
    old, new = round((rows.shape[0] - behind) ** 0.5), round((shape[0] - behind) ** 0.5)
    t = F.interpolate(rows[: old**2].T.reshape(1, -1, old, old), size=(new, new), mode="bilinear")
    return torch.cat([t.reshape(rows.shape[1], -1).T, rows[old**2 :]])


def windowed(window, *more):
    """How a size is asked for with windows of a side that its own side tells."""
    return lambda was, now, want: ["--image", words(now), "--window", "x".join(str(window[side]) for side in sides(now)), *more]


def swin(model, config, **more):
    return lambda s: model(config(embed_dim=16, depths=[2, 2], num_heads=[2, 2], image_size=s, patch_size=4, **{"window_size": SIDES.get(s), **more}), add_pooling_layer=False)


def levit(size):
    return T.LevitModel(T.LevitConfig(image_size=size, hidden_sizes=[32, 48, 64], num_attention_heads=[2, 2, 2], depths=[1, 1, 1], key_dim=[8, 8, 8],
                                      down_ops=[["Subsample", 8, 4, 4, 2, 2], ["Subsample", 8, 6, 4, 2, 2]]))


def distances(v, shape):
    """Biases by distance along rows and columns, without sign, resampled as those of windows are: LeViT's own code does not."""
    old, new = (round(n**0.5) for n in (v.shape[1], shape[1]))
    at = torch.arange(2 * old - 1).sub(old - 1).abs()
    signed = v.reshape(1, -1, old, old)[:, :, at][:, :, :, at]
    return F.interpolate(signed, size=(2 * new - 1, 2 * new - 1), mode="bilinear")[0, :, new - 1 :, new - 1 :].reshape(shape)


SIDES = {56: 7, 64: 8, 72: 8, 80: 5, 96: 12}  # of Swin's windows, by the picture
WINDOWS = by_ends(relative_position_bias_table=bias_table)
DYNAMO = {way: ["--kernel", "bilinear"] for way in ("dynamo", "TorchScript, fixed, optimised")}  # where the exporter folded a table: its own code's is not in the file
MODELS = {
    "BEiT": Row(lambda s: T.BeitModel(T.BeitConfig(**SMALL, intermediate_size=64, image_size=s, patch_size=16, use_relative_position_bias=True, use_mean_pooling=False)), (224, 160, 256, 384, (160, 256)),
                resized=WINDOWS, reference=rebuilt_square()),
    "SAM": Row(sam, (128, 64, 192, 256), resized=by_ends(pos_embed=lambda v, shape: F.interpolate(v.permute(0, 3, 1, 2), size=shape[1:3], mode="bicubic", align_corners=False).permute(0, 2, 3, 1), rel_pos_h=line, rel_pos_w=line)),
    "ViTDet": Row(lambda s: T.VitDetModel(T.VitDetConfig(**{**SMALL, "num_hidden_layers": 3}, image_size=s, patch_size=16, pretrain_image_size=128, window_size=4, window_block_indices=[0, 2],
                                                         residual_block_indices=[], use_relative_position_embeddings=True)), (128, 64, 192, 256, (64, 192)), resized=by_ends(rel_pos_h=line, rel_pos_w=line), reference=rebuilt_square()),
    "Depth Anything": Row(depth_anything, (70, 56, 98, 140, (56, 98)), reference=rebuilt_square()),
    "DPT": Row(lambda s: T.DPTForDepthEstimation(T.DPTConfig(**{**SMALL, "num_hidden_layers": 4}, intermediate_size=64, image_size=s, patch_size=16, backbone_out_indices=[0, 1, 2, 3],
                                                             neck_hidden_sizes=[8] * 4, fusion_hidden_size=8, reassemble_factors=[4, 2, 1, 0.5])), (64, 96, 128, 192), resized=by_ends(position_embeddings=grid(1, "bilinear")), more=DYNAMO),
    "YOLOS": Row(lambda s: T.YolosModel(T.YolosConfig(**SMALL, intermediate_size=64, image_size=[64, 64], patch_size=16, num_detection_tokens=5, use_mid_position_embeddings=True)), (64, 48, 96, 128, (48, 96))),
    "OWL-ViT": Row(lambda s: T.OwlViTVisionModel(T.OwlViTVisionConfig(**SMALL, intermediate_size=64, image_size=s, patch_size=16)), (64, 48, 96, 128, (48, 96)),
                   resized=by_ends(position_embedding__weight=grid(1)), reference=rebuilt_square(interpolate_pos_encoding=True)),
    "DETR": Row(detr, (64, 96, 128, 160, (96, 160))),
    "RT-DETR": Row(two_stage("RT-DETR"), (64, 96, 128, 320, (96, 160))),
    "D-FINE": Row(two_stage("D-FINE"), (64, 96, 128, 320, (96, 160))),
    # its number of windows stays; the library cuts pictures that are not square across their rows
    "RF-DETR": Row(rf_detr, (112, 84, 168, 224), resized=by_ends(position_embeddings=grid(1, "bicubic", True)), extend=windowed({side: side // 28 for side in (84, 112, 168, 224)}), more={"dynamo": ["--kernel", "bicubic-antialias"]}),
    "SegFormer": Row(lambda s: T.SegformerForSemanticSegmentation(T.SegformerConfig(depths=[1] * 4, hidden_sizes=[8, 8, 16, 16], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16)), (64, 96, 128, 160, (96, 160))),
    "CvT": Row(lambda s: T.CvtModel(T.CvtConfig(embed_dim=[8, 16, 32], num_heads=[1, 1, 2], depth=[1, 2, 3])), (64, 96, 128, (64, 128))),
    "LeViT": Row(levit, (128, 64, 96, 192), resized=by_ends(attention_biases=distances)),
    "DINOv2": Row(lambda s: T.Dinov2Model(T.Dinov2Config(**SMALL, image_size=518, patch_size=14)), (224, 238, 336, 518, (238, 336)), folded=resampled_to(224 // 14), reference=lambda row, model, now: Run(model, row.run)),
    "Swin": Row(swin(T.SwinModel, T.SwinConfig, window_size=7), (56, 64, 96, 112, 168, (64, 112), (112, 168))),
    "Swin v2": Row(swin(T.Swinv2Model, T.Swinv2Config, window_size=7), (56, 64, 112, 168, (64, 112))),
    "Swin, windows of another side": Row(swin(T.SwinModel, T.SwinConfig), (56, 64, 72, 80, 96), resized=WINDOWS, extend=windowed(SIDES)),
    # by --method: whether distances are measured by the windows, which the file does not tell
    "Swin v2, windows of another side": Row(swin(T.Swinv2Model, T.Swinv2Config, pretrained_window_sizes=[7, 7]), (56, 64, 72, 80, 96), extend=windowed(SIDES, "--method", "none")),
    "Swin v2, windows of another side, measured by them": Row(swin(T.Swinv2Model, T.Swinv2Config), (56, 64, 72, 80, 96), extend=windowed(SIDES, "--method", "linear")),
    "DINOv3": Row(lambda s: T.DINOv3ViTModel(T.DINOv3ViTConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=s, patch_size=16, num_register_tokens=2)), (64, 48, 96, 128, (48, 96)), reference=rebuilt_square()),
    "ViT-MAE": Row(vit_mae, (64, 48, 96, 128), run=masked),
}
