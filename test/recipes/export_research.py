#!/usr/bin/env python3
"""Exports small graphs from libraries of research code (vit-pytorch, local-attention, rotary-embedding-torch, performer-pytorch,
whisper, litgpt, kornia, MONAI, Chronos, Demucs, FunASR, docTR, torchvision, curated-transformers), with what their code says of
positions, as a manifest that score-inspect reads.

usage: export_research.py FOLDER [WORD …]     (only graphs whose name holds a WORD)

Writes FOLDER/onnx.json and FOLDER/onnx/NAME.onnx. Needs torch, onnxscript, onnxruntime and the libraries named; weights are
seeded noise. The truth was written before any file was inspected.
"""
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
import torch

from export_libraries import Outputs, anything, export, runs
from truth import encoding, none, patches, rope, table

TOKENS = {"input_ids": {0: "batch", 1: "seq"}}
PICTURE = {"pixel_values": {0: "batch"}}
FRAMES = {"input_features": {0: "batch", 1: "seq"}}


def picture(module, side=32, **more):
    return module, (torch.randn(1, 3, side, side),), PICTURE


def tokens(module, length=11):
    return module, (torch.randint(1, 60, (1, length)),), TOKENS


# --- vit-pytorch (github.com/lucidrains/vit-pytorch): one idea a module
VIT = dict(image_size=32, patch_size=8, num_classes=4, dim=32, depth=2, heads=2, mlp_dim=48)


def vit(module, side=32, name="ViT", **more):
    import importlib
    kind = getattr(importlib.import_module("vit_pytorch." + module), name)
    return picture(kind(**more), side)


SINES = encoding("sinusoidal", "baked", 16, {"form": ["baked", "table", "runtime"], "capacity": [None, 16]}, dim=32, base=10000)
WINDOWS = anything("relative-table")
VIT_PYTORCH = [
    ("vp-vit", lambda: vit("vit", dim_head=16, **VIT), [patches(4, 32, 1)], 16),
    ("vp-vit-mean", lambda: vit("vit", dim_head=16, pool="mean", **VIT), [patches(4, 32, 0, rows=[16, 17])], 16),
    ("vp-simple", lambda: vit("simple_vit", name="SimpleViT", dim_head=16, **VIT), [SINES], 16),
    ("vp-simple-registers", lambda: vit("simple_vit_with_register_tokens", name="SimpleViT", dim_head=16, **VIT), [SINES], 16),
    ("vp-simple-uvit", lambda: vit("simple_uvit", name="SimpleUViT", dim_head=16, **VIT), [SINES], 16),
    ("vp-jumbo", lambda: vit("jumbo_vit", name="JumboViT", num_jumbo_cls=1, jumbo_cls_k=2, jumbo_ff_mult=2, dim_head=16, **VIT), [SINES], 16),
    ("vp-look", lambda: vit("look_vit", name="LookViT", dim=32, image_size=32, patch_size=8, num_classes=4, depth=1, heads=2, highres_patch_size=4, cross_attn_heads=2, dim_head=16, mlp_factor=1, channels=3), [anything("sinusoidal", dim=32)], "open"),  # its table is not used
    ("vp-deep", lambda: vit("deepvit", name="DeepViT", dim_head=16, **VIT), [patches(4, 32, 1)], 16),
    ("vp-cait", lambda: vit("cait", name="CaiT", cls_depth=1, dim_head=16, **VIT), [patches(4, 32, 0)], 16),
    ("vp-xcit", lambda: vit("xcit", name="XCiT", cls_depth=1, dim_head=16, **VIT), [patches(4, 32, 0)], 16),
    ("vp-local", lambda: vit("local_vit", name="LocalViT", dim_head=16, **VIT), [patches(4, 32, 1)], 16),
    ("vp-parallel", lambda: vit("parallel_vit", dim_head=16, **VIT), [patches(4, 32, 1)], 16),
    ("vp-small-dataset", lambda: vit("vit_for_small_dataset", dim_head=16, **VIT), [patches(4, 32, 1)], 16),
    ("vp-merger", lambda: vit("vit_with_patch_merger", dim_head=16, patch_merge_layer=1, patch_merge_num_tokens=4, **VIT), [patches(4, 32, 0, rows=[16, 17])], 16),
    ("vp-jet", lambda: vit("jet_vit", name="JetViT", **{**VIT, "dim": 64}), [patches(4, 64, 0)], 16),
    ("vp-decorr", lambda: vit("vit_with_decorr", dim_head=16, **VIT), [patches(4, 32, 1)], 16),
    ("vp-pit", lambda: vit("pit", name="PiT", 	dim_head=16, image_size=32, patch_size=8, num_classes=4, dim=32, depth=(1, 1), heads=2, mlp_dim=48), [anything("learned", dim=32)], "open"),
    ("vp-t2t", lambda: vit("t2t", name="T2TViT", dim=32, image_size=32, depth=2, heads=2, mlp_dim=48, num_classes=4, t2t_layers=((7, 4), (3, 2))), [anything("learned", dim=32)], "open"),
    ("vp-cct-learned", lambda: vit("cct", name="CCT", img_size=32, embedding_dim=32, n_conv_layers=1, kernel_size=7, stride=2, padding=3, pooling_kernel_size=3, pooling_stride=2, pooling_padding=1, num_layers=2, num_heads=2, mlp_ratio=1., num_classes=4, positional_embedding="learnable"), [patches(8, 32, 0)], 64),
    ("vp-cct-sine", lambda: vit("cct", name="CCT", img_size=32, embedding_dim=32, n_conv_layers=1, kernel_size=7, stride=2, padding=3, pooling_kernel_size=3, pooling_stride=2, pooling_padding=1, num_layers=2, num_heads=2, mlp_ratio=1., num_classes=4, positional_embedding="sine"), [anything("sinusoidal", dim=32, base=10000)], "open"),
    ("vp-cct-none", lambda: vit("cct", name="CCT", img_size=32, embedding_dim=32, n_conv_layers=1, kernel_size=7, stride=2, padding=3, pooling_kernel_size=3, pooling_stride=2, pooling_padding=1, num_layers=2, num_heads=2, mlp_ratio=1., num_classes=4, positional_embedding="none"), [none()], "open"),
    ("vp-rvt", lambda: vit("rvt", name="RvT", dim_head=16, **VIT), [anything("rope", head_dim=16)], "open"),
    ("vp-vit5", lambda: vit("vit_5", dim_head=16, **VIT), [patches(4, 32, 5), anything("rope", head_dim=16)], "open"),
    ("vp-max", lambda: vit("max_vit", side=64, name="MaxViT", num_classes=4, dim=16, dim_head=16, depth=(1, 1), dim_conv_stem=16, window_size=4, mbconv_expansion_rate=1, mbconv_shrinkage_rate=0.25), [WINDOWS], "open"),
    ("vp-levit", lambda: vit("levit", side=64, name="LeViT", image_size=64, num_classes=4, dim=(16, 32), depth=1, heads=(2, 2), dim_key=8, stages=2, mlp_mult=1), [WINDOWS], "open"),
    ("vp-cross-former", lambda: vit("crossformer", side=64, name="CrossFormer", dim=(32, 32, 32, 32), depth=(1, 1, 1, 1), global_window_size=(4, 2, 2, 1), local_window_size=2, cross_embed_kernel_sizes=((4, 8), (2, 4), (2, 4), (2, 4)), cross_embed_strides=(4, 2, 2, 2), num_classes=4), [WINDOWS], "open"),
    ("vp-region", lambda: vit("regionvit", side=64, name="RegionViT", dim=(16, 16, 32, 32), depth=(1, 1, 1, 1), window_size=2, num_classes=4), [WINDOWS], "open"),
    ("vp-cross", lambda: vit("cross_vit", name="CrossViT", image_size=32, num_classes=4, depth=1, sm_dim=16, sm_patch_size=8, sm_enc_depth=1, sm_enc_heads=2, sm_enc_mlp_dim=32, sm_enc_dim_head=8, lg_dim=32, lg_patch_size=16, lg_enc_depth=1, lg_enc_heads=2, lg_enc_mlp_dim=32, lg_enc_dim_head=8, cross_attn_depth=1, cross_attn_heads=2, cross_attn_dim_head=8),
     [anything("learned", dim=16), anything("learned", dim=32)], "open"),
    ("vp-twins", lambda: vit("twins_svt", side=64, name="TwinsSVT", num_classes=4, s1_emb_dim=16, s1_patch_size=4, s1_local_patch_size=4, s1_global_k=4, s1_depth=1, s2_emb_dim=16, s2_patch_size=2, s2_local_patch_size=4, s2_global_k=4, s2_depth=1, s3_emb_dim=16, s3_patch_size=2, s3_local_patch_size=4, s3_global_k=4, s3_depth=1, s4_emb_dim=16, s4_patch_size=2, s4_local_patch_size=2, s4_global_k=2, s4_depth=1), [encoding("conv", None, None, {"scheme": ["conv", "none"]})], "open"),
    ("vp-cvt", lambda: vit("cvt", side=64, name="CvT", num_classes=4, s1_emb_dim=16, s1_heads=1, s1_depth=1, s2_emb_dim=16, s2_heads=1, s2_depth=1, s3_emb_dim=16, s3_heads=1, s3_depth=1), [none()], "open"),
    ("vp-mobile", lambda: vit("mobile_vit", side=64, name="MobileViT", image_size=(64, 64), dims=[16, 16, 16], channels=[8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 16], num_classes=4), [none()], "open"),
    ("vp-sep", lambda: vit("sep_vit", side=56, name="SepViT", num_classes=4, dim=16, dim_head=8, heads=(1, 2), depth=(1, 1), window_size=7), [none()], "open"),
    ("vp-scalable", lambda: vit("scalable_vit", side=64, name="ScalableViT", num_classes=4, dim=16, heads=(2, 2), depth=(1, 1), ssa_dim_key=(8, 8), reduction_factor=(2, 2), window_size=(4, None)), [encoding("conv", None, None, {"scheme": ["conv", "none"]})], "open"),
    ("vp-nest", lambda: vit("nest", side=64, name="NesT", image_size=64, patch_size=4, dim=16, heads=2, num_hierarchies=2, block_repeats=(1, 1), num_classes=4), [anything("learned"), anything("learned")], "open"),
    ("vp-rotary-nd", lambda: vit("vit_nd_rotary", name="ViTND", ndim=2, input_shape=32, patch_size=8, num_classes=4, dim=32, depth=2, heads=2, mlp_dim=48, dim_head=16), [anything("rope")], "open"),
    ("vp-1d", lambda: (__import__("vit_pytorch.vit_1d", fromlist=["ViT"]).ViT(seq_len=64, patch_size=8, num_classes=4, dim=32, depth=2, heads=2, mlp_dim=48, dim_head=16), (torch.randn(1, 3, 64),), {"input_values": {0: "batch"}}), [table(9, 32, 8, {"rows": [8, 9], "capacity": [8, 9], "form": ["table", "baked"], "prefix": [0, 1]})], "open"),
    ("vp-vivit", lambda: (__import__("vit_pytorch.vivit", fromlist=["ViViT"]).ViViT(image_size=32, frames=4, image_patch_size=8, frame_patch_size=2, num_classes=4, dim=32, spatial_depth=1, temporal_depth=1, heads=2, mlp_dim=48, dim_head=16), (torch.randn(1, 3, 4, 32, 32),), {"pixel_values": {0: "batch"}}), [anything("learned", dim=32)], "open"),
    ("vp-3d", lambda: (__import__("vit_pytorch.vit_3d", fromlist=["ViT"]).ViT(image_size=32, frames=4, image_patch_size=8, frame_patch_size=2, num_classes=4, dim=32, depth=2, heads=2, mlp_dim=48, dim_head=16), (torch.randn(1, 3, 4, 32, 32),), {"pixel_values": {0: "batch"}}), [anything("learned", dim=32)], "open"),
    ("vp-simple-3d", lambda: (__import__("vit_pytorch.simple_vit_3d", fromlist=["SimpleViT"]).SimpleViT(image_size=32, frames=4, image_patch_size=8, frame_patch_size=2, num_classes=4, dim=48, depth=2, heads=2, mlp_dim=48, dim_head=16), (torch.randn(1, 3, 4, 32, 32),), {"pixel_values": {0: "batch"}}), [anything("sinusoidal")], "open"),
]


# --- rotary-embedding-torch, local-attention, performer-pytorch, axial-positional-embedding (github.com/lucidrains)
class Layer(torch.nn.Module):
    """Tokens, one attention with what `turn` does to queries and keys, and a head."""

    def __init__(self, turn=None, attend=None, causal=True, dim=32, heads=2):
        super().__init__()
        self.embed = torch.nn.Embedding(64, dim)
        self.q, self.k, self.v, self.out = (torch.nn.Linear(dim, dim) for _ in range(4))
        self.turn, self.attend, self.heads, self.causal = turn, attend, heads, causal

    def forward(self, ids):
        x = self.embed(ids)
        b, n = ids.shape
        q, k, v = (f(x).view(b, n, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        if self.turn is not None:
            q, k = self.turn(q, k)
        if self.attend is not None:
            y = self.attend(q, k, v)
        else:
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, n, -1)) + x


class Turn(torch.nn.Module):
    def __init__(self, kind, **more):
        super().__init__()
        from rotary_embedding_torch import RotaryEmbedding
        self.rope, self.kind = RotaryEmbedding(cache_if_possible=False, **more), kind

    def forward(self, q, k):
        if self.kind == "xpos":
            return self.rope.rotate_queries_and_keys(q, k)
        return self.rope.rotate_queries_or_keys(q), self.rope.rotate_queries_or_keys(k)


def local(**more):
    from local_attention import LocalTransformer
    return tokens(LocalTransformer(num_tokens=64, dim=32, depth=2, max_seq_len=48, causal=True, local_attn_window_size=8, heads=2, dim_head=16, **more), 16)


def performer(**more):
    from performer_pytorch import PerformerLM
    return tokens(PerformerLM(num_tokens=64, dim=32, depth=2, max_seq_len=48, heads=2, dim_head=16, causal=False, nb_features=16, **more))


class Axial(torch.nn.Module):
    def __init__(self):
        super().__init__()
        from axial_positional_embedding import AxialPositionalEmbedding
        self.position, self.inner = AxialPositionalEmbedding(dim=32, axial_shape=(8, 8)), Layer()

    def forward(self, ids):
        x = self.inner.embed(ids)
        return self.inner.out(x + self.position(x))


LUCID = [
    ("re-lang", lambda: tokens(Layer(Turn("lang", dim=16))), [rope(16, 16, "interleaved")], "open"),
    ("re-partial", lambda: tokens(Layer(Turn("lang", dim=8))), [rope(8, 16, "interleaved")], "open"),
    ("re-interpolated", lambda: tokens(Layer(Turn("lang", dim=16, interpolate_factor=2.0))), [rope(16, 16, "interleaved", type="linear", factor=2.0)], "open"),
    ("re-ntk", lambda: tokens(Layer(Turn("lang", dim=16, theta_rescale_factor=4.0))), [rope(16, 16, "interleaved", base=10000 * 4 ** (16 / 14))], "open"),
    ("re-xpos", lambda: tokens(Layer(Turn("xpos", dim=16, use_xpos=True))), [anything("rope", rotary_dim=16, layout="interleaved")], "open"),
    ("re-encoder", lambda: tokens(Layer(Turn("lang", dim=16), causal=False)), [rope(16, 16, "interleaved")], "open"),
    ("la-rotary", lambda: local(), [anything("rope", base=10000), table(48, 32)], "open"),
    ("la-xpos", lambda: local(use_xpos=True), [anything("rope", base=10000), table(48, 32)], "open"),
    ("la-bias", lambda: local(use_dynamic_pos_bias=True), [encoding("unknown", "runtime", None, {"scheme": ["relative-table", "unknown"], "form": ["runtime", "baked", "table"], "capacity": [None, *range(1, 99)]}), anything("learned", rows=48)], "open"),
    ("pf-learned", lambda: performer(rotary_position_emb=False), [table(48, 32)], 48),
    ("pf-axial", lambda: performer(rotary_position_emb=False, axial_position_emb=True, axial_position_shape=(6, 8)), [anything("learned", dim=32)], 48),
    ("pf-rotary", lambda: performer(rotary_position_emb=True), [anything("sinusoidal"), anything("rope")], "open"),
    ("ax-table", lambda: tokens(Axial(), 64), [encoding("learned", "table", 64, {"form": ["table", "baked"], "scheme": ["learned"]})], 64),
]


# --- openai-whisper
def whisper(part):
    from whisper.model import AudioEncoder, TextDecoder
    if part == "encoder":
        return AudioEncoder(80, 30, 32, 2, 2), (torch.randn(1, 80, 60),), {"mel": {0: "batch"}}
    d = TextDecoder(64, 24, 32, 2, 2)
    return d, (torch.randint(1, 60, (1, 7)), torch.randn(1, 30, 32)), {"tokens": {0: "batch", 1: "seq"}, "audio_features": {0: "batch"}}


WHISPER = [
    ("ow-encoder", lambda: whisper("encoder"), [encoding("sinusoidal", "table", 30, {"form": ["table", "baked"]}, dim=32, base=10000)], "open"),
    ("ow-decoder", lambda: whisper("decoder"), [table(24, 32)], 24),
]


# --- litgpt (github.com/Lightning-AI/litgpt): one checkpoint's configuration each, made small
def lit(**more):
    from litgpt import GPT, Config
    config = Config(**{**dict(block_size=64, vocab_size=64, padded_vocab_size=64, n_layer=2, n_head=4, n_embd=64, intermediate_size=96), **more})
    return tokens(GPT(config))


LLAMA = dict(parallel_residual=False, bias=False, norm_class_name="RMSNorm", mlp_class_name="LLaMAMLP", rotary_percentage=1.0)


def lits(dim=16, base=10000, **scaling):
    return rope(dim, 16, "half", base, accept={"capacity": [64, *range(1, 300)], "form": ["cache", "runtime", "baked", "table"]}, **scaling)


LITGPT = [
    ("lg-pythia", lambda: lit(rotary_percentage=0.25), [lits(4)], "open"),
    ("lg-llama", lambda: lit(**LLAMA), [lits()], "open"),
    ("lg-llama-gqa", lambda: lit(n_query_groups=2, rope_base=500000, **LLAMA), [lits(base=500000)], "open"),
    ("lg-llama31", lambda: lit(rope_base=500000, rope_adjustments=dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_seq_len=32), **LLAMA), [lits(base=500000, type="llama3", factor=8.0)], "open"),
    ("lg-condense", lambda: lit(rope_condense_ratio=4, **LLAMA), [lits(type="linear", factor=4.0)], "open"),
    ("lg-sliding", lambda: lit(sliding_window_size=8, sliding_window_indices=[1, 0], rope_local_base_freq=10000.0, rope_base=1000000, rope_indices=[1, 0], **LLAMA), [lits(base=1000000), lits(base=10000)], "open"),
    ("lg-qwen3", lambda: lit(norm_qk=True, rope_base=1000000, **LLAMA), [lits(base=1000000)], "open"),
    ("lg-moe", lambda: lit(n_expert=2, n_expert_per_token=1, **{**LLAMA, "mlp_class_name": "LLaMAMoE"}), [lits()], "open"),
]


# --- kornia
def korn(kind):
    if kind == "vit":
        from kornia.models.vit import VisionTransformer
        return picture(VisionTransformer(image_size=32, patch_size=8, in_channels=3, embed_dim=32, depth=2, num_heads=2, dropout_rate=0.0))
    if kind == "tiny":
        from kornia.models.tiny_vit import TinyViT
        return picture(TinyViT(img_size=64, num_classes=4, embed_dims=(16, 32, 32, 32), depths=(1, 1, 1, 1), num_heads=(1, 2, 2, 2), window_sizes=(4, 4, 4, 2)), 64)
    if kind == "mobile":
        from kornia.models.vit_mobile import MobileViT
        return picture(MobileViT(mode="xxs"), 256)
    if kind == "loftr":
        from kornia.feature.loftr.utils.position_encoding import PositionEncodingSine
        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.pos = torch.nn.Conv2d(3, 32, 8, 8), PositionEncodingSine(32, (16, 16))
                self.layer = torch.nn.TransformerEncoderLayer(32, 2, 48, batch_first=True)
            def forward(self, x):
                return self.layer(self.pos(self.conv(x)).flatten(2).transpose(1, 2))
        return picture(M())
    from kornia.feature.lightglue import LearnableFourierPositionalEncoding, SelfBlock
    class G(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.block = LearnableFourierPositionalEncoding(2, 16, 16), SelfBlock(32, 2, flash=False)
        def forward(self, points, descriptors):
            return self.block(descriptors, self.enc(points))
    return G(), (torch.rand(1, 9, 2), torch.randn(1, 9, 32)), {"keypoints": {0: "batch", 1: "points"}, "descriptors": {0: "batch", 1: "points"}}


KORNIA = [
    ("kn-vit", lambda: korn("vit"), [patches(4, 32, 1)], 16),
    ("kn-tiny", lambda: korn("tiny"), [WINDOWS], "open"),
    ("kn-mobile", lambda: korn("mobile"), [none()], "open"),
    ("kn-loftr", lambda: korn("loftr"), [anything("sinusoidal", dim=32)], "open"),
    ("kn-lightglue", lambda: korn("lightglue"), [encoding("rope", "runtime", None, {"scheme": ["rope", "unknown"]})], "open"),
]


# --- MONAI
def mon(kind):
    from monai.networks import nets
    if kind.startswith("vit"):
        m = nets.ViT(in_channels=1, img_size=(16, 16, 16), patch_size=(4, 4, 4), hidden_size=36, mlp_dim=48, num_layers=2, num_heads=2, proj_type="conv", pos_embed_type=kind[4:], classification=False)
        return Outputs(m, lambda r: r[0]), (torch.randn(1, 1, 16, 16, 16),), {"volume": {0: "batch"}}
    if kind == "unetr":
        return nets.UNETR(in_channels=1, out_channels=2, img_size=(32, 32), feature_size=8, hidden_size=32, mlp_dim=48, num_heads=2, spatial_dims=2), (torch.randn(1, 1, 32, 32),), {"picture": {0: "batch"}}
    if kind == "swin":
        return nets.SwinUNETR(in_channels=1, out_channels=2, feature_size=12, spatial_dims=2, depths=(1, 1, 1, 1), num_heads=(1, 2, 2, 2), window_size=4), (torch.randn(1, 1, 64, 64),), {"picture": {0: "batch"}}
    m = nets.DecoderOnlyTransformer(num_tokens=64, max_seq_len=48, attn_layers_dim=32, attn_layers_depth=2, attn_layers_heads=2)
    return tokens(m)


MONAI = [
    ("mo-vit-learnable", lambda: mon("vit-learnable"), [anything("learned", dim=36)], "open"),
    ("mo-vit-sincos", lambda: mon("vit-sincos"), [anything("sinusoidal")], "open"),
    ("mo-unetr", lambda: mon("unetr"), [encoding("learned", "baked", 4, {"form": ["baked", "table"]}, dim=32)], "open"),
    ("mo-swin", lambda: mon("swin"), [WINDOWS], "open"),
    ("mo-decoder", lambda: mon("decoder"), [table(48, 32)], 48),
]


# --- Demucs' transformer between its two branches
def demucs(embedding):
    from demucs.transformer import CrossTransformerEncoder
    m = CrossTransformerEncoder(dim=32, emb=embedding, hidden_scale=2, num_heads=2, num_layers=2, cross_first=False, dropout=0.0, sin_random_shift=0, max_positions=64, norm_in=True, norm_out=False)
    return Outputs(m, lambda r: r[0]), (torch.randn(1, 32, 4, 6), torch.randn(1, 32, 20)), {"spectrum": {0: "batch"}, "wave": {0: "batch"}}


DEMUCS = [("dm-sin", lambda: demucs("sin"), [anything("sinusoidal", dim=32), anything("sinusoidal", dim=32)], "open"), ("dm-scaled", lambda: demucs("scaled"), [anything("learned", dim=32), anything("sinusoidal", dim=32)], "open")]


# --- FunASR
def funasr(kind):
    if kind == "sanm":
        from funasr.models.sanm.encoder import SANMEncoder
        m = SANMEncoder(40, output_size=32, attention_heads=2, linear_units=48, num_blocks=2, input_layer="pe", kernel_size=5, selfattention_layer_type="sanm")
    elif kind == "conformer":
        from funasr.models.conformer.encoder import ConformerEncoder
        m = ConformerEncoder(40, output_size=32, attention_heads=2, linear_units=48, num_blocks=2, input_layer="linear", cnn_module_kernel=5, rel_pos_type="latest")
    else:
        from funasr.models.transformer.encoder import TransformerEncoder
        m = TransformerEncoder(40, output_size=32, attention_heads=2, linear_units=48, num_blocks=2, input_layer="linear")
    return Outputs(m, lambda r: r[0], lambda x: m(x, torch.full((x.shape[0],), x.shape[1]))), (torch.randn(1, 30, 40),), FRAMES


FUNASR = [
    ("fa-sanm", lambda: funasr("sanm"), [anything("sinusoidal", dim=40)], "open"),
    ("fa-transformer", lambda: funasr("transformer"), [anything("sinusoidal", dim=32)], "open"),
    ("fa-conformer", lambda: funasr("conformer"), [anything("relative-sinusoid")], "open"),
]


# --- docTR: recognisers of words
def doc(kind):
    if kind == "vitstr":
        from doctr.models import vitstr_small
        m = vitstr_small(pretrained=False, pretrained_backbone=False, exportable=True)
    elif kind == "viptr":
        from doctr.models import viptr_tiny
        m = viptr_tiny(pretrained=False, exportable=True)
    else:
        from doctr.models import master
        m = master(pretrained=False, pretrained_backbone=False, exportable=True)
    return Outputs(m, lambda r: r["logits"]), (torch.randn(1, 3, 32, 128),), PICTURE


DOCTR = [
    ("dt-vitstr", lambda: doc("vitstr"), [anything("learned", dim=384)], "open"),
    ("dt-viptr", lambda: doc("viptr"), [encoding("conv", None, None, {"scheme": ["conv", "none", "learned", "relative-table"]})], "open"),
]


# --- torchvision
def vision(kind):
    import torchvision.models as V
    if kind == "vit":
        return picture(V.VisionTransformer(32, 8, 2, 2, 32, 48, num_classes=4))
    if kind == "swin":
        return picture(V.SwinTransformer([4, 4], 16, [2, 2], [2, 2], [4, 4], num_classes=4), 64)
    if kind == "swin2":
        from torchvision.models.swin_transformer import PatchMergingV2, SwinTransformerBlockV2
        return picture(V.SwinTransformer([4, 4], 16, [2, 2], [2, 2], [4, 4], num_classes=4, block=SwinTransformerBlockV2, downsample_layer=PatchMergingV2), 64)
    if kind == "maxvit":
        return picture(V.MaxVit((64, 64), 16, 4, [16, 16], [1, 1], 8, 0.0, num_classes=4), 64)
    return None


VISION = [
    ("tv-vit", lambda: vision("vit"), [patches(4, 32, 1)], 16),
    ("tv-swin", lambda: vision("swin"), [WINDOWS], "open"),
    ("tv-swin2", lambda: vision("swin2"), [WINDOWS], "open"),
    ("tv-maxvit", lambda: vision("maxvit"), [WINDOWS], "open"),
]


# --- Chronos-Bolt and Chronos: series of numbers through T5
def chronos():
    from chronos.chronos_bolt import ChronosBoltModelForForecasting
    from transformers import T5Config
    config = T5Config(d_model=32, d_kv=16, d_ff=48, num_layers=2, num_decoder_layers=2, num_heads=2, vocab_size=2, feed_forward_proj="relu", is_encoder_decoder=True, decoder_start_token_id=0, pad_token_id=0)
    config.decoder_start_token_id = 0
    config.chronos_config = dict(context_length=64, prediction_length=8, input_patch_size=8, input_patch_stride=8, quantiles=[0.1, 0.5, 0.9], use_reg_token=True)
    return Outputs(ChronosBoltModelForForecasting(config), lambda r: r.quantile_preds), (torch.randn(1, 64),), {"context": {0: "batch", 1: "seq"}}


CHRONOS = [("ch-bolt", chronos, [anything("t5-bias", heads=2, bidirectional=True)], "open")]


# --- curated-transformers (github.com/explosion/curated-transformers)
def curated(kind):
    import curated_transformers.models as C
    from curated_transformers.layers import AttentionMask
    small = dict(hidden_width=32, n_hidden_layers=2, n_pieces=64, dtype=torch.float32)
    if kind == "bert":
        m = C.BERTEncoder(C.BERTConfig(embedding_width=32, intermediate_width=48, n_attention_heads=2, model_max_length=48, n_positions=48, **small))
    elif kind == "roberta":
        m = C.RoBERTaEncoder(C.RoBERTaConfig(embedding_width=32, intermediate_width=48, n_attention_heads=2, model_max_length=48, n_positions=50, padding_id=1, **small))
    elif kind == "llama":
        m = C.LlamaDecoder(C.LlamaConfig(intermediate_width=48, n_query_heads=2, n_key_value_heads=2, rotary_embedding_fraction=1.0, **small))
    elif kind == "neox":
        m = C.GPTNeoXDecoder(C.GPTNeoXConfig(intermediate_width=48, n_attention_heads=2, rotary_embedding_fraction=0.5, **small))
    else:
        m = C.MPTDecoder(C.MPTConfig(intermediate_width_multiplier=2, n_attention_heads=2, model_max_length=48, **small))
    return Outputs(m, lambda r: r.last_hidden_layer_state if hasattr(r, "last_hidden_layer_state") else r.all_outputs[-1], lambda ids: m(ids, AttentionMask(torch.ones_like(ids, dtype=torch.bool)))), (torch.randint(2, 60, (1, 11)),), TOKENS


CURATED = [
    ("cu-bert", lambda: curated("bert"), [table(48, 32)], 48),
    ("cu-roberta", lambda: curated("roberta"), [anything("learned", dim=32)], "open"),
    ("cu-llama", lambda: curated("llama"), [anything("rope", rotary_dim=16, layout="half", base=10000)], "open"),
    ("cu-neox", lambda: curated("neox"), [anything("rope", layout="half", base=10000)], "open"),
    ("cu-mpt", lambda: curated("mpt"), [anything("alibi", heads=2)], "open"),
]


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    entries = []
    for name, build, truth, capacity in VIT_PYTORCH + LUCID + WHISPER + LITGPT + KORNIA + MONAI + DEMUCS + FUNASR + DOCTR + VISION + CHRONOS + CURATED:
        for exporter in ("ts", "dy"):
            graph = f"{name}-{exporter}"
            if words and not any(w in graph for w in words):
                continue
            path = os.path.join(folder, "onnx", graph + ".onnx")
            try:
                if not os.path.exists(path):
                    export(os.path.abspath(path), build, exporter)
            except Exception as problem:
                print(f"{graph}: not exported: {(str(problem).strip() or type(problem).__name__).splitlines()[0][:200]}", file=sys.stderr)
                continue
            if runs(path):
                entries.append(dict(file=f"onnx/{graph}.onnx", truth=dict(length={} if capacity == "open" else {"capacity": capacity}, encodings=truth), accept={}))
    with open(os.path.join(folder, "onnx.json"), "w") as f:
        json.dump(entries, f)
    print(f"{len(entries)} graphs")


if __name__ == "__main__":
    main()
