#!/usr/bin/env python3
"""Exports small Paddle models by paddle2onnx, with what they say of positions, as a manifest that score-inspect reads.

usage: export_paddle.py FOLDER [WORD …]     (only graphs whose name holds a WORD)

Writes FOLDER/onnx.json and FOLDER/onnx/NAME.onnx. Needs paddlepaddle, paddle2onnx and onnxruntime. The truth is from the
code, written before any file was inspected.
"""
import json
import os
import sys

import numpy
import onnxruntime
import paddle
from paddle import nn
from paddle.nn import functional as F

from truth import encoding, none, patches, rope, table

onnxruntime.set_default_logger_severity(4)
D, H, HEAD, VOCAB = 32, 4, 8, 64


class Block(nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.after, self.up, self.down = nn.LayerNorm(D), nn.Linear(D, 48), nn.Linear(48, D)

    def forward(self, x, turn=None, bias=None, mask=None):
        qkv = self.qkv(self.norm(x)).reshape([0, -1, 3, H, HEAD]).transpose([2, 0, 3, 1, 4])
        q, k, v = qkv[0], qkv[1], qkv[2]
        if turn is not None:
            q, k = turn(q), turn(k)
        scores = paddle.matmul(q, k, transpose_y=True) * HEAD**-0.5
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            scores = scores + mask
        p = F.softmax(scores, axis=-1)
        x = x + self.out(paddle.matmul(p, v).transpose([0, 2, 1, 3]).reshape([0, -1, D]))
        return x + self.down(F.gelu(self.up(self.after(x))))


class Text(nn.Layer):
    """Tokens, two blocks, a head; subclasses say where positions come in."""

    turns = biased = False

    def __init__(self, causal=False):
        super().__init__()
        self.words, self.head, self.causal = nn.Embedding(VOCAB, D), nn.Linear(D, VOCAB), causal
        self.blocks = nn.LayerList([Block(), Block()])

    def added(self, ids, x):
        return x

    def forward(self, ids):
        length = paddle.shape(ids)[1]
        x = self.added(ids, self.words(ids))
        turn = self.turn(length) if self.turns else None
        bias = self.bias(length) if self.biased else None
        mask = None
        if self.causal:
            at = paddle.arange(length)
            mask = paddle.where(at.unsqueeze(0) <= at.unsqueeze(1), paddle.zeros([1], "float32"), paddle.full([1], -1e4))
        for block in self.blocks:
            x = block(x, turn, bias, mask)
        return self.head(x)


class Ernie(Text):
    """ERNIE's positions: a running sum of ones, less one."""

    def __init__(self, rows=40):
        super().__init__()
        self.positions, self.kinds, self.norm = nn.Embedding(rows, D), nn.Embedding(2, D), nn.LayerNorm(D)

    def added(self, ids, x):
        ones = paddle.ones_like(ids)
        return self.norm(x + self.positions(paddle.cumsum(ones, axis=1) - ones) + self.kinds(paddle.zeros_like(ids)))


class Gpt(Text):
    def __init__(self, rows=40):
        super().__init__(causal=True)
        self.positions = nn.Embedding(rows, D)

    def added(self, ids, x):
        at = paddle.arange(paddle.shape(ids)[1], dtype="int64").unsqueeze(0)
        return x + self.positions(paddle.expand_as(at, ids))


class Sliced(Text):
    def __init__(self, rows=40):
        super().__init__()
        self.positions = self.create_parameter([1, rows, D])

    def added(self, ids, x):
        return x + self.positions[:, :paddle.shape(ids)[1]]


class Sines(Text):
    """PaddleNLP's transformer: a table of sinusoids, scaled words."""

    def __init__(self, rows=64):
        super().__init__()
        inverse = 1.0 / 10000 ** (numpy.arange(0, D, 2) / D)
        angle = numpy.arange(rows)[:, None] * inverse
        self.positions = nn.Embedding(rows, D, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Assign(numpy.concatenate([numpy.sin(angle), numpy.cos(angle)], 1).astype("float32"))))

    def added(self, ids, x):
        return x * D**0.5 + self.positions(paddle.arange(paddle.shape(ids)[1], dtype="int64"))


class Rope(Text):
    turns = True

    def __init__(self, base=10000.0, pairs=False, cached=0):
        super().__init__(causal=True)
        self.inverse = paddle.to_tensor((1.0 / base ** (numpy.arange(0, HEAD, 2) / HEAD)).astype("float32"))
        self.pairs, self.cached = pairs, cached
        if cached:
            angle = numpy.outer(numpy.arange(cached), self.inverse.numpy())
            angle = numpy.concatenate([angle, angle], 1)
            self.register_buffer("cos", paddle.to_tensor(numpy.cos(angle)[None, None].astype("float32")))
            self.register_buffer("sin", paddle.to_tensor(numpy.sin(angle)[None, None].astype("float32")))

    def turn(self, length):
        if self.cached:
            cos, sin = self.cos[:, :, :length], self.sin[:, :, :length]
        else:
            angle = paddle.einsum("i,j->ij", paddle.arange(length).astype("float32"), self.inverse)
            angle = paddle.stack([angle, angle], -1).reshape([-1, HEAD]) if self.pairs else paddle.concat([angle, angle], -1)
            cos, sin = paddle.cos(angle), paddle.sin(angle)

        def turn(x):
            if self.pairs:
                other = paddle.stack([-x[..., 1::2], x[..., 0::2]], -1).reshape(paddle.shape(x))
            else:
                a, b = paddle.chunk(x, 2, -1)
                other = paddle.concat([-b, a], -1)
            return x * cos + other * sin
        return turn


class Alibi(Text):
    biased = True

    def __init__(self):
        super().__init__(causal=True)
        self.slopes = paddle.to_tensor(numpy.array([2.0 ** (-8.0 * (h + 1) / H) for h in range(H)], "float32").reshape(H, 1, 1))

    def bias(self, length):
        at = paddle.arange(length).astype("float32")
        return self.slopes * (at.unsqueeze(0) - at.unsqueeze(1))


class T5(Text):
    biased = True

    def __init__(self):
        super().__init__()
        self.biases = nn.Embedding(32, H)

    def bias(self, length):
        at = paddle.arange(length)
        distance = at.unsqueeze(0) - at.unsqueeze(1)
        bucket = (distance > 0).astype("int64") * 16
        far = paddle.abs(distance)
        large = 8 + (paddle.log(far.astype("float32") / 8) / numpy.log(128 / 8) * 8).astype("int64")
        large = paddle.minimum(large, paddle.full_like(large, 15))
        bucket = bucket + paddle.where(far < 8, far, large)
        return self.biases(bucket).transpose([2, 0, 1]).unsqueeze(0)


class Clipped(Text):
    biased = True

    def __init__(self, reach=6):
        super().__init__()
        self.reach, self.biases = reach, nn.Embedding(2 * reach + 1, H)

    def bias(self, length):
        at = paddle.arange(length)
        distance = paddle.clip(at.unsqueeze(0) - at.unsqueeze(1), -self.reach, self.reach) + self.reach
        return self.biases(distance).transpose([2, 0, 1])


class Picture(nn.Layer):
    """Patches of 8 of a picture of 32, with a table, a class token, sines or a window's biases."""

    def __init__(self, kind, prefix=0):
        super().__init__()
        self.kind, self.prefix = kind, prefix
        self.cut, self.block, self.head = nn.Conv2D(3, D, 8, 8), Block(), nn.Linear(D, 10)
        if prefix:
            self.token = self.create_parameter([1, prefix, D])
        if kind == "table":
            self.positions = self.create_parameter([1, 16 + prefix, D], default_initializer=nn.initializer.TruncatedNormal(std=0.02))
        if kind == "sines":
            quarter = D // 4
            omega = 1.0 / 10000 ** (numpy.arange(quarter) / quarter)
            y, x = numpy.divmod(numpy.arange(16), 4)
            self.register_buffer("positions", paddle.to_tensor(numpy.concatenate([f(p[:, None] * omega) for p in (x, y) for f in (numpy.sin, numpy.cos)], 1).astype("float32")[None]))
        if kind == "window":
            self.biases = self.create_parameter([49, H])
            y, x = numpy.divmod(numpy.arange(16), 4)
            self.register_buffer("index", paddle.to_tensor((y[:, None] - y + 3) * 7 + x[:, None] - x + 3))

    def forward(self, image):
        x = self.cut(image).flatten(2).transpose([0, 2, 1])
        if self.prefix:
            x = paddle.concat([self.token.expand([paddle.shape(image)[0], -1, -1]), x], 1)
        if self.kind in ("table", "sines"):
            x = x + self.positions
        bias = None
        if self.kind == "window":
            bias = paddle.index_select(self.biases, self.index.reshape([-1])).reshape([16, 16, H]).transpose([2, 0, 1]).unsqueeze(0)
        return self.head(self.block(x, bias=bias).mean(1))


class Stock(nn.Layer):
    """Paddle's own encoder layers."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(VOCAB, D), nn.Linear(D, 8)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, H, 48, dropout=0.0), 2)

    def forward(self, ids):
        return self.head(self.encoder(self.words(ids)))


class Reader(nn.Layer):
    """A text line's reader: convolutions, then a bidirectional LSTM (CRNN)."""

    def __init__(self):
        super().__init__()
        self.cut, self.more = nn.Conv2D(3, 16, 3, 2, 1), nn.Conv2D(16, D, 3, (2, 1), 1)
        self.lstm, self.head = nn.LSTM(D, 16, direction="bidirect"), nn.Linear(32, 10)

    def forward(self, image):
        x = F.relu(self.more(F.relu(self.cut(image))))
        return self.head(self.lstm(x.mean(2).transpose([0, 2, 1]))[0])


class Mixer(nn.Layer):
    """SVTR's first stage: mixing along a line by convolutions in place of positions."""

    def __init__(self):
        super().__init__()
        self.cut, self.local, self.block, self.head = nn.Conv2D(3, D, 8, 8), nn.Conv2D(D, D, 3, 1, 1, groups=D), Block(), nn.Linear(D, 10)

    def forward(self, image):
        x = self.cut(image)
        x = (x + self.local(x)).flatten(2).transpose([0, 2, 1])
        return self.head(self.block(x).mean(1))


TOKENS, PICTURE = ([None, None], "int64"), ([None, 3, 32, 32], "float32")
PADDLE = [
    ("pd-ernie", Ernie, TOKENS, [table(40, D)], 40),
    ("pd-gpt", Gpt, TOKENS, [table(40, D)], 40),
    ("pd-sliced", Sliced, TOKENS, [table(40, D)], 40),
    ("pd-sines", Sines, TOKENS, [encoding("sinusoidal", "table", 64, {}, dim=D, rows=64, base=10000, layout="sin-cos")], 64),
    ("pd-rope", Rope, TOKENS, [rope(HEAD, HEAD, "half")], None),
    ("pd-rope-pairs", lambda: Rope(500000.0, pairs=True), TOKENS, [rope(HEAD, HEAD, "interleaved", 500000)], None),
    ("pd-rope-cache", lambda: Rope(cached=48), TOKENS, [rope(HEAD, HEAD, "half", form="cache")], 48),
    ("pd-alibi", Alibi, TOKENS, [encoding("alibi", "runtime", None, {}, heads=H)], None),
    ("pd-t5", T5, TOKENS, [encoding("t5-bias", "runtime", None, {"form": ["runtime", "table"]}, buckets=32, max_distance=128, bidirectional=True, heads=H)], None),
    ("pd-clipped", Clipped, TOKENS, [encoding("relative-table", "table", None, {}, rows=13, max_distance=6, heads=H)], None),
    ("pd-bag", Text, TOKENS, [none(scheme=["none"])], None),
    ("pd-causal", lambda: Text(True), TOKENS, [none(scheme=["none"])], None),
    ("pd-stock", Stock, TOKENS, [none(scheme=["none"])], None),
    ("pd-vit", lambda: Picture("table", 1), PICTURE, [patches(4, D, 1)], 16),
    ("pd-deit", lambda: Picture("table", 2), PICTURE, [patches(4, D, 2)], 16),
    ("pd-patches", lambda: Picture("table"), PICTURE, [patches(4, D, 0)], 16),
    ("pd-sines2d", lambda: Picture("sines"), PICTURE, [encoding("sinusoidal", "baked", 16, {"form": ["baked", "table"]}, dim=D, base=10000)], "open"),
    ("pd-window", lambda: Picture("window"), PICTURE, [encoding("relative-table", "table", None, {"form": ["table", "baked"], "capacity": [None, 16]}, window=[4, 4], heads=H, rows=49)], "open"),
    ("pd-crnn", Reader, ([None, 3, 32, None], "float32"), [none()], None),
    ("pd-mixer", Mixer, PICTURE, [none()], "open"),
]


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    entries = []
    for name, build, (shape, kind), truth, capacity in PADDLE:
        if words and not any(w in name for w in words):
            continue
        path = os.path.join(folder, "onnx", name + ".onnx")
        try:
            if not os.path.exists(path):
                paddle.seed(7)
                model = build()
                model.eval()
                paddle.onnx.export(model, path[:-len(".onnx")], input_spec=[paddle.static.InputSpec(shape, kind, "input")], opset_version=17)
            onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        except Exception as problem:
            print(f"{name}: not exported: {type(problem).__name__} {' '.join(str(problem).split())[-300:]}", file=sys.stderr)
            continue
        length = {} if capacity == "open" else {"capacity": capacity}
        entries.append(dict(file=f"onnx/{name}.onnx", truth=dict(length=length, encodings=truth), accept={}))
    with open(os.path.join(folder, "onnx.json"), "w") as f:
        json.dump(entries, f)
    print(f"{len(entries)} graphs")


if __name__ == "__main__":
    main()
