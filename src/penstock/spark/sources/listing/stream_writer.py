"""Writer of a streaming DataFrame to files: a query of Spark beside the epochs, one directory per micro-batch.

    run-N/stream-S-P/columns.json          the columns, recorded by the first driver
    run-N/stream-S-P/query/                checkpoint of the query: offsets, and state of operators in the DataFrame
    run-N/stream-S-P/000000000007/         the rows of micro-batch 7, and the offsets behind it
    run-N/stream-S-P/000000000007.<uuid>/  the same while one driver writes it; no epoch reads it

A directory appears complete, by one rename, and no driver changes it. Spark commits the micro-batch after that. Spark
repeats a micro-batch in which a driver was killed: if its directory is there, epochs may have read its rows, and the
repetition is skipped.

Epochs read the directories in order of their numbers, and their records have the next number. The driver removes read
directories except the newest: a savepoint needs its offsets. While epochs are some micro-batches behind, the query waits.

The files of the query's checkpoint are checked for damage. Hadoop writes `.<name>.crc` beside every file on a
mounted file system; Spark does not read it when it reads its own checkpoint. A flipped digit in `offsets/7` would
cause records to be read twice or never, so the checksums are compared before a query continues:

    4 bytes   63 72 63 00
    4 bytes   length n of a part of the file, big-endian
    4 bytes   crc32 of each n bytes of the file, big-endian

For a file without a checksum the first lines are checked: a version, then JSON. Files of state are not
checked, because Spark has its own checksums for them.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
import threading
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.connectors.spark_source import by_position
from penstock.errors import RESTORE_CHECKPOINTS, DecodeError, JobMismatchError, StateError
from penstock.failpoint import failpoint
from penstock.spark.failures.translation import translate
from penstock.spark.session.job_settings import POOL, query_settings
from penstock.spark.sources.listing.frame_writer import put_whole
from penstock.wire.atomic_file import create_directory, put_verified, read_verified

_MAGIC = b"crc\0"
_VERSION = re.compile(r"v\d+")
_HEADER = struct.Struct(">4sI")
_PATTERNS = ("metadata", "offsets/*", "commits/*", "sources/*/*")
_SPARKS_OWN = frozenset({"metadata", "offsets/*", "commits/*"})
"""Files with a known format: a version (except `metadata`), then JSON. Sources have other formats."""

_OF_STATE = ("state/*/_metadata/*/*", "state/*/_stateSchema/*/*")
"""Files that describe Spark's state, written once: Spark reads them before its own checksums."""


def check_checkpoint(checkpoint: Path) -> None:
    """Compare the files that record the progress of a query with their checksums.

    A file has no checksum if the driver was killed between the renames of both, or if the file system
    writes none.
    """
    for pattern in (*_PATTERNS, *_OF_STATE):
        for path in sorted(checkpoint.glob(pattern)):
            if path.name.startswith(".") or not path.is_file():
                continue
            wrong = _damage(path, is_text=pattern in _SPARKS_OWN)
            if wrong is not None:
                raise StateError(f"{path} is damaged: {wrong}", hint=RESTORE_CHECKPOINTS)


def _damage(path: Path, *, is_text: bool) -> str | None:
    """Return the damage of a file, None if it is intact."""
    sums = path.with_name(f".{path.name}.crc")
    data = path.read_bytes()
    if sums.exists():
        same = _agree(data, sums.read_bytes())
        return None if same else f"its checksum in {sums.name} is another"
    return _wrong_form(path, data) if is_text else None


def _wrong_form(path: Path, data: bytes) -> str | None:
    lines = data.decode("utf-8", "replace").splitlines()
    if path.name != "metadata" and (not lines or not _VERSION.fullmatch(lines.pop(0))):
        return "it does not begin with a version"
    try:
        json.loads(lines[0] if lines else "")
    except ValueError as cause:
        return f"it has no JSON where Spark writes some ({cause})"
    return None


def _agree(data: bytes, sums: bytes) -> bool:
    if len(sums) < _HEADER.size:
        return False
    magic, length = _HEADER.unpack_from(sums)
    if magic != _MAGIC or not length:
        return False
    checksums = [zlib.crc32(data[start : start + length]) for start in range(0, len(data), length)]
    return sums[_HEADER.size :] == struct.pack(f">{len(checksums)}I", *checksums)


_DIGITS = 12
_QUERY = "query"
_COLUMNS = "columns.json"
_OFFSETS = "_offsets"
"""File of a micro-batch with Spark's own record of its offsets, of which Spark keeps only the last ones."""

_AHEAD = 16
"""Most micro-batches that are written and not read: more would fill the disk while epochs fail or are slow."""

_POLL_SECONDS = 0.05


class _MicroBatchFailedError(Exception):
    """Fails a micro-batch in Spark; `StreamWriter` has the failure itself."""


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Settings of the query of a streaming DataFrame.

    Attributes:
        interval_seconds: Least time between the starts of two micro-batches.
        parallelism: Number of partitions behind an exchange in the DataFrame.
    """

    interval_seconds: float
    parallelism: int


class StreamWriter:
    """Writes one streaming DataFrame."""

    def __init__(
        self, frame: DataFrame, directory: Path, limits: StreamLimits, fence: Callable[[], None]
    ) -> None:
        self._frame = frame
        self._directory = directory
        self._limits = limits
        self._fence = fence
        self._query: StreamingQuery | None = None
        self._failure: BaseException | None = None
        self._stops = threading.Event()
        self._read_to = 0

    def start(self, position: int) -> None:
        """Start the query, after removing what an earlier driver has left."""
        self._fence()
        create_directory(self._directory)
        for path in self._directory.glob(f"{'[0-9]' * _DIGITS}*"):
            if not path.name.isdigit() or int(path.name) < position - 1:
                shutil.rmtree(path, ignore_errors=True)
        self._check_columns()
        self._read_to = position
        checkpoint = self._directory / _QUERY
        check_checkpoint(checkpoint)
        limits, session = self._limits, self._frame.sparkSession
        writer = (
            by_position(self._frame)
            .writeStream.foreachBatch(self._put)
            .option("checkpointLocation", str(checkpoint))
            .queryName(f"{self._directory.name}-{uuid.uuid4().hex}")
            .trigger(processingTime=f"{limits.interval_seconds} seconds")
        )
        with query_settings(session, limits.parallelism), self._own_pool():
            try:
                self._query = writer.start()
            except Exception as cause:
                raise translate(cause, self._doing) from cause

    def check(self) -> None:
        """Raise what the query has failed with."""
        query = self._query
        if query is None or (self._failure is None and query.isActive):
            return
        cause = self._failure or query.exception()
        if cause is None:
            cause = RuntimeError("the query stopped by itself")
        raise translate(cause, self._doing) from cause

    def stop(self) -> None:
        """Stop the query; return when it has ended."""
        self._stops.set()
        if self._query is not None:
            self._query.stop()

    def forget_before(self, position: int) -> None:
        """Remove the micro-batches before a position that epochs have read, but the newest of them."""
        for number in range(max(self._read_to - 1, 0), position - 1):
            shutil.rmtree(batch_directory(self._directory, number), ignore_errors=True)
        self._read_to = max(position, self._read_to)

    @property
    def _doing(self) -> str:
        return f"the query that writes the streaming DataFrame of {', '.join(self._frame.columns)}"

    def _check_columns(self) -> None:
        path = self._directory / _COLUMNS
        now = self._frame.schema.simpleString()
        try:
            put_verified(path, {"columns": now}, self._fence)
        except FileExistsError:
            before = _recorded(path)
            if before != now:
                raise JobMismatchError(
                    f"a streaming DataFrame has the columns {now}, and {self._directory} was written with {before}",
                    hint="Restore the earlier DataFrame, or start the job in a new checkpoint directory.",
                ) from None

    @contextmanager
    def _own_pool(self) -> Iterator[None]:
        """Start a query whose jobs are in a pool of their own; in that of the epochs its tasks would have the next free slots."""
        context = self._frame.sparkSession.sparkContext
        before = context.getLocalProperty(POOL)
        context.setLocalProperty(POOL, self._directory.name)
        try:
            yield
        finally:
            context.setLocalProperty(POOL, before)  # type: ignore[arg-type]  # None removes it

    def _put(self, rows: DataFrame, number: int) -> None:
        """Write a micro-batch; Spark calls it in a thread of this process."""
        try:
            self._wait_for_epochs(number)
            self._fence()
            failpoint("stream.begun")
            self._write(rows, number)
            self._fence()  # otherwise Spark would record the micro-batch as committed
        except BaseException as cause:  # noqa: BLE001 - stored, and raised in the thread of the run
            self._failure = cause
            # Spark matches this text with a recursive pattern: a Java stack trace would overflow.
            raise _MicroBatchFailedError(type(cause).__name__) from None

    def _wait_for_epochs(self, number: int) -> None:
        while number - self._read_to >= _AHEAD:
            if self._stops.wait(_POLL_SECONDS):
                raise _MicroBatchFailedError("the query is stopped")

    def _write(self, rows: DataFrame, number: int) -> None:
        target = batch_directory(self._directory, number)
        offsets = (self._directory / _QUERY / "offsets" / str(number)).read_bytes()
        if target.is_dir():
            _check_same(target, offsets)
            return
        own = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
        tasks = rows.sparkSession.sparkContext.defaultParallelism
        rows.coalesce(tasks).write.parquet(str(own))
        failpoint("stream.written")
        (own / _OFFSETS).write_bytes(offsets)
        put_whole(own, target, self._fence, "stream")


def _recorded(path: Path) -> str:
    try:
        columns: str = read_verified(path)["columns"]
    except DecodeError as cause:
        raise StateError(cause.problem, hint=cause.hint) from cause
    return columns


def stream_directory(run_directory: Path, source: int, part: int) -> Path:
    """Return the directory of the files of a streaming DataFrame."""
    return run_directory / f"stream-{source}-{part}"


def batch_directory(directory: Path, number: int) -> Path:
    """Return the directory of the rows of a micro-batch."""
    return directory / f"{number:0{_DIGITS}d}"


def offsets_before(directory: Path, position: int) -> list[str | None]:
    """Return the offset of every stream of a DataFrame behind the micro-batches before a position, as Spark's JSON."""
    if not position:
        return [None]
    path = batch_directory(directory, position - 1) / _OFFSETS
    try:
        return _decoded(path.read_bytes())
    except (OSError, ValueError) as cause:
        raise StateError(
            f"{path} cannot be understood: {cause}", hint=RESTORE_CHECKPOINTS
        ) from cause


def _decoded(recorded: bytes) -> list[str | None]:
    """Return the offsets of a record of Spark: a version, a line of metadata, and a line per stream."""
    version, _, *offsets = recorded.decode().removesuffix("\n").split("\n")
    if version != "v1":
        raise ValueError(f"its version is {version!r}")
    return [None if line == "-" else line for line in offsets]


def _check_same(target: Path, offsets: bytes) -> None:
    """Refuse a micro-batch that has other offsets than the written one of its number."""
    if (target / _OFFSETS).read_bytes() != offsets:
        raise StateError(
            f"{target} has rows of other offsets than the checkpoint of its query",
            hint=RESTORE_CHECKPOINTS,
        )
