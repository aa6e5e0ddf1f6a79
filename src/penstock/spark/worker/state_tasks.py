"""Reading state in workers: blobs of change logs, files and epochs, decoded to rows, which may be written to files.

    blob rows, unsorted                            ->  survey: states, schemas and kinds of keys
    blob rows, sorted by operator and key group    ->  rows of entries

The functions are for `mapInArrow`.
"""

from __future__ import annotations

import hashlib
import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import RESTORE_STATE, StateError
from penstock.filesystem.object_path import object_path
from penstock.filesystem.object_store import ObjectStore
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.spark.failures.translation import carrying
from penstock.state.log.blob import Section, encode_blob, encode_blobs, key_group_of, operator_of
from penstock.state.log.change_log import ChangeLog, LogStorage
from penstock.state.log.subtask_log import SubtaskLog
from penstock.state.replay import GroupReplay, check_blob, check_row, open_blob, replay
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateSchema
from penstock.state.schema.stored_form import stored_codec
from penstock.types.value_serializer import StoredForm
from penstock.wire.job_files import new_file, readable

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
    """Add the name of a log to an error in the context, unless it has it."""
    try:
        yield
    except StateError as cause:
        if where in cause.problem:
            raise
        raise StateError(f"{cause.problem}; {where}", hint=cause.hint) from cause


def split_log(
    where: str, storage: LogStorage, subtask: int, uid: str | None
) -> Iterator[tuple[Any, ...]]:
    """Yield the blob rows of one log."""
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
        """Yield the blob rows of all files."""
        for name, sha256 in files:
            path, where = self._path_of(name), f"file {name}"
            for sequence, (operator, group, blob) in enumerate(_rows_of_file(path, sha256)):
                check_row(where, operator, group, blob)
                if self.uid in {None, operator}:
                    yield operator, signed_group(key_group_of(blob)), where, sequence, blob

    def _path_of(self, name: str) -> JobPath:
        place = None if self.store is None else object_path(name, "read")
        return Path(name) if self.store is None or place is None else StoredPath(self.store, place)


def _rows_of_file(path: JobPath, sha256: str | None) -> Iterator[tuple[str, int, bytes]]:
    if not path.exists():
        raise StateError(f"the state file {path} is gone", hint=RESTORE_STATE)
    try:
        if sha256 is not None:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != sha256:
                raise _damaged(path, f"its SHA-256 is {digest[:16]}…, {sha256[:16]}… was written")
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
    return StateError(f"the state file {path} is damaged: {what}", hint=RESTORE_STATE)


VIEW_DDL = "level INT, subtask INT, view BINARY"


@dataclass(frozen=True, slots=True)
class SplitEpochLogs:
    """Rows of `VIEW_DDL` to blob rows.

    Attributes:
        uid: The only operator whose blobs are read; None for all.
    """

    directory: JobPath
    uid: str | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Split the logs of one task."""
        with carrying():
            yield from batches_of(BLOB_SCHEMA, self.split(rows_of(batches)))

    def split(self, rows: Rows) -> Iterator[tuple[Any, ...]]:
        """Yield the blob rows of all logs."""
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


NAMES_DDL = "name STRING"


@dataclass(frozen=True, slots=True)
class WriteStateFiles:
    """State rows to rows of `NAMES_DDL`: one Parquet file per task that has rows.

    An attempt that fails late may leave a file that no record names.
    """

    directory: JobPath

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of one task."""
        with carrying():
            try:
                names = self._written(batches)
            except OSError as cause:
                raise StateError(
                    f"state cannot be written to {self.directory}: {cause}",
                    hint="Make room, or make the checkpoint directory writable, and try again.",
                ) from cause
            yield pa.RecordBatch.from_pydict({"name": pa.array(names, pa.string())})

    def _written(self, batches: Iterable[pa.RecordBatch]) -> list[str]:
        full = (batch for batch in batches if batch.num_rows)
        first = next(full, None)
        if first is None:
            return []
        file = new_file(self.directory / f"{uuid.uuid4().hex}.parquet")
        try:
            with pq.ParquetWriter(file, STATE_SCHEMA, compression="lz4") as writer:
                writer.write_batch(_typed(first))
                for batch in full:
                    writer.write_batch(_typed(batch))
            file.finish()
        except BaseException:
            file.discard()
            raise
        return [file.path.name]


def _typed(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [batch.column(field.name).cast(field.type) for field in STATE_SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=STATE_SCHEMA)


COUNT_SCHEMA = pa.schema(
    [
        pa.field("operator", pa.string()),
        pa.field("state", pa.string()),
        pa.field("schema", pa.string()),
        pa.field("entries", pa.int64()),
        pa.field("keys", pa.int64()),
        pa.field("bytes", pa.int64()),
    ]
)
COUNT_DDL = "operator STRING, state STRING, schema STRING, entries LONG, keys LONG, bytes LONG"

Visit = Callable[[str, int, GroupReplay], Iterable[pa.RecordBatch]]
"""Makes rows of the entries of an operator in a (signed) key group."""


@dataclass(frozen=True, slots=True)
class ReplayGroups:
    """Blob rows to rows of entries. Blob rows are sorted by all columns except the blob.

    Attributes:
        visit: Makes the rows.
    """

    visit: Visit

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Replay the key groups of one task, one at a time."""
        with carrying():
            rows = rows_of(batches)
            for (operator, group), of_group in groupby(rows, key=itemgetter(0, 1)):
                entries = replay((row[2], row[4]) for row in of_group)
                yield from self.visit(operator, group, entries)


def snapshot_rows(operator: str, key_group: int, entries: GroupReplay) -> Iterator[pa.RecordBatch]:
    """Yield rows of `STATE_SCHEMA`. A `Visit`."""
    blobs = encode_blobs(operator, key_group & BROADCAST_GROUP, entries.sections())
    return batches_of(STATE_SCHEMA, ((operator, key_group, blob) for blob in blobs))


def count_rows(operator: str, key_group: int, entries: GroupReplay) -> Iterator[pa.RecordBatch]:
    """Yield rows of `COUNT_SCHEMA`. A `Visit`."""
    return batches_of(
        COUNT_SCHEMA,
        (
            (
                operator,
                section.state,
                section.schema,
                _entries_in(section),
                0 if key_group < 0 else len(set(section.keys)),
                len(encode_blob(operator, key_group & BROADCAST_GROUP, [section])),
            )
            for section in entries.sections()
        ),
    )


def _entries_in(section: Section) -> int:
    schema = StateSchema.parse(section.schema)
    if schema.kind.is_list:
        codec = stored_codec(schema)
        # The values are chunks; plain ones are counted without decoding them.
        if codec is not None and schema.form is StoredForm.CODED:
            return sum(map(len, codec.from_plain(section.values)))
        return sum(map(len, section.values))
    return len(section)


SURVEY_DDL = "operator STRING, state STRING, schema STRING, part STRING, kind STRING"
SURVEY_SCHEMA = pa.schema(
    [pa.field(part.split()[0], pa.string()) for part in SURVEY_DDL.split(",")]
)


@dataclass(frozen=True, slots=True)
class Survey:
    """Blob rows to the states, schemas, and kinds of keys and subkeys in them.

    Attributes:
        kind_of: Returns the kind of a list of values, for columns.
    """

    kinds_of: Callable[[list[Any]], set[str]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Survey the blobs of one task; each finding is returned once."""
        with carrying():
            findings = {
                (row[0], section.state, section.schema, part, kind)
                for row in rows_of(batches)
                for section in open_blob(row[2], row[4])
                for part, kind in self._findings(section)
            }
            yield from batches_of(SURVEY_SCHEMA, sorted(findings))

    def _findings(self, section: Section) -> Iterator[tuple[str, str]]:
        yield "schema", ""
        for part, values in (("key", section.keys), ("subkey", section.subkeys or [])):
            for kind in self.kinds_of(values):
                yield part, kind
