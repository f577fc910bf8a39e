"""Every verb, on what Python holds: paths, bytes, ModelProtos."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import TESTDATA

import modelpatch
from modelpatch import _run, _verbs


def test_inspect(llama: Path) -> None:
    report = modelpatch.inspect(llama)
    assert (report.format, report.architecture, report.length.stated, report.length.capacity) == ("gguf", "llama", 32, None)
    (encoding,) = report.encodings
    assert (encoding.scheme, encoding.layers, encoding.parameters.base) == ("rope", "all", 10000.0)
    assert isinstance(encoding.parameters.base, float) and encoding.where[0].range == (456, 460)
    assert modelpatch.inspect(str(llama)) == report
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.format = "onnx"  # type: ignore[misc]


def test_inspect_says_what_the_command_says(llama: Path, gpt2: Path) -> None:
    for path in (llama, gpt2, TESTDATA / "gguf/edit-yarn-full.gguf"):
        printed = json.loads(subprocess.run([_run.executable(), "inspect", "--json", path], capture_output=True, check=True).stdout)
        told = json.loads(json.dumps(dataclasses.asdict(modelpatch.inspect(path))))
        assert without_absent(told) == without_absent(printed)


def without_absent(value: Any) -> Any:
    """JSON without what is null or empty, which the reports leave out here and there."""
    if isinstance(value, dict):
        return {k: w for k, v in value.items() if (w := without_absent(v)) not in (None, [], {})}
    return [without_absent(v) for v in value] if isinstance(value, list) else value


def test_inspect_bytes(llama: Path, gpt2: Path) -> None:
    for path, name in ((llama, "model.gguf"), (gpt2, "model.onnx")):
        for data in (path.read_bytes(), bytearray(path.read_bytes()), memoryview(path.read_bytes())):
            assert modelpatch.inspect(data) == dataclasses.replace(modelpatch.inspect(path), path=name)


def test_inspect_of_a_cache_of_links(llama: Path, tmp_path: Path) -> None:
    """As huggingface_hub keeps files: a snapshot's name leads to a blob."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshots/main").mkdir(parents=True)
    shutil.copy(llama, tmp_path / "blobs/0123abcd")
    (tmp_path / "snapshots/main/model.gguf").symlink_to("../../blobs/0123abcd")
    assert modelpatch.inspect(tmp_path / "snapshots/main/model.gguf").architecture == "llama"


def test_inspect_many(llama: Path, gpt2: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    absent = tmp_path / "absent.gguf"
    first, second, third = modelpatch.inspect_many([llama, absent, gpt2], progress=lambda done, total: told.append((done, total)))
    assert isinstance(first, modelpatch.Inspection) and first.path == str(llama)
    assert isinstance(second, modelpatch.InputError) and second.path == str(absent)
    assert isinstance(third, modelpatch.Inspection) and third.length.capacity == 48
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert list(modelpatch.inspect_many([])) == []
    assert len(list(modelpatch.inspect_many(str(llama)))) == 1
    folder = list(modelpatch.inspect_many([TESTDATA / "gguf", gpt2]))
    assert len(folder) > 10 and isinstance(folder[-1], modelpatch.Inspection)
    begun = modelpatch.inspect_many([TESTDATA / "gguf"])
    next(begun)
    begun.close()  # type: ignore[attr-defined]
    with pytest.raises(modelpatch.UsageError):
        list(modelpatch.inspect_many([llama], shard="no share"))


def test_progress(llama: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    longer = modelpatch.extend(llama, 64, output=tmp_path / "longer.gguf", progress=lambda done, total: told.append((done, total)))
    assert longer.output is not None and told[-1] == (longer.output.stat().st_size,) * 2
    with pytest.raises(modelpatch.Refused, match="64"):  # what the command says beside its progress is kept
        modelpatch.extend(longer, 32, output=tmp_path / "shorter.gguf", progress=lambda done, total: None)

    def weary(done: int, total: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        modelpatch.extend(llama, 128, output=tmp_path / "not.gguf", progress=weary)


def test_tqdm(llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    list(modelpatch.inspect_many([llama], progress=True))
    assert "1/1" in capsys.readouterr().err
    modelpatch.extend(llama, 64, output=tmp_path / "longer.gguf", progress=True)
    assert "100%" in capsys.readouterr().err


def test_odd_names(llama: Path, tmp_path: Path) -> None:
    names = ["with space.gguf", "new\nline.gguf", "-dash.gguf", "tab\tquote'\".gguf"]
    if sys.platform == "linux":
        names.append(os.fsdecode(b"latin-\xe9.gguf"))
    for name in names:
        shutil.copy(llama, tmp_path / name)
    for name in names:
        assert modelpatch.inspect(tmp_path / name).architecture == "llama"
        change = modelpatch.extend(tmp_path / name, 64, output=tmp_path / ("new " + name))
        assert change.written and (tmp_path / ("new " + name)).exists()
    assert len(list(modelpatch.inspect_many([tmp_path / name for name in names]))) == len(names)
    assert modelpatch.check([tmp_path / name for name in names]).passed
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        assert modelpatch.inspect("-dash.gguf").architecture == "llama"
        shutil.copy(llama, "-")
        assert modelpatch.inspect("-").architecture == "llama"
    finally:
        os.chdir(before)


def test_extend(llama: Path, tmp_path: Path) -> None:
    planned = modelpatch.extend(llama, 128)
    assert (planned.output, planned.model, planned.written) == (None, None, ())
    change = modelpatch.extend(llama, 128, output=tmp_path / "longer.gguf", method="linear", digest=True)
    assert change.output == tmp_path / "longer.gguf"
    assert change.verified is not None and change.written[0].sha256 is not None
    scaling = modelpatch.inspect(tmp_path / "longer.gguf").encodings[0].parameters.scaling
    assert scaling is not None and (scaling.type, scaling.factor) == ("linear", 4.0)


def test_extend_bytes(llama: Path, gpt2: Path, tmp_path: Path) -> None:
    for path in (llama, gpt2):
        change = modelpatch.extend(path.read_bytes(), 128)
        modelpatch.extend(path, 128, output=tmp_path / path.name)
        assert change.model == (tmp_path / path.name).read_bytes()
        assert change.path == "model" + path.suffix and change.output is None
        written = modelpatch.extend(path.read_bytes(), 128, output=tmp_path / ("of bytes" + path.suffix))
        assert written.model is None and written.output is not None and written.output.read_bytes() == change.model
        assert modelpatch.extend(path.read_bytes(), 128, dry_run=True).model is None


def test_extend_proto(gpt2: Path) -> None:
    onnx = pytest.importorskip("onnx")
    change = modelpatch.extend(onnx.load(gpt2), 128)
    assert change.model is not None and isinstance(change.model, onnx.ModelProto)
    onnx.checker.check_model(change.model)
    assert modelpatch.inspect(change.model).length.capacity == 128


def test_external_data(external: Path, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    (tmp_path / "new").mkdir()
    change = modelpatch.extend(external, 256, output=tmp_path / "new/of path.onnx")
    assert change.output is not None and len(change.written) == 2 and change.output == tmp_path / "new/of path.onnx"
    of_proto = modelpatch.extend(onnx.load(external), 256)
    assert of_proto.model is not None and isinstance(of_proto.model, onnx.ModelProto)
    assert modelpatch.diff(change.output, of_proto.model).encodings == ()
    with pytest.raises(modelpatch.InputError, match="lie in another file"):
        modelpatch.inspect(onnx.load(external, load_external_data=False))


def test_extend_in_place_and_undo(llama: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    shutil.copy(llama, model)
    change = modelpatch.extend(model, 128, in_place=True)
    assert change.written and change.output is None and modelpatch.inspect(model).length.stated == 128
    assert modelpatch.undo(model, dry_run=True).edits and modelpatch.inspect(model).length.stated == 128
    modelpatch.undo(model)
    assert model.read_bytes() == llama.read_bytes() and os.listdir(tmp_path) == ["model.gguf"]


def test_what_a_change_made(llama: Path, tmp_path: Path) -> None:
    written = modelpatch.extend(llama, 64, output=tmp_path / "longer.gguf")
    held = modelpatch.extend(llama.read_bytes(), 64)
    for change in (written, held):
        assert modelpatch.inspect(change).length.stated == 64 and modelpatch.check(change).passed
        assert modelpatch.verify(llama, change).verdict == "consistent"
        again = modelpatch.extend(change, 128, output=tmp_path / f"{change is held}.gguf")
        assert again.model is None and modelpatch.inspect(again).length.stated == 128
    assert modelpatch.diff(written, held).same
    assert isinstance(modelpatch.extend(held, 128).model, bytes) and modelpatch.extend(written, 128).model is None
    with pytest.raises(modelpatch.UsageError, match="made no new file"):
        modelpatch.inspect(modelpatch.extend(llama, 64))


def test_rope(llama: Path, rope_onnx: Path) -> None:
    based = modelpatch.rope(llama.read_bytes(), base=500000)
    assert isinstance(based.model, bytes) and modelpatch.inspect(based.model).encodings[0].parameters.base == 500000.0
    yarn = modelpatch.rope(llama.read_bytes(), scaling="yarn", factor=4, original_length=32, truncate=False, beta_fast=16)
    assert "yarn" in yarn.changes[0].what
    assert modelpatch.rope(rope_onnx.read_bytes(), base=20000, verify="full").verified is not None


def test_set(llama: Path, gpt2: Path, tmp_path: Path) -> None:
    change = modelpatch.set(llama.read_bytes(), {"rope.freq_base": 500000, "llama.context_length": 64})
    assert isinstance(change.model, bytes) and change.verified is not None
    report = modelpatch.inspect(change.model)
    assert (report.encodings[0].parameters.base, report.length.stated) == (500000.0, 64)
    assert modelpatch.set(llama, {"rope.freq_base": 5e5}).changes[0].what == "RoPE base 10000 → 500000"
    written = modelpatch.set(llama, {"rope.scaling.type": "yarn", "rope.scaling.factor": 4}, output=tmp_path / "yarn.gguf")
    assert written.output is not None and modelpatch.inspect(written).encodings[0].parameters.scaling is not None
    with pytest.raises(modelpatch.UsageError, match="no key to set"):
        modelpatch.set(llama)
    with pytest.raises(modelpatch.Refused, match="does not read"):
        modelpatch.set(llama, {"rope.dimension_sections": [16, 24]})
    with pytest.raises(modelpatch.UsageError, match="must be a whole number"):
        modelpatch.set(llama, {"context_length": True})
    with pytest.raises(modelpatch.Refused, match="nothing to pad"):
        modelpatch.set(llama, pad_sections=True)
    with pytest.raises(modelpatch.Refused, match="no keys"):
        modelpatch.set(gpt2, {"rope.freq_base": 500000})


def test_star_import_leaves_the_builtin() -> None:
    names: dict[str, Any] = {}
    exec("from modelpatch import *", names)  # noqa: S102
    assert "extend" in names and "set" not in names


def test_alibi(gpt2: Path) -> None:
    change = modelpatch.alibi(gpt2.read_bytes(), slopes=[0.0625, 0.00390625])
    assert isinstance(change.model, bytes)
    (added,) = [e for e in modelpatch.inspect(change.model).encodings if e.scheme == "alibi"]
    assert added.parameters.slopes == (0.0625, 0.00390625)
    removed = modelpatch.alibi(change.model, remove=True)
    assert isinstance(removed.model, bytes) and [e.scheme for e in modelpatch.inspect(removed.model).encodings] == ["learned"]


def test_bake_and_unbake(rope_onnx: Path) -> None:
    baked = modelpatch.bake(rope_onnx.read_bytes(), 64)
    assert isinstance(baked.model, bytes) and modelpatch.inspect(baked.model).length.capacity == 64
    free = modelpatch.unbake(baked.model)
    assert isinstance(free.model, bytes) and modelpatch.inspect(free.model).length.capacity is None


def test_relative() -> None:
    model = (TESTDATA / "onnx/cases/t5-buckets.onnx").read_bytes()
    change = modelpatch.relative(model, max_distance=512)
    assert isinstance(change.model, bytes) and modelpatch.inspect(change.model).encodings[0].parameters.max_distance == 512


def test_patches(llama: Path, tmp_path: Path) -> None:
    longer = modelpatch.extend(llama.read_bytes(), 128).model
    assert isinstance(longer, bytes)
    change = modelpatch.extend(llama, 128, output=tmp_path / "longer.gguf", patch_only=True)
    patch = tmp_path / "longer.gguf.mpatch"
    assert change.output == patch
    assert modelpatch.show(patch).source.size == llama.stat().st_size
    assert modelpatch.apply(patch, llama, output=tmp_path / "longer.gguf").output == tmp_path / "longer.gguf"
    assert (tmp_path / "longer.gguf").read_bytes() == longer
    assert modelpatch.apply(patch, llama.read_bytes()).model == longer
    assert modelpatch.revert(patch, longer).model == llama.read_bytes()
    difference = modelpatch.diff(llama, longer, patch=tmp_path / "other.mpatch")
    assert not difference.same and [key.change for key in difference.keys].count("added") == 3
    assert modelpatch.apply(tmp_path / "other.mpatch", llama.read_bytes()).model == longer
    assert modelpatch.diff(llama, llama.read_bytes()).same


def test_verify(llama: Path) -> None:
    longer = modelpatch.extend(llama.read_bytes(), 128).model
    assert isinstance(longer, bytes)
    verdict = modelpatch.verify(llama, longer, layers=1)
    assert verdict.verdict == "consistent" and not [check for check in verdict.checks if check.verdict == "fail"]


def test_check(llama: Path, tmp_path: Path) -> None:
    assert modelpatch.check(llama).passed and modelpatch.check(llama.read_bytes()).passed
    report = modelpatch.check(TESTDATA / "gguf", fail_on="warning")
    assert not report.passed and {f.rule for m in report for f in m.findings} == {"gguf-big-endian", "gguf-key-ignored"}
    policy = {"version": 1, "for": [{"files": ["**"], "expect": [{"id": "long", "length": ">= 8192"}]}]}
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    for given in (policy, tmp_path / "policy.yaml"):
        assert not modelpatch.check([llama], policy=given).passed
    (tmp_path / "cut.gguf").write_bytes(llama.read_bytes()[:200])
    cut = modelpatch.check([tmp_path / "cut.gguf", llama])
    assert not cut.passed and [m.level for m in cut] == ["error", "ok"]
    assert modelpatch.check([]).passed


def test_plot(llama: Path, tmp_path: Path) -> None:
    figure = modelpatch.plot(llama)
    svg = figure._repr_svg_()
    assert svg is not None and svg.startswith("<svg") and "prefers-color-scheme:dark" in svg
    figure.save(tmp_path / "rope.svg")
    assert (tmp_path / "rope.svg").read_text() == svg
    longer = modelpatch.extend(llama.read_bytes(), 128).model
    assert longer is not None and modelpatch.plot(llama, longer, width=360).data != figure.data
    png = modelpatch.plot(llama, format="png")
    assert png._repr_svg_() is None and (png._repr_png_() or b"").startswith(b"\x89PNG")
    assert modelpatch.plot(llama, format="html").data.startswith(b"<!")


def test_html(llama: Path, tmp_path: Path) -> None:
    evil = tmp_path / "<script>alert(1)<!--&.gguf"
    shutil.copy(llama, evil)
    change = modelpatch.extend(evil, 128)
    for shown in (modelpatch.inspect(evil)._repr_html_(), change._repr_html_()):
        assert "<script" not in shown and "&lt;script&gt;alert(1)&lt;!--&amp;.gguf" in shown and "<table>" in shown
    assert "yarn" in change._repr_html_()


def flags_of(verb: str) -> set[str]:
    said = subprocess.run([_run.executable(), verb, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^ +(?:-\w, )?--([a-z0-9-]+)", said, re.M)) - {"help", "json", "verbose"}


def test_every_flag_is_there() -> None:
    """A flag of the command that Python has not, or the other way round, is a fault, but for those that make no sense here."""
    import inspect
    import typing

    renamed = {"length": "len", "as_": "as"}
    rows = {
        "inspect": {"html", "table", "textconv", "force", "files-from"}, "check": {"init", "format", "quiet", "files-from"}, "plot": {"output", "follow", "force"},
        "diff": {"digest"}, "verify": set(), "undo": set(),
        **{verb: set() for verb in ("extend", "rope", "set", "alibi", "bake", "unbake", "relative", "window", "apply", "revert")},
    }
    for verb, left_out in rows.items():
        function = getattr(modelpatch, verb)
        names: set[str] = set()
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                kind = parameter.annotation.removeprefix("Unpack[").removesuffix("]")
                names |= set(sys.modules["modelpatch._options"].__dict__[kind].__optional_keys__)
            elif name not in ("model", "path", "paths", "progress", "before", "after", "a", "b", "other") and (verb, name) != ("show", "patch"):
                names.add(renamed.get(name, name))
        if verb in ("apply", "revert", "set"):
            names -= {"patch", "keys"}  # arguments
        if verb == "plot":
            left_out = left_out - {"format"}
        assert {name.replace("_", "-") for name in names} == flags_of(verb) - left_out, verb
    for verb, flag, kind in (("extend", "method", _verbs.ExtendMethod), ("rope", "scaling", _verbs.ScalingType), ("extend", "kernel", _verbs.Kernel),
                             ("relative", "method", _verbs.Resize), ("extend", "window-method", _verbs.Resize)):
        said = subprocess.run([_run.executable(), "__complete", verb, "--" + flag, ""], capture_output=True, text=True, check=True).stdout
        assert tuple(said.split()[:-1]) == typing.get_args(kind), (verb, flag)
