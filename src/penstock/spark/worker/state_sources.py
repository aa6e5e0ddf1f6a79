"""Reading state in workers: reads blobs from change logs, files, and the logs that epochs write."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import StateError
from penstock.filesystem.object_path import object_path
from penstock.filesystem.object_store import ObjectStore
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.spark.failures.translation import carrying
from penstock.state.log.blob import key_group_of, operator_of
from penstock.state.log.change_log import ChangeLog, LogStorage
from penstock.state.log.subtask_log import SubtaskLog
from penstock.state.replay import check_blob, check_row
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from penstock.wire.job_files import readable

FILE_DDL = "path STRING, sha256 STRING"
BLOB_SCHEMA = pa.schema(
    [
        pa.field("operator", pa.string()),
        pa.field("key_group", pa.int32()),
        pa.field("source", pa.string()),
        pa.field("sequence", pa.int64()),
        pa.field("blob", pa.binary()),
    ]
)
BLOB_DDL = "operator STRING, key_group INT, source STRING, sequence LONG, blob BINARY"
STATE_SCHEMA = pa.schema([BLOB_SCHEMA.field(name) for name in ("operator", "key_group", "blob")])
STATE_DDL = "operator STRING, key_group INT, blob BINARY"

_COLUMNS = [(field.name, field.type) for field in STATE_SCHEMA]
_BATCH_BYTES = 4 << 20
_BATCH_ROWS = 4096
DAMAGE = (OSError, pa.ArrowException, ValueError, MemoryError)
"""Exceptions of pyarrow about a damaged file."""

Rows = Iterable[tuple[Any, ...]]


def signed_group(key_group: int) -> int:
    """Return a key group as a signed integer, for INT columns."""
    return -1 if key_group == BROADCAST_GROUP else key_group


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of Arrow batches."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def batches_of(schema: pa.Schema, rows: Rows) -> Iterator[pa.RecordBatch]:
    """Combine rows into Arrow batches of a few megabytes; blobs are in the last column."""
    waiting: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += len(row[-1]) if isinstance(row[-1], bytes) else 0
        if size >= _BATCH_BYTES or len(waiting) >= _BATCH_ROWS:
            yield _batch(schema, waiting)
            waiting, size = [], 0
    if waiting:
        yield _batch(schema, waiting)


def _batch(schema: pa.Schema, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Add the name of a log to an error in the context, unless it has it.

    Raises:
        StateError: The error.
    """
    try:
        yield
    except StateError as cause:
        if where in cause.problem:
            raise
        raise StateError(f"{cause.problem}; {where}", hint=cause.hint) from cause


def split_log(
    where: str, storage: LogStorage, subtask: int, uid: str | None
) -> Iterator[tuple[Any, ...]]:
    """Yield the blob rows of one log.

    Raises:
        StateError: The log is damaged.
    """
    log = ChangeLog(storage)
    for sequence, blob in enumerate(log.blobs(log.entries())):
        check_blob(where, blob)
        operator, group = operator_of(blob), key_group_of(blob)
        if uid not in {None, operator}:
            continue
        if subtask > 0 and group == BROADCAST_GROUP:
            continue  # broadcast state, which every subtask has
        yield operator, signed_group(group), where, sequence, blob


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """Rows of `FILE_DDL` to blob rows.

    Attributes:
        uid: The only operator whose blobs are read; None for all.
        store: The store with the files; None if they are on a mounted file system.
    """

    uid: str | None = None
    store: ObjectStore | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the files of one task."""
        with carrying():
            yield from batches_of(BLOB_SCHEMA, self.read(rows_of(batches)))

    def read(self, files: Rows) -> Iterator[tuple[Any, ...]]:
        """Yield the blob rows of all files.

        Raises:
            StateError: A file is missing or damaged; the error names it.
        """
        for name, sha256 in files:
            path, where = self._path_of(name), f"file {name}"
            for sequence, (operator, group, blob) in enumerate(_rows_of_file(path, sha256)):
                check_row(where, operator, group, blob)
                if self.uid in {None, operator}:
                    yield operator, signed_group(key_group_of(blob)), where, sequence, blob

    def _path_of(self, name: str) -> JobPath:
        at = None if self.store is None else object_path(name, "read")
        return Path(name) if self.store is None or at is None else StoredPath(self.store, at)


def _rows_of_file(path: JobPath, sha256: str | None) -> Iterator[tuple[str, int, bytes]]:
    if not path.exists():
        raise StateError(
            f"the state file {path} is gone",
            hint="Restore the checkpoint or savepoint from a copy.",
        )
    try:
        if sha256 is not None:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != sha256:
                raise _damaged(path, f"its SHA-256 is {found[:16]}…, {sha256[:16]}… was written")
        with pq.ParquetFile(readable(path)) as file:
            counts = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            # No other check detects a lost row whose footer agrees.
            if sum(counts) != file.metadata.num_rows:
                raise _damaged(path, f"it has {sum(counts)} rows of {file.metadata.num_rows}")
            for index, count in enumerate(counts):
                rows = file.read_row_group(index, columns=STATE_SCHEMA.names)
                if [(f.name, f.type) for f in rows.schema] != _COLUMNS:
                    raise _damaged(path, f"its columns are {rows.schema.names}")
                if rows.num_rows != count:
                    raise _damaged(path, f"row group {index} has {rows.num_rows} rows of {count}")
                yield from rows_of(rows.to_batches())
    except DAMAGE as cause:
        raise _damaged(path, str(cause)) from cause


def _damaged(path: JobPath, what: str) -> StateError:
    return StateError(
        f"the state file {path} is damaged: {what}",
        hint="Restore the checkpoint or savepoint from a copy, or read an older one.",
    )


VIEW_DDL = "level INT, subtask INT, view BINARY"


@dataclass(frozen=True, slots=True)
class SplitEpochLogs:
    """Rows of `VIEW_DDL` to blob rows.

    Attributes:
        directory: Directory of the epochs.
        uid: The only operator whose blobs are read; None for all.
    """

    directory: JobPath
    uid: str | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Split the logs of one task."""
        with carrying():
            yield from batches_of(BLOB_SCHEMA, self.split(rows_of(batches)))

    def split(self, rows: Rows) -> Iterator[tuple[Any, ...]]:
        """Yield the blob rows of all logs.

        Raises:
            StateError: A log is damaged, or the driver of the job has removed a file of it; the error
                names it.
        """
        for level, subtask, view in rows:
            where = f"log of level {level}, subtask {subtask}"
            log = SubtaskLog(self.directory, pickle.loads(view))
            with naming(where):
                try:
                    yield from split_log(where, log, subtask, self.uid)
                except StateError as cause:
                    if not isinstance(cause.__cause__, FileNotFoundError):
                        raise
                    raise _gone(cause) from cause


def _gone(cause: StateError) -> StateError:
    return StateError(
        cause.problem,
        hint="If the job runs, try again: its driver merges files, and has removed this one since. "
        "Otherwise restore the checkpoint directory from a copy.",
    )
