"""Longer models for ONNX Runtime, without a step before."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _version
from ._look import inspect
from ._model import PathLike
from ._verbs import ExtendMethod, extend
from .errors import OutputError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession  # type: ignore[import-untyped, import-not-found, unused-ignore]


def extended_session(path: PathLike, length: int, *, method: ExtendMethod | None = None, cache: PathLike | None = None, **session: Any) -> InferenceSession:
    """An InferenceSession of the model with length positions; session are the arguments of InferenceSession.

    The longer model is written once to a folder of cache (by default, modelpatch in XDG_CACHE_HOME or ~/.cache) that is named
    by the model's path, its files' sizes and times, the length and the method; a changed model gets another folder. Nothing
    is removed from there. Two processes may do so at once.
    """
    from onnxruntime import InferenceSession

    return InferenceSession(str(extended(path, length, method=method, cache=cache)), **session)


def extended(path: PathLike, length: int, *, method: ExtendMethod | None = None, cache: PathLike | None = None) -> Path:
    """The path of the longer model that extended_session opens."""
    model = Path(path).resolve()
    files = [model, *(model.parent / file.path for file in inspect(model).files)]
    facts = [[os.fspath(file), status.st_size, status.st_mtime_ns, status.st_ino] for file, status in ((file, file.stat()) for file in files)]
    key = hashlib.sha256(json.dumps([_version.VERSION, length, method, facts], ensure_ascii=True).encode()).hexdigest()[:32]
    folder = Path(cache) if cache is not None else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "modelpatch"
    found = folder / key / model.name
    if found.is_file():
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=".making-", dir=folder))
    except OSError as error:
        raise OutputError(f"{folder}: longer models cannot be kept there: {error.strerror}", str(folder), ["cache= names another folder"]) from error
    try:
        extend(model, length, output=making / model.name, method=method)
        os.rename(making, folder / key)
    except OSError:
        if not found.is_file():  # nobody else was faster
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return found
