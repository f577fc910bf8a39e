"""What a notebook shows. Everything that comes from a file is escaped; no colours are set, so that dark notebooks stay dark."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._change import Change
    from .reports import Inspection, Length


def _rows(rows: Iterable[tuple[str, object]]) -> str:
    return "".join(f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(str(value))}</td></tr>' for name, value in rows)


def _table(caption: str, rows: Iterable[tuple[str, object]]) -> str:
    return f'<table><caption style="text-align:left">{escape(caption)}</caption>{_rows(rows)}</table>'


def _length(length: Length) -> str:
    told = [f"{n:,} {word}" for n, word in ((length.stated, "stated"), (length.capacity, "positions")) if n is not None]
    return ", ".join([*told, f"beyond: {length.beyond}"])


def _short(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, (int, float)) else str(value)


def inspection(report: Inspection) -> str:
    rows: list[tuple[str, object]] = [("format", f"{report.format}, {report.kind}, {report.bytes:,} bytes"), ("length", _length(report.length))]
    rows += [(name, value) for name, value in (("architecture", report.architecture), ("producer", report.producer)) if value is not None]
    for encoding in report.encodings:
        parameters = encoding.parameters
        told = {"base": parameters.base, "scaling": parameters.scaling and parameters.scaling.type, "rows": parameters.rows, "width": parameters.dim,
                "heads": parameters.heads, "buckets": parameters.buckets}
        rows.append((encoding.scheme, ", ".join(f"{name} {_short(value)}" for name, value in told.items() if value is not None) or encoding.form or ""))
    rows += [(finding.level, finding.message) for finding in report.findings]
    return _table(report.path, rows)


def change(report: Change) -> str:
    rows: list[tuple[str, object]] = [("change", change.what) for change in report.changes]
    if report.model is None:
        rows += [("written", f"{written.path}, {written.bytes:,} bytes") for written in report.written]
    if report.verified is not None:
        rows.append(("verified", report.verified.verdict))
    rows += [("note", note) for note in report.notes]
    rows += [(finding.level, finding.message) for finding in report.findings]
    return _table(report.path, rows)
