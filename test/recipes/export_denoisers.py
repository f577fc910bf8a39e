#!/usr/bin/env python3
"""Exports small denoisers of pictures and videos by diffusers (github.com/huggingface/diffusers), with what their code says of
positions, as a manifest that score-inspect reads.

usage: export_denoisers.py FOLDER [WORD …]     (only graphs whose name holds a WORD)

Writes FOLDER/onnx.json and FOLDER/onnx/NAME.onnx. Needs torch, onnxscript, onnxruntime and diffusers; weights are seeded noise.
The truth was written before any file was inspected.
"""
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
import torch

from export_libraries import Outputs, anything, export, runs
from truth import encoding

HEADS = dict(num_attention_heads=2, num_layers=1)
LATENT, VIDEO = torch.randn(1, 4, 8, 8), torch.randn(1, 4, 3, 8, 8)
TEXT, POOLED, TIME, MASK = torch.randn(1, 5, 16), torch.randn(1, 16), torch.tensor([7]), torch.ones(1, 5, dtype=torch.int64)


class First(Outputs):
    """The first result of a model that is given some of its arguments, and has the others."""

    def __init__(self, model, names, fixed):
        super().__init__(model)
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *inputs):
        return self.model(**dict(zip(self.names, inputs)), **self.fixed, return_dict=False)[0]


def df(kind, inputs, fixed=None, **config):
    import diffusers
    model = getattr(diffusers, kind)(**config)
    return First(model, list(inputs), fixed or {}), tuple(inputs.values()), {k: {0: "batch"} for k in inputs}


def ids(axes, n=16, side=4):
    out = torch.zeros(n, axes)
    out[:, 1], out[:, 2] = torch.arange(n) // side, torch.arange(n) % side
    return out


ROPE = [anything("rope")]
PAIRED = [anything("rope", layout="interleaved")]
COGVIDEO = dict(attention_head_dim=16, in_channels=4, out_channels=4, time_embed_dim=8, text_embed_dim=16, sample_width=8, sample_height=8, sample_frames=9, max_text_seq_length=5, **HEADS)
FRAMES_FIRST = VIDEO.transpose(1, 2).contiguous()
MODELS = [
    ("dn-cogvideox-waves", lambda: df("CogVideoXTransformer3DModel", dict(hidden_states=FRAMES_FIRST, encoder_hidden_states=TEXT, timestep=TIME), **COGVIDEO), [anything("sinusoidal", dim=32, base=10000)]),
    ("dn-cogvideox-learned", lambda: df("CogVideoXTransformer3DModel", dict(hidden_states=FRAMES_FIRST, encoder_hidden_states=TEXT, timestep=TIME), use_rotary_positional_embeddings=True, use_learned_positional_embeddings=True, **COGVIDEO), [anything("sinusoidal", dim=32)]),  # what training starts from,
    ("dn-latte", lambda: df("LatteTransformer3DModel", dict(hidden_states=VIDEO, timestep=TIME, encoder_hidden_states=TEXT), attention_head_dim=16, in_channels=4, out_channels=4, cross_attention_dim=32, sample_size=8, patch_size=2, norm_type="ada_norm_single", norm_elementwise_affine=False, caption_channels=16, video_length=3, num_embeds_ada_norm=10, **HEADS),
     [anything("sinusoidal", dim=32, base=10000), anything("sinusoidal", dim=32, base=10000)]),
    ("dn-hunyuan-video", lambda: df("HunyuanVideoTransformer3DModel", dict(hidden_states=VIDEO, timestep=TIME, encoder_hidden_states=TEXT, encoder_attention_mask=MASK, pooled_projections=POOLED), in_channels=4, out_channels=4, attention_head_dim=16, num_single_layers=1, num_refiner_layers=1, guidance_embeds=False, text_embed_dim=16, pooled_projection_dim=16, rope_axes_dim=(4, 6, 6), **HEADS),
     [anything("rope", layout="interleaved", base=256)]),
    ("dn-ltx", lambda: df("LTXVideoTransformer3DModel", dict(hidden_states=torch.randn(1, 48, 4), encoder_hidden_states=TEXT, timestep=TIME, encoder_attention_mask=MASK), dict(num_frames=3, height=4, width=4), in_channels=4, out_channels=4, attention_head_dim=20, cross_attention_dim=40, caption_channels=16, **HEADS), ROPE),
    ("dn-mochi", lambda: df("MochiTransformer3DModel", dict(hidden_states=VIDEO, encoder_hidden_states=TEXT, timestep=TIME, encoder_attention_mask=MASK), attention_head_dim=16, pooled_projection_dim=16, in_channels=4, text_embed_dim=16, time_embed_dim=8, max_sequence_length=5, **HEADS), ROPE),
    ("dn-cosmos", lambda: df("CosmosTransformer3DModel", dict(hidden_states=VIDEO, timestep=TIME, encoder_hidden_states=TEXT, padding_mask=torch.zeros(1, 1, 8, 8)), in_channels=4, out_channels=4, attention_head_dim=16, mlp_ratio=2, text_embed_dim=16, adaln_lora_dim=4, max_size=(4, 8, 8), **HEADS), [anything("rope"), anything("learned")]),
    ("dn-cosmos-rope", lambda: df("CosmosTransformer3DModel", dict(hidden_states=VIDEO, timestep=TIME, encoder_hidden_states=TEXT, padding_mask=torch.zeros(1, 1, 8, 8)), in_channels=4, out_channels=4, attention_head_dim=16, mlp_ratio=2, text_embed_dim=16, adaln_lora_dim=4, max_size=(4, 8, 8), extra_pos_embed_type=None, **HEADS), ROPE),
    ("dn-cogview3", lambda: df("CogView3PlusTransformer2DModel", dict(hidden_states=LATENT, encoder_hidden_states=TEXT, timestep=TIME, original_size=torch.tensor([[8.0, 8.0]]), target_size=torch.tensor([[8.0, 8.0]]), crop_coords=torch.tensor([[0.0, 0.0]])), in_channels=4, out_channels=4, attention_head_dim=16, text_embed_dim=16, time_embed_dim=8, condition_dim=4, pos_embed_max_size=8, sample_size=8, **HEADS),
     [anything("sinusoidal", dim=32, base=10000)]),
    ("dn-cogview4", lambda: df("CogView4Transformer2DModel", dict(hidden_states=LATENT, encoder_hidden_states=TEXT, timestep=TIME, original_size=torch.tensor([[8.0, 8.0]]), target_size=torch.tensor([[8.0, 8.0]]), crop_coords=torch.tensor([[0.0, 0.0]])), in_channels=4, out_channels=4, attention_head_dim=16, text_embed_dim=16, time_embed_dim=8, condition_dim=4, pos_embed_max_size=8, sample_size=8, rope_axes_dim=(8, 8), **HEADS), ROPE),
    ("dn-sana", lambda: df("SanaTransformer2DModel", dict(hidden_states=LATENT, encoder_hidden_states=TEXT, timestep=TIME), in_channels=4, out_channels=4, attention_head_dim=16, num_cross_attention_heads=2, cross_attention_head_dim=16, cross_attention_dim=32, caption_channels=16, sample_size=8, **HEADS), [encoding("conv", None, None, {"scheme": ["conv", "none"]})]),
    ("dn-prx", lambda: df("PRXTransformer2DModel", dict(hidden_states=LATENT, timestep=TIME, encoder_hidden_states=TEXT), in_channels=4, context_in_dim=16, hidden_size=32, num_heads=2, depth=1, axes_dim=[8, 8]), ROPE),
    ("dn-flux2", lambda: df("Flux2Transformer2DModel", dict(hidden_states=torch.randn(1, 16, 8), encoder_hidden_states=TEXT, timestep=torch.tensor([0.5]), img_ids=ids(4), txt_ids=torch.zeros(5, 4)), in_channels=8, num_single_layers=1, attention_head_dim=16, joint_attention_dim=16, timestep_guidance_channels=16, axes_dims_rope=(4, 4, 4, 4), guidance_embeds=False, **HEADS), PAIRED),
    ("dn-chroma", lambda: df("ChromaTransformer2DModel", dict(hidden_states=torch.randn(1, 16, 8), encoder_hidden_states=TEXT, timestep=torch.tensor([0.5]), img_ids=ids(3), txt_ids=torch.zeros(5, 3), attention_mask=torch.ones(1, 21)), in_channels=8, num_single_layers=1, attention_head_dim=16, joint_attention_dim=16, axes_dims_rope=(4, 6, 6), approximator_num_channels=8, approximator_hidden_dim=16, approximator_layers=1, **HEADS), PAIRED),
    ("dn-qwen-image", lambda: df("QwenImageTransformer2DModel", dict(hidden_states=torch.randn(1, 16, 16), encoder_hidden_states=TEXT, encoder_hidden_states_mask=MASK, timestep=torch.tensor([0.5])), dict(img_shapes=[(1, 4, 4)]), in_channels=16, out_channels=4, attention_head_dim=16, joint_attention_dim=16, axes_dims_rope=(4, 6, 6), **HEADS), PAIRED),
    ("dn-hunyuan-image", lambda: df("HunyuanImageTransformer2DModel", dict(hidden_states=LATENT, timestep=TIME, encoder_hidden_states=TEXT, encoder_attention_mask=MASK), in_channels=4, out_channels=4, attention_head_dim=16, num_single_layers=1, num_refiner_layers=1, patch_size=(2, 2), text_embed_dim=16, rope_axes_dim=(8, 8), **HEADS), [anything("rope", layout="interleaved", base=256)]),
    ("dn-easyanimate", lambda: df("EasyAnimateTransformer3DModel", dict(hidden_states=VIDEO, timestep=TIME, encoder_hidden_states=TEXT), attention_head_dim=16, in_channels=4, out_channels=4, patch_size=2, sample_width=8, sample_height=8, mmdit_layers=1, time_embed_dim=8, text_embed_dim=16, **HEADS), ROPE),
    ("dn-sana-video", lambda: df("SanaVideoTransformer3DModel", dict(hidden_states=VIDEO, encoder_hidden_states=TEXT, timestep=TIME), in_channels=4, out_channels=4, attention_head_dim=12, num_cross_attention_heads=2, cross_attention_head_dim=12, cross_attention_dim=24, caption_channels=16, sample_size=8, rope_max_seq_len=16, **HEADS), ROPE),
    ("dn-wan", lambda: df("WanTransformer3DModel", dict(hidden_states=VIDEO, timestep=TIME, encoder_hidden_states=TEXT), patch_size=(1, 2, 2), attention_head_dim=12, in_channels=4, out_channels=4, text_dim=16, freq_dim=16, ffn_dim=32, rope_max_seq_len=32, **HEADS), PAIRED),
    ("dn-skyreels", lambda: df("SkyReelsV2Transformer3DModel", dict(hidden_states=VIDEO, timestep=TIME, encoder_hidden_states=TEXT), patch_size=(1, 2, 2), attention_head_dim=12, in_channels=4, out_channels=4, text_dim=16, freq_dim=16, ffn_dim=32, rope_max_seq_len=32, **HEADS), PAIRED),
    ("dn-lumina2", lambda: df("Lumina2Transformer2DModel", dict(hidden_states=LATENT, timestep=TIME, encoder_hidden_states=TEXT, encoder_attention_mask=MASK), sample_size=8, in_channels=4, hidden_size=32, num_layers=1, num_refiner_layers=1, num_attention_heads=2, num_kv_heads=1, multiple_of=16, axes_dim_rope=(4, 6, 6), axes_lens=(16, 8, 8), cap_feat_dim=16), PAIRED),
    ("dn-transformer2d", lambda: df("Transformer2DModel", dict(hidden_states=LATENT, timestep=TIME, class_labels=torch.tensor([1])), attention_head_dim=16, in_channels=4, out_channels=4, sample_size=8, patch_size=2, num_embeds_ada_norm=10, norm_type="ada_norm_zero", norm_elementwise_affine=False, **HEADS), [anything("sinusoidal", dim=32, base=10000)]),
]


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    entries = []
    for name, build, truth in MODELS:
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
                entries.append(dict(file=f"onnx/{graph}.onnx", truth=dict(length={}, encodings=truth), accept={}))
    with open(os.path.join(folder, "onnx.json"), "w") as f:
        json.dump(entries, f)
    print(f"{len(entries)} graphs")


if __name__ == "__main__":
    main()
