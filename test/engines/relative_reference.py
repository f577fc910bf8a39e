#!/usr/bin/env python3
"""Holds `modelpatch relative --max-distance` on tables of distances against PyTorch.

usage: relative_reference.py MODELPATCH      (needs torch, onnxscript and onnxruntime)

Models with a row for each clipped distance (Shaw's vectors, a bias a head) and with one for each distance (BERT's
relative_key) are exported by TorchScript and dynamo. With a farther reach ONNX Runtime must give the very numbers that it
gave; with a nearer one those of the same module in PyTorch, whose table was cut and whose distances are clipped there.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recipes"))
import export_patterns as patterns

TOLERANCE = 2e-6  # float32 sums in another order
FAR, NEAR = 60, 4


class Clipped(patterns.RelativeKey):
    """relative_key with distances clipped at NEAR."""

    def forward(self, q, n):
        p = torch.arange(n)
        return torch.einsum("bhld,lrd->bhlr", q, self.table((p[:, None] - p[None, :]).clamp(-NEAR, NEAR) + NEAR))


def run(path, ids):
    return onnxruntime.InferenceSession(path).run(None, {"input_ids": ids.numpy()})[0]


def cut(model):
    for module in model.modules():
        if hasattr(module, "table"):
            centre = (module.table.weight.shape[0] - 1) // 2
            module.table = torch.nn.Embedding.from_pretrained(module.table.weight.data[centre - NEAR : centre + NEAR + 1].clone())
            module.k = NEAR
            if isinstance(module, patterns.RelativeKey):
                module.__class__ = Clipped
    return model


def main():
    onnxruntime.set_default_logger_severity(3)
    failed = count = 0
    for name in ("shaw", "relative-key", "clipped-bias"):
        for exporter in ("ts", "dynamo"):
            torch.manual_seed(1)
            ids, more = torch.randint(0, patterns.V, (2, 11)), torch.randint(0, patterns.V, (2, 33))
            model = patterns.PATTERNS[name][0]().eval()
            with tempfile.TemporaryDirectory() as folder:
                old, far, near = (os.path.join(folder, f) for f in ("old.onnx", "far.onnx", "near.onnx"))
                if exporter == "ts":
                    torch.onnx.export(model, (ids,), old, input_names=["input_ids"], dynamic_axes={"input_ids": {0: "batch", 1: "seq"}}, opset_version=17, dynamo=False)
                else:
                    axes = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("seq", min=2, max=40)}
                    torch.onnx.export(model, (ids,), old, input_names=["input_ids"], dynamic_shapes=(axes,), dynamo=True, opset_version=18, verbose=False, external_data=False)
                for most, to in ((FAR, far), (NEAR, near)):
                    subprocess.run([sys.argv[1], "relative", "--max-distance", str(most), old, "-o", to], check=True, stdout=subprocess.DEVNULL)
                same = np.array_equal(run(old, more), run(far, more))
                if name == "relative-key":  # the table is what ends the model
                    longer = os.path.join(folder, "longer.onnx")
                    subprocess.run([sys.argv[1], "extend", "--len", str(FAR + 1), old, "-o", longer], check=True, stdout=subprocess.DEVNULL)
                    beyond = torch.randint(0, patterns.V, (2, FAR + 1))
                    same = same and np.array_equal(run(old, more), run(longer, more)) and np.array_equal(run(far, beyond), run(longer, beyond))
                with torch.no_grad():
                    want = cut(model)(more)
                want = (want[0] if isinstance(want, tuple) else want).numpy()
                apart = float(np.abs(run(near, more) - want).max() / np.abs(want).max())
            bad = not same or not apart <= TOLERANCE
            failed += bad
            count += 1
            print(f"{name}-{exporter}: {'FAIL' if bad else 'ok'}: to {FAR} {'equal' if same else 'other'}, to {NEAR} apart by {apart:.1e} of the scale", flush=True)
    print(f"{count - failed} of {count}")
    return 1 if failed else 0


sys.exit(main())
