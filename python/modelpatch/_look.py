"""Verbs that look at models: inspect, check, verify, diff, plot, show."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from . import _run
from ._change import Change
from ._model import Model, PathLike, Placed, argument, is_proto, made, placing
from ._options import Checking, Inspecting, Plotting, Reading, Verifying, flags, known
from ._progress import Progress, shown
from .errors import InputError, OutputError, UsageError, VerificationFailed, of_failure, of_text
from .reports import Checked, Difference, Failure, Inspection, Patch, Verdict

if TYPE_CHECKING:
    from typing_extensions import Unpack


def answer(placed: Placed, arguments: list[str], progress: Progress = False) -> tuple[int, Any]:
    """The exit code of a command and the one object that it printed; a reported failure is raised."""
    with shown(progress, "B") as told:
        done = _run.run(arguments, told)
    printed = placed.shown(done.out.decode()).splitlines()
    if not printed:
        raise of_text(done.code, placed.shown(done.err))
    if len(printed) > 1:
        raise UsageError("more than one model is there", "", ["inspect_many and check take folders and lists"])
    read = json.loads(printed[0])
    if read["schema"] == "modelpatch.error/1":
        raise of_failure(Failure.read(read))
    return done.code, read


def inspect(model: Model, **options: Unpack[Inspecting]) -> Inspection:
    """Which position encodings a model has, with which parameters, and how far they reach."""
    known(options, Inspecting)
    with placing() as placed:
        path = placed.place(model)
        return Inspection.read(answer(placed, ["inspect", "--json", *flags(options), "--", path])[1])


def inspect_many(paths: PathLike | Iterable[PathLike], *, progress: Progress = False, **options: Unpack[Inspecting]) -> Iterator[Inspection | InputError]:
    """Inspects many files, folders and addresses in one process, and yields each result when it is there.

    What cannot be read is yielded as the InputError that inspect would raise. Each file is told once, whatever names it has.
    progress is called with how many are done, of how many; True shows tqdm's bar.
    """
    known(options, Inspecting)
    return _inspected(["inspect", "--json", *flags(options)], _names(paths), progress)


def _names(paths: PathLike | Iterable[PathLike]) -> list[str]:
    """Paths as arguments; a single one is a list of one, not of letters."""
    return [argument(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]


def _inspected(arguments: list[str], paths: list[str], progress: Progress) -> Iterator[Inspection | InputError]:
    for read in _each(arguments, paths, progress, Placed(), lambda code: None):
        if read["schema"] != "modelpatch.error/1":
            yield Inspection.read(read)
            continue
        error = of_failure(Failure.read(read))
        if not isinstance(error, InputError):
            raise error
        yield error


def _each(arguments: list[str], paths: list[str], progress: Progress, placed: Placed, ended: Callable[[int], None]) -> Iterator[Any]:
    """The objects that a command prints for many paths: folders are arguments, all else comes by standard input. ended is told the exit code."""
    folders = [path for path in paths if os.path.isdir(path)]
    files = [path for path in paths if not os.path.isdir(path)]
    if not paths:
        ended(0)
        return
    for path in files:
        if "\0" in path or not path:
            raise UsageError(f"{path!r} is no path")
    command = [*arguments, *(["--files-from=-"] if files else []), "--", *folders]
    with shown(progress, "model", len(paths)) as told:
        for count, line in enumerate(_run.lines(command, b"".join(os.fsencode(path) + b"\0" for path in files), ended), 1):
            if told:
                told(count, max(count, len(paths)))
            yield json.loads(placed.shown(line.decode()))


@dataclass(frozen=True)
class Report:
    """What check found. passed says whether the gate is open: by fail_on, the policy and its waivers, and the baseline."""

    models: tuple[Checked, ...]
    passed: bool

    def __iter__(self) -> Iterator[Checked]:
        return iter(self.models)


def check(
    paths: Model | Iterable[PathLike], *, policy: PathLike | Mapping[str, Any] | None = None, progress: Progress = False, **options: Unpack[Checking]
) -> Report:
    """Holds models, or all below folders, against the rules and a policy: a file, or its content as a mapping."""
    known(options, Checking)
    with placing() as placed:
        if isinstance(policy, Mapping):
            policy = placed.write("modelpatch.yaml", json.dumps(policy).encode())  # JSON is YAML
        arguments = ["check", "--json", *flags({"policy": policy}), *flags(options)]
        paths = made(paths)
        held = isinstance(paths, (bytes, bytearray, memoryview)) or is_proto(paths)
        names = [placed.place(cast("Model", paths))] if held else _names(cast("PathLike | Iterable[PathLike]", paths))
        codes: list[int] = []
        models: list[Checked] = []
        for read in _each(arguments, names, progress, placed, codes.append):
            if read["schema"] == "modelpatch.error/1":
                raise of_failure(Failure.read(read))
            models.append(Checked.read(read))
        return Report(tuple(models), codes == [0])


def verify(before: Model, after: Model, **options: Unpack[Verifying]) -> Verdict:
    """Proves what a change left equal, from the numbers in both files. VerificationFailed, with the verdict, where they differ otherwise."""
    known(options, Verifying)
    with placing() as placed:
        paths = [placed.place(before, "before"), placed.place(after, "after")]
        code, read = answer(placed, ["verify", "--json", *flags(options), "--", *paths], options.get("progress", False))
        verdict = Verdict.read(read)
        if code:
            failed = VerificationFailed(f"{verdict.after}: {verdict.verdict}: {verdict.summary}", verdict.after, verdict.hints)
            failed.verdict = verdict
            raise failed
        return verdict


def diff(a: Model, b: Model, *, patch: PathLike | None = None, force: bool = False, **options: Unpack[Reading]) -> Difference:
    """What differs between two models. patch writes the file that makes b of a."""
    known(options, Reading)
    with placing() as placed:
        paths = [placed.place(a, "a"), placed.place(b, "b")]
        given = flags({"patch": patch, "force": force, **options})
        return Difference.read(answer(placed, ["diff", "--json", *given, "--", *paths])[1])


def show(patch: PathLike | Change, **options: Unpack[Reading]) -> Patch:
    """What a patch file changes."""
    known(options, Reading)
    with placing() as placed:
        return Patch.read(answer(placed, ["show", "--json", *flags(options), "--", argument(patch)])[1])


@dataclass(frozen=True)
class Figure:
    """A picture of a model's encodings. A notebook shows SVG and PNG; SVG follows the colours of a dark one."""

    data: bytes = field(repr=False)
    format: Literal["svg", "png", "html"]

    def _repr_svg_(self) -> str | None:
        return self.data.decode() if self.format == "svg" else None

    def _repr_png_(self) -> bytes | None:
        return self.data if self.format == "png" else None

    def save(self, path: PathLike) -> None:
        """Writes the picture to a new file."""
        try:
            with open(path, "xb") as file:
                file.write(self.data)
        except OSError as error:
            raise OutputError(f"{os.fspath(path)}: {error.strerror}", str(path)) from error


def plot(model: Model, other: Model | None = None, *, format: Literal["svg", "png", "html"] = "svg", **options: Unpack[Plotting]) -> Figure:
    """A picture of a model's position encodings, or of two models and their difference."""
    known(options, Plotting)
    with placing() as placed:
        paths = [placed.place(model), *([] if other is None else [placed.place(other, "other")])]
        done = _run.run(["plot", "--output=-", f"--format={format}", *flags(options), "--", *paths])
        if done.code:
            raise of_text(done.code, placed.shown(done.err))
        return Figure(done.out, format)
