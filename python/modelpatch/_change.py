"""The result of a verb that changes a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Union

from .reports import Plan

if TYPE_CHECKING:
    from onnx import ModelProto


@dataclass(frozen=True)
class Change(Plan):
    """A change of a model.

    output is the file that was written, if one was; model is the new model where the old one was bytes or an onnx.ModelProto
    and no output was named: the same kind again; written then tells its size, and a name that is gone.
    """

    output: Path | None = None
    model: Union[bytes, ModelProto, None] = field(default=None, repr=False)

    def _repr_html_(self) -> str:
        from ._html import change

        return change(self)
