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
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.file_naming import FileNaming
from penstock.connectors.files.file_writers import RecordFile
from penstock.connectors.os_errors import sink_errors
from penstock.failpoint import failpoint
from penstock.graph.endpoints import SinkContext, SinkWriter
from penstock.wire.atomic_file import sync_directory


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


class StagedFileWriter(SinkWriter):
    """Writes the records of one task into one staged file, made on the first record."""

    def __init__(
        self,
        directory: Path,
        file_format: FileFormat,
        context: SinkContext,
        naming: FileNaming = FileNaming(),  # noqa: B008 - a frozen value
    ) -> None:
        self._layout = Layout(directory, context.job_id, context.sink_id, naming)
        self._spec = SPECS[file_format]
        self._context = context
        staged = naming.staged_name(uuid.uuid4().hex, self._spec.extension)
        self._path = self._layout.staging / staged
        self._file: BinaryIO | None = None
        self._records: RecordFile | None = None
        self._record_count = 0

    def write(self, values: list[Any]) -> None:
        """Append `values`.

        Raises:
            SinkError: The file system refused, or a record has no form in this format.
            TypeMismatchError: A record does not have the declared type.
        """
        if not values:
            return
        with self._os_errors("write"):
            failpoint("sink.write")
            if self._records is None:
                self._file = self._path.open("xb")
                self._records = self._spec.open(self._file, self._context)
            self._records.write(values)
        self._record_count += len(values)

    def prepare_commit(self) -> list[Any]:
        """Close the file durably; returns no handle if there were no records.

        Raises:
            SinkError: The file system refused, or a buffered record cannot be written.
        """
        if self._file is None or self._records is None:
            return []
        with self._os_errors("finish a file"):
            self._records.finish()
            self._file.flush()
            os.fsync(self._file.fileno())
            byte_count = self._file.tell()
            self._file.close()
            sync_directory(self._path.parent)
        return [StagedFile(self._path.name, self._record_count, byte_count)]

    def abort(self) -> None:
        """Remove the file.

        Raises:
            SinkError: The file system refused.
        """
        if self._file is None:
            return
        if self._records is not None:
            self._records.discard()
        with self._os_errors("remove a staged file"):
            self._path.unlink(missing_ok=True)
        # Closing flushes, which fails if the disk is full; the bytes are deleted anyway.
        with contextlib.suppress(OSError):
            self._file.close()

    def _os_errors(self, doing: str) -> AbstractContextManager[None]:
        return sink_errors(self._layout.directory, doing, self._context.origin)
