"""Names below the directory of a job, whose files are objects of a store.

A `StoredPath` has the methods of `pathlib.Path` that mean the same for objects: names, reading, removing. What means
something else, above all writing, is in functions that take either (`penstock.wire.atomic_file`, `job_files`). A
directory is there while something is below it, so making one does nothing.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, TypeAlias

from penstock.filesystem.object_file import open_object
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore


@dataclass(frozen=True, slots=True)
class StoredPath:
    """A name in a store; picklable if the store is.

    Attributes:
        store: The store.
        at: The name of an object, or what the names of objects begin with.
    """

    store: ObjectStore
    at: ObjectPath

    def __truediv__(self, name: str) -> StoredPath:
        """Return the path of a name below this one."""
        return StoredPath(self.store, self.at / name)

    def __str__(self) -> str:
        return str(self.at)

    def __lt__(self, other: StoredPath) -> bool:
        return str(self) < str(other)

    @property
    def name(self) -> str:
        """The part behind the last slash."""
        return self.at.name

    @property
    def stem(self) -> str:
        """The name without what is behind its last dot."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> StoredPath:
        """The path without its last name."""
        return StoredPath(self.store, self.at.parent)

    def absolute(self) -> StoredPath:
        """Return the path: it is absolute."""
        return self

    def exists(self) -> bool:
        """Return whether there is such an object, or one below it."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Return whether there is such an object."""
        return self.store.size_of(self.at) is not None

    def is_dir(self) -> bool:
        """Return whether an object is below it."""
        return any(True for _ in self.store.names_in(self.at))

    def iterdir(self) -> Iterator[StoredPath]:
        """Yield what is directly below it, sorted; nothing if there is nothing."""
        return (self / name for name in self.store.names_in(self.at))

    def glob(self, pattern: str) -> Iterator[StoredPath]:
        """Yield what is directly below it and matches a pattern, sorted.

        Raises:
            NotImplementedError: The pattern is for names further below.
        """
        if "/" in pattern:
            raise NotImplementedError(f"{pattern} is a pattern with a slash")
        return (path for path in self.iterdir() if fnmatchcase(path.name, pattern))

    def read_bytes(self) -> bytes:
        """Return the object.

        Raises:
            FileNotFoundError: There is none.
            OSError: It cannot be read.
        """
        return self.store.read(self.at)

    def open(self, mode: Literal["rb"] = "rb") -> io.BufferedReader:
        """Open the object for reading.

        Raises:
            FileNotFoundError: There is none.
        """
        del mode
        return open_object(self.store, self.at)

    def unlink(self, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - as of `Path`
        """Delete the object; one that is not there is fine: a store cannot tell."""
        del missing_ok
        self.store.delete([self.at])

    def mkdir(self, mode: int = 0, parents: bool = False, exist_ok: bool = False) -> None:  # noqa: FBT001, FBT002
        """Do nothing: there are no directories."""

    def rmdir(self) -> None:
        """Do nothing: there are no directories."""


JobPath: TypeAlias = Path | StoredPath
"""A path below the directory of a job: on a mounted file system, or in a store."""


def mounted(path: JobPath) -> Path:
    """Return a path that is on a mounted file system, because what uses it is refused for jobs in a store."""
    assert isinstance(path, Path), f"{path} is in a store"
    return path
