"""Reads and changes the position encodings of ONNX and GGUF models.

A model is a path, an address (https://, hf://, oci://), bytes, an onnx.ModelProto, or a
Change, for what it made. The executable modelpatch does the work.
"""

from ._change import Change
from ._look import Figure, Report, check, diff, inspect, inspect_many, plot, show, verify
from ._model import Model
from ._verbs import alibi, apply, bake, extend, relative, revert, rope, unbake, undo, window
from ._verbs import set as set  # not in __all__: `from modelpatch import *` must not hide Python's own set
from ._version import VERSION as __version__
from .errors import InputError, Interrupted, ModelpatchError, OutputError, Refused, UsageError, VerificationFailed
from .reports import Difference, Inspection, Patch, Verdict

__all__ = [
    "Change", "Difference", "Figure", "InputError", "Inspection", "Interrupted", "Model", "ModelpatchError", "OutputError", "Patch", "Refused", "Report",
    "UsageError", "Verdict", "VerificationFailed", "__version__", "alibi", "apply", "bake", "check", "diff", "extend", "inspect", "inspect_many", "plot",
    "relative", "revert", "rope", "show", "unbake", "undo", "verify", "window",
]
