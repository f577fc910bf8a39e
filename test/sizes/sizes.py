#!/usr/bin/env python3
"""Gives models of pictures, recordings, texts and latents other sizes and holds them against the library's own model built for that size.

usage: sizes.py MODELPATCH [--only NAME …] [--after OPTIMISER] [--table docs/measured/sizes.md]      (needs torch, transformers, onnxscript and onnxruntime)

Each model is made small with random weights at one size, exported (TorchScript with a fixed size and with free axes, and
dynamo), changed by `extend --image`, `--grid` or `--len`, and run in ONNX Runtime. The reference is the same class of its
library built for the new size with the same weights; what is of another size there is resized as the library itself does. Told is the
largest difference over the largest output. A refusal is told with its first words. Models of timm, diffusers and zipformer are
skipped by name where these are not installed.
"""
import argparse
import importlib.util
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
import latents
import numpy as np
import onnx
import onnxruntime
import pictures
import pictures_of_timm
import recordings
import texts
import torch
import transformers
import videos
from model import Run, random_positions, words

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
onnxruntime.set_default_logger_severity(4)
TOLERANCE = 2e-5  # float32: sums in another order, behind four resizings in a row (Depth Anything)
MODELS = {**pictures.MODELS, **pictures_of_timm.MODELS, **videos.MODELS, **latents.MODELS, **recordings.MODELS, **texts.MODELS}
KINDS = ("TorchScript, fixed", "TorchScript, free", "dynamo, fixed")
OPTIMISED = {  # what is done to a file after its export: by ONNX Runtime (its basic level keeps to operators of ONNX), by onnxslim
    "ONNX Runtime's optimiser": lambda path: optimised(path),
    "onnxslim": lambda path: slimmed(path),
}
RUNS = onnxruntime.SessionOptions()  # how files are run
SINES = "sines of distances, or what is made of them, are multiplied by weights in the export: those of further ones cannot be made from them"
NETWORK = "a network makes these biases, which an optimiser folds: those of another window are not in the file (--window-method resamples them)"
NOTHING = "where nothing is filled up, and a picture is one window, it removes what fills up and cuts"
REFUSED = {  # of a row: how many cells at most, of those that cannot be changed, and why
    "Wav2Vec2-Conformer, relative": (3, SINES),
    "Parakeet": (3, SINES),
    "Zipformer": (4, SINES),
    "DeBERTa v2, buckets": (2, "the numbers of the buckets that are in the file tell of more than one largest distance"),
    "timm, Swin": (3, "whether windows in one row are shifted along the other axis, libraries do differently"),
    "timm, ViT with mixed RoPE": (3, "frequencies of both axes are trained: no formula of the places tells them"),
    "Stable Diffusion 3": (3, "with a fixed size a crop of its table is left: what the places of another are counted by is not in the file"),
    "Flux": (4, "with free axes the exporter counted the latents of the export into a Reshape; shorter, a Slice to that many"),
}
BEHIND = {  # the same of what an optimiser has folded or removed besides
    "": {"Wav2Vec2-Conformer, relative": (6, SINES), "Parakeet": (6, SINES), "DeBERTa v2, buckets": (4, REFUSED["DeBERTa v2, buckets"][1]), "Stable Diffusion 3": (6, REFUSED["Stable Diffusion 3"][1]),
         **{name: (12, NETWORK) for name in MODELS if "Swin v2, windows of another side" in name}},
    "onnxslim": {"Swin": (12, NOTHING), "Swin v2": (8, NOTHING), "Swin, windows of another side": (4, NOTHING), "timm, Swin, windows of another side": (4, NOTHING), "timm, Swin v2-CR, windows of another side": (1, NOTHING)},
}


def refusable(name, after):
    """How many cells of a row may be refused."""
    return {**REFUSED, **(BEHIND[""] if after else {}), **BEHIND.get(after, {})}.get(name, (0, ""))[0]



def export(model, row, kind, path):
    given = row.inputs(row.sizes[0])
    with torch.no_grad():
        if kind.startswith("dynamo"):
            torch.onnx.export(model, tuple(given.values()), dynamo=True, input_names=list(given), opset_version=18, verbose=False).save(path)
        else:
            torch.onnx.export(model, tuple(given.values()), path, dynamo=False, input_names=list(given), opset_version=17, dynamic_axes=row.free if kind.endswith("free") else None)


def optimised(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = path + ".optimised"
    onnxruntime.InferenceSession(path, options)
    os.replace(path + ".optimised", path)
    RUNS.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL


def slimmed(path):
    import onnxslim

    onnx.save(onnxslim.slim(onnx.load(path)), path)


def fitted(path, given):
    """Inputs with the numbers that a file states, cut off or with zeros behind them."""
    for graph_input in onnx.load(path, load_external_data=False).graph.input:
        x = given[graph_input.name]
        for axis, d in enumerate(graph_input.type.tensor_type.shape.dim):
            n = d.dim_value or x.shape[axis]
            x = np.pad(x, [(0, max(n - x.shape[axis], 0) if i == axis else 0) for i in range(x.ndim)])[(slice(None),) * axis + (slice(n),)]
        given[graph_input.name] = x
    return given


def run(path, row, given, copies=1):
    """What the last of so many copies gives, where the batch is free. What ONNX Runtime optimised runs as it is: its extended level would make names that its basic one made before."""
    session = onnxruntime.InferenceSession(path, RUNS)
    given = {name: np.repeat(x, copies if row.free.get(name, {}).get(0) == "batch" else 1, 0) for name, x in given.items() if name in {i.name for i in session.get_inputs()}}
    return session.run(None, given)[0][copies - 1 :]


def several(path, row, given):
    """How many copies a file with a free batch takes at once: the exporter may have counted one."""
    try:
        run(path, row, given, 3)
    except Exception:
        return 1
    return 3


def numbers(way, row):
    """The axes of a refusal's `--fix` with the numbers that were exported."""
    exported = row.inputs(row.sizes[0])
    sizes = {axis: str(exported[name].shape[i]) for name, axes in row.free.items() for i, axis in axes.items()}
    return ",".join(axis if axis.split("=")[1].isdigit() else axis.split("=")[0] + "=" + sizes[axis.split("=")[0]] for axis in way.split(","))


def wrong(model, row, kind, path, first, after=None):
    """Exports a model, and does what is asked after that; why that cannot be held against anything, which are limits of an exporter, or nothing."""
    model = Run(model, row.run)
    try:
        export(model, row, kind, path)
    except Exception as e:
        operator = re.search("operator '(.+?)'", str(e))
        return f"not exported: PyTorch's exporter ends with {type(e).__name__}{': ' + operator[1] if operator else ''}"
    try:
        if after:
            OPTIMISED[after](path)
        got = run(path, row, first)
    except Exception as e:
        said = re.split(r"\[\w+Error\] |Status Message: ", str(e))[-1]
        return f"not exported: ONNX Runtime does not run what PyTorch's exporter wrote{f' and {after} made of it' if after else ''}: " + " ".join(said.split())[-120:]
    with torch.no_grad():
        want = model(*row.inputs(row.sizes[0]).values()).numpy()
    if got.shape != want.shape or np.abs(got - want).max() > TOLERANCE * np.abs(want).max():
        return "not exported: what PyTorch's exporter wrote gives other numbers than the model"
    return ""


def one(binary, row, kind, folder, after=None):
    """What became of one export: a cell for each size."""
    old, new, fixed = (os.path.join(folder, name) for name in ("old.onnx", "new.onnx", "fixed.onnx"))
    torch.manual_seed(1)
    model = random_positions(row.build(row.sizes[0]))
    first = {name: x.numpy() for name, x in row.inputs(row.sizes[0]).items()}
    nothing = wrong(model, row, kind, old, first, after)
    if nothing:
        return [nothing] * (len(row.sizes) - 1)
    if after and row.folded and all(n.op_type != "Resize" for n in onnx.load(old).graph.node):
        row.folded(model)
    exported = kind + (", optimised" if after else "")
    copies = several(old, row, first) if kind.endswith("free") and any(axes.get(0) for axes in row.free.values()) else 1
    cells = []
    for size in row.sizes[1:]:
        if os.path.exists(new):
            os.remove(new)
        given = row.inputs(size)
        with torch.no_grad():
            want = row.reference(row, model, size)(*given.values()).numpy()
        asked = row.extend(row.sizes[0], size, want) + [word for start, more in row.more.items() if exported.startswith(start) for word in more]
        p = subprocess.run([binary, "extend", *asked, old, "-o", new], capture_output=True, text=True)
        way = re.search("extend --fix ([^ ]+)", p.stderr)
        if p.returncode == 4 and way:  # as the refusal says: the exported size first
            subprocess.run([binary, "extend", "--force", "--fix", numbers(way[1], row), old, "-o", fixed], capture_output=True, check=True)
            p = subprocess.run([binary, "extend", *asked, fixed, "-o", new], capture_output=True, text=True)
        if p.returncode == 4:
            cells.append("refused: " + p.stderr.split("refused: ")[1].split("\n")[0])
            continue
        if p.returncode:
            cells.append(f"FAIL: exit {p.returncode}: " + p.stderr.strip().replace(folder + os.sep, "").replace("\n", " "))
            continue
        try:
            given = {name: x.numpy() for name, x in given.items()}
            got = run(new, row, fitted(new, given) if row.padded else given, 1 if way else copies)
        except Exception as e:
            cells.append("FAIL: does not run: " + str(e).replace("\n", " ")[:120])
            continue
        apart = float(np.abs(got - want).max() / np.abs(want).max()) if got.shape == want.shape else float("inf")
        cells.append(f"{apart:.1e}{', in two steps' if way else ''}" if apart <= TOLERANCE else f"FAIL: {got.shape} for {want.shape}, apart by {apart:.1e}")
    return cells


def write(path, results, after):
    """The table, with what is no number as notes below it."""
    rows, notes = [], []
    for name, kind, cells in results:
        sizes, short = MODELS[name].sizes, []
        for cell in cells:
            if not cell[0].isdigit() and cell not in notes:
                notes.append(cell)
            short.append(cell if cell[0].isdigit() else f"({notes.index(cell) + 1})")
        rows.append(f"| {name} | {kind} | {words(sizes[0])} | " + " | ".join(f"{words(s)}: {c}" for s, c in zip(sizes[1:], short)) + " |")
    with open(path, "w") as f:
        f.write("# Other sizes of pictures, videos, latents, recordings and texts" + (f", behind {after}" if after else "") + "\n\n")
        if after:
            f.write(f"As [sizes.md](sizes.md), of files that {after} rewrote after their export" + (" (its basic level: of operators of ONNX alone)" if after.startswith("ONNX") else "") + ". Where it resampled a table for the exported size, the reference has those rows as well: the trained ones are not in the file.\n\n")
        f.write(f"Models of transformers {transformers.__version__}, of timm where a name says so, and, of latents, of diffusers, small, with random weights, exported by PyTorch {torch.__version__.split('+')[0]}, changed by `extend --image`, `--grid`, or `--len` of as many positions, and run in ONNX Runtime\n")
        f.write(f"{onnxruntime.__version__}. Each cell is the largest difference to the library's own model of the new size, over the largest output; in two steps where a refusal wants the exported size by `--fix` first. Sizes are pixels; of videos frames and pixels, of latents their rows and columns, of recordings samples or frames, of texts tokens. Which further arguments a row has (`--window`, `--method`, `--kernel`, …) is in `test/sizes`. Made by `test/sizes/sizes.py --table`.\n\n")
        f.write("| model | export | size | | | | |\n|---|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n\n")
        f.write("\n".join(f"{i + 1}. {note}" for i, note in enumerate(notes)) + "\n")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("modelpatch")
    arguments.add_argument("--only", nargs="*", default=list(MODELS))
    arguments.add_argument("--table")
    arguments.add_argument("--part", default="1/1", help="of the models and their exports every so many, beginning with which")
    arguments.add_argument("--after", choices=OPTIMISED, help="what is done to each file after its export")
    a = arguments.parse_args()
    if a.after == "onnxslim" and not importlib.util.find_spec("onnxslim"):
        print("skipped by name: sizes behind onnxslim (it is not installed)")
        return 0
    part, parts = map(int, a.part.split("/"))
    wanted = [(name, kind) for name in a.only for kind in KINDS][part - 1 :: parts]
    results = []
    for name in a.only:
        row, started = MODELS[name], time.time()
        if row.library and not importlib.util.find_spec(row.library):
            print(f"skipped by name: {name} ({row.library} is not installed)", flush=True)
            continue
        for kind in (kind for kind in KINDS if (name, kind) in wanted):
            with tempfile.TemporaryDirectory() as folder:
                cells = one(a.modelpatch, row, kind, folder, a.after)
            results.append((name, kind, cells))
            for size, cell in zip(row.sizes[1:], cells):
                print(f"{name}, {kind}, {words(row.sizes[0])} → {words(size)}: {cell}", flush=True)
        print(f"{name}: {time.time() - started:.0f} s", flush=True)
    every = [cell for _, _, cells in results for cell in cells]
    equal, refused, failed = (sum(map(is_one, every)) for is_one in (lambda cell: cell[0].isdigit(), lambda cell: cell.startswith("refused"), lambda cell: cell.startswith("FAIL")))
    print(f"{equal} equal to {TOLERANCE}, {refused} refused, {failed} failed")
    if a.table:
        write(a.table, results, a.after)
    for name in a.only:
        many = sum(cell.startswith("refused") for row, _, cells in results for cell in cells if row == name)
        if many > refusable(name, a.after):
            failed += 1
            print(f"{name}: {many} refused, more than may be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
