"""Paths of directories that the job itself reads and writes: on a mounted file system, or in a store of objects.

Generations of a checkpoint directory: a job that was handed over goes on in a directory of its own below the first.

    visits/                    the job, or its shadow, until it was handed over
    visits/generation-1/       the job from there on; it counts as soon as it has recorded its savepoint
    visits/generation-2/       the job after the next time

A path of the directory means its newest generation, for a start and for every command.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from penstock.config.options import CHECKPOINT_DIR
from penstock.connectors.local_path import SCHEME
from penstock.errors import JobDirectoryError, PenstockError, SavepointError
from penstock.filesystem.object_path import SCHEMES, ObjectPath, object_path
from penstock.filesystem.object_store import check_installed
from penstock.filesystem.store_settings import StoreSettings
from penstock.filesystem.stored_path import JobPath, StoredPath, store_of

_NAME = "generation-"

_BEGUN = "restored.json"
"""Record of a job that began with a savepoint."""


def generations(path: Path) -> list[Path]:
    """Return a directory and its generations that have begun, the oldest first."""
    later = (generation(path, number) for number in sorted(_numbers(path)))
    return [path, *(later_path for later_path in later if (later_path / _BEGUN).exists())]


def current_generation(path: Path) -> Path:
    """Return the newest generation that has begun; the directory itself without one."""
    return generations(path)[-1]


def latest_directory(path: Path) -> Path:
    """Return the newest generation, also one that has not begun; the directory itself without one."""
    newest = max(_numbers(path), default=None)
    return path if newest is None else generation(path, newest)


def next_generation(path: Path) -> int:
    """Return the number of a generation that has never been there."""
    return 1 + max(_numbers(path), default=0)


def generation(path: Path, number: int) -> Path:
    """Return the directory of a generation."""
    return path / f"{_NAME}{number}"


def _numbers(path: Path) -> list[int]:
    suffixes = (child.name.removeprefix(_NAME) for child in path.glob(f"{_NAME}*"))
    return [int(number) for number in suffixes if number.isdecimal()]


SAVEPOINTS = "the directory for savepoints"

# `Path` makes one slash of two.
_STORED = re.compile(rf"^({'|'.join(SCHEMES)}):/+", re.IGNORECASE)
_FILE = re.compile(r"^file:(//)?(?=/)", re.IGNORECASE)
_LOGIN = re.compile(r"//[^/]*@")


def mounted_path(configured: str | os.PathLike[str], what: str, error: type[PenstockError]) -> Path:
    """Return a path, or a `file:` URI, as an absolute path."""
    text = _FILE.sub("", os.fspath(configured))
    if (scheme := SCHEME.match(text)) is not None:
        shown = f"a URI of {scheme[1]} with a login in it" if _LOGIN.search(text) else repr(text)
        raise error(
            f"{what} is {shown}, which is not on a mounted file system",
            hint="Use a path that the driver and all executors see, such as a network mount.",
        )
    return Path(text).absolute()


def checkpoint_path(
    configured: str | os.PathLike[str], settings: StoreSettings | None = None
) -> JobPath:
    """Return the path of a checkpoint directory, of its newest generation if there are some."""
    path = named_directory(configured, settings)
    return current_generation(path) if isinstance(path, Path) else path


def named_directory(
    configured: str | os.PathLike[str], settings: StoreSettings | None = None
) -> JobPath:
    """Return the path of a checkpoint directory itself, which a command or a setting names."""
    text = _STORED.sub(r"\1://", os.fspath(configured))
    place = object_path(text, "use as a checkpoint directory")
    if place is None:
        return mounted_path(configured, CHECKPOINT_DIR.key, JobDirectoryError)
    check_installed(place.scheme, f"the checkpoint directory {place}")
    return StoredPath(store_of(place, settings), place)


def savepoint_place(configured: str | os.PathLike[str]) -> Path | ObjectPath:
    """Return the path of a savepoint, or of the directory of savepoints."""
    place = object_path(os.fspath(configured), "use as a savepoint")
    if place is None:
        return mounted_path(configured, SAVEPOINTS, SavepointError)
    check_installed(place.scheme, f"the savepoint {place}")
    return place
