#!/usr/bin/env python3
"""Exports small JAX models by jax2onnx: its own examples (flax NNX and Equinox) and encodings written in plain jax.numpy,
with what they say of positions, as a manifest that score-inspect reads.

usage: export_jax.py FOLDER [WORD …]     (only graphs whose name holds a WORD)

Writes FOLDER/onnx.json and FOLDER/onnx/NAME.onnx. Needs jax, flax, equinox, jax2onnx and onnxruntime. The truth is from the
code, written before any file was inspected. A length is a number in nearly all: jax.numpy.arange takes none that is free here.
"""
import json
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy
import onnxruntime
from flax import nnx
from jax2onnx import to_onnx

onnxruntime.set_default_logger_severity(4)

from truth import encoding, none, patches, rope, table

D, H, HEAD, VOCAB = 32, 4, 8, 64
random = numpy.random.default_rng(7)


def weights(*shape):
    return jnp.asarray(random.uniform(-0.3, 0.3, shape).astype(numpy.float32))


def normalised(x):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


class Layer:
    """One block of attention; what encodes positions comes from outside."""

    def __init__(self):
        self.q, self.k, self.v, self.o, self.up, self.down = (weights(D, D) for _ in range(4)), None, None, None, weights(D, 48), weights(48, D)
        self.q, self.k, self.v, self.o = self.q

    def __call__(self, x, turn=None, bias=None, causal=True):
        batch, length, _ = x.shape
        parts = [(normalised(x) @ w).reshape(batch, length, H, HEAD).transpose(0, 2, 1, 3) for w in (self.q, self.k, self.v)]
        q, k, v = parts
        if turn is not None:
            q, k = turn(q), turn(k)
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * HEAD**-0.5
        if bias is not None:
            scores = scores + bias(length)
        if causal:
            at = jnp.arange(length)
            scores = jnp.where(at[:, None] >= at[None, :], scores, -1e9)
        x = x + jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v).transpose(0, 2, 1, 3).reshape(batch, length, D) @ self.o
        return x + jax.nn.silu(normalised(x) @ self.up) @ self.down


def text(add=None, turn=None, bias=None, causal=True, layers=2):
    embedding, blocks, head = weights(VOCAB, D), [Layer() for _ in range(layers)], weights(D, VOCAB)

    def model(ids):
        x = jnp.take(embedding, ids, axis=0)
        if add is not None:
            x = x + add(ids.shape[1])
        for block in blocks:
            x = block(x, turn, bias, causal)
        return normalised(x) @ head
    return model


def learned(rows):
    positions = weights(rows, D)
    return lambda length: jax.lax.dynamic_slice_in_dim(positions, 0, length, 0) if isinstance(length, int) else jnp.take(positions, jnp.arange(length), axis=0)


def sines(length):
    frequencies = jnp.exp(jnp.arange(0, D, 2, dtype=jnp.float32) * (-numpy.log(10000.0) / D))
    angle = jnp.arange(length, dtype=jnp.float32)[:, None] * frequencies[None, :]
    return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1)


def turned(base, interleaved=False):
    inverse = 1.0 / base ** (jnp.arange(0, HEAD, 2, dtype=jnp.float32) / HEAD)

    def turn(x):
        angle = jnp.arange(x.shape[2], dtype=jnp.float32)[:, None] * inverse[None, :]
        sin, cos = jnp.sin(angle), jnp.cos(angle)
        if interleaved:
            a, b = x[..., 0::2], x[..., 1::2]
            return jnp.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
    return turn


def complexes(base):
    """RoPE as Meta's llama writes it, by numbers of the complex plane kept as pairs."""
    inverse = 1.0 / base ** (jnp.arange(0, HEAD, 2, dtype=jnp.float32) / HEAD)

    def turn(x):
        angle = jnp.outer(jnp.arange(x.shape[2], dtype=jnp.float32), inverse)
        pairs = x.reshape(*x.shape[:-1], HEAD // 2, 2)
        re, im = pairs[..., 0], pairs[..., 1]
        return jnp.stack([re * jnp.cos(angle) - im * jnp.sin(angle), re * jnp.sin(angle) + im * jnp.cos(angle)], -1).reshape(x.shape)
    return turn


def cached(base, rows):
    inverse = 1.0 / base ** (numpy.arange(0, HEAD, 2, dtype=numpy.float32) / HEAD)
    angle = numpy.arange(rows, dtype=numpy.float32)[:, None] * inverse[None, :]
    sin, cos = jnp.asarray(numpy.sin(angle)), jnp.asarray(numpy.cos(angle))

    def turn(x):
        at = jnp.arange(x.shape[2])
        s, c = jnp.take(sin, at, axis=0), jnp.take(cos, at, axis=0)
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * c - b * s, b * c + a * s], -1)
    return turn


def slopes(length):
    slope = jnp.asarray([2.0 ** (-8.0 * (h + 1) / H) for h in range(H)], jnp.float32)
    at = jnp.arange(length)
    return -slope[:, None, None] * jnp.abs(at[:, None] - at[None, :]).astype(jnp.float32)


def buckets(bidirectional=True, number=32, far=128):
    biases = weights(number, H)

    def bias(length):
        at = jnp.arange(length)
        distance = at[None, :] - at[:, None]
        n, first = number, jnp.zeros_like(distance)
        if bidirectional:
            n //= 2
            first = (distance > 0).astype(jnp.int32) * n
            distance = jnp.abs(distance)
        else:
            distance = -jnp.minimum(distance, 0)
        exact = n // 2
        large = exact + (jnp.log(jnp.maximum(distance, 1).astype(jnp.float32) / exact) / numpy.log(far / exact) * (n - exact)).astype(jnp.int32)
        index = first + jnp.where(distance < exact, distance, jnp.minimum(large, n - 1))
        return jnp.take(biases, index, axis=0).transpose(2, 0, 1)
    return bias


def clipped(reach):
    biases = weights(2 * reach + 1, H)

    def bias(length):
        at = jnp.arange(length)
        return jnp.take(biases, jnp.clip(at[None, :] - at[:, None], -reach, reach) + reach, axis=0).transpose(2, 0, 1)
    return bias


def window_bias(side):
    biases = weights((2 * side - 1) ** 2, H)
    rows, columns = numpy.divmod(numpy.arange(side * side), side)
    index = (rows[:, None] - rows[None, :] + side - 1) * (2 * side - 1) + columns[:, None] - columns[None, :] + side - 1
    return lambda length: jnp.take(biases, jnp.asarray(index), axis=0).transpose(2, 0, 1)


def scanned(turn=None, add=None):
    """Layers one after the other by lax.scan over stacked weights, as MaxText and Flax's nn.scan do."""
    embedding, head = weights(VOCAB, D), weights(D, VOCAB)
    stacked = {n: weights(3, D, D) for n in "qkvo"}

    def model(ids):
        x = jnp.take(embedding, ids, axis=0)
        if add is not None:
            x = x + add(ids.shape[1])

        def block(x, w):
            batch, length, _ = x.shape
            q, k, v = ((normalised(x) @ w[n]).reshape(batch, length, H, HEAD).transpose(0, 2, 1, 3) for n in "qkv")
            if turn is not None:
                q, k = turn(q), turn(k)
            p = jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k), -1)
            return x + jnp.einsum("bhqk,bhkd->bhqd", p, v).transpose(0, 2, 1, 3).reshape(batch, length, D) @ w["o"], None
        x, _ = jax.lax.scan(block, x, stacked)
        return normalised(x) @ head
    return model


def recurrence(ids):
    embedding, w, u = EMBEDDING, W, U
    x = jnp.take(embedding, ids, axis=0)

    def step(h, now):
        h = jnp.tanh(now @ w + h @ u)
        return h, h
    _, states = jax.lax.scan(step, jnp.zeros((x.shape[0], D)), x.transpose(1, 0, 2))
    return states.transpose(1, 0, 2)


EMBEDDING, W, U = weights(VOCAB, D), weights(D, D), weights(D, D)


def picture(side, add):
    cut, blocks, head = weights(3 * 64, D), [Layer()], weights(D, 10)

    def model(image):
        batch = image.shape[0]
        x = image.reshape(batch, 3, side, 8, side, 8).transpose(0, 2, 4, 1, 3, 5).reshape(batch, side * side, 192) @ cut
        x = x + add
        for block in blocks:
            x = block(x, causal=False)
        return x.mean(1) @ head
    return model


def sines2d(side):
    quarter = D // 4
    omega = 1.0 / 10000 ** (numpy.arange(quarter) / quarter)
    y, x = numpy.divmod(numpy.arange(side * side), side)
    return jnp.asarray(numpy.concatenate([f(p[:, None] * omega) for p in (x, y) for f in (numpy.sin, numpy.cos)], 1).astype(numpy.float32))


def nnx_gpt():
    from jax2onnx.plugins.examples.nnx import gpt
    return gpt.GPT(vocab_size=VOCAB, n_layer=2, n_head=4, n_embd=D, block_size=24, dropout=0.0, rngs=nnx.Rngs(0))


def nnx_vit(kind, module="vit"):
    from importlib import import_module
    vit = import_module("jax2onnx.plugins.examples.nnx." + module)
    name = "VisionTransformer" if module == "vit" else "VisionTransformerFlatten"
    name = name if hasattr(vit, name) else "VisionTransformer"
    return getattr(vit, name)(height=28, width=28, num_hiddens=D, num_layers=2, num_heads=4, mlp_dim=48, num_classes=10, embedding_type=kind, patch_size=4, embed_dims=[8, 16, D], rngs=nnx.Rngs(0))


def nnx_dino():
    from jax2onnx.plugins.examples.nnx import dinov3
    return dinov3.VisionTransformer(img_size=56, patch_size=14, embed_dim=48, depth=2, num_heads=3, num_storage_tokens=0, rngs=nnx.Rngs(0))


def eqx_dino():
    from jax2onnx.plugins.examples.eqx import dino
    model = dino.VisionTransformer(img_size=56, patch_size=14, embed_dim=48, depth=2, num_heads=3, num_storage_tokens=4, key=jax.random.PRNGKey(0))
    return model


def eqx_gpt_oss():
    from jax2onnx.plugins.examples.eqx import gpt_oss
    config = gpt_oss.GPTOSSConfig(num_hidden_layers=2, num_experts=2, experts_per_token=1, vocab_size=VOCAB, hidden_size=64, intermediate_size=64, head_dim=64, num_attention_heads=4, num_key_value_heads=2, sliding_window=8)
    return gpt_oss.Transformer(config, key=jax.random.PRNGKey(0), param_dtype=jnp.float32)


def nnx_attention():
    return nnx.MultiHeadAttention(num_heads=4, in_features=D, qkv_features=D, decode=False, rngs=nnx.Rngs(0))


def nnx_decoder():
    from jax2onnx.plugins.examples.nnx import transformer_decoder_without_sequential as d
    return d.TransformerDecoder(num_layers=1, embed_dim=16, num_heads=4, ff_dim=32, attention_dropout=0.0, encoder_attention_dropout=0.0, rngs=nnx.Rngs(0))


def nnx_cnn():
    from jax2onnx.plugins.examples.nnx import cnn
    return cnn.CNN(rngs=nnx.Rngs(0))


ALIBI = encoding("alibi", "runtime", None, {"form": ["runtime", "baked", "table"], "capacity": [None, 24]}, heads=H)
T5 = dict(buckets=32, max_distance=128, heads=H)
BAKED = {"form": ["runtime", "baked", "table", "cache"], "capacity": [None, 24]}

# name, the function or module, shapes of its inputs, their types, what is true, the capacity ("open": not judged)
JAX = [
    ("jx-learned", lambda: text(add=learned(40)), [("B", 24)], jnp.int32, [table(40, D, accept={"form": ["table", "baked"], "rows": [24, 40], "capacity": [24, 40]})], "open"),
    ("jx-learned-fixed", lambda: text(add=learned(24)), [("B", 24)], jnp.int32, [table(24, D, accept={"form": ["table", "baked"]})], 24),
    ("jx-sines", lambda: text(add=sines), [("B", 24)], jnp.int32, [encoding("sinusoidal", "runtime", None, BAKED, dim=D, base=10000, layout="sin-cos")], "open"),
    ("jx-rope", lambda: text(turn=turned(10000.0)), [("B", 24)], jnp.int32, [rope(HEAD, HEAD, "half")], "open"),
    ("jx-rope-pairs", lambda: text(turn=turned(500000.0, True)), [("B", 24)], jnp.int32, [rope(HEAD, HEAD, "interleaved", 500000)], "open"),
    ("jx-rope-complex", lambda: text(turn=complexes(10000.0)), [("B", 24)], jnp.int32, [rope(HEAD, HEAD, "interleaved")], "open"),
    ("jx-rope-cache", lambda: text(turn=cached(10000.0, 40)), [("B", 24)], jnp.int32, [rope(HEAD, HEAD, "half", form="cache")], "open"),
    ("jx-alibi", lambda: text(bias=slopes), [("B", 24)], jnp.int32, [ALIBI], "open"),
    ("jx-t5", lambda: text(bias=buckets(), causal=False), [("B", 24)], jnp.int32, [encoding("t5-bias", "runtime", None, BAKED, bidirectional=True, **T5)], "open"),
    ("jx-t5-causal", lambda: text(bias=buckets(False)), [("B", 24)], jnp.int32, [encoding("t5-bias", "runtime", None, BAKED, bidirectional=False, **T5)], "open"),
    ("jx-clipped", lambda: text(bias=clipped(6), causal=False), [("B", 24)], jnp.int32, [encoding("relative-table", "table", None, BAKED, rows=13, max_distance=6, heads=H)], "open"),
    ("jx-window", lambda: text(bias=window_bias(4), causal=False), [("B", 16)], jnp.int32, [encoding("relative-table", "table", None, {"form": ["table", "baked"], "capacity": [None, 16], "window": [[4, 4], None]}, rows=49, heads=H)], "open"),
    ("jx-causal", lambda: text(), [("B", 24)], jnp.int32, [none(scheme=["none"])], "open"),
    ("jx-bag", lambda: text(causal=False), [("B", "T")], jnp.int32, [none(scheme=["none"])], None),
    ("jx-scan-rope", lambda: scanned(turned(10000.0)), [("B", 24)], jnp.int32, [rope(HEAD, HEAD, "half")], "open"),
    ("jx-scan-learned", lambda: scanned(add=learned(24)), [("B", 24)], jnp.int32, [table(24, D, accept={"form": ["table", "baked"]})], "open"),
    ("jx-scan-none", lambda: scanned(), [("B", 24)], jnp.int32, [none(scheme=["none"])], "open"),
    ("jx-rnn", lambda: recurrence, [("B", 24)], jnp.int32, [none()], "open"),
    ("jx-patches", lambda: picture(4, weights(16, D)), [("B", 3, 32, 32)], jnp.float32, [patches(4, D, 0)], 16),
    ("jx-patches-sines", lambda: picture(4, sines2d(4)), [("B", 3, 32, 32)], jnp.float32, [encoding("sinusoidal", "baked", 16, {"form": ["baked", "table"], "grid": [[4, 4]]}, dim=D, base=10000)], "open"),
    ("nnx-gpt", nnx_gpt, [("B", 24)], jnp.int32, [table(24, D, accept={"form": ["table", "baked"]})], 24),
    # flax's example begins with the sinusoids that its class token counts in
    ("nnx-vit-conv", lambda: nnx_vit("conv"), [("B", 28, 28, 1)], jnp.float32, [encoding("sinusoidal", "baked", None, {"form": ["table", "baked"], "rows": [49, 50], "capacity": [49, 50, None]}, dim=D, base=10000, layout="interleaved")], "open"),
    ("nnx-vit-patch", lambda: nnx_vit("patch"), [("B", 28, 28, 1)], jnp.float32, [encoding("sinusoidal", "baked", None, {"form": ["table", "baked"], "rows": [49, 50], "capacity": [49, 50, None]}, dim=D, base=10000, layout="interleaved")], "open"),
    ("nnx-vit-flat", lambda: nnx_vit("patch", "vit_flat"), [("B", 28, 28, 1)], jnp.float32, [encoding("sinusoidal", "baked", None, {"form": ["table", "baked"], "rows": [49, 50], "capacity": [49, 50, None]}, dim=D, base=10000, layout="interleaved")], "open"),
    ("nnx-dinov3", nnx_dino, [("B", 3, 56, 56)], jnp.float32, [encoding("rope", "baked", None, {"form": ["runtime", "baked", "cache"], "capacity": [None, 16]}, head_dim=16)], "open"),
    ("eqx-dinov3", eqx_dino, [("B", 3, 56, 56)], jnp.float32, [encoding("rope", "baked", None, {"form": ["runtime", "baked", "cache"], "capacity": [None, 16, 21]}, head_dim=16)], "open"),  # 5 tokens ahead of 16 patches
    ("eqx-gpt-oss", eqx_gpt_oss, [(24,)], jnp.int32, [encoding("rope", "baked", None, {"form": ["runtime", "baked", "cache"], "capacity": [None, 24, 4096]}, head_dim=64, rotary_dim=64, layout="half", base=150000, scaling=dict(type="yarn", factor=32, original_length=4096))], "open"),
    ("nnx-attention", nnx_attention, [("B", 24, D)], jnp.float32, [none(scheme=["none"])], "open"),
    ("nnx-decoder", nnx_decoder, [("B", 8, 16), ("B", 4, 16)], jnp.float32, [none(scheme=["none"])], "open"),
    ("nnx-cnn", nnx_cnn, [("B", 28, 28, 1)], jnp.float32, [none()], "open"),
]


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    entries = []
    for name, build, shapes, kind, truth, capacity in JAX:
        if words and not any(w in name for w in words):
            continue
        path = os.path.join(folder, "onnx", name + ".onnx")
        try:
            if not os.path.exists(path):
                inputs = [jax.ShapeDtypeStruct(s, kind) if all(isinstance(d, int) for d in s) else s for s in shapes]
                if kind == jnp.int32:
                    inputs = symbolic(shapes, kind)
                to_onnx(build(), inputs, return_mode="file", output_path=path)
            onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        except Exception as problem:
            print(f"{name}: not exported: {type(problem).__name__} {' '.join(str(problem).split())[:200]}", file=sys.stderr)
            continue
        length = {} if capacity == "open" else {"capacity": capacity}
        entries.append(dict(file=f"onnx/{name}.onnx", truth=dict(length=length, encodings=truth), accept={}))
    with open(os.path.join(folder, "onnx.json"), "w") as f:
        json.dump(entries, f)
    print(f"{len(entries)} graphs")


def symbolic(shapes, kind):
    """Inputs of a type of their own, with named dimensions."""
    scope = jax.export.SymbolicScope()
    return [jax.ShapeDtypeStruct(jax.export.symbolic_shape(",".join(map(str, s)), scope=scope), kind) for s in shapes]


if __name__ == "__main__":
    main()
