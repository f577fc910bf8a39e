"""What is taken for a model: a path, an address, bytes, an onnx.ModelProto, or a change for what it made."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Union

from ._change import Change
from .errors import InputError, OutputError, UsageError

if TYPE_CHECKING:
    from onnx import ModelProto

PathLike = Union[str, "os.PathLike[str]"]
Model = Union[PathLike, bytes, bytearray, memoryview, "ModelProto", Change]

# The largest message that protocol buffers write.
_LARGEST_PROTO = 2**31 - 1


def is_path(model: Any) -> bool:
    return isinstance(model, (str, os.PathLike))


def is_proto(model: Any) -> bool:
    return hasattr(model, "SerializeToString") and hasattr(model, "graph")


def argument(path: PathLike | Change) -> str:
    """A path, or that of what a change made, as an argument: - is the name of a file here."""
    text = os.fspath(made(path))
    if not isinstance(text, str):
        raise TypeError(f"a path is a str, not {type(text).__name__}; bytes are the content of a model")
    return "./-" if text == "-" else text


def made(model: Any) -> Any:
    """What a change made, and anything else as it is."""
    if not isinstance(model, Change):
        return model
    if model.model is None and model.output is None:
        raise UsageError(f"{model.command}: made no new file", model.path, ["output names one; a change in place is in the path that was changed"])
    return model.output if model.model is None else model.model


class Placed:
    """Models as files; those that were no files lie in one folder that goes at the end."""

    def __init__(self) -> None:
        self.folder = ""
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def place(self, model: Model, name: str = "model") -> str:
        """The path of a model, written where it is none."""
        model = made(model)
        if isinstance(model, (str, os.PathLike)):
            return argument(model)
        if isinstance(model, (bytes, bytearray, memoryview)):
            data = model if isinstance(model, bytes) else bytes(model)
            return self.write(name + (".gguf" if data[:4] == b"GGUF" else ".onnx"), data)
        if is_proto(model):
            return self.write(name + ".onnx", _serialized(model))
        raise TypeError(f"a model is a path, an address, bytes, an onnx.ModelProto or a Change, not {type(model).__name__}")

    def new(self, name: str) -> str:
        """A path in the folder for what is to be written."""
        if self._folder is None:
            try:
                self._folder = tempfile.TemporaryDirectory(prefix="modelpatch-")
            except OSError as error:
                raise _no_folder(error) from error
            self.folder = self._folder.name
        return os.path.join(self.folder, name)

    def write(self, name: str, data: bytes) -> str:
        path = self.new(name)
        try:
            with open(path, "xb") as file:
                file.write(data)
        except OSError as error:
            raise _no_folder(error) from error
        return path

    def end(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def shown(self, text: str) -> str:
        """A report without the name of the folder, which says nothing to the caller."""
        if not self.folder:
            return text
        within = self.folder + os.sep
        return text.replace(within.replace("\\", "\\\\"), "").replace(within, "")


@contextmanager
def placing() -> Iterator[Placed]:
    placed = Placed()
    try:
        yield placed
    finally:
        placed.end()


def _no_folder(error: OSError) -> OutputError:
    return OutputError(f"{error.filename or tempfile.gettempdir()}: the model cannot be written to the folder for temporary files: {error.strerror or error}",
                       str(error.filename or ""), ["TMPDIR names another folder; a model that is a file needs none"])


def _serialized(proto: Any) -> bytes:
    for tensor in proto.graph.initializer:
        if tensor.data_location == tensor.EXTERNAL:
            raise InputError(f"the data of tensor {tensor.name!r} lie in another file, and a ModelProto does not know where", "",
                             ["onnx.load(PATH) loads them, too; or give the path in place of the ModelProto"])
    if proto.ByteSize() > _LARGEST_PROTO:
        raise InputError("the ModelProto is larger than 2 GiB, which protocol buffers cannot write", "", ["give the path of the model, with its data in another file"])
    data: bytes = proto.SerializeToString()
    return data


def loaded(path: str, like: Model) -> Any:
    """The new model, as what the old one was: bytes or a ModelProto, with the data that lie in other files."""
    if is_proto(like):
        import onnx

        return onnx.load(path)
    with open(path, "rb") as file:
        return file.read()
