"""Files for the records of a stream, between the jobs of one program: `DataStream.cache`.

A cache file is a sequence of blocks, each the pickle (protocol 5) of a list of `BLOCK_RECORDS`
records, the last of fewer. Its handle has the offset of each block, so a reader of record `n`
starts at block `n // BLOCK_RECORDS`.

Workers write and read the files, so the driver and all workers must see the directory under the
same name; on a single host any directory will do.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from penstock.connectors.staged import PickledFileWriter
from penstock.errors import SourceError
from penstock.filesystem.stored_path import JobPath
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter, Source, SplitSource
from penstock.types.information import TypeInformation
from penstock.types.record_form import record_form

BLOCK_RECORDS = 2048
"""Records in a block."""


@dataclass(frozen=True, slots=True)
class CacheFile:
    """Handle of one file.

    Attributes:
        path: Path of the file.
        subtask: Index of the task that wrote it.
        record_count: Number of its records.
        offsets: Offset of each block.
    """

    path: JobPath
    subtask: int
    record_count: int
    offsets: tuple[int, ...]


_committed: dict[str, dict[str, tuple[CacheFile, ...]]] = {}
"""Directory to epoch to files, of the caches that this process fills."""


def take_files(directory: str) -> tuple[CacheFile, ...]:
    """Return the files that jobs of this process committed to `directory`, and forget them."""
    epochs = _committed.pop(directory, {})
    return tuple(file for files in epochs.values() for file in files)


@dataclass(frozen=True, slots=True)
class CacheSink(Sink):
    """Writes records into cache files; `take_files` gives their handles in the driver.

    Attributes:
        directory: Directory of the files; it exists.
    """

    directory: str

    kind: ClassVar[str] = "cache"

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer of one file."""
        return open_cache_file(Path(self.directory), context)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer that keeps the handles."""
        return _CacheCommitter(self.directory)


def open_cache_file(directory: JobPath, context: SinkContext) -> SinkWriter:
    """Return a writer of one cache file. Its committable is the handle, if there are records."""
    return _CacheWriter(directory, context)


class _CacheWriter(PickledFileWriter):
    """Writes one file, made at the first block."""

    doing = "cache records"
    file_kind = "cache"
    most_kept_bytes = 0
    is_durable = False  # it ends with the program
    refusal = "records of {} cannot be cached"

    def __init__(self, directory: JobPath, context: SinkContext) -> None:
        super().__init__(directory, context)
        self._form = record_form(context.type_info)
        self._waiting: list[Any] = []
        self._offsets: list[int] = []

    def write(self, values: list[Any]) -> None:
        self._waiting += values
        while len(self._waiting) >= BLOCK_RECORDS:
            self._offsets.append(self._append_values(self._waiting[:BLOCK_RECORDS]))
            del self._waiting[:BLOCK_RECORDS]

    def prepare_commit(self) -> list[Any]:
        if self._waiting:
            self._offsets.append(self._append_values(self._waiting))
        return super().prepare_commit()

    def _handle(self) -> CacheFile:
        offsets = tuple(self._offsets)
        return CacheFile(self._path, self._context.subtask, self._record_count, offsets)


class _CacheCommitter(Committer):
    """Stores the handles of every epoch, and deletes files that are not committed."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def recover(self) -> None:
        _committed[self._directory] = {}
        for left_over in Path(self._directory).iterdir():
            left_over.unlink()

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        files: list[CacheFile] = sorted(committables, key=lambda file: file.subtask)
        epochs = _committed[self._directory]
        if epoch not in epochs:
            epochs[epoch] = tuple(files)
            return
        for repeated in files:
            repeated.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class CacheSource(SplitSource):
    """Reads the records of a cached stream.

    Attributes:
        stream: Id of the node whose records are cached, in the program of the source.
        type_info: Type of the records.
        files: The files; None until a job has computed them.
    """

    stream: int
    type_info: TypeInformation[Any]
    files: tuple[CacheFile, ...] | None = None

    kind: ClassVar[str] = "cache"
    makes_records_anew: ClassVar[bool] = True
    is_internal: ClassVar[bool] = True
    has_declared_form: ClassVar[bool] = True

    @property
    def is_bounded(self) -> bool:
        """True if the source ends; cached streams are bounded."""
        return True

    def get_produced_type(self) -> TypeInformation[Any]:
        """Return the type of the cached stream."""
        return self.type_info

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return one split per file, and an empty one if there is none."""
        return [(0, file.record_count) for file in self._filled()] or [(0, 0)]

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return the records of a range."""
        if start == end:
            return []
        file = self._filled()[split]
        first = start // BLOCK_RECORDS
        records: list[Any] = []
        try:
            with file.path.open("rb") as stream:
                stream.seek(file.offsets[first])
                while first * BLOCK_RECORDS + len(records) < end:
                    records += pickle.load(stream)
        except (OSError, EOFError) as cause:
            raise SourceError(
                f"cached records cannot be read from {file.path}: {cause!r}",
                hint="Set a temporary directory (TMPDIR) that the driver and all workers see "
                "under the same name, and do not call invalidate() while a job reads.",
            ) from cause
        skipped = first * BLOCK_RECORDS
        return records[start - skipped : end - skipped]

    def describe(self) -> str:
        """Return the number of records, once it is known."""
        if self.files is None:
            return "a cache that is not filled yet"
        return f"a cache of {sum(file.record_count for file in self.files)}"

    def _filled(self) -> tuple[CacheFile, ...]:
        if self.files is None:
            raise SourceError(
                "a cached stream is read that no job has computed yet",
                hint="Run the program with execute() or execute_and_collect().",
            )
        return self.files


def cache_of(source: Source | None) -> CacheSource | None:
    """Return the source if it reads a cached stream, else None."""
    return source if isinstance(source, CacheSource) else None
