"""Files for the records of a stream: between the jobs of one program (`DataStream.cache`), and between regions of a job.

A cache file is a sequence of blocks, each the pickle (protocol 5) of a list of `BLOCK_RECORDS`
records, the last of fewer. Its handle has the offset of each block, so a reader of record `n`
starts at block `n // BLOCK_RECORDS`. The driver and all workers must see the directory under the
same name.

An operator that emits only at the end of its input may be connected with an unbounded stream. Then
the planner divides the job in two regions (FLIP-331 §5.3): the first one ends with a `ResultSink`, the second one
begins with a `ResultSource`. The results are (record, timestamp or None) pairs in cache files below
`<checkpoint directory>/results/<sink>`; `files.json` beside them names the committed files. They stay
there, since a restart reads them again.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from penstock.connectors.local_path import sink_errors
from penstock.connectors.staged import PickledFileWriter
from penstock.errors import SourceError
from penstock.filesystem.stored_path import JobPath
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter, Source, SplitSource
from penstock.types import TypeInformation, Types
from penstock.types.record_form import record_form
from penstock.wire.atomic_file import write_atomically
from penstock.wire.elements import MIN_TIMESTAMP

_FILES = "files.json"


def _directory(scratch: JobPath, result: str) -> JobPath:
    return scratch / "results" / result


# FLIP-331, rule 8.
@dataclass(frozen=True, slots=True)
class ResultSink(Sink):
    """Writes (record, timestamp) pairs into files.

    Attributes:
        result: Names the result within the job; safe in a file name.
    """

    result: str

    kind: ClassVar[str] = "result"
    may_stage_in_store: ClassVar[bool] = True

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer of one file."""
        return _CacheWriter(_directory(context.scratch, self.result), context)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer that records the committed files."""
        return _ResultCommitter(_directory(context.scratch, self.result), context)

    def describe(self) -> str:
        """Return a phrase for plans."""
        return "kept for the live part of the job"


class _ResultCommitter(Committer):
    """Records the files of the only epoch, and deletes all others."""

    def __init__(self, directory: JobPath, context: SinkContext) -> None:
        self._directory = directory
        self._context = context

    def recover(self) -> None:
        with sink_errors(self._directory, "keep results", self._context.origin):
            self._directory.mkdir(parents=True, exist_ok=True)
            kept = {file.path.name for file in _named_files(self._directory) or ()}
            for left_over in self._directory.iterdir():
                if left_over.name not in {*kept, _FILES}:
                    left_over.unlink()

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        if _named_files(self._directory) is not None:
            return  # the epoch was computed again; `recover` deletes the new files
        files: list[CacheFile] = sorted(committables, key=lambda file: file.subtask)
        named = [
            {
                "path": file.path.name,
                "subtask": file.subtask,
                "record_count": file.record_count,
                "offsets": file.offsets,
            }
            for file in files
        ]
        with sink_errors(self._directory, "keep results", self._context.origin):
            may_commit = self._context.may_commit
            write_atomically(self._directory / _FILES, json.dumps(named).encode(), may_commit)


def _named_files(directory: JobPath) -> tuple[CacheFile, ...] | None:
    """Return the committed files, None before the commit."""
    path = directory / _FILES
    if not path.exists():
        return None
    return tuple(
        CacheFile(**file | {"path": directory / file["path"], "offsets": tuple(file["offsets"])})
        for file in json.loads(path.read_bytes())
    )


# FLIP-331, rule 5.
@dataclass(frozen=True, slots=True)
class ResultSource(SplitSource):
    """Reads the files of a `ResultSink`.

    Attributes:
        result: Names the result within the job.
        producer: Name of the operator that emitted the results.
        files: The files; None before they are committed.
        values: The pairs, of a run in this process, which writes no files.
    """

    result: str
    producer: str
    type_info: TypeInformation[Any]
    files: tuple[CacheFile, ...] | None = None
    values: tuple[tuple[Any, int | None], ...] | None = None

    kind: ClassVar[str] = "result"
    makes_records_anew: ClassVar[bool] = True
    is_internal: ClassVar[bool] = True
    gives_results: ClassVar[bool] = True
    has_declared_form: ClassVar[bool] = True

    @property
    def is_bounded(self) -> bool:
        """True if the source ends; the results of a bounded region always do."""
        return True

    def get_produced_type(self) -> TypeInformation[Any]:
        """Return the type of the operator's results."""
        return self.type_info

    def found_in(self, scratch: JobPath) -> ResultSource:
        """Return the source with the committed files of a checkpoint directory."""
        return replace(self, files=_named_files(_directory(scratch, self.result)))

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return one split per file, and an empty one if there is none."""
        if self.values is not None:
            return [(0, len(self.values))]
        return self._cached().splits(parallelism)

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return the records of a range."""
        return [value for value, _ in self._pairs(split, start, end)]

    def read_timestamped(
        self, split: int, start: int, end: int
    ) -> tuple[Sequence[Any], Sequence[int] | None]:
        """Return the records of a range and their timestamps."""
        pairs = self._pairs(split, start, end)
        values = [value for value, _ in pairs]
        if all(stamp is None for _, stamp in pairs):
            return values, None
        return values, [MIN_TIMESTAMP if stamp is None else stamp for _, stamp in pairs]

    def describe(self) -> str:
        """Return the operator that emitted the results."""
        return f"the results of {self.producer}"

    def _pairs(self, split: int, start: int, end: int) -> Sequence[tuple[Any, int | None]]:
        if self.values is not None:
            return self.values[start:end]
        return self._cached().read(split, start, end)

    def _cached(self) -> CacheSource:
        if self.files is None:
            raise SourceError(
                f"the results of {self.producer!r} are not in the checkpoint directory",
                hint="Start from a savepoint that was taken after they had been read, or read "
                "the input again in a new checkpoint directory.",
            )
        return CacheSource(-1, Types.PICKLED_BYTE_ARRAY(), self.files)


def with_stored_result(part: Source, kept: Callable[[ResultSource], ResultSource]) -> Source:
    """Return a source of results with its committed files; any other source unchanged."""
    return kept(part) if isinstance(part, ResultSource) else part


BLOCK_RECORDS = 2048
"""Records in a block."""


@dataclass(frozen=True, slots=True)
class CacheFile:
    """Handle of one file.

    Attributes:
        subtask: Index of the task that wrote it.
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

    def beside(self, directory: str) -> Sink:
        """Return the sink itself: no other job has what it writes."""
        del directory
        return self

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer of one file."""
        return _CacheWriter(Path(self.directory), context)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer that keeps the handles."""
        return _CacheCommitter(self.directory)


class _CacheWriter(PickledFileWriter):
    """Writes one file, made at the first block. Its committable is the handle, if there are records."""

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
                "no job has computed the cached stream yet",
                hint="Run the program with execute() or execute_and_collect().",
            )
        return self.files


def cache_of(source: Source | None) -> CacheSource | None:
    """Return the source if it reads a cached stream, else None."""
    return source if isinstance(source, CacheSource) else None
