"""Finds the executable and runs it; an exception in the caller, such as Ctrl-C, ends it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sysconfig
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

from . import _progress, _version
from .errors import OutputError, UsageError, of_text

# How long an interrupted command may take to put its files in order before it is killed.
_PATIENCE = 0.7


@cache
def executable() -> str:
    """The path of the executable: that of the wheel, else the one on PATH, if it is of this package's version."""
    name = "modelpatch.exe" if os.name == "nt" else "modelpatch"
    for folder in _beside():
        if (folder / name).is_file():
            return str(folder / name)
    found = shutil.which("modelpatch")
    if found is None:
        raise UsageError("the executable modelpatch is neither in this Python's environment nor on PATH", "", ["pip install --force-reinstall modelpatch brings it"])
    if _version.EXECUTABLE is not None:
        said = subprocess.run([found, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False).stdout.split()
        if said[-1:] != [_version.EXECUTABLE]:
            raise UsageError(f"{found}: is {' '.join(said) or 'no modelpatch'}, and the package is of {_version.EXECUTABLE}", "",
                             ["pip install --force-reinstall modelpatch brings the executable that belongs to it"])
    return found


def _beside() -> Iterator[Path]:
    """The folders where pip puts the wheel's executable. A checkout has none."""
    if _version.EXECUTABLE is None:
        return
    yield Path(sysconfig.get_path("scripts"))
    import importlib.metadata  # takes a while: where --user, --target or --prefix was given only

    try:
        distribution = importlib.metadata.distribution("modelpatch")
    except importlib.metadata.PackageNotFoundError:
        return
    for entry in distribution.files or ():
        if entry.stem == "modelpatch" and entry.parent.name in ("bin", "Scripts"):
            yield Path(str(distribution.locate_file(entry))).resolve().parent


class Done(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: bytes
    err: str


def _start(arguments: Sequence[str], stdin: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen([executable(), *arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except ValueError as error:  # a NUL in an argument
        raise UsageError(f"an argument cannot be handed to a command: {error}") from error
    except OSError as error:
        raise OutputError(f"{executable()}: cannot be started: {error.strerror}", executable()) from error


@contextmanager
def _ended(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ends the child when what is done with it fails."""
    try:
        yield
    except BaseException:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGINT)
            try:
                child.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
        raise
    finally:
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # what the child did not read
                    pass


def run(arguments: Sequence[str], told: Callable[[int, int], None] | None = None) -> Done:
    """Runs a command to its end; told is given its progress."""
    child = _start(arguments, subprocess.DEVNULL)
    with _ended(child):
        out, err = child.communicate() if told is None else _followed(child, told)
    if child.returncode < 0 or child.returncode > 5:
        raise of_text(child.returncode, err.decode(errors="replace"))
    return Done(child.returncode, out, err.decode(errors="replace"))


def _drained(pipe: IO[bytes] | None, into: list[bytes]) -> threading.Thread:
    """Reads a pipe to its end beside what else is done."""

    def drain() -> None:
        assert pipe is not None
        try:
            into.append(pipe.read())
        except (OSError, ValueError):
            pass  # nobody waits for it any more

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    return thread


def _followed(child: subprocess.Popen[bytes], told: Callable[[int, int], None]) -> tuple[bytes, bytes]:
    """What a command prints on standard output and, but for its progress, on standard error."""
    out: list[bytes] = []
    err: list[bytes] = []
    thread = _drained(child.stdout, out)
    assert child.stderr is not None
    for line in child.stderr:
        said = _progress.read(line)
        if said is None:
            err.append(line)
        else:
            told(*said)
    thread.join()
    return b"".join(out), b"".join(err)


def lines(arguments: Sequence[str], stdin: bytes, ended: Callable[[int], None]) -> Iterator[bytes]:
    """Runs a command and yields the lines that it prints, as it prints them; ended is told the exit code."""
    child = _start(arguments, subprocess.PIPE)
    err: list[bytes] = []

    def feed() -> None:
        assert child.stdin is not None
        try:
            child.stdin.write(stdin)
            child.stdin.close()
        except OSError:
            pass  # the child has ended, and says why

    printed = False
    with _ended(child):
        threads = [threading.Thread(target=feed, daemon=True), _drained(child.stderr, err)]
        threads[0].start()
        assert child.stdout is not None
        for line in child.stdout:
            printed = True
            yield line
        for thread in threads:
            thread.join()
    if child.returncode < 0 or child.returncode > 5 or (child.returncode and not printed):
        raise of_text(child.returncode, b"".join(err).decode(errors="replace"))
    ended(child.returncode)
