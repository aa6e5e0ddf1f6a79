"""Staged files. They are invisible to readers until their epoch is committed.

Layout below the directory of a sink:

    part-1f08b4d9-s3-live_7-0.parquet                 visible, complete, never changed
    2026-01-31--23/part-1f08b4d9-s3-live_7-0          the same in a bucket, if there are some
    _penstock/<job_id>/<sink_id>/staging/<uuid>.<ext> written by tasks, invisible
    _penstock/<job_id>/<sink_id>/commits/<epoch>.json manifest of an epoch
    _penstock/<job_id>/<sink_id>/commits/<epoch>.done mark: the manifest is executed
    _penstock/<job_id>/<sink_id>/hidden/…             committed files that are to be merged, see `hidden_files`

Spark and most other readers skip names that start with an underscore.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_naming import FileNaming
from penstock.connectors.files.part_files import OpenRecords, PartFile, PartFileWriter
from penstock.graph.endpoints import SinkContext
from penstock.wire.atomic_file import sync_directory

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


class SmallFile(StagedFile):
    """A staged file that its commit hides, because it is to be merged with others."""

    __slots__ = ()


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
    def hidden(self) -> Path:
        """Directory of committed files that are to be merged."""
        return self.private / "hidden"

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


class _LocalPartFile(PartFile[StagedFile]):
    """A file in the staging directory; smaller than a size, it is a `SmallFile`."""

    def __init__(
        self,
        path: Path,
        open_records: OpenRecords,
        context: SinkContext,
        small_below_bytes: int | None,
    ) -> None:
        self._path = path
        self._small_below_bytes = small_below_bytes
        super().__init__(path.open("xb"), open_records, context)

    def settle(self) -> StagedFile:
        self.file.flush()
        os.fsync(self.file.fileno())
        byte_count = self.file.tell()
        self.file.close()
        small_below = self._small_below_bytes
        made = SmallFile if small_below is not None and byte_count < small_below else StagedFile
        return made(self._path.name, self.record_count, byte_count)

    def drop(self) -> None:
        self._path.unlink(missing_ok=True)
        # Closing flushes, which fails if the disk is full; the bytes are deleted anyway.
        with contextlib.suppress(OSError):
            self.file.close()


class StagedFileWriter(PartFileWriter[StagedFile]):
    """Writes the records of one task into staged files.

    Args:
        directory: Directory of the sink.
        file_format: Format of the files.
        context: Context of the writer.
        naming: What files are called.
        part_size_bytes: Size from which on the next file begins; None is without limit.
        sequence_column: Name of the column with the numbers of rows; None is without one.
        small_below_bytes: Size below which a file is to be merged with others; None is never.
    """

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
        self._layout = Layout(directory, context.job_id, context.sink_id, naming)
        self._small_below_bytes = small_below_bytes

    @property
    def most_open(self) -> int:
        """Greatest number of buckets with an open file at the same time."""
        return _MOST_OPEN

    def begin(
        self, staged_name: str, open_records: OpenRecords, context: SinkContext
    ) -> PartFile[StagedFile]:
        """Create a file in the staging directory."""
        path = self._layout.staging / staged_name
        return _LocalPartFile(path, open_records, context, self._small_below_bytes)

    def make_durable(self) -> None:
        """Sync the names of the files."""
        sync_directory(self._layout.staging)

    def drop(self, finished: Sequence[StagedFile]) -> None:
        """Remove files."""
        for staged in finished:
            (self._layout.staging / staged.name).unlink(missing_ok=True)
