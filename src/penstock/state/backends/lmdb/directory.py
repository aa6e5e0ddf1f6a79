"""Directories of LMDB copies: owned, shared by the processes of a host, thrown away.

A directory holds the copy of one subtask's state:

    lock        locked (flock) by the process that opens, makes or changes the copy
    copy/       the environment: data.mdb, lock.mdb
    private-*/  environments of attempts that may not touch the copy, removed at once

A copy that is foreign, half built, damaged or of another format is never repaired: its directory
is moved away and made anew. Processes that have the old one open keep their view of it and find
out at their next micro-batch, because the files at the path are no longer theirs.

A process that changes a copy holds the lock, which the kernel releases when a process is killed. LMDB
keeps committed entries, whatever happens to the process. The file is never synced, so a crash of the
machine may damage it: a copy made before the machine was last started is foreign.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path
from weakref import WeakValueDictionary

import lmdb

from penstock.errors import StateError
from penstock.state.backends.lmdb.deferred import DeferredBlobs
from penstock.state.backends.lmdb.file import EMPTY, Header, LocalFile
from penstock.state.backends.lmdb.format import Catalog

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_opened: WeakValueDictionary[tuple[str, int], LocalFile] = WeakValueDictionary()
"""Path and process to the open environment: LMDB must not open one twice in a process.

It is closed when the last backend of the process lets go of it.
"""


class CopyDirectory:
    """The directory of one subtask's copy, as seen by one backend.

    Attributes:
        owner: Owner of the contents: the owner given, while the machine runs.
    """

    def __init__(self, path: Path, owner: str) -> None:
        self.path = path
        self.owner = f"{owner} on {_boot_id()}"
        self._copy = path / "copy"
        self._file: LocalFile | None = None  # keeps it open between micro-batches

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process from changing the copy."""
        try:
            descriptor = self._lock()
        except OSError as cause:
            raise _unusable(self.path, cause) from cause
        try:
            yield
        finally:
            os.close(descriptor)

    def opened(self) -> LocalFile | None:
        """Return the copy if this process has it open and it is still in its place."""
        self._file = _opened.get((str(self._copy), os.getpid()))
        if self._file is not None and not self._file.is_whole():
            self._file = None
        return self._file

    def close(self) -> None:
        """Let go of the copy, which stays where it is."""
        self._file = None

    def obtain(self) -> tuple[LocalFile, Header]:
        """Return the copy and its header, made anew if it is of no use; with the lock held."""
        try:
            file = self.opened() or self._open()
            with file.begin() as txn:
                header = file.header(txn)
                # All bytes outside of entries; entries have checksums.
                Catalog(file.catalog_bytes(txn))
                DeferredBlobs(file.deferred_bytes(txn))
        except (lmdb.Error, StateError, ValueError, TypeError):
            return self.recreate()
        if not file.is_whole() or header is None or header.owner != self.owner:
            return self.recreate()
        return file, header

    def recreate(self) -> tuple[LocalFile, Header]:
        """Throw the copy away and return an empty one; with the lock held."""
        self.remove()
        try:
            return self._make(self._copy)
        except (OSError, lmdb.Error) as cause:
            raise _unusable(self.path, cause) from cause

    def private(self) -> LocalFile:
        """Return an empty environment that is private to this process; with the lock held.

        Its files are gone from the directory at once and from the disk when it is closed.
        """
        path = self.path / f"private-{secrets.token_hex(8)}"
        try:
            file, _ = self._make(path)
        except (OSError, lmdb.Error) as cause:
            raise _unusable(self.path, cause) from cause
        shutil.rmtree(path)
        return file

    def remove(self) -> None:
        """Move the copy out of the way and delete it; with the lock held."""
        _opened.pop((str(self._copy), os.getpid()), None)
        self._file = None
        gone = self.path / f"private-{secrets.token_hex(8)}"
        if self._copy.exists():
            self._copy.rename(gone)
        for left in self.path.glob("private-*"):
            # Another process may be removing the same.
            shutil.rmtree(left, ignore_errors=True)

    def _lock(self) -> int:
        while True:
            self.path.mkdir(parents=True, exist_ok=True)
            path = self.path / "lock"
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            flock(descriptor, LOCK_EX)
            # While waiting, the directory may have been deleted: then the lock is worth nothing.
            try:
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
            except FileNotFoundError:
                pass
            os.close(descriptor)

    def _open(self) -> LocalFile:
        self._copy.mkdir(parents=True, exist_ok=True)
        file = self._file = _opened[str(self._copy), os.getpid()] = LocalFile(self._copy)
        return file

    def _make(self, path: Path) -> tuple[LocalFile, Header]:
        path.mkdir(parents=True)
        file = self._open() if path == self._copy else LocalFile(path)
        header = Header(self.owner, EMPTY)
        with file.begin(write=True) as txn:
            file.write_header(txn, header)
        return file, header


@cache
def _boot_id() -> str:
    """Return what identifies this start of the machine; nothing where there is no such thing."""
    return _BOOT_ID.read_text(encoding="ascii").strip() if _BOOT_ID.exists() else ""


def _unusable(path: Path, cause: Exception) -> StateError:
    return StateError(
        f"the local copy of state in {path} cannot be used: {cause}",
        hint="Give the executors a local directory that exists, may be written to and has space "
        "(spark.local.dir), or set state.backend.type to hashmap.",
    )
