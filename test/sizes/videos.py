"""Models of videos of transformers: sizes are frames, height and width."""
import torch
import transformers as T
from model import SMALL, Row, called, noise, rebuilt, words
from torch.nn import functional as F


def of_video(rows, was, now, mode, prefix=1):
    """Rows of a grid of (patches along time, rows, columns) behind a class token at another size."""
    t = F.interpolate(rows[0, prefix:].reshape(1, *was, -1).permute(0, 4, 1, 2, 3), size=now, mode=mode)
    return torch.cat([rows[0, :prefix], t.permute(0, 2, 3, 4, 1).flatten(0, 3)])[None]


def video(build, tubelet, sizes, resized=None, **more):
    """A row; `resized` makes a table of patches along time, rows and columns, before and now, of its name and rows."""

    def patches(size):
        return tuple(n // by for n, by in zip(size, tubelet))

    def reference(row, model, now):
        by_size = lambda name, rows, new: resized(name, rows, patches(sizes[0]), patches(now)) if resized else row.resized(name, rows, new)
        return rebuilt(Row(row.build, row.sizes, run=row.run, resized=by_size), model, now)

    return Row(build, sizes, inputs=lambda s: dict(x=noise(1, s[0], 3, *s[1:])), free={"x": {0: "batch", 1: "frames", 3: "height", 4: "width"}},
               extend=lambda was, now, want: ["--grid", words(patches(now))], reference=reference, **more)


def timesformer(name, rows, was, now):
    """TimesformerEmbeddings, both tables."""
    if "time_embed" in name:
        return of_video(rows, (was[0], 1, 1), (now[0], 1, 1), "nearest", 0)
    return of_video(rows, (1, *was[1:]), (1, *now[1:]), "nearest")


SIZES = ((4, 40, 40), (8, 40, 40), (4, 56, 56), (12, 24, 48))
SQUARE = ((4, 40, 40), (8, 40, 40), (4, 56, 56), (12, 24, 24))
MODELS = {
    "VideoMAE": video(lambda s: T.VideoMAEModel(T.VideoMAEConfig(**SMALL, intermediate_size=64, image_size=s[1:], patch_size=8, num_frames=s[0])), (2, 8, 8), SIZES),
    # resized as V-JEPA's interpolate_pos_encoding does: ViViT's own code is for pictures
    "ViViT": video(lambda s: T.VivitModel(T.VivitConfig(**SMALL, intermediate_size=64, image_size=s[1:], num_frames=s[0], tubelet_size=[2, 8, 8]), add_pooling_layer=False), (2, 8, 8), SIZES,
                   lambda name, rows, was, now: of_video(rows, was, now, "trilinear"), more={"": ["--kernel", "bilinear"]}),
    "TimeSformer": video(lambda s: T.TimesformerModel(T.TimesformerConfig(**SMALL, intermediate_size=64, image_size=s[1], num_frames=s[0], patch_size=8)), (1, 8, 8), SQUARE,
                         timesformer, more={"": ["--kernel", "nearest"]}),
    "V-JEPA 2": video(lambda s: T.VJEPA2Model(T.VJEPA2Config(hidden_size=48, num_hidden_layers=2, num_attention_heads=2, crop_size=s[1], patch_size=8, frames_per_clip=s[0], tubelet_size=2, pred_hidden_size=24,
                                                             pred_num_attention_heads=1, pred_num_hidden_layers=1, pred_num_mask_tokens=2)), (2, 8, 8), SQUARE, run=called(skip_predictor=True)),
}
