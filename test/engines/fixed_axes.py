"""Free axes that became numbers: does ONNX Runtime give what it gave, and does shape inference find no axis that is free?

Tiny models are exported with free batch and length by both exporters of PyTorch; `extend --fix` gives both numbers, alone and with --len.

    python test/engines/fixed_axes.py MODELPATCH    (torch, transformers, onnx, onnxruntime)
"""
import os
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnx
import onnxruntime
import torch
from fixed_reference import DECODER, ENCODER, SMALL, build

MODELS = {
    "bert": ("Bert", dict(SMALL, max_position_embeddings=32)),
    "gpt2": ("GPT2", dict(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=32)),
    "llama": ("Llama", DECODER),
    "t5 encoder": ("T5", dict(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)),
    "m2m100 encoder": ("M2M100", dict(ENCODER, max_position_embeddings=32)),
}
ENDLESS = ["llama", "t5 encoder"]  # nothing in these files bounds the length
BATCH, LENGTH = 2, 12


def export(model, kind, path):
    inputs = (torch.randint(3, 64, (BATCH, 7)), torch.ones(BATCH, 7, dtype=torch.long))
    names = dict(input_names=["input_ids", "attention_mask"], output_names=["out"])
    if kind == "dynamo":
        batch, length = torch.export.Dim("batch"), torch.export.Dim("length", max=32)
        shapes = dict(input_ids={0: batch, 1: length}, attention_mask={0: batch, 1: length})
        torch.onnx.export(model, inputs, path, opset_version=18, dynamo=True, external_data=False, verbose=False, dynamic_shapes=shapes, **names)
    else:
        axes = {0: "batch", 1: "length"}
        torch.onnx.export(model, inputs, path, opset_version=17, dynamo=False, dynamic_axes={"input_ids": axes, "attention_mask": axes, "out": axes}, **names)


def free(path):
    """Values with an axis that shape inference leaves free, in a model whose inputs are of one size."""
    graph = onnx.shape_inference.infer_shapes(onnx.load(path), check_type=True, strict_mode=True).graph
    return [v.name for v in [*graph.input, *graph.output, *graph.value_info] if any(not d.HasField("dim_value") for d in v.type.tensor_type.shape.dim)]


def main(modelpatch):
    failed = compared = 0
    with tempfile.TemporaryDirectory() as folder:
        for title, (name, config) in MODELS.items():
            model = build(name, config)
            for kind in ("torchscript", "dynamo"):
                path = os.path.join(folder, "model.onnx")
                try:
                    export(model, kind, path)
                except Exception as e:
                    print(f"{title}-{kind}: skipped: the exporter cannot: {str(e).splitlines()[0][:90]}")
                    continue
                for flags, length in [([], LENGTH)] + [(["--len", "48"], 48)] * (title not in ENDLESS):
                    fixed, longer = os.path.join(folder, "fixed.onnx"), os.path.join(folder, "longer.onnx")
                    for out, more in ((longer, []), (fixed, ["--fix", f"batch={BATCH}", "--fix", f"length={length}"])):
                        if flags or more:
                            subprocess.run([modelpatch, "extend", *flags, *more, path, "-o", out, "--force"], check=True, stdout=subprocess.DEVNULL)
                    sessions = [onnxruntime.InferenceSession(p, providers=["CPUExecutionProvider"]) for p in (longer if flags else path, fixed)]
                    ids = torch.randint(3, 64, (BATCH, length), generator=torch.Generator().manual_seed(3)).numpy()
                    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
                    was, now = (s.run(None, {i.name: feeds[i.name] for i in s.get_inputs()})[0] for s in sessions)
                    off = float(np.abs(was - now).max() / np.abs(was).max())
                    sizes = {i.name: i.shape for i in sessions[1].get_inputs()}
                    left = free(fixed)
                    ok = off <= 1e-6 and not left and all(s == [BATCH, length] for s in sizes.values()) and list(now.shape) == sessions[1].get_outputs()[0].shape
                    compared, failed = compared + 1, failed + (not ok)
                    print(f"{title}-{kind}: {'ok' if ok else 'FAILED'}: at {BATCH}×{length} differs by {off:.1e}, {len(left)} values with a free axis {left[:3] or ''}")
    print(f"{compared} compared, {failed} failed")
    return 1 if failed or compared < 16 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
