"""Paths of directories that the job itself reads and writes: on a mounted file system, or in a store of objects."""

from __future__ import annotations

import os
import re
from pathlib import Path

from penstock.config.options import CHECKPOINT_DIR
from penstock.errors import JobDirectoryError, PenstockError, SavepointError
from penstock.filesystem.object_path import SCHEMES, ObjectPath, object_path
from penstock.filesystem.object_store import check_installed
from penstock.filesystem.store_settings import StoreSettings
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.filesystem.stores import store_of
from penstock.spark.job.generations import current_generation

SAVEPOINTS = "the directory for savepoints"

# `Path` makes one slash of two. Two letters or more: `C:/data` is a path.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_STORED = re.compile(rf"^({'|'.join(SCHEMES)}):/+", re.IGNORECASE)
_FILE = re.compile(r"^file:(//)?(?=/)", re.IGNORECASE)
_LOGIN = re.compile(r"//[^/]*@")


def mounted_path(configured: str | os.PathLike[str], what: str, error: type[PenstockError]) -> Path:
    """Return a path, or a `file:` URI, as an absolute path."""
    text = _FILE.sub("", os.fspath(configured))
    if (scheme := _SCHEME.match(text)) is not None:
        shown = f"a URI of {scheme[1]} with a login in it" if _LOGIN.search(text) else repr(text)
        raise error(
            f"{what} is {shown}, which is not on a mounted file system",
            hint="Use a path that the driver and all executors see, such as a network mount.",
        )
    return Path(text).absolute()


def checkpoint_path(
    configured: str | os.PathLike[str], settings: StoreSettings | None = None
) -> JobPath:
    """Return the path of a checkpoint directory, of its newest generation if there are some.

    Raises:
        JobDirectoryError: It names another kind of storage.
        ArgumentError: It is no path of a store, but begins like one.
        MissingConnectorError: It names a store whose client library is not installed.
    """
    text = _STORED.sub(r"\1://", os.fspath(configured))
    found = object_path(text, "use as a checkpoint directory")
    if found is None:
        return current_generation(mounted_path(configured, CHECKPOINT_DIR.key, JobDirectoryError))
    check_installed(found.scheme, f"the checkpoint directory {found}")
    return StoredPath(store_of(found, settings), found)


def savepoint_place(configured: str | os.PathLike[str]) -> Path | ObjectPath:
    """Return the path of a savepoint, or of the directory of savepoints."""
    found = object_path(os.fspath(configured), "use as a savepoint")
    if found is None:
        return mounted_path(configured, SAVEPOINTS, SavepointError)
    check_installed(found.scheme, f"the savepoint {found}")
    return found
