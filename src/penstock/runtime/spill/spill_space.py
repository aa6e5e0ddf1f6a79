"""The spill directory of a task of a batch run, the spilled bytes, and rows in a file in order of their addresses."""

from __future__ import annotations

import errno
import os
import shutil
import struct
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from weakref import WeakSet
from zlib import crc32

import lmdb

from penstock.errors import SpillError
from penstock.failpoint import failpoint
from penstock.metrics.values import CounterValue, DistributionValue, MetricValue

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
    """Rows that are put in any order, and read in order of address any number of times.

    Attributes:
        path: The file; it exists from the first row on.
        size_bytes: Size of the rows without addresses.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size_bytes = 0
        self._env: lmdb.Environment | None = None
        self._written = 0

    def put(self, rows: Iterable[Row]) -> None:
        """Add rows, in ascending order of address if they are many; none has the address of another."""
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
        """Read the rows whose addresses begin with some bytes; nothing is put meanwhile."""
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
            "no program cleans up Spark's local directories while jobs run.",
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


SPILLED_FILES = "numFilesSpilled"
SPILLED_BYTES = "numBytesSpilled"
SPILL_DEPTH = "spillDepth"


@dataclass(slots=True)
class SpillCounts:
    """Spilled data of one operator since the last report.

    Attributes:
        files: Files that had records of it; those of one key group are one file.
        bytes: Bytes written to them.
        depths: In how many sorted runs, which lie over each other, key groups were written.
    """

    files: int = 0
    bytes: int = 0
    depths: DistributionValue = field(default_factory=DistributionValue)

    def add(self, size_bytes: int) -> None:
        """Count a file."""
        self.files += 1
        self.bytes += size_bytes

    def add_depth(self, depth: int) -> None:
        """Count a key group."""
        self.depths = self.depths.merged(DistributionValue(1, depth, depth, depth))

    def take(self, uid: str) -> dict[str, MetricValue]:
        """Return the metrics of an operator and start again; nothing if it did not spill."""
        if not self.files:
            return {}
        taken: dict[str, MetricValue] = {
            f"{uid}.{SPILLED_FILES}": CounterValue(self.files),
            f"{uid}.{SPILLED_BYTES}": CounterValue(self.bytes),
        }
        if self.depths.count:
            taken[f"{uid}.{SPILL_DEPTH}"] = self.depths
        self.files, self.bytes, self.depths = 0, 0, DistributionValue()
        return taken


class SpillSpace:
    """A directory of spill files, and the memory beyond which to use it.

    Attributes:
        memory_bytes: `execution.sorted-inputs.memory`.
    """

    def __init__(self, memory_bytes: int, local_directory: Path | None = None) -> None:
        """Create nothing yet."""
        self.memory_bytes = memory_bytes
        self._local = local_directory
        self._directory: Path | None = None
        self._numbers = count()
        self._stores: WeakSet[SpillStore] = WeakSet()

    def new_store(self) -> SpillStore:
        """Return an empty store."""
        if self._directory is None:
            self._directory = self._create()
        store = SpillStore(self._directory / f"{next(self._numbers)}.mdb")
        self._stores.add(store)
        return store

    def close(self) -> None:
        """Remove all files. Never raises; a later spill begins anew."""
        for store in list(self._stores):
            store.remove()
        directory, self._directory = self._directory, None
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)

    def _create(self) -> Path:
        try:
            if self._local is not None:
                self._local.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix="penstock-spill-", dir=self._local))
        except OSError as cause:
            raise SpillError(
                f"no directory for spill files can be created in "
                f"{self._local or tempfile.gettempdir()}: {cause.strerror or cause}",
                hint="Point Spark's local directories (spark.local.dir) to a disk that the "
                "workers may write to and that has room.",
            ) from cause
