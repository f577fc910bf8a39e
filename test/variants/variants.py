#!/usr/bin/env python3
"""What other tools make of a model has the encodings that it had: optimisers, quantisers and converters are run on ONNX files, nodes are
written otherwise (rewrites.py), inputs are declared otherwise (interfaces.py), and what `inspect` says of the result is held against what it says of
the model.

usage: variants.py MODELPATCH FOLDER_OF_MODELS WORK_FOLDER [--only VARIANT]… [--rewrites | --interfaces] [--part I/N]

--rewrites takes those of rewrites.py alone, and exits with 1 where one is read otherwise; --interfaces those of interfaces.py, and exits with 1
where one is read otherwise and not as unknown.

Results that ONNX Runtime does not load are left out. A difference is printed with both readings: it is a fault, or the tool changed
the numbers (a table that was folded for one size, frequencies of 8 bits). Prints how many agree, by variant; exit 1 where a result is told
to have no encoding, and the model has one. Needs onnxruntime, onnx, onnxslim and onnxscript.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore")
import numpy as np
import onnx
import onnxruntime
from onnx import version_converter
from interfaces import INTERFACES, NAMELESS
from rewrites import REWRITES

SECONDS = 60
Make = Callable[[Path, Path], None]


def quiet() -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return options


def optimized(level: str) -> Make:
    def make(source: Path, target: Path) -> None:
        options = quiet()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = str(target)
        onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])

    return make


def fused(kind: str) -> Make:
    def make(source: Path, target: Path) -> None:
        from onnxruntime.transformers import optimizer

        optimizer.optimize_model(str(source), model_type=kind, num_heads=2, hidden_size=32, opt_level=1).save_model_to_file(str(target))

    return make


def half(keep: bool) -> Make:
    def make(source: Path, target: Path) -> None:
        from onnxruntime.transformers.float16 import convert_float_to_float16

        onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=keep), target)

    return make


def slim(source: Path, target: Path) -> None:
    import onnxslim

    onnxslim.slim(str(source), str(target))


def script(source: Path, target: Path) -> None:
    from onnxscript import optimizer

    onnx.save(optimizer.optimize(onnx.load(source)), target)


def newer(source: Path, target: Path) -> None:
    onnx.save(version_converter.convert_version(onnx.load(source), 21), target)


def dynamic(source: Path, target: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(str(source), str(target), weight_type=QuantType.QInt8)


def four_bits(source: Path, target: Path) -> None:
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    made = MatMulNBitsQuantizer(onnx.load(source), bits=4, block_size=16, is_symmetric=True)
    made.process()
    made.model.save_model_to_file(str(target))


def static(form: str) -> Make:
    def make(source: Path, target: Path) -> None:
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

        class Seeded(CalibrationDataReader):  # type: ignore[misc]
            def __init__(self) -> None:
                self.left = [feeds(source, seed) for seed in range(2)]

            def get_next(self) -> Any:
                return self.left.pop() if self.left else None

        quantize_static(str(source), str(target), Seeded(), quant_format=getattr(QuantFormat, form), weight_type=QuantType.QInt8)

    return make


def feeds(path: Path, seed: int) -> dict[str, Any]:
    """Inputs of a model: two sequences of 12, or 2,000 samples where one is of numbers in two axes."""
    chance = np.random.RandomState(seed)
    out: dict[str, Any] = {}
    for i in onnxruntime.InferenceSession(str(path), quiet()).get_inputs():
        numbers = i.type == "tensor(float)"
        shape = [d if isinstance(d, int) else 2 if k == 0 else 2000 if numbers and len(i.shape) == 2 else 12 for k, d in enumerate(i.shape)]
        if numbers:
            out[i.name] = chance.randn(*shape).astype(np.float32)
        else:
            out[i.name] = np.ones(shape, np.int64) if "mask" in i.name else chance.randint(3, 40, shape)
    return out


VARIANTS: dict[str, Make] = {
    "ort-basic": optimized("ORT_ENABLE_BASIC"), "ort-extended": optimized("ORT_ENABLE_EXTENDED"), "ort-all": optimized("ORT_ENABLE_ALL"), "ort-bert": fused("bert"),
    "float16": half(True), "float16-io": half(False), "onnxslim": slim, "onnxscript": script, "opset-21": newer, "dynamic-int8": dynamic, "int4": four_bits,
    "qdq": static("QDQ"), "qoperator": static("QOperator"),
}


def after(*steps: Make) -> Make:
    """One tool's result is the next one's model."""

    def make(source: Path, target: Path) -> None:
        for i, step in enumerate(steps):
            following = target if i == len(steps) - 1 else target.with_suffix(f".{i}.onnx")
            step(source, following)
            if i > 0:
                source.unlink()
            source = following

    return make


VARIANTS |= REWRITES | INTERFACES | {
    "float16-ort": after(VARIANTS["float16"], VARIANTS["ort-all"]), "int8-ort": after(VARIANTS["dynamic-int8"], VARIANTS["ort-all"]),
    "qdq-ort": after(VARIANTS["qdq"], VARIANTS["ort-extended"]), "slim-ort": after(VARIANTS["onnxslim"], VARIANTS["ort-all"]),
}


def made(make: Make, source: Path, target: Path) -> bool:
    """Whether a variant was made, in a process of its own, and ONNX Runtime loads it."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        try:
            make(source, target)
            onnxruntime.InferenceSession(str(target), quiet())
        except BaseException:  # whatever a tool does not like
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def reading(tool: str, path: Path) -> tuple[Any, list[tuple[Any, ...]]]:
    """The capacity of a model, and its encodings by what a variant should keep: but where a quantiser cuts positions off that the graph computes."""
    run = subprocess.run([tool, "inspect", "--json", str(path)], capture_output=True, text=True, timeout=SECONDS)
    if run.returncode not in (0, 1):
        return run.stderr.strip(), []
    report, out = json.loads(run.stdout), []
    cut = [e["form"] == "runtime" and e["beyond"] == "clamps" for e in report["encodings"]]
    for e, ends in zip(report["encodings"], cut, strict=True):
        p, base = e["parameters"], e["parameters"].get("base")
        rows = p.get("rows") if e["scheme"] in ("learned", "sinusoidal") and e["form"] != "runtime" else None
        out.append((e["scheme"], rows, p.get("dim"), p.get("offset"), base and float(f"{base:.3g}"), p.get("rotary_dim"), p.get("layout"), (p.get("scaling") or {}).get("type"),
                    p.get("max_distance"), str(p.get("window")), str(p.get("grid")), None if ends else e["capacity"], str(e["layers"]) if e["scheme"] == "rope" else ""))
    return None if any(cut) else report["length"].get("capacity"), sorted(out, key=str)


def main() -> None:
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("tool")
    options.add_argument("folder", type=Path)
    options.add_argument("work", type=Path)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--part", default="1/1")
    options.add_argument("--rewrites", action="store_true")
    options.add_argument("--interfaces", action="store_true")
    o = options.parse_args()
    o.work.mkdir(parents=True, exist_ok=True)
    part, parts = map(int, o.part.split("/"))
    agree: collections.Counter[str] = collections.Counter()
    all_made: collections.Counter[str] = collections.Counter()
    denied = 0
    names = REWRITES if o.rewrites else INTERFACES if o.interfaces else o.only or VARIANTS
    for source in sorted(o.folder.glob("*.onnx"))[part - 1 :: parts]:
        before = reading(o.tool, source)
        for name in names:
            if o.interfaces and name in NAMELESS and [e[0] for e in before[1]] == ["none"]:
                continue
            target = o.work / f"{source.stem}.{name}.onnx"
            if not made(VARIANTS[name], source, target):
                continue
            after = reading(o.tool, target)
            all_made[name] += 1
            agree[name] += before == after
            if before != after:
                lost = [e[0] for e in after[1]] == ["none"] and any(e[0] not in ("none", "unknown") for e in before[1])
                denied += lost or o.rewrites or o.interfaces and not any(e[0] == "unknown" for e in after[1])
                print(f"{source.name} {name}{': TOLD TO HAVE NONE' if lost else ''}\n    {before}\n    {after}", flush=True)
            target.unlink()
    for name, count in all_made.items():
        print(f"{name}: {agree[name]} of {count} are read as the model was")
    sys.exit(1 if denied else 0)


if __name__ == "__main__":
    main()
