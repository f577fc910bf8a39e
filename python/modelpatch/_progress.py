"""Tells how far a run is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Union

from .errors import UsageError

Progress = Union[bool, Callable[[int, int], None]]

_BEGINS = b'{"schema":"modelpatch.progress/'


@contextmanager
def shown(progress: Progress, unit: str, total: int | None = None) -> Iterator[Callable[[int, int], None] | None]:
    """What is told how much is done, of how much: the caller's function, a bar of tqdm, or nothing. total, where it is known before."""
    if progress is not True:
        yield progress or None
        return
    try:
        from tqdm import tqdm  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise UsageError("progress=True shows tqdm's bar, and tqdm is not installed", "", ["a function of two numbers does without"]) from error
    with tqdm(total=total, unit=unit, unit_scale=unit == "B") as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


def read(line: bytes) -> tuple[int, int] | None:
    """How much is done, of how much, by a line of --progress=json; None where it is another line."""
    if not line.startswith(_BEGINS):
        return None
    said = json.loads(line)
    return said["done"], said["total"]
