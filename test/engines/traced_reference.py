#!/usr/bin/env python3
"""Transformers of torch.nn, exported with free axes by the exporter that keeps the length it traced with, made longer: against PyTorch.

usage: traced_reference.py MODELPATCH      (needs torch and onnxruntime)

The TorchScript exporter splits heads by the length of its example, so that the graph takes that length alone, though its axis is
declared free. `extend --len` has those shapes keep what they are given (docs/decisions/0006): encoders and decoders, with a causal mask and
without, and encoder and decoder together, must give what PyTorch gives at a shorter length, at the traced one and at the new one.
"""
import math
import os
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnxruntime
import torch

onnxruntime.set_default_logger_severity(4)
TOLERANCE = 1e-5
TRACED, MEMORY, ROWS, WIDTH = 12, 7, 24, 32


class Positions(torch.nn.Module):
    """Sines and cosines as a table (PyTorch's tutorial of transformers)."""

    def __init__(self, rows):
        super().__init__()
        angles = torch.arange(rows)[:, None] * torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(10000.0) / WIDTH))
        table = torch.stack([angles.sin(), angles.cos()], -1).reshape(rows, 1, WIDTH)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(0)]


class Model(torch.nn.Module):
    def __init__(self, kind, causal, rows):
        super().__init__()
        torch.manual_seed(5)
        self.kind, self.causal = kind, causal
        self.words, self.positions = torch.nn.Embedding(64, WIDTH), Positions(rows)
        layer = dict(d_model=WIDTH, nhead=2, dim_feedforward=48, dropout=0.0)
        if kind == "encoder":
            self.layers = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(**layer), 2)
        elif kind == "decoder":
            self.layers = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(**layer), 2)
        else:
            self.layers = torch.nn.Transformer(num_encoder_layers=1, num_decoder_layers=1, **layer)

    def forward(self, ids, other=None):
        x = self.positions(self.words(ids).transpose(0, 1))
        mask = torch.triu(torch.full((x.size(0), x.size(0)), float("-inf")), 1) if self.causal else None
        if self.kind == "encoder":
            return self.layers(x, mask=mask).transpose(0, 1)
        if self.kind == "decoder":
            return self.layers(x, other.transpose(0, 1), tgt_mask=mask).transpose(0, 1)
        return self.layers(x, self.positions(self.words(other).transpose(0, 1)), src_mask=mask).transpose(0, 1)


def other_of(kind):
    return {"encoder": (), "decoder": (torch.randn(1, MEMORY, WIDTH),), "both": (torch.randint(0, 64, (1, MEMORY)),)}[kind]


def one(binary, kind, causal, length, folder):
    """The largest difference to PyTorch, or what went wrong."""
    old, new = (os.path.join(folder, name) for name in ("old.onnx", "new.onnx"))
    model, other = Model(kind, causal, ROWS).eval(), other_of(kind)
    free = {"ids": {0: "batch", 1: "length"}, "other": {1: "other_length"}}
    names = ["ids", "other"][: 1 + len(other)]
    torch.onnx.export(model, (torch.randint(0, 64, (1, TRACED)), *other), old, dynamo=False, opset_version=17, input_names=names, dynamic_axes={name: free[name] for name in names})
    p = subprocess.run([binary, "extend", "--len", str(length), old, "-o", new], capture_output=True, text=True)
    if p.returncode:
        return p.stderr.replace(folder + os.sep, "").strip().replace("\n", " ")
    longer = Model(kind, causal, max(length, ROWS)).eval()
    session, worst = onnxruntime.InferenceSession(new), 0.0
    for n in (5, TRACED, length):
        ids = torch.randint(0, 64, (1, n))
        with torch.no_grad():
            want = longer(ids, *other).numpy()
        got = session.run(None, dict(zip(names, [ids.numpy(), *(x.numpy() for x in other)])))[0]
        worst = max(worst, float(np.abs(got - want).max()) if got.shape == want.shape else math.inf)
    return worst


def main():
    failed = 0
    for kind in ("encoder", "decoder", "both"):
        for causal in (False, True):
            for length in (20, 60):
                with tempfile.TemporaryDirectory() as folder:
                    got = one(sys.argv[1], kind, causal, length, folder)
                ok = isinstance(got, float) and got <= TOLERANCE
                failed += not ok
                print(f"{kind}{', causal' if causal else ''}, traced with {TRACED}, of {length}: {f'ok: at most {got:.1e}' if ok else got}")
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
