"""Staged files. They are invisible to readers until their epoch is committed.

Layout below the directory of a sink:

    part-1f08b4d9-s3-live_7-0.parquet                 visible, complete, never changed
    2026-01-31--23/part-1f08b4d9-s3-live_7-0          the same in a bucket, if there are some
    _penstock/<job_id>/<sink_id>/staging/<uuid>.<ext> written by tasks, invisible
    _penstock/<job_id>/<sink_id>/commits/<epoch>.json manifest of an epoch
    _penstock/<job_id>/<sink_id>/commits/<epoch>.done mark: the manifest is executed

Spark and most other readers skip names that start with an underscore.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.file_naming import FileNaming
from penstock.connectors.files.file_writers import RecordFile
from penstock.connectors.files.partitions import division_of
from penstock.connectors.os_errors import sink_errors
from penstock.failpoint import failpoint
from penstock.graph.endpoints import SinkContext, SinkWriter
from penstock.wire.atomic_file import sync_directory

OpenRecords = Callable[[BinaryIO, SinkContext], RecordFile]

_SLICE_RECORDS = 8192
"""Records after which the size of a file is looked at."""

_MOST_OPEN = 64
"""Buckets of one task that have an open file; of more, the oldest file ends."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A complete, durable and invisible file: the committable of a task.

    Attributes:
        name: Name in the staging directory.
        record_count: Records in the file.
        byte_count: Size of the file.
    """

    name: str
    record_count: int
    byte_count: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of the files of one sink of one job."""

    directory: Path
    job_id: str
    sink_id: str
    naming: FileNaming = FileNaming()  # noqa: RUF009 - a frozen value

    @property
    def private(self) -> Path:
        """Directory of all files of the sink that are not output."""
        return self.directory / "_penstock" / self.job_id / self.sink_id

    @property
    def staging(self) -> Path:
        """Directory of staged files, with random names."""
        return self.private / "staging"

    @property
    def commits(self) -> Path:
        """Directory of the manifests of the latest epochs."""
        return self.private / "commits"

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


class _TaskFile:
    """A file that a task is writing."""

    def __init__(self, path: Path, open_records: OpenRecords, context: SinkContext) -> None:
        self.path = path
        self.file: BinaryIO = path.open("xb")
        self.records: RecordFile | None = None
        self.records = open_records(self.file, context)
        self.record_count = 0

    def write(self, values: list[Any]) -> None:
        assert self.records is not None, "it is open"
        self.records.write(values)
        self.record_count += len(values)

    @property
    def byte_count(self) -> int:
        assert self.records is not None, "it is open"
        return self.file.tell() + self.records.buffered_bytes

    def finish(self) -> StagedFile:
        assert self.records is not None, "it is open"
        self.records.finish()
        self.file.flush()
        os.fsync(self.file.fileno())
        byte_count = self.file.tell()
        self.file.close()
        return StagedFile(self.path.name, self.record_count, byte_count)

    def discard(self) -> None:
        if self.records is not None:
            self.records.discard()
        self.path.unlink(missing_ok=True)
        # Closing flushes, which fails if the disk is full; the bytes are deleted anyway.
        with contextlib.suppress(OSError):
            self.file.close()


class StagedFileWriter(SinkWriter):
    """Writes the records of one task into staged files: one per bucket, and the next one when it is large.

    Args:
        directory: Directory of the sink.
        file_format: Format of the files.
        context: Context of the writer.
        naming: What files are called.
        part_size_bytes: Size from which on the next file begins; None is without limit.
    """

    def __init__(
        self,
        directory: Path,
        file_format: FileFormat,
        context: SinkContext,
        naming: FileNaming = FileNaming(),  # noqa: B008 - a frozen value
        part_size_bytes: int | None = None,
    ) -> None:
        self._layout = Layout(directory, context.job_id, context.sink_id, naming)
        self._spec = SPECS[file_format]
        self._context = context
        self._part_size_bytes = part_size_bytes
        columns = naming.buckets.columns
        self._division = (
            division_of(context.type_info, columns, context.origin) if columns else None
        )
        if self._division is not None:
            self._context = replace(context, type_info=self._division.inside)
        self._open: dict[str | None, _TaskFile] = {}
        self._finished: list[StagedFile] = []

    def write(self, values: list[Any]) -> None:
        """Append `values`.

        Raises:
            SinkError: The file system refused, or a record has no form in this format.
            TypeMismatchError: A record does not have the declared type.
        """
        if not values:
            return
        size = len(values) if self._part_size_bytes is None else _SLICE_RECORDS
        with self._os_errors("write"):
            failpoint("sink.write")
            for start in range(0, len(values), size):
                part = values[start : start + size]
                for bucket, records in self._divided(part):
                    self._write(bucket, records)

    def _divided(self, values: list[Any]) -> Iterable[tuple[str | None, list[Any]]]:
        if self._division is None:
            return [(None, values)]
        return self._division.divided(values, self._context.origin).items()

    def _write(self, bucket: str | None, values: list[Any]) -> None:
        file = self._open.get(bucket)
        if file is None:
            if len(self._open) >= _MOST_OPEN:
                self._finish(next(iter(self._open)))
            file = self._open[bucket] = self._begun(bucket)
        file.write(values)
        if self._part_size_bytes is not None and file.byte_count >= self._part_size_bytes:
            self._finish(bucket)

    def _begun(self, bucket: str | None) -> _TaskFile:
        naming = self._layout.naming
        name = naming.staged_name(uuid.uuid4().hex, self._spec.extension, bucket)
        return _TaskFile(self._layout.staging / name, self._spec.open, self._context)

    def _finish(self, bucket: str | None) -> None:
        self._finished.append(self._open[bucket].finish())
        del self._open[bucket]

    def prepare_commit(self) -> list[Any]:
        """Close the files durably; returns no handle if there were no records.

        Raises:
            SinkError: The file system refused, or a buffered record cannot be written.
        """
        with self._os_errors("finish a file"):
            for bucket in list(self._open):
                self._finish(bucket)
            if self._finished:
                sync_directory(self._layout.staging)
        return list(self._finished)

    def abort(self) -> None:
        """Remove the files.

        Raises:
            SinkError: The file system refused.
        """
        with self._os_errors("remove a staged file"):
            while self._open:
                self._open.popitem()[1].discard()
            for staged in self._finished:
                (self._layout.staging / staged.name).unlink(missing_ok=True)

    def _os_errors(self, doing: str) -> AbstractContextManager[None]:
        return sink_errors(self._layout.directory, doing, self._context.origin)
