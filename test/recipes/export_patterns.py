#!/usr/bin/env python3
"""Exports hand-written modules with rarer ways of encoding position, for which no small transformers model exists.

usage: export_patterns.py MODELPATCH FOLDER [WORD …]     (needs torch and onnxscript)

Prints what `modelpatch inspect` says of each file beside what the module does.
"""
import json
import math
import os
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")
import torch
from torch import nn

V, D, H = 64, 32, 4
DH = D // H


class Layer(nn.Module):
    """One attention whose scores get a term from `bias(q, n)`, and a residual."""

    def __init__(self, bias=None):
        super().__init__()
        self.qkv, self.out, self.bias = nn.Linear(D, 3 * D), nn.Linear(D, D), bias

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, H, DH).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(DH)
        if self.bias is not None:
            scores = scores + self.bias(q, n)
        return x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, D))


class Text(nn.Module):
    def __init__(self, add=None, bias=None):
        super().__init__()
        self.embed, self.add = nn.Embedding(V, D), add
        self.layers = nn.ModuleList([Layer(bias), Layer(bias)])

    def forward(self, input_ids):
        x = self.embed(input_ids)
        if self.add is not None:
            x = self.add(x)
        for layer in self.layers:
            x = layer(x)
        return x


class Wrap(nn.Module):
    def __init__(self, clamp=False):
        super().__init__()
        self.table, self.clamp = nn.Embedding(40, D), clamp

    def forward(self, x):
        p = torch.arange(x.shape[1])
        return x + self.table(p.clamp(max=39) if self.clamp else p % 40)


class Fourier(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.randn(D // 2))

    def forward(self, x):
        a = torch.arange(x.shape[1]).float()[:, None] * self.w
        return x + torch.cat([a.sin(), a.cos()], -1)


class Sinusoid(nn.Module):
    """Computed from a base in the graph, interleaved."""

    def forward(self, x):
        f = torch.exp(torch.arange(0, D, 2).float() * (-math.log(10000.0) / D))
        a = torch.arange(x.shape[1]).float()[:, None] * f
        return x + torch.stack([a.sin(), a.cos()], -1).flatten(-2)


class Scaled(nn.Module):
    """The tutorial's table, times a learned scalar, plus scaled embeddings."""

    def __init__(self):
        super().__init__()
        p, f = torch.arange(50).float()[:, None], torch.exp(torch.arange(0, D, 2).float() * (-math.log(10000.0) / D))
        pe = torch.zeros(50, D)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(p * f), torch.cos(p * f)
        self.register_buffer("pe", pe)
        self.alpha = nn.Parameter(torch.tensor(0.7))

    def forward(self, x):
        return x * math.sqrt(D) + self.alpha * self.pe[: x.shape[1]]


class Shaw(nn.Module):
    def __init__(self, k=6):
        super().__init__()
        self.k, self.table = k, nn.Embedding(2 * k + 1, DH)

    def forward(self, q, n):
        p = torch.arange(n)
        r = (p[None, :] - p[:, None]).clamp(-self.k, self.k) + self.k
        return torch.einsum("bhqd,qkd->bhqk", q, self.table(r))


class RelativeKey(nn.Module):
    """BERT's relative_key: an index error beyond the maximum."""

    def __init__(self, n=40):
        super().__init__()
        self.n, self.table = n, nn.Embedding(2 * n - 1, DH)

    def forward(self, q, n):
        p = torch.arange(n)
        return torch.einsum("bhld,lrd->bhlr", q, self.table(p[:, None] - p[None, :] + self.n - 1))


class ClippedBias(nn.Module):
    """A learned bias a head and clipped distance."""

    def __init__(self, k=8):
        super().__init__()
        self.k, self.table = k, nn.Embedding(2 * k + 1, H)

    def forward(self, q, n):
        p = torch.arange(n)
        return self.table((p[None, :] - p[:, None]).clamp(-self.k, self.k) + self.k).permute(2, 0, 1)[None]


class Kerple(nn.Module):
    """-r1 * log(1 + r2 * distance): a bias that is not linear."""

    def __init__(self):
        super().__init__()
        self.r = nn.Parameter(torch.rand(2, H, 1, 1) + 0.5)

    def forward(self, q, n):
        p = torch.arange(n).float()
        return -self.r[0] * torch.log1p(self.r[1] * (p[None, :] - p[:, None]).abs())


class Conditional(nn.Module):
    """CPVT: a depth-wise convolution of the sequence added to it."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(D, D, 3, padding=1, groups=D)

    def forward(self, x):
        return x + self.conv(x.transpose(1, 2)).transpose(1, 2)


class TwoTables(nn.Module):
    """Learned positions and a learned segment table that nothing counts."""

    def __init__(self):
        super().__init__()
        self.position, self.segment = nn.Embedding(48, D), nn.Embedding(2, D)

    def forward(self, x):
        n = x.shape[1]
        return x + self.position(torch.arange(n)) + self.segment(torch.zeros(n, dtype=torch.long))


PATTERNS = {
    "wrap": (lambda: Text(Wrap()), "learned table, 40, wrong beyond"),
    "clamp": (lambda: Text(Wrap(True)), "learned table, 40, clamps beyond"),
    "fourier": (lambda: Text(Fourier()), "unknown or sinusoidal at run time, no base"),
    "sinusoid": (lambda: Text(Sinusoid()), "sinusoidal run time, interleaved, 10000"),
    "scaled": (lambda: Text(Scaled()), "sinusoidal table, 50, interleaved, 10000"),
    "shaw": (lambda: Text(bias=Shaw()), "relative-table, max_distance 6, 13 rows"),
    "relative-key": (lambda: Text(bias=RelativeKey()), "relative-table, 79 rows, 40 positions, error beyond"),
    "clipped-bias": (lambda: Text(bias=ClippedBias()), "relative-table, max_distance 8, 17 rows, 4 heads"),
    "kerple": (lambda: Text(bias=Kerple()), "unknown at run time (a bias that follows no known rule)"),
    "conditional": (lambda: Text(Conditional()), "conv"),
    "two-tables": (lambda: Text(TwoTables()), "learned table, 48"),
}


def main():
    tool, folder, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    for name, (make, means) in PATTERNS.items():
        if words and name not in words:
            continue
        for kind in ("ts", "dynamo"):
            path = os.path.join(folder, f"{name}-{kind}.onnx")
            torch.manual_seed(1)
            ids = torch.randint(0, V, (2, 11))
            try:
                if kind == "ts":
                    torch.onnx.export(make().eval(), (ids,), path, input_names=["input_ids"], dynamic_axes={"input_ids": {0: "batch", 1: "seq"}}, opset_version=17, dynamo=False)
                else:
                    shape = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("seq", min=2, max=40)}
                    torch.onnx.export(make().eval(), (ids,), path, input_names=["input_ids"], dynamic_shapes=(shape,), dynamo=True, opset_version=18, verbose=False, external_data=False)
            except Exception as why:
                print(f"{name} {kind}: not exported: {str(why).strip().splitlines()[0][:100]}")
                continue
            run = subprocess.run([tool, "inspect", "--json", path], capture_output=True, text=True)
            if run.returncode:
                print(f"{name} {kind}: {run.stderr}")
                continue
            r = json.loads(run.stdout)
            said = "; ".join(f"{e['scheme']} {e['form']} {e['capacity']} {e['beyond']} {json.dumps({k: v for k, v in e['parameters'].items() if k != 'dtype'})}" for e in r["encodings"])
            print(f"{name} {kind}: is: {means}\n    says: {said}", flush=True)


if __name__ == "__main__":
    main()
