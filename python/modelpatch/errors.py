"""What calls raise: one class for each exit code of the command."""

from __future__ import annotations

from collections.abc import Sequence

from .reports import Failure, Remedy, Verdict


class ModelpatchError(Exception):
    """Any error of modelpatch.

    path is the input that it is about, or empty; hints are what to do, as sentences; remedies are those of them that are
    options of the command, as values.
    """

    code: int | None = None

    def __init__(self, message: str, path: str = "", hints: Sequence[str] = (), remedies: Sequence[Remedy] = ()) -> None:
        super().__init__(message, path, tuple(hints), tuple(remedies))
        self.message = message
        self.path = path
        self.hints = tuple(hints)
        self.remedies = tuple(remedies)

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"hint: {hint}" for hint in self.hints)])


class VerificationFailed(ModelpatchError):
    """The new model is not what was planned (1). verdict is what verify said, where it came to one."""

    code = 1
    verdict: Verdict | None = None


class UsageError(ModelpatchError):
    """An option or a parameter is wrong (2)."""

    code = 2


class InputError(ModelpatchError):
    """An input cannot be read (3)."""

    code = 3


class Refused(ModelpatchError):
    """This change cannot be made to this model (4)."""

    code = 4


class OutputError(ModelpatchError):
    """Output failed (5); files are as they were, unless the message says otherwise."""

    code = 5


class Interrupted(ModelpatchError):
    """The command was ended from outside; the target is as it was, or `modelpatch recover` mends it."""


_BY_CODE: dict[int, type[ModelpatchError]] = {code: kind for code, kind in enumerate((VerificationFailed, UsageError, InputError, Refused, OutputError), 1)}


def of_failure(failure: Failure) -> ModelpatchError:
    """The exception for a failure that the command reported."""
    return _BY_CODE.get(failure.code, Interrupted)(failure.error, failure.path, failure.hints, failure.remedies)


def of_text(code: int, text: str) -> ModelpatchError:
    """The exception for what the command said on standard error."""
    lines = text.strip().splitlines()
    hints = [line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")]
    said = " ".join(line.removeprefix("modelpatch: ") for line in lines if not line.startswith("hint: "))
    if code < 0:
        said = f"modelpatch was ended by signal {-code}" + (f": {said}" if said else "")
    return _BY_CODE.get(code, Interrupted)(said or f"modelpatch ended with exit code {code}", "", hints)
