"""Options that many verbs share, named as the flags of the command are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Union

from ._progress import Progress

PathLike = Union[str, "os.PathLike[str]"]


class Reading(TypedDict, total=False):
    """How a model is read."""

    assume: str  # an architecture that the file is taken for
    allow_private: bool  # addresses in private networks, and http://
    max_bytes: int  # that may be fetched of models at addresses
    offline: bool  # refuses addresses
    scan: bool  # fetches large tables, too


class Applying(Reading, total=False):
    """How a patch is applied or reverted."""

    in_place: bool
    dry_run: bool
    force: bool  # replaces an existing output; writes a file that engines refuse
    backup: bool
    follow: bool
    digest: bool
    provenance: PathLike
    progress: Progress  # told the bytes that are done, of how many; True: a bar of tqdm


class Writing(Applying, total=False):
    """How a changed model is written."""

    patch_only: bool
    full_digest: bool
    no_undo: bool
    reserve: int
    sidecars: bool
    edits: PathLike
    to: Literal["s3-parts"]
    llama_server: PathLike
    require_engine: bool


class Listing(Reading, total=False):
    """How many models are read."""

    exclude: Sequence[str]
    external_root: PathLike
    follow: bool
    jobs: int
    journal: PathLike
    max_unpacked: int
    shard: str


class Inspecting(Listing, total=False):
    """How models are inspected."""

    engine: Literal["llama.cpp", "transformers", "onnxruntime"]


class Checking(Listing, total=False):
    """How models are checked."""

    baseline: PathLike
    write_baseline: bool
    fail_on: Literal["error", "warning", "note", "never"]


class Verifying(Reading, total=False):
    """How two models are compared by verify."""

    engine: bool
    no_engine: bool
    require_engine: bool
    expect: Literal["same", "same-on-prefix", "changed"]
    full: bool
    heads: int
    layers: int
    positions: int
    llama_server: PathLike
    plan: PathLike
    progress: Progress  # as of Applying


class Plotting(Reading, total=False):
    """How a picture is drawn."""

    external_root: PathLike
    width: int


def known(options: Mapping[str, Any], kinds: type[Any]) -> None:
    """Refuses a keyword that a verb has not, as Python does."""
    for name in options:
        if name not in kinds.__required_keys__ | kinds.__optional_keys__:
            raise TypeError(f"unexpected keyword argument {name!r}; there are {', '.join(sorted(kinds.__optional_keys__))}")


def flags(options: Mapping[str, Any]) -> list[str]:
    """Flags of the command. What is None or False is left out; a list becomes one flag an item where values may hold commas."""
    out = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False and name != "truncate":
            continue
        if name == "progress":
            out.append("--progress=json")
        elif value is True:
            out.append(flag)
        elif value is False:
            out.append(f"{flag}=false")
        elif name == "exclude":
            out += [f"{flag}={item}" for item in ([value] if isinstance(value, str) else value)]
        elif isinstance(value, Mapping):
            out.append(f"{flag}=" + ",".join(f"{key}={number}" for key, number in value.items()))
        elif isinstance(value, (list, tuple)):
            out.append(f"{flag}=" + ",".join(str(item) for item in value))
        else:
            out.append(f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    return out
