"""The files that the epochs of one live run read: their checks, and how Spark reads them.

| a file of an epoch | what happens |
|---|---|
| is gone when the epoch begins | an error that names it; put back, it is read |
| has another size or time than when it got its position | an error that names it |
| the same, and an earlier driver had planned it | its size must be the same: a copy that was put back has another time |
| changes while it is read | an error that names it; the epoch is not recorded |
| has columns that would be lost | an error that names file and column (`file_columns`) |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.config.options import MISSING_COLUMNS
from penstock.connectors.spark_source import by_position
from penstock.errors import SourceError
from penstock.graph.endpoints import Source
from penstock.spark.live.epochs.epoch_job import EpochJob, FileRows, Stage, arrow_schema_of
from penstock.spark.live.epochs.epoch_stages import EpochStages
from penstock.spark.sources.file_columns import FileColumns, note_missing_columns
from penstock.spark.sources.file_paths import plain
from penstock.spark.sources.line_reads import decoder_of
from penstock.spark.sources.listing.file_listing import listed_now
from penstock.spark.sources.listing.file_log import PinnedFile
from penstock.spark.sources.listing.file_readings import FileReading
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.sources.source_reads import columns_task, in_tasks
from penstock.spark.sources.source_row import FilesInLoop
from penstock.spark.sources.table import files_of, row_of
from penstock.spark.worker.payload import Payload

Facts = tuple[int, int]
"""Size, and modification time in milliseconds."""

Part = tuple[int, int]
"""Source id, and index of the part."""

_FIRST_BATCH_RECORDS = 1_000
_LEAST_BATCH_RECORDS = 64
_MOST_BATCH_RECORDS = 10_000
_BATCH_BYTES = 2 << 20
"""Bytes of files whose records are one Arrow batch. In memory they may be several times as large."""


@dataclass(slots=True)
class _Source:
    """One part of a source whose rows are in files.

    Attributes:
        reading: The way to read it.
        how: Its row in the table of sources.
        batch_records: Rows of an Arrow batch.
        schema: Schema of its rows; None before the first epoch with files.
        stage: Wrapped function of stage 0; None before.
    """

    described: Source
    reading: FileReading
    how: FilesInLoop
    batch_records: int = _FIRST_BATCH_RECORDS
    schema: StructType | None = None
    stage: object = None


class EpochFiles:
    """The files of one live run."""

    def __init__(
        self,
        reads: ReadContext,
        readings: Sequence[FileReading],
        stages: EpochStages,
        spark: EpochJob,
    ) -> None:
        """Begin before the first epoch."""
        self._reads = reads
        self._stages = stages
        self._spark = spark
        parts = {(source, part): described for source, part, described in reads.parts()}
        self._sources: dict[Part, _Source] = {}
        for reading in readings:
            key = reading.source, reading.part
            how = row_of(parts[key]).in_loop
            assert how is not None, "it is not read by positions"
            self._sources[key] = _Source(parts[key], reading, how)
        self._read: dict[str, Facts] = {}
        self._bytes: dict[Part, int] = {}

    def rows(self, planned: Mapping[Part, tuple[int, int]]) -> list[FileRows]:
        """Return the rows of the files of an epoch, after checking the files."""
        self._read, self._bytes = {}, {}
        return [self._rows(key, self._files(key, *span), span[0]) for key, span in planned.items()]

    def check_again(self) -> None:
        """Refuse an epoch whose files changed while it ran.

        A file that has disappeared since was read before.
        """
        for uri, before in self._read.items():
            now = listed_now(self._reads.session, plain(uri))
            if now is not None and (after := (now[2], now[0])) != before:
                raise _changed_file(uri, "while it was read", before, after)

    def note_read(self, records: Mapping[int, int]) -> None:
        """Note how many records the sources had in the epoch whose files `rows` got last."""
        for key, size in self._bytes.items():
            fitting = _BATCH_BYTES * records.get(key[0], 0) // max(size, 1)
            most = max(_LEAST_BATCH_RECORDS, min(fitting, _MOST_BATCH_RECORDS))
            self._sources[key].batch_records = most

    def _files(self, key: Part, first: int, last: int) -> list[str]:
        """Return the URIs of files, after comparing them with what was planned."""
        reading = self._sources[key].reading
        files = reading.files(first, last)
        for position, file in enumerate(files, first):
            self._read[file.uri] = self._compared(
                key, file, is_pinned_here=reading.is_pinned_here(position)
            )
        self._bytes[key] = sum(file.size for file in files)
        return [file.uri for file in files]

    def _compared(self, key: Part, file: PinnedFile, *, is_pinned_here: bool) -> Facts:
        source = self._reads.plan.source(key[0])
        name = plain(file.uri)
        now = listed_now(self._reads.session, name)
        if now is None:
            raise SourceError(
                f"{name} is gone before a planned epoch of {source.name!r} has read it",
                hint="Restore the file and start the same command again.",
                origin=source.origin,
            )
        after, before = (now[2], now[0]), (file.size, file.time_ms)
        if after[0] != before[0] or (is_pinned_here and after != before):
            when = f"after an epoch of {source.name!r} was planned with it"
            raise _changed_file(file.uri, when, before, after)
        return after

    def _rows(self, key: Part, uris: list[str], first: int) -> FileRows:
        source = self._sources[key]
        is_first = source.schema is None
        if source.schema is None:
            decide = source.how.schema
            source.schema = decide(self._reads, *key, source.described, uris, first)
            source.stage = self._spark.wrap(self._stage(key, source, uris))
        described = files_of(source.described)
        if described is not None and not described.is_bounded:
            origin = self._reads.plan.source(key[0]).origin
            columns = FileColumns(self._reads.session, described, source.schema, origin)
            columns.check({uri: self._read[uri][0] for uri in uris})
            if is_first:
                action = self._reads.configuration.get(MISSING_COLUMNS)
                note_missing_columns(columns, uris, action)
        rows = partial(self._frame, key, source, uris)
        return FileRows(rows, source.stage, source.batch_records)

    def _frame(self, key: Part, source: _Source, uris: list[str]) -> DataFrame:
        frame: DataFrame = by_position(in_tasks(self._reads, key[0], self._named(source, uris)))
        return frame

    def _named(self, source: _Source, uris: list[str]) -> DataFrame:
        """Return the rows of files, with the names of their columns."""
        assert source.schema is not None, "it is decided before"
        return source.how.rows(self._reads, source.described, source.schema, uris)

    def _stage(self, key: Part, source: _Source, uris: list[str]) -> Stage:
        named = self._named(source, uris)
        payload = Payload.of(self._reads.program, self._reads.workers)
        lines = decoder_of(source.described, self._reads.plan.source(key[0]).origin)
        columns = columns_task(
            payload, key[0], source.described, named, attempt=self._reads.attempt, lines=lines
        )
        return self._stages.file_stage(columns, arrow_schema_of(by_position(named)))


def _changed_file(uri: str, when: str, before: Facts, after: Facts) -> SourceError:
    """Return the error about a file that is not what was planned."""
    sizes = f"it had {before[0]} bytes, it has {after[0]}"
    if before[0] == after[0]:
        sizes = f"it has {after[0]} bytes and another modification time"
    return SourceError(
        f"{plain(uri)} changed {when}: {sizes}",
        hint="A file must appear complete (write it elsewhere, then rename it) and must not change "
        "afterwards. Restore it, or wait until it is complete, and start the same command again.",
    )
