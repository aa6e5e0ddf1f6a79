"""Files below the directory of a job that are written once, under names of their own.

The same functions serve mounted file systems and stores of objects; `atomic_file` has those of files that are replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from penstock.filesystem.stored_path import JobPath, ObjectFile, StoredPath
from penstock.wire.atomic_file import open_private


class NewFile(ABC):
    """A file that is being written; writers of formats take it for one of Python's."""

    path: JobPath

    def __init__(self, *, is_digested: bool) -> None:
        self._digest = hashlib.sha256() if is_digested else None
        self._size = 0
        self._is_closed = False

    @property
    def closed(self) -> bool:
        """True if it is finished or dropped."""
        return self._is_closed

    @property
    def sha256(self) -> str:
        """The SHA-256 of the written bytes, in hexadecimal, of a file that was begun with one."""
        assert self._digest is not None, "the file was begun with is_digested"
        return self._digest.hexdigest()

    def tell(self) -> int:
        """Return the number of bytes that were written."""
        return self._size

    def write(self, data: Any) -> int:
        """Append bytes."""
        self._append(data)
        if self._digest is not None:
            self._digest.update(data)
        size = memoryview(data).nbytes
        self._size += size
        return size

    def flush(self) -> None:
        """Do nothing; writers of formats call it."""

    def close(self) -> None:
        """Do nothing, see `finish`; writers of formats call it."""

    def finish(self, *, is_durable: bool = True) -> None:
        """Complete the file: it is whole, and there."""
        self._is_closed = True
        self._finish(is_durable=is_durable)

    def discard(self) -> None:
        """Remove what was written."""
        self._is_closed = True
        self._discard()

    @abstractmethod
    def _append(self, data: Any) -> None: ...

    @abstractmethod
    def _finish(self, *, is_durable: bool) -> None: ...

    @abstractmethod
    def _discard(self) -> None: ...


class _MountedFile(NewFile):
    path: Path

    def __init__(self, path: Path, *, is_digested: bool) -> None:
        super().__init__(is_digested=is_digested)
        self.path = path
        self._file: BinaryIO = open_private(path)

    def _append(self, data: Any) -> None:
        self._file.write(data)

    def _finish(self, *, is_durable: bool) -> None:
        self._file.flush()
        if is_durable:
            os.fsync(self._file.fileno())
        self._file.close()

    def _discard(self) -> None:
        self.path.unlink(missing_ok=True)
        # Closing flushes, which fails if the disk is full; the bytes are deleted anyway.
        with contextlib.suppress(OSError):
            self._file.close()


class _StoredFile(NewFile):
    path: StoredPath

    def __init__(self, path: StoredPath, *, is_digested: bool) -> None:
        super().__init__(is_digested=is_digested)
        self.path = path
        self._file = ObjectFile(path.store, path.address)

    def _append(self, data: Any) -> None:
        self._file.write(data)

    def _finish(self, *, is_durable: bool) -> None:
        self._file.finish()

    def _discard(self) -> None:
        self._file.abort()
        self.path.unlink()


def new_file(path: JobPath, *, is_digested: bool = False) -> NewFile:
    """Begin a file of a name that only the caller uses."""
    if isinstance(path, StoredPath):
        return _StoredFile(path, is_digested=is_digested)
    return _MountedFile(path, is_digested=is_digested)


def byte_count(path: JobPath) -> int:
    """Return the size of a file."""
    if isinstance(path, Path):
        return path.stat().st_size
    size = path.store.size_of(path.address)
    if size is None:
        raise FileNotFoundError(2, "there is no such object", str(path))
    return size


def tree_bytes(path: JobPath) -> int:
    """Return the size of all files below a path."""
    if isinstance(path, Path):
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    store = path.store
    return sum(store.size_of(file) or 0 for file in store.list_below(path.address))


def remove_tree(path: JobPath, may_remove: Callable[[], None] | None = None) -> None:
    """Remove everything below a path, as far as possible; what cannot be removed stays."""
    check = may_remove or (lambda: None)
    if isinstance(path, Path):
        check()
        shutil.rmtree(path, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        files = path.store.list_below(path.address)
        check()
        path.store.delete(files)


def readable(path: JobPath) -> Path | BufferedReader:
    """Return what readers of formats read a file from."""
    return path.open("rb") if isinstance(path, StoredPath) else path
