"""An LMDB environment with the copy of one subtask's state, and its header.

The header of a copy contains its owner and its position:

    owner       job, run, program, level and subtask that may use it
    position    entry of the log up to which it is current; None: it is half built, of no use
    target      set while it is between `position` and this one: some of the entries are applied
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import lmdb

from penstock.errors import StateError
from penstock.state.backends.lmdb.deferred import DeferredBlobs
from penstock.state.backends.lmdb.format import Catalog
from penstock.state.log.change_log import Position

EMPTY: Position = (-1, "")
"""Position of a copy of an empty log."""

Transaction: TypeAlias = "lmdb.Transaction[bytes]"

_FORMAT = 3
_MAX_READERS = 512
_MAX_MAP_BYTES = 1 << 42
_HEADER = b"header"
_CATALOG = b"catalog"
_DEFERRED = b"sleepers"
_FILES = ("data.mdb", "lock.mdb")

Identity: TypeAlias = tuple[tuple[int, int], ...]
"""Device and inode of the files of an environment."""


@dataclass(frozen=True, slots=True)
class Header:
    """Owner and position of a copy; see the module.

    Attributes:
        owner: The owner of the state, who alone may use the copy.
        position: Up to which it is current; None if it is of no use.
        target: Entries up to this one are being applied; None at rest.
        format: Layout of everything in the file.
    """

    owner: str
    position: Position | None
    target: Position | None = None
    format: int = _FORMAT

    def encode(self) -> bytes:
        """Return the stored form."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Header | None:
        """Return the header stored as `data`; None if it has another format."""
        try:
            known = json.loads(data)
            places = {name: known[name] and tuple(known[name]) for name in ("position", "target")}
            header = cls(**(known | places))
        except (ValueError, TypeError, KeyError):
            return None
        return header if header.format == _FORMAT else None


class LocalFile:
    """An open environment.

    Attributes:
        timers: Database of the order of timers.
        deferred: Database of blobs that are applied when they are needed.
    """

    def __init__(self, path: Path) -> None:
        """Open or make the environment at `path`."""
        self.path = path
        self._env = lmdb.open(
            str(path),
            map_size=_map_size(path),
            max_readers=_MAX_READERS,
            max_dbs=4,
            metasync=False,
            sync=False,
            readahead=False,
        )
        self._page_bytes = self._env.stat()["psize"]
        stats = _stats(path)
        self._identity = _identity(stats)
        self._lock_bytes = stats[1].st_size
        if not self.is_whole():  # to read what is not there would end the process (SIGBUS)
            raise StateError(
                f"the local copy of state in {path} is cut short",
                hint="No action is needed: it is thrown away and made anew.",
            )
        self._meta = self._env.open_db(b"meta")
        self.entries = self._env.open_db(b"entries")
        self.timers = self._env.open_db(b"timers")
        self.deferred = self._env.open_db(b"sleeping")

    def begin(self, *, write: bool = False) -> Transaction:
        """Begin a transaction, by default on `entries`."""
        return self._env.begin(self.entries, write=write)

    def header(self, txn: Transaction) -> Header | None:
        """Return the header; None if there is none that can be read."""
        data = txn.get(_HEADER, None, self._meta)
        return None if data is None else Header.decode(data)

    def write_header(self, txn: Transaction, header: Header) -> None:
        """Replace the header."""
        txn.put(_HEADER, header.encode(), db=self._meta)

    def catalog_bytes(self, txn: Transaction) -> bytes | None:
        """Return the stored form of the catalog."""
        return txn.get(_CATALOG, None, self._meta)

    def write_catalog(self, txn: Transaction, catalog: Catalog) -> None:
        """Replace the catalog."""
        txn.put(_CATALOG, catalog.encode(), db=self._meta)

    def deferred_bytes(self, txn: Transaction) -> bytes | None:
        """Return the stored list of deferred blobs."""
        return txn.get(_DEFERRED, None, self._meta)

    def write_deferred(self, txn: Transaction, deferred: DeferredBlobs) -> None:
        """Replace the list of deferred blobs."""
        txn.put(_DEFERRED, deferred.encode(), db=self._meta)

    def is_whole(self) -> bool:
        """Return whether the files at the path are still these, and not cut short."""
        try:
            data, lock = stats = _stats(self.path)
        except OSError:
            return False
        # In this order: LMDB reads its first two pages to compute the number of pages.
        return (
            _identity(stats) == self._identity
            and lock.st_size >= self._lock_bytes
            and data.st_size >= 2 * self._page_bytes
            and data.st_size >= self._expected_bytes()
        )

    def settle(self) -> None:
        """Extend the file to the length in its header; called with the lock held, after a commit.

        LMDB does not write pages that were given up before they were committed. If they are at
        the end the file is shorter than its page count, as if it had been cut.
        """
        data = self.path / _FILES[0]
        expected = self._expected_bytes()
        with suppress(FileNotFoundError):  # private, or deleted: it is never opened again
            stats = _stats(self.path)
            if _identity(stats) == self._identity and stats[0].st_size < expected:
                os.truncate(data, expected)

    def free_dead_readers(self) -> None:
        """Forget readers whose process was killed: the pages they saw can be used again."""
        self._env.reader_check()

    def _expected_bytes(self) -> int:
        return int((self._env.info()["last_pgno"] + 1) * self._page_bytes)


def _stats(path: Path) -> list[os.stat_result]:
    return [(path / name).stat() for name in _FILES]


def _identity(stats: list[os.stat_result]) -> Identity:
    return tuple((entry.st_dev, entry.st_ino) for entry in stats)


def _map_size(path: Path) -> int:
    """Return the size of the disk: a map costs nothing, and no copy can outgrow it."""
    disk = os.statvfs(path)
    size = min(disk.f_blocks * disk.f_frsize, _MAX_MAP_BYTES)
    return size // os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PAGE_SIZE")
