"""What a row of the table is: a model that its library makes at several sizes, and how the library resizes its weights."""
import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2)
BATCH = {0: "batch"}
PICTURE = {"x": {0: "batch", 2: "height", 3: "width"}}


class Run(torch.nn.Module):
    """A model, called as a row says, with the one output that is compared."""

    def __init__(self, model, run):
        super().__init__()
        self.model, self.run = model, run
        self.eval()

    def forward(self, *inputs):
        return self.run(self.model, *inputs)


def first(model, *inputs, **more):
    """The output of a model of transformers that says most."""
    out = model(*inputs, **more)
    for name in ("logits", "predicted_depth", "last_hidden_state"):
        if getattr(out, name, None) is not None:
            return getattr(out, name)
    return out[0]


def called(**more):
    return lambda model, *inputs: first(model, *inputs, **more)


def noise(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3))


def sides(size):
    """Height and width."""
    return size if isinstance(size, tuple) else (size, size)


def words(size):
    return "x".join(map(str, size)) if isinstance(size, tuple) else str(size)


def image(was, now, want):
    return ["--image", words(now)]


def kept(name, rows, new):
    """Of a model whose tables all have the shape that they had."""
    raise KeyError(f"nothing says how {name} of {tuple(rows.shape)} gets {tuple(new.shape)}")


def rebuilt(row, model, now):
    """The library's model of the new size with the old one's weights; what is not trained (sines and cosines, indices) stays its own where its shape is another."""
    new = row.build(now)
    state, trained = new.state_dict(), {n for n, p in new.named_parameters() if p.requires_grad}
    for name, rows in model.state_dict().items():
        if name not in state:
            continue
        if rows.shape == state[name].shape:
            state[name] = rows
        elif name in trained:
            state[name] = row.resized(name, rows, state[name])
    new.load_state_dict(state)
    return Run(new, row.run)


def rebuilt_square(**more):
    """That for square pictures; others are given to the model itself, which resizes what it must."""
    return lambda row, model, now: Run(model, called(**more)) if isinstance(now, tuple) else rebuilt(row, model, now)


@dataclasses.dataclass
class Row:
    build: Callable  # the library's model of a size
    sizes: tuple  # the first is exported, the others are asked for
    inputs: Callable = lambda size: dict(x=noise(1, 3, *sides(size)))  # what a model of a size is run with
    free: dict[str, dict[int, str]] = dataclasses.field(default_factory=lambda: PICTURE)  # axes that an export with free axes leaves open
    extend: Callable = image  # how a size is asked, from the old one, the new one, and what the reference gives
    more: dict[str, list[str]] = dataclasses.field(default_factory=dict)  # further arguments, by the beginning of an export's kind, behind which stands "optimised" where it was
    folded: Any = None  # gives a model the rows that an optimiser leaves in its file: resampled for the exported size
    run: Callable = first  # the output that is compared, of a model and its inputs
    resized: Callable = kept  # a table of another shape, as the library resizes it: of its name, its rows and the new model's
    reference: Callable = rebuilt  # what to compare with, of a row, the old model and the new size
    padded: bool = False  # of several sizes that give as many positions the file may hold another: the input is cut or padded to it
    library: Any = None  # what it needs beside transformers


def by_ends(**ways):
    """Resizes by the end of a parameter's name."""

    def resized(name, rows, new):
        return next((how for end, how in ways.items() if name.endswith(end.replace("__", "."))), lambda rows, shape: kept(name, rows, new))(rows, new.shape)

    return resized


def grid(prefix=0, mode="bicubic", antialias=False):
    """Rows of a grid behind others, as interpolate_pos_encoding resamples them."""

    def resized(rows, shape):
        flat = rows.reshape(-1, rows.shape[-1])
        old, new = (round((n - prefix) ** 0.5) for n in (flat.shape[0], np.prod(shape[:-1])))
        t = F.interpolate(flat[prefix:].reshape(1, old, old, -1).permute(0, 3, 1, 2), size=(new, new), mode=mode, align_corners=False, antialias=antialias)
        return torch.cat([flat[:prefix], t.permute(0, 2, 3, 1).reshape(new * new, -1)]).reshape(shape)

    return resized


def line(rows, shape):
    """Rows of distances, as get_rel_pos of SAM and ViTDet resamples them."""
    return F.interpolate(rows.T[None], size=shape[0], mode="linear")[0].T


def random_positions(model):
    """The model with positions of a size that the output shows."""
    torch.manual_seed(7)
    for name, p in model.named_parameters():
        if re.search("position|pos_embed|rel_pos|relpos|cls|bias_table|attention_bias|time_embed|score_head|distance", name) and not name.startswith("embed_positions") and p.requires_grad:
            torch.nn.init.normal_(p, std=0.3)
    return model.eval()


def lively(model):
    """The model with matrices of weights that keep the size of what goes through them: those of the library start so small that attention is alike everywhere."""
    for p in model.parameters():
        if p.ndim > 1 and p.requires_grad:
            torch.nn.init.normal_(p, std=p[0].numel() ** -0.5)
    return model
