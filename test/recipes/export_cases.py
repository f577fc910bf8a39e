#!/usr/bin/env python3
"""Makes testdata/onnx/cases: tiny graphs of patterns that detectors miss easily, with the truth about each.

usage: export_cases.py FOLDER        (needs torch, transformers, onnxscript, onnx and onnxruntime)

Every file comes from a seeded module below, or from a tiny transformers model, by an exporter or a tool that users have.
cases.json holds what each module does, from its code and configuration, not from what any program says of the file.
"""
import json
import math
import os
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import onnx
import torch
import transformers as T
from torch import nn

V, D, H, N = 32, 16, 2, 20
HD = D // H
IDS = (torch.randint(3, V, (1, 7)),)
FREE = {"input_ids": {0: "batch", 1: "seq"}}


class Attention(nn.Module):
    """Attention with what a pattern needs: rotate(x) turns queries and keys, bias(scores) adds to scores."""

    def __init__(self, rotate=None, bias=None):
        super().__init__()
        self.qkv, self.out, self.rotate, self.bias = nn.Linear(D, 3 * D), nn.Linear(D, D), rotate, bias

    def forward(self, x, *more):
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, H, HD).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        if self.rotate is not None:
            q, k = self.rotate(q, *more), self.rotate(k, *more)
        scores = q @ k.transpose(-1, -2) / math.sqrt(HD)
        if self.bias is not None:
            scores = scores + self.bias(x, q, n)
        return x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, D))


class Text(nn.Module):
    def __init__(self, add=None, **attention):
        super().__init__()
        self.embed, self.add, self.layer = nn.Embedding(V, D), add, Attention(**attention)

    def forward(self, input_ids, *more):
        x = self.embed(input_ids)
        return self.layer(x if self.add is None else self.add(x), *more)


class Stacked(nn.Module):
    """cos and sin of each pair beside each other in the last axis, as torchtune and ChatGLM keep them."""

    def __init__(self, base=10000.0):
        super().__init__()
        angles = torch.outer(torch.arange(N).float(), base ** -(torch.arange(0, HD, 2).float() / HD))
        self.register_buffer("cache", torch.stack([angles.cos(), angles.sin()], -1))

    def forward(self, x, start=None):
        b, h, n, d = x.shape
        at = torch.arange(n) if start is None else torch.arange(n) + start
        c = self.cache[at]
        pairs = x.reshape(b, h, n, d // 2, 2)
        out = [pairs[..., 0] * c[..., 0] - pairs[..., 1] * c[..., 1], pairs[..., 1] * c[..., 0] + pairs[..., 0] * c[..., 1]]
        return torch.stack(out, -1).flatten(3)


class Lucid(nn.Module):
    """Angles by an Einsum with an ellipsis."""

    def __init__(self, half=False):
        super().__init__()
        f = 500000.0 ** -(torch.arange(0, HD, 2).float() / HD)
        self.register_buffer("inv_freq", f.half() if half else f)

    def forward(self, x):
        angles = torch.einsum("..., f -> ... f", torch.arange(x.shape[2]).float(), self.inv_freq.float())
        angles = torch.cat([angles, angles], -1)
        a, b = x.chunk(2, -1)
        return x * angles.cos() + torch.cat([-b, a], -1) * angles.sin()


class Reversed(nn.Module):
    """Positions count down, and what is made of their rows multiplies the state."""

    def __init__(self):
        super().__init__()
        self.table, self.norm = nn.Embedding(N, D), nn.LayerNorm(D)

    def forward(self, x):
        n = x.shape[1]
        return x * self.norm(self.table(n - 1 - torch.arange(n))).tanh()


class Gated(nn.Module):
    """T5's buckets of distance, scaled by a gate of the state (WavLM)."""

    def __init__(self):
        super().__init__()
        self.table, self.gate = nn.Embedding(8, H), nn.Linear(D, H)

    def forward(self, x, q, n):
        rel = torch.arange(n)[None] - torch.arange(n)[:, None]
        far = 2 + (torch.log(rel.abs().clamp(min=1).float() / 2) / math.log(32 / 2) * 2).long()
        bucket = (rel > 0).long() * 4 + torch.where(rel.abs() < 2, rel.abs(), far.clamp(max=3))
        return self.gate(x).sigmoid().transpose(1, 2)[..., None] * self.table(bucket).permute(2, 0, 1)[None]


class Shaw(nn.Module):
    """A vector for each distance up to 6, multiplied with queries (Shaw et al. 2018)."""

    def __init__(self, k=6):
        super().__init__()
        self.k, self.table = k, nn.Embedding(2 * k + 1, HD)

    def forward(self, x, q, n):
        p = torch.arange(n)
        return torch.einsum("bhqd,qkd->bhqk", q, self.table((p[None, :] - p[:, None]).clamp(-self.k, self.k) + self.k))


class RelativeKey(nn.Module):
    """A vector for each distance of N positions (BERT's relative_key)."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(2 * N - 1, HD)

    def forward(self, x, q, n):
        p = torch.arange(n)
        return torch.einsum("bhqd,qkd->bhqk", q, self.table(p[:, None] - p[None, :] + N - 1))


class Segments(nn.Module):
    """The same row for all of N positions, whose numbers are a buffer (BERT's token_type_ids)."""

    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(2, D)
        self.register_buffer("ids", torch.zeros(1, N, dtype=torch.long))

    def forward(self, x):
        return x + self.rows(self.ids[:, : x.shape[1]].expand(x.shape[:2]))


class Patches(nn.Module):
    """An image model: patches of 8 pixels, a table by one of several ways, one attention."""

    def __init__(self, how):
        super().__init__()
        self.conv, self.layer, self.how = nn.Conv2d(3, D, 8, 8), Attention(), how
        self.cls, self.queries = nn.Parameter(torch.randn(1, 1, D)), nn.Parameter(torch.randn(1, 3, D))
        self.table = nn.Parameter(torch.randn(1, 4, 4, D) if how == "plane" else torch.randn(1, 16 + (4 if how == "behind" else 0), D))
        self.register_buffer("waves", torch.cat([sinusoid(torch.arange(16) // 4), sinusoid(torch.arange(16) % 4)], -1)[None])
        self.cross = nn.Linear(D, D)

    def forward(self, pixels):
        x = self.conv(pixels)
        if self.how == "plane":
            return self.layer((x.permute(0, 2, 3, 1) + self.table).flatten(1, 2))
        x = x.flatten(2).transpose(1, 2)
        b = x.shape[0]
        if self.how == "waves":
            return self.layer(x + self.waves)
        if self.how == "behind":
            return self.layer(torch.cat([self.cls.expand(b, -1, -1), x, self.queries.expand(b, -1, -1)], 1) + self.table)
        if self.how == "flat":
            return self.layer(x + self.table)
        x = x + self.table
        state = torch.zeros(b, 3, D) + self.queries
        return self.layer(state + (self.cross(state) @ x.transpose(1, 2)).softmax(-1) @ x + self.queries)


def sinusoid(position):
    angles = position[:, None].float() * 10000.0 ** -(torch.arange(D // 4).float() / (D // 4))
    return torch.cat([angles.sin(), angles.cos()], -1)


class Unrolled(nn.Module):
    """A recurrence in a Python loop: a fixed graph has nodes for each position."""

    def __init__(self):
        super().__init__()
        self.embed, self.step = nn.Embedding(V, D), nn.Linear(2 * D, D)

    def forward(self, input_ids):
        x, state, out = self.embed(input_ids), torch.zeros(1, D), []
        for i in range(x.shape[1]):
            state = self.step(torch.cat([x[:, i], state], -1)).tanh()
            out.append(state)
        return torch.stack(out, 1)


class Rows(nn.Module):
    """Rows of a table by an index that is not the position: from the end of the input, from the table's end, by digits; and rows that the state is multiplied with."""

    def __init__(self, how):
        super().__init__()
        self.how, self.table, self.digits = how, nn.Embedding(N if how != "digits" else 5, D), nn.Embedding(5, D)

    def forward(self, x):
        n = x.shape[1]
        p = torch.arange(n)
        if self.how == "from-end":
            return x + self.table(n - 1 - p)
        if self.how == "last":
            return x + self.table.weight[-n:]
        if self.how == "digits":
            return x + self.table(p // 5) + self.digits(p % 5)
        return x * (1 + self.table(p))


class Decaying(nn.Module):
    """xPos (Sun et al. 2022): queries and keys grow or shrink with their position as well."""

    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", 10000.0 ** -(torch.arange(0, HD, 2).float() / HD))
        self.register_buffer("base", (torch.arange(0, HD, 2).float() + 0.4 * HD) / (1.4 * HD))

    def forward(self, x):
        p = torch.arange(x.shape[2]).float()
        angle, scale = p[:, None] * self.inv_freq, self.base ** (p[:, None] / 64)
        cos, sin = (torch.cat([t * scale] * 2, -1) for t in (angle.cos(), angle.sin()))
        return x * cos + torch.cat([-x[..., HD // 2 :], x[..., : HD // 2]], -1) * sin


class OfLength(nn.Module):
    """A base that the graph makes of the length (dynamic NTK scaling), as Qwen's first code has it."""

    def forward(self, x):
        n = torch.tensor(x.shape[2]).float()
        alpha = (2 ** torch.ceil(torch.log2(n / 64) + 1) - 1).clamp(min=1)
        inv_freq = 1 / (10000.0 * alpha ** (HD / (HD - 2))) ** (torch.arange(0, HD, 2).float() / HD)
        angle = torch.arange(x.shape[2]).float()[:, None] * inv_freq
        cos, sin = (torch.cat([t, t], -1) for t in (angle.cos(), angle.sin()))
        return x * cos + torch.cat([-x[..., HD // 2 :], x[..., : HD // 2]], -1) * sin


class Timed(nn.Module):
    """Caches of cosines and sines by an input of whole numbers whose name does not say that they are positions."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(N).float(), 10000.0 ** -(torch.arange(0, HD, 2).float() / HD))
        self.register_buffer("cos", torch.cat([angles.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angles.sin()] * 2, -1))

    def forward(self, x, time_id):
        cos, sin = self.cos[time_id][:, None], self.sin[time_id][:, None]
        return x * cos + torch.cat([-x[..., HD // 2 :], x[..., : HD // 2]], -1) * sin


class Network(nn.Module):
    """A small network of the distance (FIRE, Li et al. 2023): computed at every length."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(1, 8), nn.Linear(8, H)

    def forward(self, x, q, n):
        p = torch.arange(n).float()
        z = torch.log((p[:, None] - p).abs() + 1) / torch.log(p.clamp(min=4)[:, None] + 1)
        return self.two(self.one(z[..., None]).relu()).permute(2, 0, 1)


class Counting(nn.Module):
    """Positions that scores count (CoPE, Golovneva et al. 2024)."""

    def __init__(self):
        super().__init__()
        self.vectors = nn.Parameter(torch.randn(HD, 6))

    def forward(self, x, q, n):
        gates = torch.sigmoid(q @ q.transpose(-1, -2))
        at = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=5)
        return (q @ self.vectors).gather(-1, at.floor().long())


class Series(nn.Module):
    """A series cut into patches by an index, a table added, and a weight over all patches at the end (PatchTST, Nie et al. 2023)."""

    def __init__(self):
        super().__init__()
        self.embed, self.table, self.layer, self.head = nn.Linear(4, D), nn.Parameter(torch.randn(8, D)), Attention(), nn.Linear(8 * D, 3)

    def forward(self, series):
        x = self.embed(series.unfold(-1, 4, 4)) + self.table
        return self.head(self.layer(x).flatten(1))


class Convolved(nn.Module):
    """A convolution over patches that is added to what it reads (CPVT), or to what attention makes of it (CSWin)."""

    def __init__(self, values):
        super().__init__()
        self.patches, self.conv, self.values = nn.Conv2d(3, D, 8, 8), nn.Conv2d(D, D, 3, padding=1, groups=D), values
        self.layer, self.q, self.v = Attention(), nn.Linear(D, D), nn.Linear(D, D)

    def around(self, x):
        b, n, d = x.shape
        return self.conv(x.transpose(1, 2).reshape(b, d, 4, 4)).flatten(2).transpose(1, 2)

    def forward(self, pixel_values):
        x = self.patches(pixel_values).flatten(2).transpose(1, 2)
        if not self.values:
            return self.layer(x + self.around(x))
        q, v = self.q(x), self.v(x)
        return self.layer(x + (q @ x.transpose(1, 2)).softmax(-1) @ v + self.around(v))


class Video(nn.Module):
    """Patches of frames, rows and columns with one table for all (ViViT)."""

    def __init__(self):
        super().__init__()
        self.patches, self.positions, self.layer = nn.Conv3d(3, D, (2, 8, 8), stride=(2, 8, 8)), nn.Parameter(torch.zeros(1, 18, D)), Attention()

    def forward(self, x):
        return self.layer(self.patches(x.transpose(1, 2)).flatten(2).transpose(1, 2) + self.positions)


class CutPlaces(nn.Module):
    """Rows and columns turn by tables of their own, of which as many positions as there are are cut out (Wan)."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(12.0), 10000.0 ** (-torch.arange(2) / 2)).repeat_interleave(2, -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.patches, self.layer = nn.Conv2d(3, D, 8, stride=8), Attention(rotate=self.turn)

    def places(self, table, h, w):
        return torch.cat([table[:h, None].expand(h, w, 4), table[None, :w].expand(h, w, 4)], -1).reshape(h * w, 8)

    def turn(self, x, h, w):
        cos, sin = self.places(self.cos, h, w), self.places(self.sin, h, w)
        pairs = x.unflatten(-1, (-1, 2))
        return x * cos + torch.stack([-pairs[..., 1], pairs[..., 0]], -1).flatten(-2) * sin

    def forward(self, x):
        x = self.patches(x)
        return self.layer(x.flatten(2).transpose(1, 2), x.shape[2], x.shape[3])


class CutTable(nn.Module):
    """A table of more rows and columns than there are patches, of which the middle is cut out (Stable Diffusion 3)."""

    def __init__(self):
        super().__init__()
        self.patches, self.positions, self.layer = nn.Conv2d(3, D, 8, stride=8), nn.Parameter(torch.zeros(1, 64, D)), Attention()

    def forward(self, x):
        x = self.patches(x)
        h, w = x.shape[2:]
        top, left = (8 - h) // 2, (8 - w) // 2
        table = self.positions.reshape(1, 8, 8, D)[:, top : top + h, left : left + w]
        return self.layer(x.flatten(2).transpose(1, 2) + table.reshape(1, -1, D))


class Only(nn.Module):
    """The first output of a transformers model."""

    def __init__(self, model, key):
        super().__init__()
        self.model, self.key = model, key

    def forward(self, x):
        return self.model(**{self.key: x})[0]


class Resampled(nn.Module):
    """A ViT that resamples its position table to the picture's size, whatever that is."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x, interpolate_pos_encoding=True)[0]


class Grouped(nn.Module):
    """ALiBi of heads that stand in groups of one, an axis of scores more (uni2ts)."""

    def __init__(self):
        super().__init__()
        self.embed, self.qkv, self.out = nn.Embedding(V, D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.register_buffer("slopes", torch.tensor([2.0 ** (-8 * (h + 1) / H) for h in range(H)]).view(H, 1, 1, 1))

    def forward(self, input_ids):
        x = self.embed(input_ids)
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, H, 1, HD).permute(0, 2, 3, 1, 4) for t in self.qkv(x).chunk(3, -1))
        distance = (torch.arange(n)[None] - torch.arange(n)[:, None]).abs()
        scores = q @ k.transpose(-1, -2) / math.sqrt(HD) - self.slopes * distance
        return x + self.out((scores.softmax(-1) @ v).permute(0, 3, 1, 2, 4).reshape(b, n, D))


class Neighbours(nn.Module):
    """Each patch attends to its nine neighbours, with a bias for each (neighbourhood attention), folded for one picture."""

    def __init__(self):
        super().__init__()
        self.patches, self.qkv, self.out, self.bias = nn.Conv2d(3, D, 8, 8), nn.Linear(D, 3 * D), nn.Linear(D, D), nn.Parameter(torch.zeros(16, H, 1, 9))
        self.register_buffer("around", torch.eye(9 * D).view(9 * D, D, 3, 3))  # TensorFlow's extract_patches

    def forward(self, pixel_values):
        x = self.patches(pixel_values).flatten(2).transpose(1, 2)
        b, n, _ = x.shape
        q, k, v = self.qkv(x).chunk(3, -1)
        q = q.view(b, n, H, 1, HD)
        k, v = (nn.functional.conv2d(t.transpose(1, 2).reshape(b, D, 4, 4), self.around, padding=1).view(b, H, HD, 9, n).permute(0, 4, 1, 3, 2) for t in (k, v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(HD) + self.bias
        return x + self.out((scores.softmax(-1) @ v).reshape(b, n, D))


class Padded(nn.Module):
    """A positional convolution behind a padding of its own (wav2vec 2.0 by tf2onnx)."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(D, D, 5, groups=2)

    def forward(self, x):
        return x + nn.functional.gelu(self.conv(nn.functional.pad(x.transpose(1, 2), (2, 2)))).transpose(1, 2)


class Together(nn.Module):
    """Queries and keys turn by the places of patches before they are cut into heads: the tables hold the columns of all heads."""

    def __init__(self):
        super().__init__()
        self.patches, self.qkv, self.out = nn.Conv2d(3, D, 8, 8), nn.Linear(D, 3 * D), nn.Linear(D, D)
        f = 10000.0 ** -(torch.arange(HD // 4).float() / (HD // 4))
        row, column = torch.meshgrid(torch.arange(4.0), torch.arange(4.0), indexing="ij")
        angles = torch.cat([row.reshape(-1, 1) * f, column.reshape(-1, 1) * f], -1).repeat_interleave(2, -1).repeat(1, H)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, pixel_values):
        x = self.patches(pixel_values).flatten(2).transpose(1, 2)
        b, n, _ = x.shape
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = (t * self.cos + torch.stack([-t[..., 1::2], t[..., ::2]], -1).flatten(2) * self.sin for t in (q, k))
        q, k, v = (t.view(b, n, H, HD).transpose(1, 2) for t in (q, k, v))
        return x + self.out(((q @ k.transpose(-1, -2) / math.sqrt(HD)).softmax(-1) @ v).transpose(1, 2).reshape(b, n, D))


class Halo(nn.Module):
    """Blocks of two queries see six keys around them, with vectors of distances that a shift brings to pairs (HaloNet)."""

    def __init__(self):
        super().__init__()
        self.embed, self.qkv, self.vectors = nn.Embedding(V, D), nn.Linear(D, 3 * D), nn.Parameter(torch.zeros(D, 7))

    def forward(self, input_ids):
        x = self.embed(input_ids)
        b, n, _ = x.shape
        q, k, v = self.qkv(x).chunk(3, -1)
        q = q.view(b, 6, 2, D)
        k, v = (torch.stack([nn.functional.pad(t, (0, 0, 2, 2))[:, 2 * i : 2 * i + 6] for i in range(6)], 1) for t in (k, v))
        shifted = (q @ self.vectors).reshape(b, 6, 14)[..., 1:13].reshape(b, 6, 2, 6)
        return x + (((q @ k.transpose(-1, -2) + shifted) / math.sqrt(D)).softmax(-1) @ v).reshape(b, n, D)


class Variables(nn.Module):
    """A series of five variables, each a row: time runs along the last axis of the input (TST)."""

    def __init__(self):
        super().__init__()
        self.project, self.table, self.layer, self.head = nn.Linear(5, D), nn.Parameter(torch.zeros(16, D)), Attention(), nn.Linear(16 * D, 3)

    def forward(self, series):
        return self.head(self.layer(self.project(series.transpose(1, 2)) + self.table).flatten(1))


class Later(nn.Module):
    """A decoder with keys and values of earlier tokens: positions are counted over a mask (OPT); heads stand in the batch (BLOOM), with ALiBi,
    or there is one (GPT-BigCode)."""

    def __init__(self, kind):
        super().__init__()
        self.embed, self.qkv, self.out, self.kind = nn.Embedding(V, D), nn.Linear(D, 3 * D), nn.Linear(D, D), kind
        self.rows = nn.Embedding(N, D) if kind in ("mask", "joined") else None
        self.register_buffer("slopes", torch.tensor([2.0 ** (-8 * (h + 1) / H) for h in range(H)]))

    def forward(self, input_ids, keys, values, mask):
        x = self.embed(input_ids)
        b, n, _ = x.shape
        past = keys.shape[1 if self.kind == "joined" else 2]
        if self.kind in ("mask", "joined"):
            x = x + self.rows((mask.cumsum(1) * mask - 1)[:, past:])
        if self.kind == "joined":  # GPT-BigCode: keys beside values, one head
            q, k, v = self.qkv(x).chunk(3, -1)
            both = torch.cat([keys, torch.cat([k, v], -1)], 1)
            return x + self.out((q @ both[..., :D].transpose(1, 2) / math.sqrt(D)).softmax(-1) @ both[..., D:]), both, values
        q, k, v = (t.view(b, n, H, HD).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        if self.kind == "heads":
            q, k, v = q.reshape(b * H, n, HD), k.reshape(b * H, n, HD).transpose(1, 2), v.reshape(b * H, n, HD)
            k, v = torch.cat([keys, k], 2), torch.cat([values, v], 1)
            bias = (self.slopes[None, :, None] * ((mask.cumsum(1) - 1) * mask)[:, None, :]).reshape(b * H, 1, past + n)
            y = ((q @ k / math.sqrt(HD) + bias).softmax(-1) @ v).view(b, H, n, HD).transpose(1, 2).reshape(b, n, D)
            return x + self.out(y), k, v
        k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        x = x + self.out(((q @ k.transpose(-1, -2) / math.sqrt(HD)).softmax(-1) @ v).transpose(1, 2).reshape(b, n, D))
        return x, k, v


class Heard(nn.Module):
    """A recording of which the channels are left free, as the frames are (Whisper by optimum)."""

    def __init__(self):
        super().__init__()
        self.conv, self.table, self.layer = nn.Conv1d(10, D, 3, stride=2, padding=1), nn.Parameter(torch.zeros(N, D)), Attention()

    def forward(self, input_features):
        return self.layer(self.conv(input_features).transpose(1, 2) + self.table)


class Repeated(nn.Module):
    """Sines and cosines of one table, each repeated for its pair (GPT-J); sequenced() puts the Loop in place of a Concat that PyTorch 2.0
    wrote for repeat_interleave."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(N).float(), 10000.0 ** -(torch.arange(0, HD, 2).float() / HD))
        self.register_buffer("table", torch.cat([angles.sin(), angles.cos()], -1))

    def forward(self, x):
        b, _, n, d = x.shape
        rows = torch.gather(self.table[None].repeat(b, 1, 1), 1, torch.arange(n)[None, :, None].repeat(b, 1, d))
        sin, cos = torch.cat([rows, rows], -1)[:, None].chunk(2, -1)
        return x * cos + torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(3) * sin


class Turned(nn.Module):
    """Rotations with the parts of each pair cut out along an axis of one place ("parts", as complex numbers are lowered), by positions that are counted from
    the end, or by a cache whose first row is for padding (fairseq2); with an attention factor behind each product ("factor", x-transformers); with two
    caches that are put into one and taken apart again ("apart", complex numbers of stored cosines and sines)."""

    def __init__(self, how):
        super().__init__()
        self.how = how
        self.register_buffer("inv", 10000.0 ** (-torch.arange(0, HD, 2) / HD))
        angles = (torch.arange(N)[:, None] * self.inv).repeat(1, 2)
        self.register_buffer("cos", torch.cat([torch.zeros(1, HD), angles.cos()]))
        self.register_buffer("sin", torch.cat([torch.zeros(1, HD), angles.sin()]))

    def forward(self, x):
        n = x.shape[2]
        if self.how == "padded":
            return x * self.cos[1 : n + 1] + torch.cat([-x[..., HD // 2 :], x[..., : HD // 2]], -1) * self.sin[1 : n + 1]
        if self.how == "apart":
            both = torch.stack([self.cos[1 : n + 1, : HD // 2], self.sin[1 : n + 1, : HD // 2]], -1)
            cos, sin, pairs = both[..., 0], both[..., 1], x.reshape(*x.shape[:-1], HD // 2, 2)
            a, b = pairs[..., 0], pairs[..., 1]
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(3)
        places = torch.arange(n)
        angles = (n - 1 - places if self.how == "end" else places)[:, None].float() * self.inv
        if self.how == "parts":
            cos, sin, pairs = angles.cos()[..., None], angles.sin()[..., None], x.reshape(*x.shape[:-1], HD // 2, 2)
            a, b = pairs[..., :1], pairs[..., 1:]
            return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).flatten(3)
        angles = torch.cat([angles, angles], -1)
        factor = 1.25 if self.how == "factor" else 1
        return x * angles.cos() * factor + torch.cat([-x[..., HD // 2 :], x[..., : HD // 2]], -1) * angles.sin() * factor


class Summed(nn.Module):
    """Linear attention (Katharopoulos et al. 2020): keys are summed with values over positions before queries meet them."""

    def __init__(self):
        super().__init__()
        self.embed, self.qkv, self.out, self.rotate = nn.Embedding(V, D), nn.Linear(D, 3 * D), nn.Linear(D, D), Turned("half")

    def forward(self, input_ids):
        x = self.embed(input_ids)
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, H, HD).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        q, k = self.rotate(torch.relu(q) + 1), self.rotate(torch.relu(k) + 1)
        seen = torch.einsum("bhnd,bhde->bhne", q, torch.einsum("bhnd,bhne->bhde", k, v))
        return x + self.out(seen.transpose(1, 2).reshape(b, n, D))


class Masked(nn.Module):
    """Sines are added to some columns, and cosines to the others afterwards, each times zeros and ones (KerasHub's SinePositionEncoding behind tf2onnx)."""

    def __init__(self):
        super().__init__()
        self.register_buffer("inv", 10000.0 ** (-2 * (torch.arange(D) // 2) / D))
        self.register_buffer("even", (torch.arange(D) % 2 == 0).float())

    def forward(self, x):
        angles = torch.arange(x.shape[1])[:, None].float() * self.inv
        return x + angles.sin() * self.even + angles.cos() * (1 - self.even)


class Added(nn.Module):
    """Rows that are added: normalised ("normalised"), taken by a product with rows of an eye ("eye"), plainly ("scattered"); or sines of positions that are counted from the
    end ("end"), or rounded to 16 bits ("half")."""

    def __init__(self, how):
        super().__init__()
        self.how, self.rows, self.norm = how, nn.Embedding(N, D), nn.LayerNorm(D)
        self.register_buffer("inv", 10000.0 ** (-torch.arange(0, D, 2) / D))
        self.register_buffer("eye", torch.eye(N))

    def forward(self, x):
        n = x.shape[1]
        if self.how == "normalised":
            return x + self.norm(self.rows(torch.arange(n)))
        if self.how == "scattered":
            return x + self.rows(torch.arange(n))
        if self.how == "eye":
            return x + self.eye[:n] @ self.rows.weight
        angles = (torch.arange(n) if self.how == "half" else n - 1 - torch.arange(n))[:, None].float() * self.inv
        waves = torch.cat([angles.sin(), angles.cos()], -1)
        return x + (waves.half().float() if self.how == "half" else waves)


class Distances(nn.Module):
    """Biases by distance: a window of the last eight ("window"), rows for distances back alone, which end the model ("back"), a column for each distance
    ("columns"), picked from a copy of them for each query ("elements"), or rows of buckets that a list gives each distance ("listed")."""

    def __init__(self, how):
        super().__init__()
        self.how, self.rows = how, nn.Parameter(torch.randn(*{"window": (8, H), "back": (N, H), "columns": (H, 2 * N - 1), "elements": (H, 1, 2 * N - 1), "listed": (8, H)}[how]))
        far = torch.arange(1 - N, N)
        bucket = lambda d: torch.where(d < 2, d, (2 + (d.clamp(min=1) / 2).log() / math.log(16) * 2).long().clamp(max=3))
        self.register_buffer("buckets", torch.where(far < 0, 4, 0) + bucket(far.abs()))

    def forward(self, x, q, n):
        apart = torch.arange(n)[:, None] - torch.arange(n)
        if self.how == "elements":
            return self.rows.expand(-1, n, -1).gather(2, (apart + N - 1).expand(H, -1, -1))
        if self.how == "listed":
            return self.rows[self.buckets[apart + N - 1]].permute(2, 0, 1)
        if self.how == "window":
            return self.rows[apart.clamp(0, 7)].permute(2, 0, 1)
        if self.how == "back":
            return self.rows[apart.clamp(min=0)].permute(2, 0, 1)
        return self.rows[:, apart + N - 1]


class Heads(nn.Module):
    """ALiBi of heads that have an attention each."""

    def __init__(self):
        super().__init__()
        self.embed, self.qkv, self.out = nn.Embedding(V, D), nn.Linear(D, 3 * D), nn.Linear(D, D)

    def forward(self, input_ids):
        x = self.embed(input_ids)
        n = x.shape[1]
        apart = (torch.arange(n)[:, None] - torch.arange(n)).abs().float()
        q, k, v = self.qkv(x).chunk(3, -1)
        heads = []
        for h in range(H):
            part = slice(h * HD, (h + 1) * HD)
            scores = q[..., part] @ k[..., part].transpose(1, 2) / math.sqrt(HD) - apart * 2.0 ** (-8.0 * (h + 1) / H)
            heads.append(scores.softmax(-1) @ v[..., part])
        return x + self.out(torch.cat(heads, -1))


class Matrices(nn.Module):
    """Turns as matrices in the file, whose columns are multiplied with the parts of each pair (FLUX's apply_rope)."""

    def __init__(self):
        super().__init__()
        angles = torch.arange(N)[:, None] * 10000.0 ** (-torch.arange(0, HD, 2) / HD)
        self.register_buffer("turns", torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], -1).reshape(N, HD // 2, 2, 2))

    def forward(self, x):
        pairs, turns = x.reshape(*x.shape[:-1], HD // 2, 1, 2), self.turns[: x.shape[2]]
        return (turns[..., 0] * pairs[..., 0] + turns[..., 1] * pairs[..., 1]).flatten(3)


class Plane(nn.Module):
    """A picture's patches, turned with an axis for rows and one for columns."""

    def __init__(self, side=4):
        super().__init__()
        self.side, self.patch, self.qkv, self.out = side, nn.Conv2d(3, D, 8, 8), nn.Linear(D, 3 * D), nn.Linear(D, 5)
        angles = torch.arange(side)[:, None] * 100.0 ** (-torch.arange(0, HD // 2, 2) / (HD // 2))
        both = torch.cat([angles[:, None].expand(-1, side, -1), angles[None].expand(side, -1, -1)], -1).repeat_interleave(2, -1)
        self.register_buffer("cos", both.cos())
        self.register_buffer("sin", both.sin())

    def turn(self, x):
        x = x.reshape(-1, H, self.side, self.side, HD)
        other = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
        return (x * self.cos + other * self.sin).reshape(-1, H, self.side**2, HD)

    def forward(self, pixel_values):
        x = self.patch(pixel_values).flatten(2).transpose(1, 2)
        q, k, v = (t.reshape(-1, self.side**2, H, HD).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        q, k = self.turn(q), self.turn(k)
        seen = (q @ k.transpose(2, 3) / math.sqrt(HD)).softmax(-1) @ v
        return self.out(seen.transpose(1, 2).reshape(-1, self.side**2, D).mean(1))


class Parity(nn.Module):
    """Two rows, for even and odd positions."""

    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(2, D)

    def forward(self, x):
        return x + self.rows(torch.arange(x.shape[1]) % 2)


class Kinds(nn.Module):
    """Positions of two kinds in rows of one input, each with a table (GLM's block positions, Du et al. 2022)."""

    def __init__(self):
        super().__init__()
        self.embed, self.whole, self.block, self.layer = nn.Embedding(V, D), nn.Embedding(N, D), nn.Embedding(N - 4, D), Attention()

    def forward(self, input_ids, position_ids):
        return self.layer(self.embed(input_ids) + self.whole(position_ids[:, 0]) + self.block(position_ids[:, 1]))


class Given(nn.Module):
    """Rows of a table by positions that come in, with the sequence ahead of the batch."""

    def __init__(self):
        super().__init__()
        self.embed, self.places, self.layer = nn.Embedding(V, D), nn.Embedding(N, D), Attention()

    def forward(self, input_ids, position_ids):
        return self.layer((self.embed(input_ids) + self.places(position_ids)).transpose(0, 1))


class Sectioned(nn.Module):
    """Rotations by three rows of positions (M-RoPE, Wang et al. 2024), two of whose pairs turn by the first and one by each of the others."""

    def __init__(self):
        super().__init__()
        self.embed, self.qkv, self.out = nn.Embedding(V, D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.register_buffer("inv", 10000.0 ** (-torch.arange(0, HD, 2) / HD))

    def forward(self, input_ids, position_ids):
        x = self.embed(input_ids)
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, H, HD).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        angles = position_ids[..., None].float() * self.inv
        angles = torch.cat([angles[0, ..., :2], angles[1, ..., 2:3], angles[2, ..., 3:]], -1).repeat(1, 1, 2)[:, None]
        q, k = (t * angles.cos() + torch.cat([-t[..., HD // 2 :], t[..., : HD // 2]], -1) * angles.sin() for t in (q, k))
        seen = (q @ k.transpose(-1, -2) / math.sqrt(HD)).softmax(-1) @ v
        return x + self.out(seen.transpose(1, 2).reshape(b, n, D))


class Remembering(nn.Module):
    """Numbers of any length, which see a memory of one length that comes in ahead of them."""

    def __init__(self):
        super().__init__()
        self.embed, self.places, self.layer, self.keys, self.out = nn.Linear(5, D), nn.Embedding(N, D), Attention(), nn.Linear(D, D), nn.Linear(D, D)

    def forward(self, memory, values):
        x = self.embed(values)
        x = self.layer(x + self.places(torch.arange(x.shape[1])))
        return x + self.out((x @ self.keys(memory).transpose(1, 2) / math.sqrt(D)).softmax(-1) @ memory)


class Stacked3(nn.Module):
    """Tokens, their kinds and their places in one input."""

    def __init__(self):
        super().__init__()
        self.embed, self.kinds, self.places, self.layer = nn.Embedding(V, D), nn.Embedding(2, D), nn.Embedding(N, D), Attention()

    def forward(self, features):
        return self.layer(self.embed(features[0]) + self.kinds(features[1]) + self.places(torch.arange(features.shape[2])))


class Cached(nn.Module):
    """A table by places behind keys and values whose first axis is that of tokens, or the second, with the heads side by side ("flat")."""

    def __init__(self, flat=False):
        super().__init__()
        self.flat = flat
        self.embed, self.places, self.qkv, self.out = nn.Embedding(V, D), nn.Embedding(N, D), nn.Linear(D, 3 * D), nn.Linear(D, D)

    def forward(self, input_ids, keys, values):
        x = self.embed(input_ids)
        b, n, _ = x.shape
        if self.flat:
            keys, values = (t.view(b, -1, H, HD).permute(1, 0, 2, 3) for t in (keys, values))
        x = x + self.places(torch.arange(keys.shape[0], keys.shape[0] + n))
        q, k, v = (t.view(b, n, H, HD).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        k, v = torch.cat([keys, k.permute(2, 0, 1, 3)]), torch.cat([values, v.permute(2, 0, 1, 3)])
        seen = (q @ k.permute(1, 2, 3, 0) / math.sqrt(HD)).softmax(-1) @ v.permute(1, 2, 0, 3)
        return x + self.out(seen.transpose(1, 2).reshape(b, n, D)), k, v


class Behind(nn.Module):
    """ALiBi by a cumulative sum of the causal mask, on scores with batch and heads behind queries and keys."""

    def __init__(self):
        super().__init__()
        self.embed, self.qkv, self.out = nn.Embedding(V, D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.register_buffer("slopes", 2.0 ** (-8.0 * torch.arange(1, H + 1) / H))

    def forward(self, input_ids):
        x = self.embed(input_ids).transpose(0, 1)
        n, b, _ = x.shape
        q, k, v = (t.view(n, b, H, HD) for t in self.qkv(x).chunk(3, -1))
        seen = torch.tril(torch.ones(n, n))
        scores = torch.einsum("ibhd,jbhd->ijbh", q, k) / math.sqrt(HD) + (seen.cumsum(-1)[:, :, None] * self.slopes)[:, :, None]
        weights = scores.masked_fill(seen[:, :, None, None] == 0, float("-inf")).softmax(1)
        return (x + self.out(torch.einsum("ijbh,jbhd->ibhd", weights, v).reshape(n, b, D))).transpose(0, 1)


class Bottleneck(nn.Module):
    """Queries of a picture times vectors by distance along rows, and along columns, brought to pairs by padding (Srinivas et al. 2021), each laid over the other side before they are added."""

    def __init__(self, side=4):
        super().__init__()
        self.side, self.patch, self.qkv, self.out = side, nn.Conv2d(3, D, 8, 8), nn.Conv2d(D, 3 * D, 1), nn.Linear(D, 5)
        self.rows, self.columns = nn.Parameter(torch.randn(2 * side - 1, HD)), nn.Parameter(torch.randn(2 * side - 1, HD))

    def along(self, q, vectors):
        n = self.side
        by = torch.nn.functional.pad((q @ vectors.t()).reshape(-1, n, 2 * n - 1), (0, 1)).reshape(-1, 2 * n * n)
        by = torch.nn.functional.pad(by, (0, n - 1)).reshape(-1, n + 1, 2 * n - 1)[:, :n, n - 1 :]
        return by.reshape(-1, H, n, 1, n, n).expand(-1, -1, -1, n, -1, -1)

    def forward(self, pixel_values):
        n = self.side
        q, k, v = (t.reshape(-1, H, HD, n * n).transpose(2, 3) for t in self.qkv(self.patch(pixel_values)).chunk(3, 1))
        grid = q.reshape(-1, H, n, n, HD)
        columns = self.along(grid, self.columns).permute(0, 1, 2, 4, 3, 5).reshape(-1, H, n * n, n * n)
        rows = self.along(grid.transpose(2, 3), self.rows).permute(0, 1, 4, 2, 5, 3).reshape(-1, H, n * n, n * n)
        scores = q @ k.transpose(2, 3) + rows + columns
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, n * n, D).mean(1))


def sequenced(path):
    m, h = onnx.load(path), onnx.helper
    nodes = m.graph.node
    for at in reversed([i for i, n in enumerate(nodes) if n.op_type == "Concat" and len(n.input) == 2 and n.input[0] == n.input[1]]):
        rows, out = nodes[at].input[0], nodes[at].output[0]
        name = lambda x, out=out: x + " of " + out
        sequence = h.make_sequence_type_proto(h.make_tensor_type_proto(onnx.TensorProto.FLOAT, None))
        turn, on, still = (h.make_tensor_value_info(name(v), t, []) for v, t in (("turn", onnx.TensorProto.INT64), ("on", onnx.TensorProto.BOOL), ("still", onnx.TensorProto.BOOL)))
        whole = lambda v, values, name=name: h.make_node("Constant", [], [name(v)], value_ints=values)
        body = [h.make_node("SequenceAt", [name("parts"), turn.name], [name("part")]), whole("last", [3]), h.make_node("Unsqueeze", [name("part"), name("last")], [name("apart")]),
                whole("wanted", [-1, -1, 1, 2]), whole("any", [-1]), whole("ones", [1]), h.make_node("Equal", [name("wanted"), name("any")], [name("as it is")]),
                h.make_node("Where", [name("as it is"), name("ones"), name("wanted")], [name("sizes")]), h.make_node("Expand", [name("apart"), name("sizes")], [name("pair")]),
                whole("flat", [0, 0, -1]), h.make_node("Reshape", [name("pair"), name("flat")], [name("twice")]),
                h.make_node("SequenceInsert", [name("before"), name("twice")], [name("after")]), h.make_node("Identity", [on.name], [still.name])]
        graph = h.make_graph(body, "body", [turn, on, h.make_value_info(name("before"), sequence)], [still, h.make_value_info(name("after"), sequence)])
        loop = [h.make_node("SplitToSequence", [rows], [name("parts")], axis=2), h.make_node("Shape", [rows], [name("columns")], start=2), h.make_node("Squeeze", [name("columns")], [name("count")]), h.make_node("SequenceEmpty", [], [name("none")]),
                h.make_node("Loop", [name("count"), "", name("none")], [name("all")], body=graph), h.make_node("ConcatFromSequence", [name("all")], [out], axis=2)]
        del nodes[at]
        for n in reversed(loop):
            nodes.insert(at, n)
    onnx.save(m, path)


def scattered(path):
    """Has rows added by a ScatterND to all places in the place of an Add, as torch.export lowers index_add."""
    m, h = onnx.load(path), onnx.helper
    i, add = next((i, n) for i, n in enumerate(m.graph.node) if n.op_type == "Add" and "add" in n.name.split("/"))
    x, rows = add.input
    nodes = [h.make_node("Shape", [x], ["shape of x"]), h.make_node("Expand", [rows, "shape of x"], ["rows"]), h.make_node("Transpose", [x], ["x ahead"], perm=[1, 0, 2]), h.make_node("Transpose", ["rows"], ["rows ahead"], perm=[1, 0, 2]),
             h.make_node("Shape", [x], ["length of x"], start=1, end=2), h.make_node("Squeeze", ["length of x"], ["places of x"]), h.make_node("Constant", [], ["none"], value_int=0), h.make_node("Constant", [], ["single"], value_int=1),
             h.make_node("Constant", [], ["last"], value_ints=[-1]), h.make_node("Range", ["none", "places of x", "single"], ["each"]), h.make_node("Unsqueeze", ["each", "last"], ["each place"]),
             h.make_node("ScatterND", ["x ahead", "each place", "rows ahead"], ["summed"], reduction="add"), h.make_node("Transpose", ["summed"], [add.output[0]], perm=[1, 0, 2])]
    m.graph.node.remove(add)
    for n in reversed(nodes):
        m.graph.node.insert(i, n)
    onnx.save(m, path)


def worded(path):
    """Has words come in, of which a LabelEncoder makes tokens."""
    m, h = onnx.load(path), onnx.helper
    m.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.STRING
    m.graph.node.insert(0, h.make_node("LabelEncoder", ["input_ids"], ["tokens"], domain="ai.onnx.ml", keys_strings=[f"word {i}" for i in range(V)], values_int64s=list(range(V)), default_int64=0))
    for n in m.graph.node[1:]:
        n.input[:] = ["tokens" if i == "input_ids" else i for i in n.input]
    m.opset_import.append(h.make_opsetid("ai.onnx.ml", 2))
    onnx.save(m, path)


def unnamed(path):
    """Gives each axis that is free a name of its own, as shape inference does."""
    m = onnx.load(path)
    free = [d for v in [*m.graph.input, *m.graph.output] for d in v.type.tensor_type.shape.dim if d.dim_param]
    for i, d in enumerate(free):
        d.dim_param = f"unk__{i}"
    onnx.save(m, path)


def chosen(path, name, long, longest):
    """Has an If take other frequencies for inputs that are longer, in place of a constant."""
    m, h = onnx.load(path), onnx.helper
    held = next(t for t in m.graph.initializer if t.name == name)
    short = onnx.numpy_helper.to_array(held)
    m.graph.initializer.remove(held)
    branch = lambda of, values: h.make_graph([h.make_node("Constant", [], [of], value=onnx.numpy_helper.from_array(values.astype(np.float32), of + " value"))], of, [],
                                             [h.make_tensor_value_info(of, onnx.TensorProto.FLOAT, list(short.shape))])
    nodes = [h.make_node("Shape", ["input_ids"], ["length of input_ids"], start=1), h.make_node("Constant", [], ["longest"], value_ints=[longest]), h.make_node("Greater", ["length of input_ids", "longest"], ["is longer"]),
             h.make_node("Squeeze", ["is longer"], ["chooses"]), h.make_node("If", ["chooses"], [name], then_branch=branch("long", short / np.array(long)), else_branch=branch("short", short))]
    for n in reversed(nodes):
        m.graph.node.insert(0, n)
    onnx.save(m, path)


class Windows(nn.Module):
    """A rotation by the 4×4 places of each window of 8×8 patches (SAM 3)."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, D, 4, 4)
        side, w = torch.arange(4).float(), 10000.0 ** -(torch.arange(0, HD // 2, 2).float() / (HD // 2))
        angles = torch.cat([torch.outer(side, w)[:, None].expand(4, 4, -1), torch.outer(side, w)[None].expand(4, 4, -1)], -1).reshape(16, HD // 2)
        self.register_buffer("cos", angles.cos().repeat_interleave(2, -1))
        self.register_buffer("sin", angles.sin().repeat_interleave(2, -1))
        self.layer = Attention(self.turn)

    def turn(self, x):
        pairs = x.unflatten(-1, (-1, 2))
        return x * self.cos + torch.stack([-pairs[..., 1], pairs[..., 0]], -1).flatten(-2) * self.sin

    def forward(self, pixel_values):
        x = self.patch(pixel_values).permute(0, 2, 3, 1)
        b = x.shape[0]
        windows = x.view(b, 2, 4, 2, 4, D).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, D)
        return self.layer(windows).view(b, 2, 2, 4, 4, D).permute(0, 1, 3, 2, 4, 5).reshape(b, 64, D)


class Mixed(nn.Module):
    """Rows of patches without a batch, to each of which four rows of a larger table are added by weights (Qwen3-VL); with one of them alone where
    the table is as large as the picture."""

    def __init__(self, side):
        super().__init__()
        self.patch, self.table, self.layer = nn.Linear(12, D), nn.Embedding(side * side, D), Attention()
        at = torch.linspace(0, side - 1, 4)
        low, part = at.floor().long(), at - at.floor()
        high = (low + 1).clamp(max=side - 1)
        rows = torch.stack([(r[:, None] * side + c).flatten() for r in (low, high) for c in (low, high)], -1)
        weights = torch.stack([(r[:, None] * c).flatten() for r in (1 - part, part) for c in (1 - part, part)], -1)
        self.register_buffer("rows", rows)
        self.register_buffer("weights", weights)

    def forward(self, pixel_values):
        x = self.patch(pixel_values) + (self.table(self.rows) * self.weights[..., None]).sum(1)
        return self.layer(x[None])


class Ahead(nn.Module):
    """A decoder of two streams, of which one has no content and is two positions ahead (ProphetNet), behind an encoder without positions."""

    def __init__(self):
        super().__init__()
        self.embed, self.table, self.stream, self.layer, self.encoder = nn.Embedding(V, D), nn.Embedding(N, D), nn.Parameter(torch.zeros(1, 1, D)), Attention(), Attention()

    def forward(self, source, target):
        n = target.shape[1]
        at = torch.arange(n)
        states = self.encoder(self.embed(source)).mean(1, keepdim=True)
        ahead = (self.stream + self.table(at + 2)).expand(target.shape[0], -1, -1)
        return self.layer(torch.cat([self.embed(target) + self.table(at + 1) + states, ahead], 1))


class Patched(nn.Module):
    """Rows for the places of each segment of four tokens, and rows for the segments (MegaByte)."""

    def __init__(self):
        super().__init__()
        self.embed, self.within, self.among, self.near, self.far = nn.Embedding(V, D), nn.Embedding(4, D), nn.Embedding(8, D), Attention(), Attention()

    def forward(self, input_ids):
        b = input_ids.shape[0]
        x = (self.embed(input_ids).view(b, 8, 4, D) + self.within(torch.arange(4))).view(b * 8, 4, D)
        x = self.near(x).view(b, 8, 4, D)
        return (x + self.far(x.mean(2) + self.among(torch.arange(8)))[:, :, None]).view(b, 32, D)


class Speech(nn.Module):
    """An encoder with a convolution for its positions (wav2vec 2.0), and a decoder with a table for its own."""

    def __init__(self):
        super().__init__()
        self.frames, self.conv, self.layer = nn.Conv1d(1, D, 20, 20), nn.Conv1d(D, D, 5, padding=2, groups=2), Attention()
        self.text = Text(add=Added("scattered"))
        self.k, self.v = nn.Linear(D, D), nn.Linear(D, D)

    def forward(self, input_values, input_ids):
        x = self.frames(input_values[:, None]).transpose(1, 2)
        x = self.layer(x + nn.functional.gelu(self.conv(x.transpose(1, 2)).transpose(1, 2)))
        y = self.text(input_ids)
        return y + (y @ self.k(x).transpose(1, 2) / math.sqrt(D)).softmax(-1) @ self.v(x)


class Unpadded(nn.Module):
    """Positions counted over tokens that are no padding (RoBERTa), behind a mask."""

    def __init__(self):
        super().__init__()
        self.embed, self.table, self.layer = nn.Embedding(V, D), nn.Embedding(N + 2, D), Attention()

    def forward(self, mask, ids):
        there = ids.ne(1).long()
        x = self.embed(ids) + self.table(there.cumsum(1) * there + 1)
        return self.layer(x * mask[..., None])


class Columns(nn.Module):
    """Patches that come with the numbers of their row and their column ahead of their content (Pix2Struct)."""

    def __init__(self):
        super().__init__()
        self.patch, self.rows, self.columns, self.layer = nn.Linear(12, D), nn.Embedding(N, D), nn.Embedding(N, D), Attention()

    def forward(self, flattened_patches):
        row, column = flattened_patches[..., 0].long(), flattened_patches[..., 1].long()
        return self.layer(self.patch(flattened_patches[..., 2:]) + self.rows(row) + self.columns(column))


class Sides(nn.Module):
    """A table of rows and one of columns, both of more than the picture has (DETR with learned positions)."""

    def __init__(self):
        super().__init__()
        self.patch, self.rows, self.columns, self.layer = nn.Conv2d(3, D, 8, 8), nn.Embedding(N, D // 2), nn.Embedding(N, D // 2), Attention()

    def forward(self, pixel_values):
        x = self.patch(pixel_values)
        h, w = x.shape[2:]
        both = [self.columns(torch.arange(w))[None].repeat(h, 1, 1), self.rows(torch.arange(h))[:, None].repeat(1, w, 1)]
        return self.layer((x + torch.cat(both, -1).permute(2, 0, 1)).flatten(2).transpose(1, 2))


def tiny(name, **config):
    torch.manual_seed(5)
    made = getattr(T, name + "Config")(**config)
    made._attn_implementation = "eager"
    return getattr(T, name + "Model")(made).eval()


def rope(form, base, dim=HD, head=HD, layout="half", capacity=None, scaling=None, **more):
    return dict(scheme="rope", form=form, capacity=capacity, parameters=dict(base=base, rotary_dim=dim, head_dim=head, layout=layout, scaling=scaling or {"type": "none"}, **more))


class Weighed(nn.Module):
    """Sines and cosines of rows and columns, which a convolution of single places weighs before they are added (XCiT)."""

    def __init__(self):
        super().__init__()
        self.conv, self.weights, self.layer = nn.Conv2d(3, D, 8, 8), nn.Conv2d(2 * D, D, 1), Attention()

    def forward(self, pixels):
        x = self.conv(pixels)
        places = torch.ones(x.shape[2:]).cumsum(0), torch.ones(x.shape[2:]).cumsum(1)
        angles = [p[..., None] / (p[-1, -1] + 1e-6) * 2 * math.pi / 10000.0 ** (2 * (torch.arange(D) // 2) / D) for p in places]
        waves = [torch.stack([a[..., 0::2].sin(), a[..., 1::2].cos()], -1).flatten(2) for a in angles]
        return self.layer((x + self.weights(torch.cat(waves, -1).permute(2, 0, 1)[None])).flatten(2).transpose(1, 2))


class Counted(nn.Module):
    """A table of positions that are counted over the frames which are none of padding: zeros, no numbers, marked by ones, or below a threshold."""

    def __init__(self, how):
        super().__init__()
        self.project, self.rows, self.layer, self.how = nn.Linear(12, D), nn.Embedding(N, D), Attention(), how

    def forward(self, frames, pad=None):
        there = {"zeros": lambda: frames.abs().sum(-1) > 0, "nan": lambda: ~frames.isnan().any(-1), "pad": lambda: 1 - pad, "loud": lambda: frames[..., 0] > 0.5}[self.how]().long()
        return self.layer(self.project(frames) + self.rows(there.cumsum(1) * there))


class RoundedStep(nn.Module):
    """One token with keys and values of earlier ones; cosines and sines that turn queries were rounded to 16 bits on their way, as optimisers leave them."""

    def __init__(self):
        super().__init__()
        self.embed, self.qkv, self.out = nn.Embedding(V, D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.register_buffer("inv_freq", 10000.0 ** -(torch.arange(0, HD, 2).float() / HD))

    def forward(self, input_ids, keys, values):
        x, at = self.embed(input_ids), keys.shape[2]
        q, k, v = (t.view(-1, 1, H, HD).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        angles = torch.outer(torch.arange(at, at + 1).float(), self.inv_freq).repeat(1, 2)[None, None]
        cos, sin = angles.cos(), angles.sin()
        turns = (q, cos.half().float(), sin.half().float()), (k, cos, sin)
        q, k = (t * c + torch.cat([-t[..., HD // 2:], t[..., : HD // 2]], -1) * s for t, c, s in turns)
        k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        y = (q @ k.transpose(-1, -2) / math.sqrt(HD)).softmax(-1) @ v
        return x + self.out(y.transpose(1, 2).reshape(-1, 1, D)), k, v


class GivenTurns(nn.Module):
    """Queries and keys are turned by cosines and sines that the caller gives: one of each for a pair, or for each element of one; for each token, or in rows that are picked."""

    def __init__(self, layout="half", wide=False):
        super().__init__()
        self.layout, self.wide = layout, wide

    def forward(self, x, cos, sin, at=None):
        if at is not None:
            cos, sin = cos[at][:, None], sin[at][:, None]
        a, b = (x[..., 0::2], x[..., 1::2]) if self.layout == "interleaved" else x.chunk(2, -1)
        join = (lambda a, b: torch.stack([a, b], -1).flatten(-2)) if self.layout == "interleaved" else (lambda a, b: torch.cat([a, b], -1))
        return x * cos + join(-b, a) * sin if self.wide else join(a * cos - b * sin, b * cos + a * sin)


class TurnedStep(nn.Module):
    """One token with keys and values of earlier ones, in a window of a fixed size, turned by a cosine and sine of each pair that the caller gives."""

    def __init__(self):
        super().__init__()
        self.embed, self.qkv, self.out, self.rotate = nn.Embedding(V, D), nn.Linear(D, 3 * D), nn.Linear(D, D), GivenTurns()

    def forward(self, input_ids, mask, cos, sin, keys, values):
        x = self.embed(input_ids)
        q, k, v = (t.view(1, 1, H, HD).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        scores = q @ torch.cat([keys, k], 2).transpose(-1, -2) / math.sqrt(HD) + mask
        return x + self.out((scores.softmax(-1) @ torch.cat([values, v], 2)).transpose(1, 2).reshape(1, 1, D)), k, v


class CountedStep(TurnedStep):
    """The same by the token's position: angles are computed, or rows are picked of tables."""

    def __init__(self, cached):
        super().__init__()
        frequencies = 10000.0 ** -(torch.arange(0, HD, 2).float() / HD)
        angles = torch.outer(torch.arange(2 * N).float(), frequencies)
        self.cached = cached
        self.register_buffer("inv_freq", frequencies)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.register_buffer("both", torch.stack([angles.cos(), angles.sin()], -1))

    def forward(self, input_ids, mask, position_ids, keys, values):
        if self.cached == "both":
            cos, sin = self.both[position_ids][:, None].unbind(-1)
            return super().forward(input_ids, mask, cos, sin, keys, values)
        angles = position_ids.float()[:, None, :, None] * self.inv_freq
        cos, sin = (self.cos[position_ids][:, None], self.sin[position_ids][:, None]) if self.cached else (angles.cos(), angles.sin())
        return super().forward(input_ids, mask, cos, sin, keys, values)


class RolledStep(CountedStep):
    """The same, and keys and values go out as they are to come in, cut to as many."""

    def forward(self, input_ids, mask, position_ids, keys, values):
        out, k, v = super().forward(input_ids, mask, position_ids, keys, values)
        return out, torch.cat([keys, k], 2)[:, :, 1 - N :], torch.cat([values, v], 2)[:, :, 1 - N :]


class Noised(nn.Module):
    """Features and noise of the same shape, weighed by numbers of a time, the one less the other: no angles."""

    def __init__(self):
        super().__init__()
        self.some, self.other, self.embed, self.layer = nn.Linear(1, 1), nn.Linear(1, 1), nn.Linear(D, D), Attention(rotate=Lucid())

    def forward(self, features, noise, time):
        return self.layer(self.embed(features * self.some(time)[:, None] - noise * self.other(time)[:, None]))


class Pairs(nn.Module):
    """A vector for each pair of residues, to which a row is added by their distance, picked by one-hot numbers (AlphaFold)."""

    def __init__(self):
        super().__init__()
        self.left, self.right, self.rows, self.out = nn.Linear(12, D), nn.Linear(12, D), nn.Linear(9, D), nn.Linear(D, 4)

    def forward(self, features, index):
        apart = (index[:, :, None] - index[:, None]).clamp(-4, 4)
        picked = (apart[..., None] == torch.arange(-4, 5)).float()
        return self.out((self.left(features)[:, :, None] + self.right(features)[:, None] + self.rows(picked)).relu())


class Untrained(nn.Module):
    """A bias between the places of a picture that is zero, as training begins with it (Swin)."""

    def __init__(self):
        super().__init__()
        self.conv, self.layer = nn.Conv2d(3, D, 8, 8), Attention(bias=lambda x, q, n: self.table)
        self.register_buffer("table", torch.zeros(1, H, 16, 16))

    def forward(self, pixels):
        return self.layer(self.conv(pixels).flatten(2).transpose(1, 2))


class OfDistances(nn.Module):
    """A small network of each distance, picked for each pair of places (CPB, Liu et al. 2022, of a line)."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(1, 8), nn.Linear(8, H)

    def forward(self, x, q, n):
        p = torch.arange(n)
        return self.two(self.one(torch.arange(1 - n, n).float()[:, None]).relu())[p[:, None] - p + n - 1].permute(2, 0, 1)


class Scaled(nn.Module):
    """Angles of RoPE are a product of positions and frequencies, and a factor behind it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", 10000.0 ** -(torch.arange(0, HD, 2).float() / HD))

    def forward(self, x):
        angles = (torch.arange(x.shape[2]).float()[:, None] @ self.inv_freq[None] * 0.25).repeat(1, 2)
        return x * angles.cos() + torch.cat([-x[..., HD // 2:], x[..., : HD // 2]], -1) * angles.sin()


class Alike(nn.Module):
    """All pairs of a head, which stand side by side, turn by one frequency: which they are says the way alone that they are taken apart."""

    def forward(self, x):
        angles = torch.arange(x.shape[2]).float()[:, None].repeat(1, HD)
        a, b = x.unflatten(-1, (HD // 2, 2)).unbind(-1)
        return x * angles.cos() + torch.stack([-b, a], -1).flatten(-2) * angles.sin()


class Fused(nn.Module):
    """A table of a picture's places (or a grouped convolution) is added to its patches as they come out of a convolution."""

    def __init__(self, table):
        super().__init__()
        self.conv, self.layer = nn.Conv2d(3, 2 * D, 8, 8), Attention()
        self.table, self.groups, self.down = nn.Parameter(torch.zeros(1, 2 * D, 4, 4)), None if table else nn.Conv2d(2 * D, 2 * D, 3, padding=1, groups=2 * D), nn.Linear(2 * D, D)

    def forward(self, pixels):
        x = self.conv(pixels).relu() if self.groups else self.conv(pixels)
        x = x + self.groups(x) if self.groups else (x + self.table).relu()
        return self.layer(self.down(x.flatten(2).transpose(1, 2)))


class Levels(nn.Module):
    """Sines of rows and columns of two grids, each with a row that says which, stand behind one another (Deformable DETR); made when it runs, or before."""

    def __init__(self, folded=False):
        super().__init__()
        self.fine, self.coarse, self.level, self.layer, self.folded = nn.Conv2d(3, D, 8, 8), nn.Conv2d(3, D, 16, 16), nn.Parameter(torch.zeros(2, D)), Attention(), folded
        rows = torch.randn(2, D, generator=torch.Generator().manual_seed(1))
        self.register_buffer("rows", torch.cat([self.waves(torch.zeros(1, D, n, n)).flatten(2).transpose(1, 2) + row for n, row in zip((4, 2), rows)], 1))

    def waves(self, x):
        places = [torch.ones(x[:, 0].shape).cumsum(axis) for axis in (1, 2)]
        angles = [p[..., None] / (p[:, -1:, -1:, None] + 1e-6) * 2 * math.pi / 10000.0 ** (2 * (torch.arange(D // 2) // 2) / (D // 2)) for p in places]
        return torch.cat([torch.stack([a[..., 0::2].sin(), a[..., 1::2].cos()], 4).flatten(3) for a in angles], 3).permute(0, 3, 1, 2)

    def forward(self, pixels):
        maps = self.fine(pixels), self.coarse(pixels)
        waves = self.rows if self.folded else torch.cat([self.waves(x).flatten(2).transpose(1, 2) + self.level[i] for i, x in enumerate(maps)], 1)
        return self.layer(torch.cat([x.flatten(2).transpose(1, 2) for x in maps], 1) + waves)


class Steps(nn.Module):
    """A series of numbers, of which four steps make a position of a table."""

    def __init__(self):
        super().__init__()
        self.embed, self.table, self.layer = nn.Linear(24, D), nn.Parameter(torch.zeros(1, 8, D)), Attention()

    def forward(self, past_values):
        return self.layer(self.embed(past_values.unfold(1, 4, 4).flatten(2)) + self.table)


class Faint(nn.Module):
    """A table of sines and cosines, times one number that was trained."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(N).float(), 10000.0 ** -(torch.arange(0, D, 2).float() / D))
        self.alpha = nn.Parameter(torch.zeros(1))
        self.register_buffer("table", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))

    def forward(self, x):
        return x + self.alpha * self.table[: x.shape[1]]


class Conditioned(nn.Module):
    """A table of patches; the time and two sizes of the picture come in as numbers, of which sines are taken (SDXL)."""

    def __init__(self):
        super().__init__()
        self.conv, self.table, self.layer, self.condition = nn.Conv2d(3, D, 8, 8), nn.Parameter(torch.zeros(1, 16, D)), Attention(), nn.Linear(3 * D, D)

    def forward(self, latents, timestep, sizes):
        angles = [numbers.flatten()[:, None] * 10000.0 ** -(torch.arange(0, D, 2).float() / D) for numbers in (timestep, sizes)]
        waves = torch.cat([torch.cat([a.cos(), a.sin()], -1).reshape(len(latents), -1) for a in angles], 1)
        return self.layer(self.conv(latents).flatten(2).transpose(1, 2) + self.table + self.condition(waves)[:, None])


class TwoWeights(nn.Module):
    """Weights by places alone beside those by content, in one sum (ConViT), which no bias of scores is."""

    def __init__(self):
        super().__init__()
        self.conv, self.qkv = nn.Conv2d(3, D, 8, 8), nn.Linear(D, 3 * D)
        self.places, self.gate = nn.Parameter(torch.zeros(1, H, 16, 16)), nn.Parameter(torch.zeros(1, H, 1, 1))

    def forward(self, pixels):
        x = self.conv(pixels).flatten(2).transpose(1, 2)
        q, k, v = (t.view(-1, 16, H, HD).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        gate = self.gate.sigmoid()
        weights = (1 - gate) * (q @ k.transpose(-1, -2) / math.sqrt(HD)).softmax(-1) + gate * self.places.softmax(-1)
        return x + (weights @ v).transpose(1, 2).flatten(2)


class Prompted(nn.Module):
    """A learned prompt ahead of the tokens, and a mask over both (prefix tuning, InstructBLIP's queries)."""

    def __init__(self):
        super().__init__()
        self.embed, self.rows, self.prompt = nn.Embedding(V, D), nn.Embedding(N, D), nn.Parameter(torch.zeros(1, 3, D))
        self.qkv = nn.Linear(D, 3 * D)

    def forward(self, input_ids, attention_mask):
        x = self.embed(input_ids) + self.rows(torch.arange(input_ids.shape[1]))
        q, k, v = self.qkv(torch.cat([self.prompt.expand(x.shape[0], -1, -1), x], 1)).chunk(3, -1)
        scores = q @ k.transpose(-1, -2) / 4 + (1.0 - attention_mask[:, None].float()) * -1e4
        return scores.softmax(-1) @ v


class Present(nn.Module):
    """Sinusoids of positions that are counted over tokens with any content."""

    def forward(self, x):
        there = (x.abs().sum(-1) > 0).long()
        angles = (there.cumsum(1) * there)[..., None].float() * 10000.0 ** -(torch.arange(0, D, 2).float() / D)
        return x + torch.cat([angles.sin(), angles.cos()], -1)


class Some(nn.Module):
    """Two layers, of which the second does not rotate (SmolLM3, Cohere 2)."""

    def __init__(self):
        super().__init__()
        self.embed, self.first, self.second = nn.Embedding(V, D), Attention(rotate=Lucid()), Attention()

    def forward(self, input_ids):
        return self.second(self.first(self.embed(input_ids)))


class Sized(nn.Module):
    """Patches as rows, with the sizes of their pictures beside them (grid_thw of Qwen2-VL and GLM-4V)."""

    def __init__(self):
        super().__init__()
        self.patch, self.table, self.layer = nn.Linear(24, D), nn.Parameter(torch.zeros(16, D)), Attention()

    def forward(self, pixel_values, grid_thw):
        x = self.patch(pixel_values) + self.table
        return self.layer(x[None] * (1 + 1 / (grid_thw[:, 1] * grid_thw[:, 2]).float()))


class Bounded(nn.Module):
    """Sinusoids, or rotations, of positions that stay at the twelfth or begin anew behind it."""

    def __init__(self, again):
        super().__init__()
        self.again = again

    def forward(self, x):
        p = torch.arange(x.shape[-2])
        width = x.shape[-1] // 2
        p = p % 12 if self.again else p.clamp(max=11)
        angles = p[:, None].float() * 10000.0 ** -(torch.arange(width).float() / width)
        if x.dim() == 3:
            return x + torch.cat([angles.sin(), angles.cos()], -1)
        a, b = x.chunk(2, -1)
        angles = torch.cat([angles, angles], -1)
        return x * angles.cos() + torch.cat([-b, a], -1) * angles.sin()


class InFloat(nn.Module):
    """Positions that are given in floating point, and made whole numbers (converters for mobile engines)."""

    def __init__(self):
        super().__init__()
        self.embed, self.rows, self.layer = nn.Embedding(V, D), nn.Embedding(N, D), Attention()

    def forward(self, input_ids, position_ids):
        return self.layer(self.embed(input_ids) + self.rows(position_ids.long()))


class Channelled(nn.Module):
    """A positional convolution behind a scale for each channel (HuBERT's conv_pos_batch_norm)."""

    def __init__(self):
        super().__init__()
        self.norm, self.conv = nn.BatchNorm1d(D), nn.Conv1d(D, D, 3, padding=1, groups=4)

    def forward(self, x):
        return x + nn.functional.gelu(self.conv(self.norm(x.transpose(1, 2)))).transpose(1, 2)


class Routed(nn.Module):
    """What an expert gives is added to zeros, for as many tokens as were traced (mixtures of experts)."""

    def __init__(self):
        super().__init__()
        self.expert = nn.Linear(D, D)

    def forward(self, x):
        return torch.zeros(7, D).index_add(0, torch.arange(7).flip(0), self.expert(x.reshape(-1, D))).view(x.shape)


class Windowed(nn.Module):
    """Attention to nine neighbours, with a bias for each offset, whose weights are multiplied element by element (SASA, NAT in plain operators)."""

    def __init__(self):
        super().__init__()
        self.conv, self.qkv, self.bias = nn.Conv2d(3, D, 8, 8), nn.Conv2d(D, 3 * D, 1), nn.Parameter(torch.zeros(1, H, 9, 1))

    def forward(self, pixels):
        x = self.conv(pixels)
        q, k, v = self.qkv(x).chunk(3, 1)
        unfold = lambda t: nn.functional.unfold(t, 3, padding=1).view(-1, H, HD, 9, 16)
        weights = ((q.view(-1, H, HD, 1, 16) * unfold(k)).sum(2) + self.bias).softmax(2)
        return x + (weights[:, :, None] * unfold(v)).sum(3).view(-1, D, 4, 4)


class Blocks(nn.Module):
    """Queries of a block look at a halo around it, with a vector for each distance (HaloNet)."""

    def __init__(self):
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(D, D, bias=False), nn.Linear(D, 2 * D, bias=False), nn.Linear(D, D)
        self.height, self.width = nn.Parameter(torch.zeros(15, HD)), nn.Parameter(torch.zeros(15, HD))

    def along(self, q, table):  # (…, 4, HD) to distances, and these to places: (…, 4, 8)
        x = torch.einsum("bxyd,rd->bxyr", q, table)
        b = x.shape[0]
        x = torch.cat([x.reshape(b * 4, 4, 15), torch.zeros(b * 4, 4, 1)], 2).flatten(1)
        x = torch.cat([x, torch.zeros(x.shape[0], 11)], 1).reshape(-1, 5, 15)[:, :4, -8:].reshape(b, 4, 1, 4, 8)
        return x.expand(b, 4, 8, 4, 8)

    def forward(self, x):
        b = x.shape[0]
        q = x.view(b, D, 2, 4, 2, 4).permute(0, 2, 4, 3, 5, 1).reshape(-1, 16, D)
        kv = nn.functional.unfold(x, 8, stride=4, padding=2).view(b, D, 64, 4).permute(0, 3, 2, 1).reshape(-1, 64, D)
        heads = lambda t: t.reshape(t.shape[0], -1, H, HD).transpose(1, 2).reshape(-1, t.shape[1], HD)
        q, k, v = heads(self.q(q)), *map(heads, self.kv(kv).chunk(2, -1))
        grid = q.view(-1, 4, 4, HD)
        of_rows = self.along(grid.transpose(1, 2), self.height).permute(0, 3, 1, 4, 2).reshape(-1, 16, 64)
        scores = torch.einsum("bid,bjd->bij", q, k) + self.along(grid, self.width).permute(0, 1, 3, 2, 4).reshape(-1, 16, 64) + of_rows
        y = torch.einsum("bij,bjd->bid", scores.softmax(-1), v).view(-1, H, 16, HD).transpose(1, 2).reshape(-1, 16, D)
        return self.out(y).view(b, 2, 2, 4, 4, D).permute(0, 5, 1, 3, 2, 4).reshape(b, D, 8, 8)


def learned(form, rows, capacity, **more):
    return dict(scheme="learned", form=form, capacity=capacity, parameters=dict(rows=rows, dim=D, **more))


def entry(name, encodings, capacity, beyond, stated=None):
    return dict(file=name + ".onnx", truth=dict(length=dict(stated=stated, capacity=capacity, beyond=beyond), encodings=encodings))


def script(folder, name, module, args=IDS, names=("input_ids",), axes=FREE, opset=17):
    torch.manual_seed(7)
    for p in module.parameters():
        nn.init.normal_(p, std=0.3)
    torch.onnx.export(module.eval(), args, os.path.join(folder, name + ".onnx"), input_names=list(names), dynamic_axes=axes, opset_version=opset, dynamo=False)


def dynamo(folder, name, module, args, names, shapes):
    with torch.no_grad():
        module.eval()(*args)  # models make buffers when they first run
    torch.onnx.export(module, args, os.path.join(folder, name + ".onnx"), input_names=list(names), dynamic_shapes=shapes, opset_version=18, dynamo=True, verbose=False, external_data=False)


def slim(path):
    """Takes stack traces and declared inner shapes out: they are most of a small file."""
    m = onnx.load(path)
    for n in m.graph.node:
        n.doc_string = ""
        del n.metadata_props[:]
    for v in list(m.graph.value_info) + list(m.graph.input) + list(m.graph.output):
        del v.metadata_props[:]
    called = {(n.domain, n.op_type) for n in m.graph.node}
    functions = [f for f in m.functions if (f.domain, f.name) in called]
    del m.graph.metadata_props[:], m.functions[:], m.graph.value_info[:]
    m.functions.extend(functions)
    onnx.save(m, path)


def quantised(folder, source, name):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Reader(CalibrationDataReader):
        left = 3

        def get_next(self):
            self.left -= 1
            return {"input_ids": np.random.RandomState(self.left).randint(3, V, (1, N - 1))} if self.left >= 0 else None

    quantize_static(os.path.join(folder, source + ".onnx"), os.path.join(folder, name + ".onnx"), Reader(), quant_format=QuantFormat.QDQ)


def places(folder):
    """Videos, and patches that turn by their places or take a part of a table."""
    picture, free = (torch.randn(1, 3, 32, 32),), {"pixel_values": {0: "batch", 2: "height", 3: "width"}}
    script(folder, "video-free", Video(), (torch.randn(1, 4, 3, 24, 24),), ("frames",), {"frames": {0: "batch", 1: "frames", 3: "height", 4: "width"}})
    for name, module in (("rope-cut", CutPlaces()), ("table-cut", CutTable())):
        script(folder, name, module, picture, ("pixel_values",), {"pixel_values": {0: "batch"}})
    dino = tiny("DINOv3ViT", hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=16, image_size=32, patch_size=8, num_register_tokens=1)
    script(folder, "rope-centred", Only(dino, "pixel_values"), picture, ("pixel_values",), free)
    return [
        entry("video-free", [learned("baked", 18, 18, grid=[2, 3, 3], prefix=0)], 18, "error"),
        entry("rope-cut", [rope("cache", 10000.0, layout="interleaved", capacity=16)], 16, "error"),
        entry("table-cut", [learned("table", 16, 16, grid=[4, 4], prefix=0)], 16, "error"),
        entry("rope-centred", [rope("runtime", 100.0)], None, "continues"),
    ]


def idioms(folder):
    """Ways of research code and of Keras to write what others write otherwise."""
    picture, free = (torch.randn(1, 3, 32, 32),), {"pixel_values": {0: "batch"}}
    script(folder, "alibi-grouped", Grouped())
    script(folder, "image-neighbours", Neighbours(), picture, ("pixel_values",), free)
    script(folder, "convolved-padded", Text(add=Padded()))
    script(folder, "rope-together", Together(), picture, ("pixel_values",), free)
    script(folder, "vectors-halo", Halo(), (torch.randint(3, V, (1, 12)),), axes={"input_ids": {0: "batch"}})
    script(folder, "series-variables", Variables(), (torch.randn(2, 5, 16),), ("series",), {"series": {0: "batch"}})
    ids, keys, mask = torch.randint(3, V, (1, 1)), torch.randn(1, H, 4, HD), torch.ones(1, 5, dtype=torch.int64)
    past, names = "past_sequence_length", ("input_ids", "keys", "values", "other")
    several = {"input_ids": {0: "batch_size", 1: "sequence_length"}, "keys": {0: "batch_size", 2: past}, "values": {0: "batch_size", 2: past}, "other": {0: "batch_size", 1: past + " + 1"}}
    named = ("input_ids", "past_key", "past_value", "attention_mask")
    rename = dict(zip(names, named, strict=True))
    script(folder, "later-mask", Later("mask"), (ids, keys, keys, mask), named, {rename[k]: v for k, v in several.items()})
    heads = {**several, "keys": {0: "batch_size x num_heads", 2: past}, "values": {0: "batch_size x num_heads", 1: past}}
    script(folder, "later-heads", Later("heads"), (ids, keys.view(H, HD, 4), keys.view(H, 4, HD), mask), named, {rename[k]: v for k, v in heads.items()})
    joined = {**{rename[k]: v for k, v in several.items()}, "input_ids": {0: "batch_size"}, **{k: {0: "batch_size", 1: past} for k in named[1:3]}}
    both = torch.randn(1, 4, 2 * D)
    script(folder, "later-joined", Later("joined"), (ids, both, both, mask), named, joined)
    script(folder, "channels-free", Heard(), (torch.randn(1, 10, 40),), ("input_features",), {"input_features": {0: "batch_size", 1: "feature_size", 2: "encoder_sequence_length"}})
    script(folder, "rope-sequence", Text(rotate=Repeated()))
    sequenced(os.path.join(folder, "rope-sequence.onnx"))
    return [
        entry("rope-sequence", [rope("cache", 10000.0, layout="interleaved", capacity=N, rows=N)], N, "error"),
        entry("later-mask", [learned("table", N, N)], N, "error"),
        entry("later-joined", [learned("table", N, N)], N, "error"),
        entry("later-heads", [dict(scheme="alibi", form="runtime", capacity=None, parameters=dict(heads=H, max_bias=8))], None, "continues"),
        entry("channels-free", [learned("baked", N, N)], N, "error"),
        entry("alibi-grouped", [dict(scheme="alibi", form="runtime", capacity=None, parameters=dict(heads=H, max_bias=8))], None, "continues"),
        entry("image-neighbours", [dict(scheme="relative-table", form="baked", capacity=None, parameters=dict(heads=H))], None, "error"),
        entry("convolved-padded", [dict(scheme="conv", form=None, capacity=None, parameters={})], None, "continues"),
        entry("rope-together", [rope("baked", 10000.0, layout="interleaved", capacity=16)], 16, "error"),
        entry("vectors-halo", [dict(scheme="relative-table", form="baked", capacity=12, parameters=dict(rows=7))], 12, "error", stated=12),
        entry("series-variables", [learned("baked", 16, 16)], 16, "error"),
    ]


def misread(folder):
    """Forms that were read otherwise than they act."""
    script(folder, "rope-parts", Text(rotate=Turned("parts")))
    script(folder, "rope-from-end", Text(rotate=Turned("end")))
    script(folder, "rope-summed", Summed())
    script(folder, "sines-in-two", Text(add=Masked()))
    script(folder, "vectors-bottleneck", Bottleneck(), (torch.randn(1, 3, 32, 32),), ("pixel_values",), {"pixel_values": {0: "batch"}})
    script(folder, "rope-padded", Text(rotate=Turned("padded")))
    script(folder, "table-parity", Text(add=Parity()))
    script(folder, "table-kinds", Kinds(), (*IDS, torch.arange(7).repeat(1, 2, 1)), ("input_ids", "position_ids"), {**FREE, "position_ids": {0: "batch", 2: "seq"}})
    script(folder, "alibi-behind", Behind())
    script(folder, "rope-plane", Plane(), (torch.randn(1, 3, 32, 32),), ("pixel_values",), {"pixel_values": {0: "batch"}})
    script(folder, "rope-matrices", Text(rotate=Matrices()))
    script(folder, "rope-chosen", Text(rotate=Turned("half")))
    chosen(os.path.join(folder, "rope-chosen.onnx"), "layer.rotate.inv", [1.0, 1.5, 3.0, 8.0], 64)
    for how in ("normalised", "end"):
        script(folder, "added-" + how, Text(add=Added(how)))
    for how in ("window", "back", "columns"):
        script(folder, "bias-" + how, Text(bias=Distances(how)))
    script(folder, "alibi-heads", Heads())
    script(folder, "rope-factor", Text(rotate=Turned("factor")))
    script(folder, "rope-apart", Text(rotate=Turned("apart")))
    for how in ("eye", "half"):
        script(folder, "added-" + how, Text(add=Added(how)))
    script(folder, "added-scattered", Text(add=Added("scattered")))
    scattered(os.path.join(folder, "added-scattered.onnx"))
    for how in ("elements", "listed"):
        script(folder, "bias-" + how, Text(bias=Distances(how)))
    given = (torch.randint(0, V, (7, 2)), torch.arange(7)[:, None].repeat(1, 2))
    script(folder, "table-given", Given(), given, ("input_ids", "position_ids"), {name: {0: "seq", 1: "batch"} for name in ("input_ids", "position_ids")})
    script(folder, "rope-sections", Sectioned(), (*IDS, torch.arange(7).repeat(3, 1, 1)), ("input_ids", "position_ids"), {**FREE, "position_ids": {1: "batch", 2: "seq"}})
    unnamed(os.path.join(folder, "rope-sections.onnx"))
    script(folder, "table-remembering", Remembering(), (torch.randn(2, 9, D), torch.randn(2, 7, 5)), ("memory", "values"), {"memory": {0: "batch"}, "values": {0: "batch", 1: "seq"}})
    script(folder, "table-words", Text(add=Added("scattered")))
    worded(os.path.join(folder, "table-words.onnx"))
    script(folder, "table-exchanged", Text(add=Added("scattered")), axes={"input_ids": {0: "sequence", 1: "batch"}})
    script(folder, "table-stacked", Stacked3(), (torch.stack([IDS[0], IDS[0] % 2, torch.arange(7)[None]]),), ("features",), {"features": {1: "batch", 2: "seq"}})
    caches = (torch.randn(5, 1, H, HD), torch.randn(5, 1, H, HD))
    ahead = {name: {0: "ahead", 1: "batch"} for name in ("keys", "values")}
    script(folder, "table-cached", Cached(), (*IDS, *caches), ("input_ids", "keys", "values"), {**FREE, **ahead})
    flat = (torch.randn(1, 5, D), torch.randn(1, 5, D))
    script(folder, "table-flat", Cached(True), (*IDS, *flat), ("input_ids", "keys", "values"), {**FREE, **{name: {0: "batch", 1: "ahead"} for name in ("keys", "values")}})
    return [
        entry("table-flat", [learned("table", N, N)], N, "error"),
        entry("table-exchanged", [learned("table", N, N)], N, "error"),
        entry("table-stacked", [learned("table", N, N)], N, "error"),
        entry("table-words", [learned("table", N, N)], N, "error"),
        entry("table-cached", [learned("table", N, N)], N, "error"),
        entry("rope-factor", [rope("runtime", 10000.0, scaling=dict(type="none", attention_factor=1.25))], None, "continues"),
        entry("rope-apart", [rope("cache", 10000.0, layout="interleaved", capacity=N, rows=N + 1)], N, "error"),
        entry("added-eye", [learned("table", N, N)], N, "error"),
        entry("added-half", [dict(scheme="sinusoidal", form="runtime", capacity=None, parameters=dict(dim=D, base=10000.0, layout="sin-cos"))], None, "continues"),
        entry("added-scattered", [learned("table", N, N)], N, "error"),
        entry("bias-elements", [dict(scheme="relative-table", form="table", capacity=N, parameters=dict(rows=2 * N - 1, heads=H))], N, "error"),
        entry("bias-listed", [dict(scheme="t5-bias", form="table", capacity=N, parameters=dict(buckets=8, max_distance=32, bidirectional=True, heads=H))], N, "error"),
        entry("table-given", [learned("table", N, N)], N, "error"),
        entry("rope-sections", [rope("runtime", 10000.0, sections=[2, 1, 1])], None, "continues"),
        entry("table-remembering", [learned("table", N, N)], N, "error"),
        entry("rope-plane", [rope("baked", 100.0, layout="interleaved", capacity=16, grid=[4, 4])], 16, "error"),
        entry("rope-matrices", [rope("cache", 10000.0, layout="interleaved", capacity=N, rows=N)], N, "error"),
        entry("rope-chosen", [rope("runtime", 10000.0, scaling=dict(type="longrope", short_factor=[1.0, 1.0, 1.0, 1.0], long_factor=[1.0, 1.5, 3.0, 8.0], original_length=64))], None, "continues"),
        entry("added-normalised", [learned("table", N, N)], N, "error"),
        entry("added-end", [dict(scheme="sinusoidal", form="runtime", capacity=None, parameters=dict(dim=D, base=10000.0, layout="sin-cos"))], None, "continues"),
        entry("bias-window", [dict(scheme="relative-table", form="table", capacity=None, parameters=dict(rows=8, heads=H, max_distance=7))], None, "continues"),
        entry("bias-back", [dict(scheme="relative-table", form="table", capacity=N, parameters=dict(rows=N, heads=H))], N, "error"),
        entry("bias-columns", [dict(scheme="relative-table", form="table", capacity=N, parameters=dict(rows=2 * N - 1, heads=H))], N, "error"),
        entry("alibi-heads", [dict(scheme="alibi", form="runtime", capacity=None, parameters=dict(heads=H, max_bias=8))], None, "continues"),
        entry("rope-padded", [rope("cache", 10000.0, capacity=N, rows=N + 1)], N, "error"),
        entry("table-parity", [learned("table", 2, 2)], 2, "wrong"),
        entry("table-kinds", [learned("table", N, N), learned("table", N - 4, N - 4)], N - 4, "error"),
        entry("alibi-behind", [dict(scheme="alibi", form="runtime", capacity=None, parameters=dict(heads=H, max_bias=8))], None, "continues"),
        entry("rope-parts", [rope("runtime", 10000.0, layout="interleaved")], None, "continues"),
        entry("rope-from-end", [rope("runtime", 10000.0)], None, "continues"),
        entry("rope-summed", [rope("runtime", 10000.0)], None, "continues"),
        entry("sines-in-two", [dict(scheme="sinusoidal", form="runtime", capacity=None, parameters=dict(dim=D, base=10000.0, layout="interleaved"))], None, "continues"),
        entry("vectors-bottleneck", [dict(scheme="relative-table", form="table", capacity=16, parameters=dict(rows=7))], 16, "error"),
    ]


def counted(folder):
    """Forms whose positions are counted otherwise than the model's input: by window, segment or column, of another text, or beside another stream."""
    script(folder, "rope-windows", Windows(), (torch.randn(1, 3, 32, 32),), ("pixel_values",), {"pixel_values": {0: "batch"}})
    for side in (4, 6):
        script(folder, f"table-mixed-{side}", Mixed(side), (torch.randn(16, 12),), ("pixel_values",), None)
    script(folder, "image-sides", Sides(), (torch.randn(1, 3, 32, 32),), ("pixel_values",), {"pixel_values": {0: "batch"}})
    script(folder, "table-ahead", Ahead(), (*IDS, *IDS), ("source", "target"), {"source": {0: "batch", 1: "seq"}, "target": {0: "batch", 1: "target_seq"}})
    script(folder, "table-segments", Patched(), (torch.randint(3, V, (1, 32)),), axes=None)
    script(folder, "convolved-speech", Speech(), (torch.randn(1, 400), *IDS), ("input_values", "input_ids"), {"input_values": {0: "batch", 1: "samples"}, **FREE})
    script(folder, "table-padded", Unpadded(), (torch.ones(1, 7, dtype=torch.long), *IDS), ("input_1", "input_2"), {name: {0: "batch", 1: "seq"} for name in ("input_1", "input_2")})
    script(folder, "table-rows-columns", Columns(), (torch.cat([torch.arange(7)[None, :, None].repeat(1, 1, 2).float(), torch.randn(1, 7, 12)], -1),), ("flattened_patches",),
           {"flattened_patches": {0: "batch", 1: "patches"}})
    return [
        entry("rope-windows", [rope("baked", 10000.0, dim=HD, layout="interleaved", capacity=16, grid=[4, 4])], 64, "error"),
        entry("table-mixed-4", [learned("baked", 16, 16)], 16, "error"),
        entry("table-mixed-6", [learned("baked", 36, 36)], 16, "error"),
        entry("image-sides", [dict(scheme="learned", form="baked", capacity=N * N, parameters=dict(rows=N, dim=D // 2, grid=[N, N]), accept={"form": ["baked", "table"]})], 16, "error"),
        entry("table-ahead", [learned("table", N, N - 1, offset=1)], N - 2, "error"),
        entry("table-segments", [dict(learned("baked", 4, 4), accept={"form": ["baked", "table"]}), dict(learned("baked", 8, 8), accept={"form": ["baked", "table"]})], 32, "error", stated=32),
        entry("convolved-speech", [dict(scheme="conv", form=None, capacity=None, parameters={}), learned("table", N, N)], N, "error"),
        entry("table-padded", [learned("table", N + 2, N, offset=2)], N, "error"),
        entry("table-rows-columns", [learned("table", N, N), learned("table", N, N)], None, "unknown"),
    ]


def redeclared(folder, source, name, change):
    """Another declaration of the inputs and outputs of a graph."""
    m = onnx.load(os.path.join(folder, source + ".onnx"))
    for v in [*m.graph.input, *m.graph.output]:
        change(v)
    onnx.save(m, os.path.join(folder, name + ".onnx"))


def unshaped(value):
    value.type.tensor_type.ClearField("shape")


def lettered(value):
    names = {"batch_size": "N", "sequence_length": "T", "past_sequence_length": "P", "past_sequence_length + 1": "M", "batch": "N", "seq": "T"}
    for d in value.type.tensor_type.shape.dim:
        if d.dim_param:
            d.dim_param = names.get(d.dim_param, d.dim_param)


def declared(folder):
    """Inputs that are declared otherwise: without a shape, with axes whose names say nothing; and what of a table shows before it is trained."""
    picture, free = (torch.randn(1, 3, 32, 32),), {"pixel_values": {0: "batch"}}
    script(folder, "waves-weighed", Weighed(), picture, ("pixel_values",), free)
    script(folder, "pairs-apart", Pairs(), (torch.randn(1, 7, 12), torch.arange(7)[None]), ("features", "residue_index"), {k: {0: "batch", 1: "residues"} for k in ("features", "residue_index")})
    script(folder, "bias-untrained", Untrained(), picture, ("pixel_values",), free)
    frames, of = torch.randn(1, 7, 12), {k: {0: "batch", 1: "frames"} for k in ("frames", "pad")}
    for how in ("zeros", "nan", "loud"):
        script(folder, "counted-" + how, Counted(how), (frames,), ("frames",), {"frames": of["frames"]})
    script(folder, "counted-pad", Counted("pad"), (frames, torch.zeros(1, 7)), ("frames", "pad"), of)
    cached = {"input_ids": {0: "batch"}, **{k: {0: "batch", 2: "past"} for k in ("past_key", "past_value")}}
    script(folder, "rope-rounded-step", RoundedStep(), (IDS[0][:, :1], torch.randn(1, H, 4, HD), torch.randn(1, H, 4, HD)), ("input_ids", "past_key", "past_value"), cached)
    flat = Patches("flat")
    script(folder, "table-untrained", flat, picture, ("pixel_values",), free)
    with torch.no_grad():
        flat.table.zero_()
    torch.onnx.export(flat, picture, os.path.join(folder, "table-untrained.onnx"), input_names=["pixel_values"], dynamic_axes=free, opset_version=17, dynamo=False)
    script(folder, "unshaped-text", Text(add=Rows("last")))
    redeclared(folder, "unshaped-text", "unshaped-text", unshaped)
    script(folder, "unshaped-picture", Patches("behind"), picture, ("pixel_values",), free)
    redeclared(folder, "unshaped-picture", "unshaped-picture", unshaped)
    ids, keys, mask = torch.randint(3, V, (1, 1)), torch.randn(1, H, 4, HD), torch.ones(1, 5, dtype=torch.int64)
    named = ("input_ids", "past_key", "past_value", "attention_mask")
    axes = {"input_ids": {0: "batch_size", 1: "sequence_length"}, "attention_mask": {0: "batch_size", 1: "past_sequence_length + 1"}}
    axes |= {k: {0: "batch_size", 2: "past_sequence_length"} for k in named[1:3]}
    script(folder, "unshaped-cache", Later("mask"), (ids, keys, keys, mask), named, axes)
    redeclared(folder, "unshaped-cache", "unshaped-cache", unshaped)
    both = torch.randn(1, 4, 2 * D)
    axes = {**axes, "input_ids": {0: "batch_size"}, **{k: {0: "batch_size", 1: "past_sequence_length"} for k in named[1:3]}}
    script(folder, "lettered-cache", Later("joined"), (ids, both, both, mask), named, axes)
    redeclared(folder, "lettered-cache", "lettered-cache", lettered)
    return [
        entry("waves-weighed", [dict(scheme="sinusoidal", form="runtime", capacity=None, parameters=dict(dim=2 * D, base=10000.0, layout="interleaved", grid=[4, 4]))], None, "error"),
        entry("rope-rounded-step", [rope("runtime", 10000.0)], None, "continues"),
        *(entry("counted-" + how, [learned("table", N, N - 1, offset=1)], N - 1, "error") for how in ("zeros", "nan", "pad")),
        entry("counted-loud", [dict(scheme="unknown", form="runtime", capacity=None, parameters={})], None, "unknown"),
        entry("pairs-apart", [dict(scheme="relative-table", form="table", capacity=None, parameters=dict(rows=9, max_distance=4))], None, "continues"),
        entry("bias-untrained", [dict(scheme="relative-table", form="baked", capacity=None, parameters=dict(rows=49, window=[4, 4], heads=H))], None, "error"),
        entry("table-untrained", [learned("baked", 16, 16, grid=[4, 4], prefix=0)], 16, "error"),
        entry("unshaped-text", [learned("table", N, N)], N, "error"),
        entry("unshaped-picture", [learned("baked", 20, 16, grid=[4, 4], prefix=1)], 16, "error"),
        entry("unshaped-cache", [learned("table", N, N)], N, "error"),
        entry("lettered-cache", [learned("table", N, N)], N, "error"),
    ]


def optimise(folder, source, name, level):
    """What ONNX Runtime makes of a graph before it runs it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.graph_optimization_level = 4, getattr(onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath = os.path.join(folder, name + ".onnx")
    onnxruntime.InferenceSession(os.path.join(folder, source + ".onnx"), options, providers=["CPUExecutionProvider"])


def swapped(path):
    """Tokens, positions and kinds in one operator, which has the table of positions in the place of kinds, as a fusion may leave it."""
    made, chance = onnx.helper.make_node, np.random.RandomState(3)
    nodes = [made("Cast", ["input_ids"], ["ids"], to=6), made("Shape", ["input_ids"], ["sizes"]), made("ConstantOfShape", ["sizes"], ["zeros"], value=onnx.helper.make_tensor("zero", 6, [1], [0])),
             made("Gather", ["sizes", "one"], ["length"]), made("Range", ["zero", "length", "one"], ["count"]), made("Expand", ["count", "sizes"], ["positions"]), made("Cast", ["positions"], ["places"], to=6),
             made("EmbedLayerNormalization", ["ids", "places", "words", "kinds", "rows", "gamma", "beta", "", "zeros"], ["x", "mask"], domain="com.microsoft"),
             *(made("MatMul", ["x", w], [w[-1]]) for w in ("w_q", "w_k", "w_v")), made("Transpose", ["k"], ["k_t"], perm=[0, 2, 1]), made("MatMul", ["q", "k_t"], ["scores"]),
             made("Softmax", ["scores"], ["weights"]), made("MatMul", ["weights", "v"], ["seen"]), made("Add", ["x", "seen"], ["y"])]
    shapes = {"words": (V, D), "kinds": (2, D), "rows": (N, D), "gamma": (D,), "beta": (D,), "w_q": (D, D), "w_k": (D, D), "w_v": (D, D)}
    constants = {name: chance.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()} | {"zero": np.array(0), "one": np.array(1)}
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "swapped", [value("input_ids", 7, ["batch", "seq"])], [value("y", 1, ["batch", "seq", D])], [onnx.numpy_helper.from_array(x, name) for name, x in constants.items()])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)], ir_version=8), path)


def optimised(folder):
    """Graphs with operators that ONNX Runtime makes of several."""
    picture, free = (torch.randn(1, 3, 32, 32),), {"pixel_values": {0: "batch"}}
    for name, module, level in (("scaled", Text(rotate=Scaled()), "ORT_ENABLE_EXTENDED"), ("alike", Text(rotate=Alike()), "ORT_ENABLE_ALL"), ("network", Text(bias=OfDistances()), "ORT_ENABLE_EXTENDED")):
        script(folder, "optimised-" + name, module)
        optimise(folder, "optimised-" + name, "optimised-" + name, level)
    script(folder, "optimised-groups", Fused(False), picture, ("pixel_values",), None)
    optimise(folder, "optimised-groups", "optimised-groups", "ORT_ENABLE_ALL")
    script(folder, "optimised-weights", TwoWeights(), picture, ("pixel_values",), free)
    script(folder, "optimised-sum", Fused(True), picture, ("pixel_values",), free)
    path = os.path.join(folder, "optimised-sum.onnx")
    m = onnx.load(path)  # as ONNX Runtime has it for CUDA
    conv, add, relu = ([n for n in m.graph.node if n.op_type == op][0] for op in ("Conv", "Add", "Relu"))
    conv.op_type, conv.domain = "FusedConv", "com.microsoft"
    conv.attribute.append(onnx.helper.make_attribute("activation", "Relu"))
    conv.input.append(next(i for i in add.input if i != conv.output[0]))
    conv.output[0] = relu.output[0]
    m.graph.node.remove(add)
    m.graph.node.remove(relu)
    m.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    onnx.save(m, path)
    script(folder, "levels", Levels(), picture, ("pixel_values",), free)
    script(folder, "levels-folded", Levels(True), picture, ("pixel_values",), free)
    script(folder, "series-steps", Steps(), (torch.randn(1, 32, 6),), ("past_values",), {"past_values": {0: "batch"}})
    faint = Text(add=Faint())
    script(folder, "sines-faint", faint)
    with torch.no_grad():
        faint.add.alpha.fill_(0.375)
    torch.onnx.export(faint, IDS, os.path.join(folder, "sines-faint.onnx"), input_names=["input_ids"], dynamic_axes=FREE, opset_version=17, dynamo=False)
    numbers = (torch.randn(1, 3, 32, 32), torch.ones(1), torch.ones(1, 2))
    script(folder, "image-conditions", Conditioned(), numbers, ("latents", "timestep", "sizes"), {k: {0: "batch"} for k in ("latents", "timestep", "sizes")})
    script(folder, "image-resized", Patches("flat"), picture, ("pixel_values",), free, opset=18)
    path = os.path.join(folder, "image-resized.onnx")
    m = onnx.load(path)  # behind what brings pictures to one size
    inside = next(n for n in m.graph.node if n.op_type == "Conv")
    m.graph.initializer.append(onnx.numpy_helper.from_array(np.array([32, 32]), "size"))
    m.graph.node.insert(0, onnx.helper.make_node("Resize", [inside.input[0], "", "", "size"], ["resized"], axes=[2, 3], mode="linear"))
    inside.input[0] = "resized"
    for d, name in zip(m.graph.input[0].type.tensor_type.shape.dim[2:], ("height", "width")):
        d.dim_param = name
    onnx.save(m, path)
    script(folder, "rope-functions", Text(rotate=Lucid()))
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../variants"))
    import rewrites

    path = Path(folder, "rope-functions.onnx")
    rewrites.in_functions(path, path)
    swapped(os.path.join(folder, "table-swapped.onnx"))
    return [
        entry("levels", [dict(scheme="sinusoidal", form="runtime", capacity=None, parameters=dict(dim=D, base=10000.0, layout="interleaved", grid=[4, 4]))], None, "error"),
        entry("levels-folded", [dict(scheme="sinusoidal", form="baked", capacity=16, parameters=dict(dim=D, base=10000.0, layout="interleaved", grid=[4, 4]))], 16, "error"),
        entry("series-steps", [learned("baked", 8, 8)], 8, "error", stated=32),
        entry("sines-faint", [dict(scheme="sinusoidal", form="table", capacity=N, parameters=dict(rows=N, dim=D, base=10000.0, layout="interleaved", amplitude=0.375))], N, "error"),
        entry("image-conditions", [learned("baked", 16, 16, grid=[4, 4], prefix=0)], 16, "error"),
        entry("image-resized", [learned("baked", 16, 16, grid=[4, 4], prefix=0)], 16, "error"),
        entry("rope-functions", [rope("runtime", 500000.0)], None, "continues"),
        entry("table-swapped", [learned("table", N, N)], N, "error"),
        entry("optimised-scaled", [rope("runtime", 10000.0, scaling=dict(type="linear", factor=4.0))], None, "continues"),
        entry("optimised-alike", [dict(scheme="rope", form="runtime", capacity=None, parameters=dict(rotary_dim=HD, head_dim=HD, layout="interleaved"))], None, "continues"),
        entry("optimised-network", [dict(scheme="unknown", form="runtime", capacity=None, parameters={})], None, "continues"),
        entry("optimised-groups", [dict(scheme="conv", form=None, capacity=None, parameters={})], None, "error"),
        entry("optimised-weights", [dict(scheme="unknown", form="runtime", capacity=None, parameters={})], None, "error"),
        entry("optimised-sum", [dict(scheme="learned", form="baked", capacity=16, parameters=dict(rows=16, dim=2 * D, grid=[4, 4]))], 16, "error"),
    ]


def unordered(folder):
    """Nodes in no order in which they run, masks that are longer than texts, and what is added in windows or blocks."""
    free = {"input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "total"}}
    script(folder, "prompt-mask", Prompted(), (*IDS, torch.ones(1, 10, dtype=torch.long)), ("input_ids", "attention_mask"), free)
    script(folder, "conv-channels", Text(add=Channelled()))
    script(folder, "zeros-added", Text(add=Routed(), rotate=Lucid()))
    script(folder, "image-window", Windowed(), (torch.randn(1, 3, 32, 32),), ("pixel_values",), {"pixel_values": {0: "batch"}})
    script(folder, "image-blocks", Blocks(), (torch.randn(1, D, 8, 8),), ("pixel_values",), {"pixel_values": {0: "batch"}})
    script(folder, "sinusoid-unordered", Text(add=Present()))
    places = torch.arange(7)[None].float()
    script(folder, "positions-float", InFloat(), (*IDS, places), ("input_ids", "position_ids"), {"input_ids": {0: "batch", 1: "seq"}, "position_ids": {0: "batch", 1: "seq"}})
    script(folder, "rope-clamped", Text(rotate=Bounded(False)))
    script(folder, "sinusoid-again", Text(add=Bounded(True)))
    script(folder, "patches-sizes", Sized(), (torch.randn(16, 24), torch.tensor([[1, 4, 4]])), ("pixel_values", "grid_thw"), None)
    script(folder, "rope-some", Some(), opset=18)
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../variants"))
    import rewrites

    for name, rewrite in (("sinusoid-unordered", "last-first"), ("rope-some", "softmax-by-nodes")):
        rewritten = Path(folder, name + ".onnx")
        rewrites.REWRITES[rewrite](rewritten, rewritten)
    unknown = [dict(scheme="unknown", form="runtime", capacity=None, parameters={})]
    return [
        entry("prompt-mask", [learned("table", N, N)], N, "error"),
        entry("conv-channels", [dict(scheme="conv", form=None, capacity=None, parameters={})], None, "continues"),
        entry("zeros-added", [rope("runtime", 500000.0)], 7, "error"),
        entry("rope-some", [rope("runtime", 500000.0, unrotated_layers=[1])], None, "continues"),
        entry("positions-float", [learned("table", N, N)], N, "error"),
        entry("rope-clamped", [rope("runtime", 10000.0, capacity=12)], 12, "clamps"),
        entry("sinusoid-again", [dict(scheme="sinusoidal", form="runtime", capacity=12, parameters=dict(dim=D, base=10000.0))], 12, "wrong"),
        entry("patches-sizes", [learned("baked", 16, 16)], 16, "error"),
        entry("image-window", unknown, None, "error"),
        entry("image-blocks", unknown, None, "error"),
        entry("sinusoid-unordered", [dict(scheme="sinusoidal", form="runtime", capacity=None, parameters=dict(dim=D, base=10000.0))], None, "continues"),
    ]


def given(folder):
    """Cosines and sines that the caller gives, as engines of phones and pipelines of diffusion models have them."""
    half, names, step = torch.rand(7, HD // 2), ("input_ids", "cos", "sin"), torch.rand(1, 1, 1, HD // 2)
    free = {"input_ids": {0: "batch", 1: "seq"}, "cos": {0: "seq"}, "sin": {0: "seq"}}
    script(folder, "rope-given", Text(rotate=GivenTurns()), (*IDS, half, half), names, free)
    script(folder, "rope-given-pairs", Text(rotate=GivenTurns("interleaved")), (*IDS, half, half), names, free)
    wide, beyond = torch.rand(1, 1, 7, HD), {"input_ids": {0: "batch", 1: "seq"}, "cos": {2: "seq"}, "sin": {2: "seq"}}
    script(folder, "rope-given-wide", Text(rotate=GivenTurns(wide=True)), (*IDS, wide, wide), names, beyond)
    script(folder, "rope-given-elements", Text(rotate=GivenTurns("interleaved", wide=True)), (*IDS, wide, wide), names, beyond)
    rows, picked = torch.rand(N, HD // 2), {"input_ids": {0: "batch", 1: "seq"}, "position_ids": {0: "batch", 1: "seq"}, "cos_cache": {0: "rows"}, "sin_cache": {0: "rows"}}
    named = ("input_ids", "cos_cache", "sin_cache", "position_ids")
    script(folder, "rope-given-rows", Text(rotate=GivenTurns()), (*IDS, rows, rows, torch.arange(7)[None]), named, picked)
    script(folder, "rope-given-few", Text(rotate=GivenTurns()), (*IDS, rows, rows, torch.arange(7)[None]), named, {k: picked[k] for k in ("input_ids", "position_ids")})
    keys = torch.randn(1, H, N - 1, HD)
    script(folder, "rope-given-step", TurnedStep(), (IDS[0][:1, :1], torch.zeros(1, 1, 1, N), step, step, keys, keys), ("input_ids", "attention_mask", "position_ids_cos", "position_ids_sin", "past_key", "past_value"), None)
    counted = ("input_ids", "attention_mask", "position_ids", "past_key", "past_value")
    for name, cached in (("rope-step-window", False), ("rope-step-cache", True), ("rope-step-both", "both"), ("rope-step-rolled", "rolled")):
        script(folder, name, (RolledStep if cached == "rolled" else CountedStep)(cached), (IDS[0][:1, :1], torch.zeros(1, 1, 1, N), torch.tensor([[5]]), keys, keys), counted, None)
    parts = torch.randn(1, 7, D)
    script(folder, "rope-noise", Noised(), (parts, parts, torch.rand(1, 1)), ("features", "noise", "time"), {k: {0: "batch", 1: "seq"} for k in ("features", "noise")} | {"time": {0: "batch"}})

    def turned(layout="half"):
        return [dict(scheme="rope", form="runtime", capacity=None, parameters=dict(rotary_dim=HD, head_dim=HD, layout=layout))]

    return [
        entry("rope-given", turned(), None, "continues"),
        entry("rope-given-pairs", turned("interleaved"), None, "continues"),
        entry("rope-given-wide", turned(), None, "continues"),
        entry("rope-given-elements", turned("interleaved"), None, "continues"),
        entry("rope-given-rows", turned(), None, "continues"),
        entry("rope-given-few", turned(), N, "error"),
        entry("rope-given-step", turned(), N, "error"),
        entry("rope-step-window", [rope("runtime", 10000.0)], N, "error"),
        entry("rope-step-cache", [rope("cache", 10000.0, capacity=2 * N, rows=2 * N)], N, "error"),
        entry("rope-step-rolled", [rope("cache", 10000.0, capacity=2 * N, rows=2 * N)], N, "error"),
        entry("rope-step-both", [rope("cache", 10000.0, capacity=2 * N, rows=2 * N)], N, "error"),
        entry("rope-noise", [rope("runtime", 500000.0)], None, "continues"),
    ]


class OneHot(nn.Module):
    """Tokens as ones among zeros, by comparison, by choice or written into zeros, and weights; a table behind it."""

    def __init__(self, how, convolved=False):
        super().__init__()
        self.how, self.weights = how, nn.Conv1d(V, D, 3, padding=1) if convolved else nn.Linear(V, D)
        self.table, self.layer = nn.Embedding(N, D), Attention()

    def forward(self, input_ids):
        if self.how == "written":
            told = torch.zeros(input_ids.shape[0], input_ids.shape[1], V).scatter(2, input_ids[..., None], 1.0)
        else:
            same = input_ids[..., None] == torch.arange(V)
            told = torch.where(same, 1.0, 0.0) if self.how == "chosen" else same.float()
        x = self.weights(told.transpose(1, 2)).transpose(1, 2) if isinstance(self.weights, nn.Conv1d) else self.weights(told)
        return self.layer(x + self.table(torch.arange(x.shape[1])))


class MaskedConvolution(nn.Module):
    """A convolution of the places around each is added to the state; padding is left out ahead of it, or between it and a second one."""

    def __init__(self, between):
        super().__init__()
        self.embed, self.between, self.layer = nn.Embedding(V, D), between, Attention()
        self.near, self.next = nn.Conv1d(D, D, 5, padding=2, groups=4), nn.Conv1d(D, D, 5, padding=2, groups=4)

    def forward(self, input_ids, attention_mask):
        x, there = self.embed(input_ids), attention_mask[:, None].float()
        h = x.transpose(1, 2)
        h = self.next(nn.functional.mish(self.near(h)).masked_fill(there == 0, 0.0)) if self.between else self.near(h * there)
        return self.layer(x + nn.functional.mish(h).transpose(1, 2))


class Hidden(nn.Module):
    """A vector stands for the second half of the places, which are hidden; a picture's patches have a table."""

    def __init__(self):
        super().__init__()
        self.conv, self.told, self.token, self.table, self.layer = nn.Conv2d(3, D, 8, 8), nn.Conv2d(3, D, 8, 8), nn.Parameter(torch.zeros(1, 1, D)), nn.Parameter(torch.zeros(1, 16, D)), Attention()
        self.register_buffer("hidden", (torch.arange(16) >= 8).float()[None, :, None])

    def forward(self, pixels, masks):
        x, told = self.conv(pixels).flatten(2).transpose(1, 2), self.told(masks).flatten(2).transpose(1, 2)
        return self.layer(x + self.table + told * (1 - self.hidden) + self.token * self.hidden)


class TurnedHeads(nn.Module):
    """Each head turns by frequencies of its own (Mochi)."""

    def __init__(self):
        super().__init__()
        angles = torch.arange(12).float()[:, None, None] * torch.rand(H, HD // 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x):
        pairs = x.transpose(1, 2).unflatten(-1, (-1, 2))
        a, b = pairs[..., 0], pairs[..., 1]
        return torch.stack([a * self.cos - b * self.sin, a * self.sin + b * self.cos], -1).flatten(-2).transpose(1, 2)


def told(folder):
    """What is told of tokens by truth values, and masks that are on the way of convolutions or tokens."""
    cases = []
    for name, module in (("one-hot-compared", OneHot("compared")), ("one-hot-chosen", OneHot("chosen")), ("one-hot-written", OneHot("written")), ("one-hot-convolved", OneHot("compared", True))):
        script(folder, name, module)
        cases.append(entry(name, [learned("table", N, N)], N, "error"))
    for name, between in (("conv-masked", False), ("conv-filled", True)):
        script(folder, name, MaskedConvolution(between), (*IDS, torch.ones(1, 7, dtype=torch.long)), ("input_ids", "attention_mask"), {k: {0: "batch", 1: "seq"} for k in ("input_ids", "attention_mask")})
        cases.append(entry(name, [dict(scheme="conv", form=None, capacity=None, parameters={})], None, "continues"))
    pictures = torch.randn(1, 3, 32, 32)
    script(folder, "image-hidden", Hidden(), (pictures, pictures), ("pixel_values", "prompt_masks"), {k: {0: "batch"} for k in ("pixel_values", "prompt_masks")})
    cases.append(entry("image-hidden", [learned("baked", 16, 16, grid=[4, 4])], 16, "error"))
    script(folder, "rope-heads", Text(rotate=TurnedHeads()), (torch.arange(12)[None] + 3,), ("input_ids",), {"input_ids": {0: "batch"}})
    turned = dict(scheme="rope", form="baked", capacity=12, parameters=dict(rotary_dim=HD, head_dim=HD, layout="interleaved", scaling=dict(type="custom")))
    return cases + [entry("rope-heads", [turned], 12, "error", 12)]


def main(folder):
    os.makedirs(folder, exist_ok=True)
    free, none = {"pixel_values": {0: "batch"}}, []
    picture = (torch.randn(1, 3, 32, 32),)
    torch.manual_seed(1)
    script(folder, "rope-stacked", Text(rotate=Stacked()))
    none.append(entry("rope-stacked", [rope("cache", 10000.0, layout="interleaved", capacity=N, rows=N)], N, "error"))
    script(folder, "rope-start", Text(rotate=Stacked()), (*IDS, torch.tensor(0)), ("input_ids", "start_pos"))
    none.append(entry("rope-start", [rope("cache", 10000.0, layout="interleaved", capacity=N, rows=N)], N, "error"))
    script(folder, "rope-ellipsis", Text(rotate=Lucid()))
    none.append(entry("rope-ellipsis", [rope("runtime", 500000.0)], None, "continues"))
    script(folder, "rope-half", Text(rotate=Lucid(half=True)))
    none.append(entry("rope-half", [rope("runtime", 500000.0)], None, "continues"))
    quantised(folder, "rope-stacked", "rope-stacked-qdq")
    none.append(entry("rope-stacked-qdq", [rope("cache", 10000.0, layout="interleaved", capacity=N, rows=N)], N, "error"))
    script(folder, "table-reversed", Text(add=Reversed()))
    none.append(entry("table-reversed", [learned("table", N, N)], N, "error"))
    script(folder, "bias-gated", Text(bias=Gated()))
    none.append(entry("bias-gated", [dict(scheme="t5-bias", form="runtime", capacity=None, parameters=dict(buckets=8, max_distance=32, bidirectional=True, heads=H))], None, "continues"))
    script(folder, "shaw", Text(bias=Shaw()))
    none.append(entry("shaw", [dict(scheme="relative-table", form="table", capacity=None, parameters=dict(rows=13, max_distance=6))], None, "continues"))
    script(folder, "relative-key", Text(add=Segments(), bias=RelativeKey()))
    none.append(entry("relative-key", [dict(scheme="relative-table", form="table", capacity=N, parameters=dict(rows=2 * N - 1))], N, "error"))
    for how, encodings in {
        "plane": [learned("baked", 16, 16, grid=[4, 4], prefix=0)],
        "waves": [dict(scheme="sinusoidal", form="baked", capacity=16, parameters=dict(rows=16, dim=D, base=10000.0, layout="sin-cos", grid=[4, 4]))],
        "behind": [learned("baked", 20, 16, grid=[4, 4], prefix=1)],
        "queries": [learned("baked", 16, 16, grid=[4, 4], prefix=0)],
    }.items():
        script(folder, "image-" + how, Patches(how), picture, ("pixel_values",), free)
        none.append(entry("image-" + how, encodings, 16, "error"))
    for how, encodings, capacity in (
        ("from-end", [learned("table", N, N)], N),
        ("last", [learned("table", N, N)], N),
        ("digits", [learned("table", 25, 25)], 25),
        ("factor", [learned("table", N, N)], N),
    ):
        script(folder, "table-" + how, Text(add=Rows(how)))
        none.append(entry("table-" + how, encodings, capacity, "error"))
    script(folder, "rope-decaying", Text(rotate=Decaying()))
    none.append(entry("rope-decaying", [rope("runtime", 10000.0)], None, "continues"))
    script(folder, "rope-of-length", Text(rotate=OfLength()))
    none.append(entry("rope-of-length", [rope("runtime", 10000.0, scaling={"type": "custom"})], None, "continues"))
    timed = Text(rotate=Timed())
    script(folder, "rope-timed", timed, (*IDS, torch.arange(7)[None]), ("input_ids", "time_id"), {**FREE, "time_id": {0: "batch", 1: "seq"}})
    none.append(entry("rope-timed", [rope("cache", 10000.0, capacity=N, rows=N)], N, "error"))
    script(folder, "bias-network", Text(bias=Network()))
    none.append(entry("bias-network", [dict(scheme="unknown", form="runtime", capacity=None, parameters={})], None, "continues"))
    script(folder, "bias-counting", Text(bias=Counting()))
    none.append(entry("bias-counting", [dict(scheme="unknown", form="runtime", capacity=None, parameters={})], None, "unknown"))
    torch.manual_seed(7)
    dynamo(folder, "series", Series(), (torch.randn(2, 32),), ("series",), ({0: torch.export.Dim("batch", max=8)},))
    none.append(entry("series", [learned("baked", 8, 8)], 8, "error"))
    for how in ("patches", "values"):
        script(folder, "convolved-" + how, Convolved(how == "values"), picture, ("pixel_values",), free)
        none.append(entry("convolved-" + how, [dict(scheme="conv", form=None, capacity=None, parameters={})], None, "error"))
    script(folder, "recurrence-unrolled", Unrolled(), axes={})
    none.append(entry("recurrence-unrolled", [dict(scheme="none", form=None, capacity=None, parameters={})], 7, "error", stated=7))

    phi = tiny("Phi3", vocab_size=V, hidden_size=D, num_hidden_layers=1, num_attention_heads=H, num_key_value_heads=H, intermediate_size=16, pad_token_id=0,
               max_position_embeddings=256, original_max_position_embeddings=64, use_cache=False,
               rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.0, 3.5, 5.0], "original_max_position_embeddings": 64})
    dynamo(folder, "longrope-switch", Only(phi, "input_ids"), IDS, ("input_ids",), ({0: torch.export.Dim("batch", max=8), 1: torch.export.Dim("seq", min=2, max=200)},))
    none.append(entry("longrope-switch", [rope("runtime", 10000.0, scaling=dict(type="longrope", short_factor=[1.0, 1.1, 1.2, 1.3], long_factor=[1.0, 2.0, 3.5, 5.0], original_length=64,
                                                                              attention_factor=math.sqrt(1 + math.log(4) / math.log(64))))], None, "continues"))
    speech = tiny("Wav2Vec2Conformer", vocab_size=V, hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=16, conv_dim=(8, 8), conv_kernel=(10, 3), conv_stride=(5, 2),
                  num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2, max_source_positions=40, position_embeddings_type="relative", conv_depthwise_kernel_size=3,
                  apply_spec_augment=False, layerdrop=0.0)
    torch.onnx.export(Only(speech, "input_values"), (torch.randn(1, 400),), os.path.join(folder, "conformer.onnx"), input_names=["input_values"],
                      dynamic_axes={"input_values": {0: "batch", 1: "samples"}}, opset_version=17, dynamo=False)
    none.append(entry("conformer", [dict(scheme="relative-sinusoid", form="table", capacity=40, parameters=dict(dim=D, base=10000.0))], 40, "wrong"))
    sam = T.models.sam.modeling_sam.SamVisionEncoder(T.SamVisionConfig(hidden_size=D, output_channels=8, num_hidden_layers=1, num_attention_heads=H, image_size=32, patch_size=8, mlp_dim=16,
                                                                       window_size=0, global_attn_indexes=[0], attn_implementation="eager"))
    torch.manual_seed(7)
    for p in sam.parameters():
        nn.init.normal_(p, std=0.3)
    torch.onnx.export(Only(sam.eval(), "pixel_values"), picture, os.path.join(folder, "sam.onnx"), input_names=["pixel_values"], dynamic_axes=free, opset_version=17, dynamo=False)
    none.append(entry("sam", [learned("baked", 16, 16, grid=[4, 4], prefix=0), dict(scheme="relative-table", form="table", capacity=16, parameters={}, accept={"form": ["table", "baked"]})], 16, "error"))
    beit = tiny("Beit", hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=16, image_size=32, patch_size=8, use_relative_position_bias=True, use_mean_pooling=False)
    with torch.no_grad():
        for n, p in beit.named_parameters():
            if "relative_position_bias_table" in n:
                p.normal_()
    dynamo(folder, "beit-relative", Only(beit, "pixel_values"), picture, ("pixel_values",), ({0: torch.export.Dim("batch", max=8)},))
    none.append(entry("beit-relative", [dict(scheme="relative-table", form="baked", capacity=16, parameters=dict(window=[4, 4], heads=H))], 16, "error"))
    swin = tiny("Swin", embed_dim=8, depths=[2, 2], num_heads=[1, 1], image_size=16, patch_size=4, window_size=2, mlp_ratio=1.0)
    with torch.no_grad():
        for n, p in swin.named_parameters():
            if "bias_table" in n:
                p.normal_()
    dynamo(folder, "image-shifted", Only(swin, "pixel_values"), (torch.randn(1, 3, 16, 16),), ("pixel_values",), None)
    none.append(entry("image-shifted", [dict(scheme="relative-table", form="baked", capacity=None, parameters=dict(window=[2, 2], heads=1))], None, "error"))
    vit = tiny("ViT", hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=16, image_size=32, patch_size=8)
    script(folder, "image-resampled", Resampled(vit), picture, ("pixel_values",), {"pixel_values": {0: "batch", 2: "height", 3: "width"}})
    none.append(entry("image-resampled", [learned("baked", 17, 16, grid=[4, 4], prefix=1)], 16, "continues"))
    none += places(folder) + idioms(folder) + misread(folder) + counted(folder) + declared(folder) + optimised(folder) + unordered(folder) + given(folder) + told(folder)
    for e in none:
        slim(os.path.join(folder, e["file"]))
    with open(os.path.join(folder, "cases.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(e) for e in none) + "\n]\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
