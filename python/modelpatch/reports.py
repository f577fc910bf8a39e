"""What the reports of modelpatch hold, as frozen dataclasses.

Made by python/generate.py from `modelpatch schema NAME`; changes belong there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Made = TypeVar("Made")


def _made(cls: type[Made], fields: dict[str, Any]) -> Made:
    """What cls(**fields) makes, in half the time: the __init__ of a frozen class sets each field by a call."""
    made = object.__new__(cls)
    made.__dict__.update(fields)
    return made


@dataclass(frozen=True)
class At:
    """The object at of the reports."""

    head: int | None = None
    layer: int | None = None
    position: int | None = None
    where: Where | None = None

    @classmethod
    def read(cls, d: Any) -> At:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "head": d.get("head"),
            "layer": d.get("layer"),
            "position": d.get("position"),
            "where": None if (v := d.get("where")) is None else Where.read(v),
        })


@dataclass(frozen=True)
class Check:
    """The object check of the reports."""

    name: Literal["plan", "structure", "bytes", "table", "attention", "properties", "second-opinion", "engine"]
    verdict: Literal["pass", "fail", "skipped"]
    at: At | None = None
    inputs: Literal["weights", "seeded"] | None = None
    measure: Measure | None = None
    tolerance: Tolerance | None = None
    why: str | None = None

    @classmethod
    def read(cls, d: Any) -> Check:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "name": d["name"],
            "verdict": d["verdict"],
            "at": None if (v := d.get("at")) is None else At.read(v),
            "inputs": d.get("inputs"),
            "measure": None if (v := d.get("measure")) is None else Measure.read(v),
            "tolerance": None if (v := d.get("tolerance")) is None else Tolerance.read(v),
            "why": d.get("why"),
        })


@dataclass(frozen=True)
class Checked:
    """A report of schema modelpatch.check/1."""

    findings: tuple[CheckedFinding, ...]
    level: Literal["ok", "error", "warning", "note"]
    path: str
    schema: Literal["modelpatch.check/1"]
    facts: CheckedFacts | None = None
    names: tuple[str, ...] = ()
    version: str | None = None

    @classmethod
    def read(cls, d: Any) -> Checked:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "findings": tuple(CheckedFinding.read(x) for x in d["findings"] or ()),
            "level": d["level"],
            "path": d["path"],
            "schema": d["schema"],
            "facts": None if (v := d.get("facts")) is None else CheckedFacts.read(v),
            "names": tuple(d.get("names") or ()),
            "version": d.get("version"),
        })


@dataclass(frozen=True)
class CheckedFacts:
    """The object checkedfacts of the reports."""

    architecture: str | None
    format: Literal["onnx", "gguf"]
    length: Length
    schemes: tuple[Literal["learned", "sinusoidal", "rope", "alibi", "t5-bias", "relative-table", "relative-sinusoid", "disentangled", "conv", "none", "unknown"], ...]

    @classmethod
    def read(cls, d: Any) -> CheckedFacts:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "architecture": d["architecture"],
            "format": d["format"],
            "length": Length.read(d["length"]),
            "schemes": tuple(d["schemes"] or ()),
        })


@dataclass(frozen=True)
class CheckedFinding:
    """The object checkedfinding of the reports."""

    baseline: bool
    fingerprint: str
    level: Literal["error", "warning", "note"]
    message: str
    rule: str
    waived: str | None
    hint: str | None = None
    remedies: tuple[Remedy, ...] = ()
    where: Where | None = None

    @classmethod
    def read(cls, d: Any) -> CheckedFinding:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "baseline": d["baseline"],
            "fingerprint": d["fingerprint"],
            "level": d["level"],
            "message": d["message"],
            "rule": d["rule"],
            "waived": d["waived"],
            "hint": d.get("hint"),
            "remedies": tuple(Remedy.read(x) for x in d.get("remedies") or ()),
            "where": None if (v := d.get("where")) is None else Where.read(v),
        })


@dataclass(frozen=True)
class DeclaredDiff:
    """The object declareddiff of the reports."""

    change: Literal["added", "removed", "changed"]
    from_: str
    name: str
    to: str
    what: Literal["input", "output", "type", "value", "description", "order", "function", "attribute"]

    @classmethod
    def read(cls, d: Any) -> DeclaredDiff:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "change": d["change"],
            "from_": d["from"],
            "name": d["name"],
            "to": d["to"],
            "what": d["what"],
        })


@dataclass(frozen=True)
class Difference:
    """A report of schema modelpatch.diff/1."""

    a: str
    b: str
    declared: tuple[DeclaredDiff, ...]
    differ: int
    encodings: tuple[EncodingDiff, ...]
    identical: bool
    keys: tuple[KeyDiff, ...]
    nodes: tuple[NodeDiff, ...]
    parts: int
    same: bool
    schema: Literal["modelpatch.diff/1"]
    summary: str
    tensors: tuple[TensorDiff, ...]
    length: LengthDiff | None = None
    version: str | None = None
    written: tuple[Written, ...] = ()

    @classmethod
    def read(cls, d: Any) -> Difference:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "a": d["a"],
            "b": d["b"],
            "declared": tuple(DeclaredDiff.read(x) for x in d["declared"] or ()),
            "differ": d["differ"],
            "encodings": tuple(EncodingDiff.read(x) for x in d["encodings"] or ()),
            "identical": d["identical"],
            "keys": tuple(KeyDiff.read(x) for x in d["keys"] or ()),
            "nodes": tuple(NodeDiff.read(x) for x in d["nodes"] or ()),
            "parts": d["parts"],
            "same": d["same"],
            "schema": d["schema"],
            "summary": d["summary"],
            "tensors": tuple(TensorDiff.read(x) for x in d["tensors"] or ()),
            "length": None if (v := d.get("length")) is None else LengthDiff.read(v),
            "version": d.get("version"),
            "written": tuple(Written.read(x) for x in d.get("written") or ()),
        })


@dataclass(frozen=True)
class Edit:
    """The object edit of the reports."""

    bytes: int
    file: str
    range: tuple[int, int]
    why: str

    @classmethod
    def read(cls, d: Any) -> Edit:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "bytes": d["bytes"],
            "file": d["file"],
            "range": tuple(d["range"]),
            "why": d["why"],
        })


@dataclass(frozen=True)
class Encoding:
    """The object encoding of the reports."""

    also: tuple[Reading, ...]
    beyond: Literal["error", "clamps", "wrong", "continues", "unknown"]
    capacity: int | None
    evidence: tuple[Evidence, ...]
    form: Literal["keys", "table", "cache", "runtime", "baked"] | None
    id: str
    layers: Literal["all"] | tuple[int, ...]
    parameters: Parameters
    scheme: Literal["learned", "sinusoidal", "rope", "alibi", "t5-bias", "relative-table", "relative-sinusoid", "disentangled", "conv", "none", "unknown"]
    where: tuple[Where, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, d: Any) -> Encoding:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "also": tuple(Reading.read(x) for x in d["also"] or ()),
            "beyond": d["beyond"],
            "capacity": d["capacity"],
            "evidence": tuple(Evidence.read(x) for x in d["evidence"] or ()),
            "form": d["form"],
            "id": d["id"],
            "layers": d["layers"] if d["layers"] == "all" else tuple(d["layers"] or ()),
            "parameters": Parameters.read(d["parameters"]),
            "scheme": d["scheme"],
            "where": tuple(Where.read(x) for x in d["where"] or ()),
            "notes": tuple(d.get("notes") or ()),
        })


@dataclass(frozen=True)
class EncodingChange:
    """The object change of the reports."""

    encoding: str
    expect: Literal["same", "same-on-prefix", "changed", "unknown"]
    tolerance: float
    what: str
    to: Parameters | None = None

    @classmethod
    def read(cls, d: Any) -> EncodingChange:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "encoding": d["encoding"],
            "expect": d["expect"],
            "tolerance": float(d["tolerance"]),
            "what": d["what"],
            "to": None if (v := d.get("to")) is None else Parameters.read(v),
        })


@dataclass(frozen=True)
class EncodingDiff:
    """The object encodingdiff of the reports."""

    change: Literal["added", "removed", "changed"]
    from_: Encoding | None
    id: str
    says: tuple[str, ...]
    to: Encoding | None

    @classmethod
    def read(cls, d: Any) -> EncodingDiff:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "change": d["change"],
            "from_": None if (v := d["from"]) is None else Encoding.read(v),
            "id": d["id"],
            "says": tuple(d["says"] or ()),
            "to": None if (v := d["to"]) is None else Encoding.read(v),
        })


@dataclass(frozen=True)
class Evidence:
    """The object evidence of the reports."""

    kind: Literal["architecture", "key", "fit", "structure"]
    says: str
    residual: float | None = None

    @classmethod
    def read(cls, d: Any) -> Evidence:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "kind": d["kind"],
            "says": d["says"],
            "residual": None if (v := d.get("residual")) is None else float(v),
        })


@dataclass(frozen=True)
class Failure:
    """A report of schema modelpatch.error/1."""

    code: int
    error: str
    hints: tuple[str, ...]
    path: str
    schema: Literal["modelpatch.error/1"]
    remedies: tuple[Remedy, ...] = ()
    version: str | None = None

    @classmethod
    def read(cls, d: Any) -> Failure:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "code": d["code"],
            "error": d["error"],
            "hints": tuple(d["hints"] or ()),
            "path": d["path"],
            "schema": d["schema"],
            "remedies": tuple(Remedy.read(x) for x in d.get("remedies") or ()),
            "version": d.get("version"),
        })


@dataclass(frozen=True)
class File:
    """The object file of the reports."""

    bytes: int
    path: str

    @classmethod
    def read(cls, d: Any) -> File:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "bytes": d["bytes"],
            "path": d["path"],
        })


@dataclass(frozen=True)
class Finding:
    """The object finding of the reports."""

    level: Literal["error", "warning", "note"]
    message: str
    rule: str
    hint: str | None = None
    remedies: tuple[Remedy, ...] = ()
    where: Where | None = None

    @classmethod
    def read(cls, d: Any) -> Finding:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "level": d["level"],
            "message": d["message"],
            "rule": d["rule"],
            "hint": d.get("hint"),
            "remedies": tuple(Remedy.read(x) for x in d.get("remedies") or ()),
            "where": None if (v := d.get("where")) is None else Where.read(v),
        })


@dataclass(frozen=True)
class Inspection:
    """A report of schema modelpatch.inspect/1."""

    architecture: str | None
    bytes: int
    encodings: tuple[Encoding, ...]
    files: tuple[File, ...]
    findings: tuple[Finding, ...]
    format: Literal["onnx", "gguf"]
    kind: Literal["model", "projector", "adapter", "imatrix", "control-vector", "vocabulary", "other"]
    length: Length
    path: str
    producer: str | None
    schema: Literal["modelpatch.inspect/1"]
    version: str | None = None

    @classmethod
    def read(cls, d: Any) -> Inspection:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "architecture": d["architecture"],
            "bytes": d["bytes"],
            "encodings": tuple(Encoding.read(x) for x in d["encodings"] or ()),
            "files": tuple(File.read(x) for x in d["files"] or ()),
            "findings": tuple(Finding.read(x) for x in d["findings"] or ()),
            "format": d["format"],
            "kind": d["kind"],
            "length": Length.read(d["length"]),
            "path": d["path"],
            "producer": d["producer"],
            "schema": d["schema"],
            "version": d.get("version"),
        })

    def _repr_html_(self) -> str:
        from ._html import inspection

        return inspection(self)


@dataclass(frozen=True)
class KeyDiff:
    """The object keydiff of the reports."""

    change: Literal["added", "removed", "changed", "retyped"]
    from_: Any
    key: str
    to: Any
    from_type: str | None = None
    to_type: str | None = None

    @classmethod
    def read(cls, d: Any) -> KeyDiff:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "change": d["change"],
            "from_": d["from"],
            "key": d["key"],
            "to": d["to"],
            "from_type": d.get("from_type"),
            "to_type": d.get("to_type"),
        })


@dataclass(frozen=True)
class Length:
    """The object length of the reports."""

    beyond: Literal["error", "clamps", "wrong", "continues", "unknown"]
    capacity: int | None
    stated: int | None
    frames: int | None = None
    multiple: int | None = None
    picture: tuple[int, ...] = ()

    @classmethod
    def read(cls, d: Any) -> Length:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "beyond": d["beyond"],
            "capacity": d["capacity"],
            "stated": d["stated"],
            "frames": d.get("frames"),
            "multiple": d.get("multiple"),
            "picture": tuple(d.get("picture") or ()),
        })


@dataclass(frozen=True)
class LengthDiff:
    """The object lengthdiff of the reports."""

    from_: Length
    to: Length

    @classmethod
    def read(cls, d: Any) -> LengthDiff:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "from_": Length.read(d["from"]),
            "to": Length.read(d["to"]),
        })


@dataclass(frozen=True)
class Measure:
    """The object measure of the reports."""

    max_abs: float
    max_rel: float
    max_ulp: float | None = None

    @classmethod
    def read(cls, d: Any) -> Measure:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "max_abs": float(d["max_abs"]),
            "max_rel": float(d["max_rel"]),
            "max_ulp": None if (v := d.get("max_ulp")) is None else float(v),
        })


@dataclass(frozen=True)
class NodeDiff:
    """The object nodediff of the reports."""

    change: Literal["added", "removed", "rewired", "attributes", "renamed"]
    from_: str
    node: str
    to: str
    new_name: str | None = None

    @classmethod
    def read(cls, d: Any) -> NodeDiff:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "change": d["change"],
            "from_": d["from"],
            "node": d["node"],
            "to": d["to"],
            "new_name": d.get("new_name"),
        })


@dataclass(frozen=True)
class Option:
    """The object option of the reports."""

    name: str
    value: str | None = None

    @classmethod
    def read(cls, d: Any) -> Option:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "name": d["name"],
            "value": d.get("value"),
        })


@dataclass(frozen=True)
class Parameters:
    """The object parameters of the reports."""

    amplitude: float | None = None
    base: float | None = None
    bidirectional: bool | None = None
    buckets: int | None = None
    chunk: int | None = None
    defaults: tuple[Literal["base", "rotary_dim", "scaling.original_length"], ...] = ()
    denominator: Literal["half", "half-1"] | None = None
    dim: int | None = None
    dtype: str | None = None
    grid: tuple[int, ...] = ()
    head_dim: int | None = None
    heads: int | None = None
    interleaved_sections: bool | None = None
    layout: Literal["half", "interleaved", "sin-cos", "cos-sin", "interleaved-cos-sin"] | None = None
    max_bias: float | None = None
    max_distance: int | None = None
    offset: int | None = None
    order: Literal["equivariant", "mask", "operators"] | None = None
    prefix: int | None = None
    rotary_dim: int | None = None
    rows: int | None = None
    scaling: Scaling | None = None
    sections: tuple[int, ...] = ()
    sinks: bool | None = None
    slopes: tuple[float, ...] = ()
    temperature: Temperature | None = None
    unrotated_layers: Literal["all"] | tuple[int, ...] | None = None
    window: tuple[int, ...] = ()
    window_layers: Literal["all"] | tuple[int, ...] | None = None
    window_sinks: int | None = None

    @classmethod
    def read(cls, d: Any) -> Parameters:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "amplitude": None if (v := d.get("amplitude")) is None else float(v),
            "base": None if (v := d.get("base")) is None else float(v),
            "bidirectional": d.get("bidirectional"),
            "buckets": d.get("buckets"),
            "chunk": d.get("chunk"),
            "defaults": tuple(d.get("defaults") or ()),
            "denominator": d.get("denominator"),
            "dim": d.get("dim"),
            "dtype": d.get("dtype"),
            "grid": tuple(d.get("grid") or ()),
            "head_dim": d.get("head_dim"),
            "heads": d.get("heads"),
            "interleaved_sections": d.get("interleaved_sections"),
            "layout": d.get("layout"),
            "max_bias": None if (v := d.get("max_bias")) is None else float(v),
            "max_distance": d.get("max_distance"),
            "offset": d.get("offset"),
            "order": d.get("order"),
            "prefix": d.get("prefix"),
            "rotary_dim": d.get("rotary_dim"),
            "rows": d.get("rows"),
            "scaling": None if (v := d.get("scaling")) is None else Scaling.read(v),
            "sections": tuple(d.get("sections") or ()),
            "sinks": d.get("sinks"),
            "slopes": tuple(float(x) for x in d.get("slopes") or ()),
            "temperature": None if (v := d.get("temperature")) is None else Temperature.read(v),
            "unrotated_layers": None if (v := d.get("unrotated_layers")) is None else v if v == "all" else tuple(v or ()),
            "window": tuple(d.get("window") or ()),
            "window_layers": None if (v := d.get("window_layers")) is None else v if v == "all" else tuple(v or ()),
            "window_sinks": d.get("window_sinks"),
        })


@dataclass(frozen=True)
class Patch:
    """A report of schema modelpatch.patch/1."""

    around: tuple[str, ...]
    change: str
    data: tuple[tuple[int, int], ...]
    edits: tuple[PatchEdit, ...]
    outside: str
    schema: Literal["modelpatch.patch/1"]
    source: PatchedFile
    target: PatchedFile
    beside: tuple[PatchBeside, ...] = ()
    expect: Literal["same", "same-on-prefix", "changed", "unknown"] | None = None
    replace: bool | None = None
    request: Any = None
    version: str | None = None

    @classmethod
    def read(cls, d: Any) -> Patch:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "around": tuple(d["around"] or ()),
            "change": d["change"],
            "data": tuple(tuple(x) for x in d["data"] or ()),
            "edits": tuple(PatchEdit.read(x) for x in d["edits"] or ()),
            "outside": d["outside"],
            "schema": d["schema"],
            "source": PatchedFile.read(d["source"]),
            "target": PatchedFile.read(d["target"]),
            "beside": tuple(PatchBeside.read(x) for x in d.get("beside") or ()),
            "expect": d.get("expect"),
            "replace": d.get("replace"),
            "request": d.get("request"),
            "version": d.get("version"),
        })


@dataclass(frozen=True)
class PatchBeside:
    """The object patchbeside of the reports."""

    name: str
    new: str
    old: str
    pointer: str

    @classmethod
    def read(cls, d: Any) -> PatchBeside:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "name": d["name"],
            "new": d["new"],
            "old": d["old"],
            "pointer": d["pointer"],
        })


@dataclass(frozen=True)
class PatchEdit:
    """The object patchedit of the reports."""

    at: int
    new: int
    old: int
    why: str | None = None

    @classmethod
    def read(cls, d: Any) -> PatchEdit:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "at": d["at"],
            "new": d["new"],
            "old": d["old"],
            "why": d.get("why"),
        })


@dataclass(frozen=True)
class PatchedFile:
    """The object patchedfile of the reports."""

    name: str
    size: int
    sha256: str | None = None

    @classmethod
    def read(cls, d: Any) -> PatchedFile:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "name": d["name"],
            "size": d["size"],
            "sha256": d.get("sha256"),
        })


@dataclass(frozen=True)
class Plan:
    """A report of schema modelpatch.plan/1."""

    changes: tuple[EncodingChange, ...]
    command: str
    edits: tuple[Edit, ...]
    path: str
    schema: Literal["modelpatch.plan/1"]
    sidecars: tuple[Sidecar, ...]
    verified: Verdict | None
    written: tuple[Written, ...]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    request: Request | None = None
    version: str | None = None

    @classmethod
    def read(cls, d: Any) -> Plan:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "changes": tuple(EncodingChange.read(x) for x in d["changes"] or ()),
            "command": d["command"],
            "edits": tuple(Edit.read(x) for x in d["edits"] or ()),
            "path": d["path"],
            "schema": d["schema"],
            "sidecars": tuple(Sidecar.read(x) for x in d["sidecars"] or ()),
            "verified": None if (v := d["verified"]) is None else Verdict.read(v),
            "written": tuple(Written.read(x) for x in d["written"] or ()),
            "findings": tuple(Finding.read(x) for x in d.get("findings") or ()),
            "notes": tuple(d.get("notes") or ()),
            "removed": tuple(d.get("removed") or ()),
            "request": None if (v := d.get("request")) is None else Request.read(v),
            "version": d.get("version"),
        })


@dataclass(frozen=True)
class Reading:
    """The object reading of the reports."""

    parameters: Parameters
    scheme: Literal["learned", "sinusoidal", "rope", "alibi", "t5-bias", "relative-table", "relative-sinusoid", "disentangled", "conv", "none", "unknown"]
    why: str

    @classmethod
    def read(cls, d: Any) -> Reading:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "parameters": Parameters.read(d["parameters"]),
            "scheme": d["scheme"],
            "why": d["why"],
        })


@dataclass(frozen=True)
class Remedy:
    """The object remedy of the reports."""

    options: tuple[Option, ...] = ()
    says: str | None = None
    verb: str | None = None

    @classmethod
    def read(cls, d: Any) -> Remedy:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "options": tuple(Option.read(x) for x in d.get("options") or ()),
            "says": d.get("says"),
            "verb": d.get("verb"),
        })


@dataclass(frozen=True)
class Request:
    """The object request of the reports."""

    options: Any
    verb: str
    assume: str | None = None

    @classmethod
    def read(cls, d: Any) -> Request:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "options": d["options"],
            "verb": d["verb"],
            "assume": d.get("assume"),
        })


@dataclass(frozen=True)
class Scaling:
    """The object scaling of the reports."""

    type: Literal["none", "linear", "ntk", "dynamic", "yarn", "llama3", "longrope", "proportional", "resonance", "custom"]
    attention_factor: float | None = None
    beta_fast: float | None = None
    beta_slow: float | None = None
    factor: float | None = None
    high_freq_factor: float | None = None
    long_factor: tuple[float, ...] = ()
    low_freq_factor: float | None = None
    original_length: int | None = None
    short_factor: tuple[float, ...] = ()
    truncate: bool | None = None

    @classmethod
    def read(cls, d: Any) -> Scaling:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "type": d["type"],
            "attention_factor": None if (v := d.get("attention_factor")) is None else float(v),
            "beta_fast": None if (v := d.get("beta_fast")) is None else float(v),
            "beta_slow": None if (v := d.get("beta_slow")) is None else float(v),
            "factor": None if (v := d.get("factor")) is None else float(v),
            "high_freq_factor": None if (v := d.get("high_freq_factor")) is None else float(v),
            "long_factor": tuple(float(x) for x in d.get("long_factor") or ()),
            "low_freq_factor": None if (v := d.get("low_freq_factor")) is None else float(v),
            "original_length": d.get("original_length"),
            "short_factor": tuple(float(x) for x in d.get("short_factor") or ()),
            "truncate": d.get("truncate"),
        })


@dataclass(frozen=True)
class Sidecar:
    """The object sidecar of the reports."""

    from_: float
    path: str
    pointer: str
    to: float
    written: bool
    backup: str | None = None
    why: str | None = None

    @classmethod
    def read(cls, d: Any) -> Sidecar:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "from_": float(d["from"]),
            "path": d["path"],
            "pointer": d["pointer"],
            "to": float(d["to"]),
            "written": d["written"],
            "backup": d.get("backup"),
            "why": d.get("why"),
        })


@dataclass(frozen=True)
class Temperature:
    """The object temperature of the reports."""

    layers: Literal["all"] | tuple[int, ...]
    length: float
    scale: float
    logarithm: bool | None = None

    @classmethod
    def read(cls, d: Any) -> Temperature:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "layers": d["layers"] if d["layers"] == "all" else tuple(d["layers"] or ()),
            "length": float(d["length"]),
            "scale": float(d["scale"]),
            "logarithm": d.get("logarithm"),
        })


@dataclass(frozen=True)
class TensorDiff:
    """The object tensordiff of the reports."""

    bytes: int
    change: Literal["added", "removed", "resized", "retyped", "bytes", "renamed"]
    from_: str
    name: str
    position: bool
    to: str
    at: tuple[tuple[int, int], ...] = ()
    count: int | None = None
    new_name: str | None = None

    @classmethod
    def read(cls, d: Any) -> TensorDiff:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "bytes": d["bytes"],
            "change": d["change"],
            "from_": d["from"],
            "name": d["name"],
            "position": d["position"],
            "to": d["to"],
            "at": tuple(tuple(x) for x in d.get("at") or ()),
            "count": d.get("count"),
            "new_name": d.get("new_name"),
        })


@dataclass(frozen=True)
class Tolerance:
    """The object tolerance of the reports."""

    name: str
    value: float

    @classmethod
    def read(cls, d: Any) -> Tolerance:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "name": d["name"],
            "value": float(d["value"]),
        })


@dataclass(frozen=True)
class Verdict:
    """A report of schema modelpatch.verify/1."""

    after: str
    before: str
    checks: tuple[Check, ...]
    schema: Literal["modelpatch.verify/1"]
    summary: str
    verdict: Literal["same", "same-on-prefix", "changed-as-planned", "consistent", "different", "broken"]
    hints: tuple[str, ...] = ()
    version: str | None = None

    @classmethod
    def read(cls, d: Any) -> Verdict:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "after": d["after"],
            "before": d["before"],
            "checks": tuple(Check.read(x) for x in d["checks"] or ()),
            "schema": d["schema"],
            "summary": d["summary"],
            "verdict": d["verdict"],
            "hints": tuple(d.get("hints") or ()),
            "version": d.get("version"),
        })


@dataclass(frozen=True)
class Where:
    """The object where of the reports."""

    file: str | None = None
    key: str | None = None
    node: str | None = None
    range: tuple[int, int] | None = None
    tensor: str | None = None

    @classmethod
    def read(cls, d: Any) -> Where:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "file": d.get("file"),
            "key": d.get("key"),
            "node": d.get("node"),
            "range": None if (v := d.get("range")) is None else tuple(v),
            "tensor": d.get("tensor"),
        })


@dataclass(frozen=True)
class Written:
    """The object written of the reports."""

    bytes: int
    how: Literal["new", "in-place", "patch"]
    path: str
    sha256: str | None

    @classmethod
    def read(cls, d: Any) -> Written:
        """Makes one of an object of JSON."""
        return _made(cls, {
            "bytes": d["bytes"],
            "how": d["how"],
            "path": d["path"],
            "sha256": d["sha256"],
        })
