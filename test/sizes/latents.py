"""Denoisers of latents of diffusers (github.com/huggingface/diffusers): sizes are those of the latents."""
import types

import torch
from model import Row, Run, lively, noise, sides, words

HEADS = dict(num_attention_heads=2, num_layers=2)
TEXT = dict(encoder_hidden_states=noise(1, 5, 16), timestep=torch.tensor([7]))
LATENT = {"hidden_states": {0: "batch", 2: "height", 3: "width"}}


def rms_norm(module, x):
    """torch.nn.RMSNorm by operators that the exporter of TorchScript knows."""
    x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + (module.eps or torch.finfo(x.dtype).eps))
    return x if module.weight is None else x * module.weight


def diffusers(kind, config, sample=None):
    """A model of a class; `sample` names what of its configuration follows the size."""

    def build(size):
        import diffusers

        model = lively(getattr(diffusers, kind)(**config, **(sample(size) if sample else {})))
        for module in model.modules():
            if isinstance(module, torch.nn.RMSNorm):
                module.forward = types.MethodType(rms_norm, module)
        return model

    return build


def by_names(*names):
    """Calls a model with its arguments by name, and takes its first result."""
    return lambda model, *inputs: model(**dict(zip(names, inputs)), return_dict=False)[0]


def latent(kind, sizes, config, given, sample=None, **more):
    """A row whose latents are rows of pixels beside what else is `given`."""
    return Row(diffusers(kind, config, sample), sizes, inputs=lambda s: dict(hidden_states=noise(1, 4, *sides(s)), **given), free=LATENT, run=by_names("hidden_states", *given), library="diffusers", **more)


def flux(size):
    """Latents in a row, each with its place."""
    h, w = sides(size)
    places = torch.zeros(h * w, 3)
    places[:, 1], places[:, 2] = torch.arange(h * w) // w, torch.arange(h * w) % w
    return dict(hidden_states=noise(1, h * w, 8), encoder_hidden_states=noise(1, 5, 16), pooled_projections=noise(1, 16), timestep=torch.tensor([0.5]), img_ids=places, txt_ids=torch.zeros(5, 3))


def by_grid(was, now, want):
    """Latents in patches of 2."""
    return ["--grid", words(tuple(n // 2 for n in sides(now)))]


def by_video(was, now, want):
    return ["--grid", words((now[0], *(n // 2 for n in now[1:])))]


def length(was, now, want):
    h, w = sides(now)
    return ["--len", str(h * w), *(["--shorter"] if h * w < sides(was)[0] * sides(was)[1] else [])]


SIZES = (16, 12, 24, (16, 24))
CLASSES = dict(timestep=torch.tensor([7]), class_labels=torch.tensor([3]))
PLACED = dict(attention_head_dim=16, in_channels=4, patch_size=2, **HEADS)
PIXART = dict(PLACED, out_channels=8, cross_attention_dim=32, caption_channels=16, norm_num_groups=4, use_additional_conditions=False)
MODELS = {
    # a crop of the middle of a table
    "Stable Diffusion 3": latent("SD3Transformer2DModel", SIZES, dict(PLACED, out_channels=4, sample_size=32, joint_attention_dim=16, caption_projection_dim=32, pooled_projection_dim=16, pos_embed_max_size=24),
                                 dict(TEXT, pooled_projections=noise(1, 16)), extend=by_grid),
    "DiT": latent("DiTTransformer2DModel", (16, 12, 24), dict(PLACED, out_channels=4, num_embeds_ada_norm=1000, norm_num_groups=4), CLASSES, lambda s: dict(sample_size=s), extend=by_grid),
    "PixArt": latent("PixArtTransformer2DModel", (16, 12, 24), PIXART, TEXT, lambda s: dict(sample_size=s), extend=by_grid),
    # the model itself squeezes larger latents into the span that it was made for
    "PixArt, squeezed": latent("PixArtTransformer2DModel", SIZES, dict(PIXART, sample_size=16), TEXT, extend=by_grid, more={"": ["--method", "linear"]}, reference=lambda row, model, now: Run(model, row.run)),
    "Sana": latent("SanaTransformer2DModel", (8, 12, 16, (8, 12)), dict(attention_head_dim=16, in_channels=4, out_channels=4, num_cross_attention_heads=2, cross_attention_head_dim=16, cross_attention_dim=32, caption_channels=16, **HEADS),
                   TEXT, lambda s: dict(sample_size=sides(s)[0])),
    "Flux": Row(diffusers("FluxTransformer2DModel", dict(in_channels=8, num_single_layers=1, attention_head_dim=16, joint_attention_dim=16, pooled_projection_dim=16, axes_dims_rope=(4, 6, 6), guidance_embeds=False, **HEADS)), (4, 3, 6, (4, 6)),
                inputs=flux, free={"hidden_states": {0: "batch", 1: "latents"}, "img_ids": {0: "latents"}}, run=by_names(*flux(4)), extend=length, more={"": ["--method", "none"]}, library="diffusers"),
    "Wan": Row(diffusers("WanTransformer3DModel", dict(patch_size=(1, 2, 2), attention_head_dim=12, in_channels=4, out_channels=4, text_dim=16, freq_dim=16, ffn_dim=32, rope_max_seq_len=32, **HEADS)), ((3, 8, 8), (5, 8, 8), (3, 12, 12), (5, 8, 12)),
               inputs=lambda s: dict(hidden_states=noise(1, 4, *s), **TEXT), free={"hidden_states": {0: "batch", 2: "frames", 3: "height", 4: "width"}}, run=by_names("hidden_states", *TEXT), extend=by_video, library="diffusers"),
}
