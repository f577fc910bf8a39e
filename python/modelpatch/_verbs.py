"""Verbs that change models.

model is a path, an address, bytes, an onnx.ModelProto, or a Change, for what it made. output names a new file; without it, and without in_place, a path
gives the plan alone, and bytes or a ModelProto give the new model in Change.model, of the same kind. verify has the command
compare the new file with the old one before it gets its name; "full" runs all of the attention, and both files in their engine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union

from ._change import Change
from ._look import answer
from ._model import Model, PathLike, argument, is_path, loaded, made, placing
from ._options import Applying, Writing, flags, known
from .errors import UsageError
from .reports import Plan

if TYPE_CHECKING:
    from typing_extensions import Unpack

Verify = Union[bool, Literal["full"]]
ExtendMethod = Literal["tile", "hierarchical", "repeat-last", "zero", "grouped", "interpolate", "stretch", "yarn", "linear", "ntk", "llama3", "none"]
ScalingType = Literal["none", "linear", "ntk", "dynamic", "yarn", "llama3", "longrope", "resonance"]
Kernel = Literal["bicubic", "bicubic-antialias", "bilinear", "bilinear-antialias", "bilinear-align-corners", "nearest"]
Resize = Literal["bilinear", "bicubic", "geometric"]
KeyValue = Union[str, float, bool, Sequence[int]]


def _changed(verb: str, model: Model, what: Mapping[str, Any], output: PathLike | None, verify: Verify, options: Mapping[str, Any],
             kinds: type[Any] = Writing, arguments: Sequence[str] = ()) -> Change:
    """Runs a verb, with arguments before the model, and reads what it wrote."""
    known(options, kinds)
    model = made(model)
    held = not is_path(model)
    if held and options.get("in_place"):
        raise UsageError(f"{verb}: in_place changes a file, and the model is none", "", ["the new model is in Change.model; output names a file"])
    if held and output is None and options.get("patch_only"):
        raise UsageError(f"{verb}: patch_only writes a file, and none is named", "", ["output names it"])
    planned = bool(options.get("dry_run")) or not held and output is None and not options.get("in_place")
    with placing() as placed:
        path = placed.place(model)
        target = None
        if output is not None:
            target = argument(output)
        elif held and not planned:
            target = placed.new("new" + os.path.splitext(path)[1])
        given = flags({**what, **options})
        if planned and not options.get("dry_run"):
            given.append("--dry-run")
        if verify == "full" or verify and not (planned or options.get("in_place") or options.get("patch_only")):
            given.append("--verify=full" if verify == "full" else "--verify")
        if target is not None:
            given.append(f"--output={target}")
        plan = Plan.read(answer(placed, [verb, "--json", *given, "--", *arguments, path], options.get("progress", False))[1])
        new = loaded(target, model) if target is not None and output is None else None
        written = None if planned or output is None else Path(plan.written[0].path if plan.written else output)
        return Change(**{f.name: getattr(plan, f.name) for f in fields(plan)}, output=written, model=new)


def extend(
    model: Model, length: int | None = None, *, output: PathLike | None = None, method: ExtendMethod | None = None, verify: Verify = True,
    fix: Mapping[str, int] | None = None, grid: str | None = None, image: str | int | None = None, shorter: bool = False, kernel: Kernel | None = None,
    anchor: Literal["mean", "first"] | None = None, keep: int | None = None, original_length: int | None = None, window: str | int | None = None,
    window_method: Resize | None = None, **options: Unpack[Writing],
) -> Change:
    """Gives a model a context of length positions; image and grid: a vision model another picture size; fix: free axes numbers."""
    return _changed("extend", model, {
        "len": length, "method": method, "fix": fix, "grid": grid, "image": image, "shorter": shorter, "kernel": kernel, "anchor": anchor, "keep": keep,
        "original_length": original_length, "window": window, "window_method": window_method,
    }, output, verify, options)


def rope(
    model: Model, *, output: PathLike | None = None, verify: Verify = True, base: float | None = None, scaling: ScalingType | None = None,
    factor: float | None = None, length: int | None = None, original_length: int | None = None, like: PathLike | None = None,
    to_ops: Literal["standard", "contrib", "plain"] | None = None, as_: Literal["transformers", "llama.cpp", "ort-genai"] | None = None,
    layers: str | None = None, attention_factor: float | None = None, beta_fast: float | None = None, beta_slow: float | None = None,
    factors: PathLike | None = None, high_freq_factor: float | None = None, low_freq_factor: float | None = None, mscale: float | None = None,
    mscale_all_dim: float | None = None, truncate: bool | None = None, use: Literal["short", "long"] | None = None, **options: Unpack[Writing],
) -> Change:
    """Changes the base or the scaling of RoPE, or the operators that compute it."""
    return _changed("rope", model, {
        "base": base, "scaling": scaling, "factor": factor, "len": length, "original_length": original_length, "like": like, "to_ops": to_ops,
        "as_": as_, "layers": layers, "attention_factor": attention_factor, "beta_fast": beta_fast, "beta_slow": beta_slow, "factors": factors,
        "high_freq_factor": high_freq_factor, "low_freq_factor": low_freq_factor, "mscale": mscale, "mscale_all_dim": mscale_all_dim,
        "truncate": truncate, "use": use,
    }, output, verify, options)


def set(
    model: Model, keys: Mapping[str, KeyValue] | None = None, *, output: PathLike | None = None, verify: Verify = True, pad_sections: bool = False,
    **options: Unpack[Writing],
) -> Change:
    """Sets metadata keys of positions in a GGUF model; pad_sections: fills up the sections of M-RoPE with zeros."""
    arguments = [f"{key}={_text(value)}" for key, value in (keys or {}).items()]
    return _changed("set", model, {"pad_sections": pad_sections}, output, verify, options, arguments=arguments)


def _text(value: KeyValue) -> str:
    """The value of a metadata key as the command reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int, float)) else ",".join(str(item) for item in value)


def alibi(
    model: Model, *, output: PathLike | None = None, verify: Verify = True, max_bias: float | None = None, slopes: Sequence[float] | None = None,
    replace: bool = False, remove: bool = False, **options: Unpack[Writing],
) -> Change:
    """Adds a linear bias to the scores of every attention, or takes it away."""
    return _changed("alibi", model, {"max_bias": max_bias, "slopes": slopes, "replace": replace, "remove": remove}, output, verify, options)


def window(
    model: Model, length: int | None = None, *, output: PathLike | None = None, verify: Verify = True, sinks: int | None = None,
    **options: Unpack[Writing],
) -> Change:
    """Lets every query see the length keys up to its own alone, and the first ones, sinks of them."""
    return _changed("window", model, {"len": length, "sinks": sinks}, output, verify, options)


def bake(
    model: Model, length: int | None = None, *, output: PathLike | None = None, verify: Verify = True,
    dtype: Literal["float32", "float16", "bfloat16"] | None = None, **options: Unpack[Writing],
) -> Change:
    """Stores what the graph computes for each position as tables of length positions."""
    return _changed("bake", model, {"len": length, "dtype": dtype}, output, verify, options)


def unbake(model: Model, *, output: PathLike | None = None, verify: Verify = True, **options: Unpack[Writing]) -> Change:
    """Has the graph compute what tables hold."""
    return _changed("unbake", model, {}, output, verify, options)


def relative(
    model: Model, *, output: PathLike | None = None, verify: Verify = True, max_distance: int | None = None, buckets: int | None = None,
    window: str | None = None, method: Resize | None = None, **options: Unpack[Writing],
) -> Change:
    """Changes the reach of a relative bias, or its window."""
    return _changed("relative", model, {"max_distance": max_distance, "buckets": buckets, "window": window, "method": method}, output, verify, options)


def apply(patch: PathLike | Change, model: Model, *, output: PathLike | None = None, **options: Unpack[Applying]) -> Change:
    """Makes the change that a patch file holds."""
    return _changed("apply", model, {}, output, False, options, Applying, [argument(patch)])


def revert(patch: PathLike | Change, model: Model, *, output: PathLike | None = None, **options: Unpack[Applying]) -> Change:
    """Takes the change of a patch file back."""
    return _changed("revert", model, {}, output, False, options, Applying, [argument(patch)])


def undo(path: PathLike, *, dry_run: bool = False, digest: bool = False) -> Change:
    """Takes the newest change in place of a model back."""
    with placing() as placed:
        plan = Plan.read(answer(placed, ["undo", "--json", *flags({"dry_run": dry_run, "digest": digest}), "--", argument(path)])[1])
    return Change(**{f.name: getattr(plan, f.name) for f in fields(plan)})
