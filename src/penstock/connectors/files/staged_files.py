"""Staged files, one per bucket of a task and the next one when it is large: invisible until their epoch is committed.

Layout below the directory of a sink:

    part-1f08b4d9-s3-live_7-0.parquet                 visible, complete, never changed
    2026-01-31--23/part-1f08b4d9-s3-live_7-0          the same in a bucket, if there are some
    _penstock/<job_id>/<sink_id>/staging/<uuid>.<ext> written by tasks, invisible
    _penstock/<job_id>/<sink_id>/commits/<epoch>.json manifest of an epoch
    _penstock/<job_id>/<sink_id>/commits/<epoch>.done mark: the manifest is executed
    _penstock/<job_id>/<sink_id>/hidden/…             committed files that are to be merged, see `hidden_files`

Spark and most other readers skip names that start with an underscore. Files of object stores are in `uploaded_files`.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Generic, TypeVar

import pyarrow as pa

from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.file_naming import FileNaming
from penstock.connectors.files.file_writers import RecordFile, columns_of_files
from penstock.connectors.files.partitions import division_of
from penstock.connectors.files.sequence_column import SequenceColumn
from penstock.connectors.local_path import sink_errors
from penstock.connectors.staged import remove_files
from penstock.failpoint import failpoint
from penstock.filesystem.object_path import ObjectPath
from penstock.graph.endpoints import SinkContext, SinkWriter
from penstock.wire.atomic_file import sync_directory

OpenRecords = Callable[[BinaryIO, SinkContext], RecordFile]

C = TypeVar("C")
"""Committable of a finished file."""

K = TypeVar("K")
P = TypeVar("P", Path, ObjectPath)

_SLICE_RECORDS = 8192
"""Records after which the size of a file is looked at."""


class PartFile(ABC, Generic[C]):
    """A file that a task is writing. `finish` or `discard` is the last call.

    Attributes:
        file: Where the bytes go.
    """

    def __init__(self, file: BinaryIO, open_records: OpenRecords, context: SinkContext) -> None:
        self.file = file
        self.record_count = 0
        self._records: RecordFile | None = None
        self._records = open_records(self.file, context)

    @abstractmethod
    def settle(self) -> C:
        """Make the bytes durable, close the file and return its committable."""

    @abstractmethod
    def drop(self) -> None:
        """Delete the file."""

    def write(self, values: list[Any]) -> None:
        """Append records."""
        assert self._records is not None, "it is open"
        self._records.write(values)
        self.record_count += len(values)

    def write_columns(self, batch: pa.RecordBatch) -> None:
        """Append rows that are columns."""
        assert self._records is not None, "it is open"
        self._records.write_columns(batch)
        self.record_count += batch.num_rows

    @property
    def byte_count(self) -> int:
        """Size of the file, about."""
        assert self._records is not None, "it is open"
        return self.file.tell() + self._records.buffered_bytes

    def finish(self) -> C:
        """Write what is buffered, and return the committable."""
        assert self._records is not None, "it is open"
        self._records.finish()
        return self.settle()

    def discard(self) -> None:
        """Delete the file with all that is in it."""
        if self._records is not None:
            self._records.discard()
        self.drop()


class PartFiles(SinkWriter, Generic[K, C]):
    """The files that a task is writing, one per key; of too many, the oldest ends."""

    most_open: ClassVar[int]
    """Greatest number of files that are open at the same time."""

    def __init__(self, directory: Path | ObjectPath, context: SinkContext) -> None:
        """Write below the directory of a sink, in the task of `context`."""
        self._directory = directory
        self._context = context
        self._open: dict[K, PartFile[C]] = {}
        self._finished: list[C] = []

    @abstractmethod
    def make_durable(self) -> None:
        """Called when all files are finished, of which there is one at least."""

    @abstractmethod
    def drop(self, finished: Sequence[C]) -> None:
        """Delete finished files."""

    def prepare_commit(self) -> list[Any]:
        """Close the files durably; returns no handle if there were no records."""
        with self._os_errors("finish a file"):
            for key in list(self._open):
                self._finish(key)
            if self._finished:
                self.make_durable()
        return list(self._finished)

    def abort(self) -> None:
        """Remove the files."""
        with self._os_errors("remove a staged file"):
            while self._open:
                self._open.popitem()[1].discard()
            self.drop(self._finished)

    def _file(self, key: K, begun: Callable[[], PartFile[C]]) -> PartFile[C]:
        """Return the open file of a key, which `begun` creates."""
        file = self._open.get(key)
        if file is None:
            if len(self._open) >= self.most_open:
                self._finish(next(iter(self._open)))
            file = self._open[key] = begun()
        return file

    def _finish(self, key: K) -> None:
        self._finished.append(self._open[key].finish())
        del self._open[key]

    def _os_errors(self, doing: str) -> AbstractContextManager[None]:
        return sink_errors(self._directory, doing, self._context.origin)


class MountedFiles(PartFiles[K, C]):
    """Files in a staging directory of a mounted file system."""

    most_open = 64
    _staging: Path

    def make_durable(self) -> None:
        """Sync the names of the files."""
        sync_directory(self._staging)

    def drop(self, finished: Sequence[Any]) -> None:
        """Remove files."""
        remove_files(self._staging, finished)


class PartFileWriter(PartFiles[str | None, C]):
    """Writes the records of one task into files, one per bucket."""

    def __init__(
        self,
        directory: Path | ObjectPath,
        file_format: FileFormat,
        context: SinkContext,
        naming: FileNaming = FileNaming(),  # noqa: B008 - a frozen value
        part_size_bytes: int | None = None,
        sequence_column: str | None = None,
    ) -> None:
        super().__init__(directory, context)
        self._naming = naming
        self._spec = SPECS[file_format]
        self._columns = columns_of_files(context.type_info, self._spec.writes_column)
        self._part_size_bytes = part_size_bytes
        self._sequence = (
            None if sequence_column is None else SequenceColumn(sequence_column, context)
        )
        if self._sequence is not None:
            self._context = context = replace(context, type_info=self._sequence.type_info)
        columns = naming.buckets.columns
        self._division = (
            division_of(context.type_info, columns, context.origin) if columns else None
        )
        if self._division is not None:
            self._context = replace(context, type_info=self._division.inside)

    @abstractmethod
    def begin(
        self, staged_name: str, open_records: OpenRecords, context: SinkContext
    ) -> PartFile[C]:
        """Create a file."""

    def write(self, values: list[Any]) -> None:
        """Append `values`."""
        if not values:
            return
        size = len(values) if self._part_size_bytes is None else _SLICE_RECORDS
        with self._os_errors("write"):
            failpoint("sink.write")
            for start in range(0, len(values), size):
                part = values[start : start + size]
                if self._sequence is not None:
                    part = self._sequence.numbered(part)
                for bucket, records in self._divided(part):
                    self._write(bucket, records)

    def write_columns(self, batch: pa.RecordBatch) -> bool:
        """Append the rows of an Arrow batch, if its files have a form for columns of these types."""
        rows = None if self._columns is None else self._columns.declared(batch)
        if rows is None:
            return False
        size = max(1, rows.num_rows) if self._part_size_bytes is None else _SLICE_RECORDS
        with self._os_errors("write"):
            failpoint("sink.write")
            for start in range(0, rows.num_rows, size):
                part = rows.slice(start, size)
                if self._sequence is not None:
                    part = self._sequence.numbered_columns(part)
                for bucket, some in self._divided_columns(part):
                    self._write(bucket, some)
        return True

    def _divided(self, values: list[Any]) -> Iterable[tuple[str | None, list[Any]]]:
        if self._division is None:
            return [(None, values)]
        return self._division.divided(values, self._context.origin).items()

    def _divided_columns(
        self, batch: pa.RecordBatch
    ) -> Iterable[tuple[str | None, pa.RecordBatch]]:
        if self._division is None:
            return [(None, batch)]
        return self._division.divided_columns(batch, self._context.origin)

    def _write(self, bucket: str | None, values: list[Any] | pa.RecordBatch) -> None:
        file = self._file(bucket, partial(self._begun, bucket))
        if isinstance(values, list):
            file.write(values)
        else:
            file.write_columns(values)
        if self._part_size_bytes is not None and file.byte_count >= self._part_size_bytes:
            self._finish(bucket)

    def _begun(self, bucket: str | None) -> PartFile[C]:
        name = self._naming.staged_name(uuid.uuid4().hex, self._spec.extension, bucket)
        return self.begin(name, self._spec.open, self._context)


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A complete, durable and invisible file: the committable of a task."""

    name: str
    record_count: int
    byte_count: int


class SmallFile(StagedFile):
    """A staged file that its commit hides, because it is to be merged with others."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SinkLayout(Generic[P]):
    """The paths of one sink of one job."""

    directory: P
    job_id: str
    sink_id: str
    naming: FileNaming = FileNaming()  # noqa: RUF009 - a frozen value

    @property
    def private(self) -> P:
        """Directory of all that is not output."""
        return self.directory / "_penstock" / self.job_id / self.sink_id

    @property
    def commits(self) -> P:
        """Directory of manifests and marks."""
        return self.private / "commits"


class Layout(SinkLayout[Path]):
    """The paths of a sink on a mounted file system."""

    __slots__ = ()

    @property
    def staging(self) -> Path:
        """Directory of staged files, with random names."""
        return self.private / "staging"

    @property
    def hidden(self) -> Path:
        """Directory of committed files that are to be merged."""
        return self.private / "hidden"

    def manifest(self, epoch: str) -> Path:
        """Return the file whose existence decides `epoch`."""
        return self.commits / f"{epoch}.json"

    def done_mark(self, epoch: str) -> Path:
        """Return the file whose existence means that the manifest of `epoch` is executed."""
        return self.commits / f"{epoch}.done"

    def visible_name(self, epoch: str, index: int, staged_name: str) -> str:
        """Return the final name of the file at `index` of `epoch`, with its bucket."""
        middle = f"{self.job_id[:8]}-{self.sink_id}-{epoch}-{index}"
        return self.naming.visible_name(middle, staged_name)


class LocalPartFile(PartFile[C]):
    """A file in the staging directory, and what makes its handle of its name, records and bytes."""

    def __init__(
        self,
        path: Path,
        open_records: OpenRecords,
        context: SinkContext,
        handle: Callable[[str, int, int], C],
    ) -> None:
        self._path = path
        self._handle = handle
        super().__init__(path.open("xb"), open_records, context)

    def settle(self) -> C:
        """Sync and close the file, and return its handle."""
        self.file.flush()
        os.fsync(self.file.fileno())
        byte_count = self.file.tell()
        self.file.close()
        return self._handle(self._path.name, self.record_count, byte_count)

    def drop(self) -> None:
        """Delete the file."""
        self._path.unlink(missing_ok=True)
        # Closing flushes, which fails if the disk is full; the bytes are deleted anyway.
        with contextlib.suppress(OSError):
            self.file.close()


class StagedFileWriter(MountedFiles[str | None, StagedFile], PartFileWriter[StagedFile]):
    """Writes the records of one task into staged files; one that is smaller than a size is a `SmallFile`."""

    def __init__(
        self,
        directory: Path,
        file_format: FileFormat,
        context: SinkContext,
        naming: FileNaming = FileNaming(),  # noqa: B008 - a frozen value
        part_size_bytes: int | None = None,
        sequence_column: str | None = None,
        small_below_bytes: int | None = None,
    ) -> None:
        super().__init__(directory, file_format, context, naming, part_size_bytes, sequence_column)
        self._staging = Layout(directory, context.job_id, context.sink_id, naming).staging
        self._small_below_bytes = small_below_bytes

    def begin(
        self, staged_name: str, open_records: OpenRecords, context: SinkContext
    ) -> PartFile[StagedFile]:
        """Create a file in the staging directory."""
        return LocalPartFile(self._staging / staged_name, open_records, context, self._handle)

    def _handle(self, name: str, record_count: int, byte_count: int) -> StagedFile:
        small_below = self._small_below_bytes
        kind = SmallFile if small_below is not None and byte_count < small_below else StagedFile
        return kind(name, record_count, byte_count)
