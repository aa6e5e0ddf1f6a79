"""Rows in order of their addresses, in a file: what a task of a batch run puts aside.

    address     at most 511 bytes, which decide the order
    row         CRC-32 of address and frame, big-endian, then the frame

The file is an LMDB environment. Nobody else opens it, so it has no lock; after a crash nobody wants
it, so it is never synced. It is not written through its map: a page that finds no room on the disk
would end the process, and `write` reports it. The map grows with the file, since a worker may be
allowed little address space.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from zlib import crc32

import lmdb

from penstock.errors import SpillError
from penstock.failpoint import failpoint

Row = tuple[bytes, bytes]
"""(address, frame)."""

_CHECK = struct.Struct(">I")
_FIRST_MAP_BYTES = 1 << 20
_TRANSACTION_BYTES = 1 << 20  # its pages are in memory

_FULL = (
    "Free space there, or point Spark's local directories (spark.local.dir) to a larger disk; "
    "raising execution.sorted-inputs.memory makes spilling rarer."
)
_HINTS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EIO: _FULL,  # so LMDB calls a write that was cut short
    errno.EACCES: "Give the user that runs the workers write permission there.",
    errno.EROFS: "Point Spark's local directories (spark.local.dir) to a disk that is writable.",
    errno.EMFILE: "Raise the limit of open files (ulimit -n) of the workers.",
    errno.ENOENT: "Keep Spark's local directories in place while a job runs.",
    errno.ENOMEM: "Allow the workers more address space: spark.executor.pyspark.memory, or "
    "ulimit -v. The file takes as much of it as it is long.",
}
_OTHER_HINT = "Check the disk, then start the job again."


class SpillStore:
    """Rows that are put in any order, and read in order of address as often as wanted.

    Attributes:
        path: The file; it exists from the first row on.
        size_bytes: What the rows take, addresses aside.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size_bytes = 0
        self._env: lmdb.Environment | None = None
        self._written = 0

    def put(self, rows: Iterable[Row]) -> None:
        """Add rows, in ascending order of address if they are many; none has the address of another.

        Raises:
            SpillError: They cannot be written.
        """
        waiting: list[Row] = []
        size = 0
        for address, frame in rows:
            waiting.append((address, _check(address, frame) + frame))
            size += len(frame)
            if size >= _TRANSACTION_BYTES:
                self._put(waiting)
                waiting, size = [], 0
        if waiting:
            self._put(waiting)

    def read(self, prefix: bytes = b"") -> Iterator[Row]:
        """Read the rows whose addresses begin with some bytes; nothing is put meanwhile.

        Raises:
            SpillError: The file cannot be read, or is not what was written; names it.
        """
        if self._env is None:
            return
        try:
            self._check_whole()
            with self._env.begin() as txn, txn.cursor() as cursor:
                is_there = cursor.set_range(prefix)
                while is_there:
                    address, row = cursor.item()
                    if not address.startswith(prefix):
                        return
                    yield address, self._frame(address, row)
                    self._check_whole()
                    is_there = cursor.next()
        except (OSError, lmdb.Error) as cause:
            raise self._failed("read", cause) from cause

    def remove(self) -> None:
        """Delete the file; what it held is forgotten. Never raises."""
        env, self._env = self._env, None
        if env is not None:
            env.close()
        self.size_bytes = 0
        with suppress(OSError):  # it goes with its directory
            self.path.unlink(missing_ok=True)

    def damaged(self, what: str) -> SpillError:
        """Return the error for a file that is not what was written."""
        return SpillError(
            f"the spill file {self.path} is damaged: {what}",
            hint="Start the job again; if it happens again, check the disk of the worker, and that "
            "nobody cleans up Spark's local directories while jobs run.",
        )

    def _put(self, rows: list[Row]) -> None:
        try:
            failpoint("spill.write")
            if self._env is None:
                self._env = self._open()
            self._check_whole()
            while not _is_put(self._env, rows):
                self._env.set_mapsize(2 * self._env.info()["map_size"])
            self._written = self.path.stat().st_size
        except (OSError, lmdb.Error) as cause:
            raise self._failed("written", cause) from cause
        self.size_bytes += sum(len(row) for _, row in rows)

    def _open(self) -> lmdb.Environment:
        return lmdb.open(
            str(self.path),
            map_size=_FIRST_MAP_BYTES,
            subdir=False,
            mode=0o600,
            metasync=False,
            sync=False,
            lock=False,
        )

    def _frame(self, address: bytes, row: bytes) -> bytes:
        frame = row[_CHECK.size :]
        if _check(address, frame) != row[: _CHECK.size]:
            raise self.damaged(f"the checksum of row {address.hex()} differs")
        return frame

    def _check_whole(self) -> None:
        """Refuse a file that was cut: to touch pages that are not there would end the process."""
        size = self.path.stat().st_size
        if size < self._written:
            raise self.damaged(f"it has {size} bytes of {self._written}")

    def _failed(self, what: str, cause: Exception) -> SpillError:
        number = cause.errno if isinstance(cause, OSError) else _number_in(str(cause))
        reason = str(cause) if number is None else os.strerror(number)
        return SpillError(
            f"the spill file {self.path} cannot be {what}: {reason}",
            hint=_OTHER_HINT if number is None else _HINTS.get(number, _OTHER_HINT),
        )


def _is_put(env: lmdb.Environment, rows: list[Row]) -> bool:
    """Put rows; False if the map has no room for them."""
    try:
        with env.begin(write=True) as txn, txn.cursor() as cursor:
            cursor.putmulti(rows)
    except lmdb.MapFullError:
        return False
    return True


def _check(address: bytes, frame: bytes) -> bytes:
    return _CHECK.pack(crc32(frame, crc32(address)))


def _number_in(message: str) -> int | None:
    """Return the system's number of an error of which LMDB gives the text only."""
    return next((number for number in _HINTS if os.strerror(number) in message), None)
