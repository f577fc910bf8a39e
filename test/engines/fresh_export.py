#!/usr/bin/env python3
"""New rows against a fresh export of the longer model by the same exporter.

usage: fresh_export.py MODELPATCH       (needs torch, transformers and onnx)

Models whose tables follow a formula are built twice from one seed, for 40 and for 160 positions, and exported. The short
file, extended by modelpatch, must hold the long file's constants: every one equal, formula tables within 2 ulp of float32.
"""
import math
import os
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnx
from onnx import numpy_helper
import torch
from torch import nn
import transformers as T

SHORT, LONG, ULP = 40, 160, 2
V, D, H = 64, 32, 4


class Tutorial(nn.Module):
    """The PyTorch tutorial's sinusoid."""

    def __init__(self, n):
        super().__init__()
        self.embed, self.out = nn.Embedding(V, D), nn.Linear(D, V)
        p, f = torch.arange(n).float()[:, None], torch.exp(torch.arange(0, D, 2).float() * (-math.log(10000.0) / D))
        pe = torch.zeros(1, n, D)
        pe[0, :, 0::2], pe[0, :, 1::2] = torch.sin(p * f), torch.cos(p * f)
        self.register_buffer("pe", pe)

    def forward(self, ids):
        x = self.embed(ids)
        return self.out(x + self.pe[:, : x.shape[1]])


class Cached(nn.Module):
    """A rotary attention with caches of cosines and sines, as older LLaMA code had them."""

    def __init__(self, n, scaling=1.0):
        super().__init__()
        self.embed, self.qkv = nn.Embedding(V, D), nn.Linear(D, 3 * D)
        d = D // H
        f = 1.0 / (10000.0 ** (torch.arange(0, d, 2).float() / d)) / scaling
        a = torch.outer(torch.arange(n).float(), f)
        a = torch.cat([a, a], -1)
        self.register_buffer("cos_cached", a.cos())
        self.register_buffer("sin_cached", a.sin())

    def forward(self, ids):
        x = self.embed(ids)
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, H, D // H).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        cos, sin = self.cos_cached[:n], self.sin_cached[:n]
        turn = lambda t: t * cos + torch.cat([-t[..., D // H // 2 :], t[..., : D // H // 2]], -1) * sin
        scores = turn(q) @ turn(k).transpose(-1, -2) / math.sqrt(D // H)
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, D)


def hugging(name, **config):
    def make(n):
        cfg = getattr(T, name + "Config")(**{k: n if v == "N" else v for k, v in config.items()})
        cfg._attn_implementation = "eager"
        model = getattr(T, name + "Model")(cfg)
        return model.get_encoder() if cfg.is_encoder_decoder else model
    return make


MODELS = {
    "tutorial": Tutorial,
    "rotary cache": Cached,
    "rotary cache, linear 4": lambda n: Cached(n, 4.0),
    "Marian encoder": hugging("Marian", vocab_size=V, d_model=D, encoder_layers=1, decoder_layers=1, encoder_attention_heads=H, decoder_attention_heads=H, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings="N", pad_token_id=0, decoder_start_token_id=0),
    "Pegasus encoder": hugging("Pegasus", vocab_size=V, d_model=D, encoder_layers=1, decoder_layers=1, encoder_attention_heads=H, decoder_attention_heads=H, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings="N"),
    "M2M100 encoder": hugging("M2M100", vocab_size=V, d_model=D, encoder_layers=1, decoder_layers=1, encoder_attention_heads=H, decoder_attention_heads=H, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings="N"),
    "XGLM": hugging("XGLM", vocab_size=V, d_model=D, num_layers=1, attention_heads=H, ffn_dim=48, max_position_embeddings="N"),
    "CTRL": hugging("CTRL", vocab_size=V, n_embd=D, n_layer=1, n_head=H, dff=48, n_positions="N"),
    "GPT-J": hugging("GPTJ", vocab_size=V, n_embd=D, n_layer=1, n_head=H, n_positions="N", rotary_dim=4),
    "CodeGen": hugging("CodeGen", vocab_size=V, n_embd=2 * D, n_layer=1, n_head=H, n_positions="N", rotary_dim=8),
    "RoFormer": hugging("RoFormer", vocab_size=V, hidden_size=D, num_hidden_layers=1, num_attention_heads=H, intermediate_size=48, max_position_embeddings="N"),
}


class Bare(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        import inspect
        takes = inspect.signature(self.model.forward).parameters
        more = {"use_cache": False} if "use_cache" in takes else {}
        if "attention_mask" in takes:
            more["attention_mask"] = mask
        out = self.model(ids, **more)
        return out if isinstance(out, torch.Tensor) else out[0]


def export(make, n, path, weights=None):
    """Exports the model for n positions; weights of another one take the place of its own where the shape is the same."""
    torch.manual_seed(7)
    model = make(n).eval()
    own = model.state_dict()
    if weights:
        model.load_state_dict({k: weights[k] if k in weights and weights[k].shape == v.shape else v for k, v in own.items()})
    ids = torch.randint(3, V, (2, 11))
    axes = {0: "batch", 1: "seq"}
    torch.onnx.export(Bare(model), (ids, torch.ones_like(ids)), path, input_names=["input_ids", "attention_mask"], output_names=["out"],
                      dynamic_axes={"input_ids": axes, "attention_mask": axes}, opset_version=17, dynamo=False)
    return own


def constants(path):
    graph = onnx.load(path).graph
    out = [numpy_helper.to_array(t) for t in sorted(graph.initializer, key=lambda t: t.name)]
    return out + [numpy_helper.to_array(a.t) for n in graph.node if n.op_type == "Constant" for a in n.attribute if a.name == "value"]


def ulps(a, b):
    def ordered(x):
        i = x.view(np.int32).astype(np.int64)
        return np.where(i < 0, -(i & 0x7FFFFFFF), i)
    return np.abs(ordered(a) - ordered(b))


def main():
    failed = 0
    for name, make in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            short, long, grown = (os.path.join(folder, f) for f in ("short.onnx", "long.onnx", "grown.onnx"))
            try:
                export(make, LONG, long, export(make, SHORT, short))
            except Exception as why:
                print(f"{name}: not exported: {str(why).strip().splitlines()[0][:100]}")
                continue
            run = subprocess.run([sys.argv[1], "extend", "--len", str(LONG), short, "-o", grown], capture_output=True, text=True)
            if run.returncode:
                failed += 1
                print(f"{name}: FAIL: {run.stderr.strip()}")
                continue
            a, b = constants(grown), constants(long)
            worst, exact, entries, odd = 0, 0, 0, len(a) != len(b)
            for x, y in zip(a, b):
                if x.shape != y.shape or x.dtype != y.dtype:
                    odd = True
                elif x.dtype == np.float32 and x.size:
                    u = ulps(np.ascontiguousarray(x), np.ascontiguousarray(y))
                    u[(np.abs(x.astype(np.float64) - y) < 1e-7) & (np.abs(y) < 0.1)] = 0  # near a zero crossing ulps mean nothing
                    worst, exact, entries = max(worst, int(u.max())), exact + int((x == y).sum()), entries + x.size
                elif not np.array_equal(x, y):
                    odd = True
            ok = worst <= ULP and not odd
            failed += not ok
            print(f"{name}: {'ok' if ok else 'FAIL'}: at most {worst} ulp, {entries - exact} of {entries} entries not bitwise" + ("; constants of other shapes" if odd else ""))
    print(f"{len(MODELS) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
