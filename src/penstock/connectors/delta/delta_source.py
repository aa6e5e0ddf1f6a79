"""The Delta source: a table as a log, whose positions are its versions and the rows that they bring.

An open file is kept with its place, since a reader goes on where the last read ended. Reading a row group
again for each few thousand rows would cost the square of its size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet

from penstock.connectors.delta.table_log import (
    DataFile,
    RowsOfFile,
    TableFacts,
    TableSplit,
    VersionRows,
    check_installed,
    gone,
    log_of,
    place_of,
    position_of,
)
from penstock.connectors.local_path import local_path
from penstock.errors import ArgumentError, SourceError
from penstock.graph.dataset import Dataset, files_at
from penstock.graph.log_source import LogSource
from penstock.graph.log_values import LogBatch, LogSplit
from penstock.types import TypeInformation
from penstock.types.arrow import columns_to_lists, type_of_arrow
from penstock.types.row import Row, RowKind, row_factory

CHANGE_TYPE = "_change_type"
BATCH_ROWS = 8192
_MOST_OPEN = 8


class _OpenFile:
    """A file that is read from its beginning to its end."""

    def __init__(self, path: Path, names: list[str], first: int) -> None:
        """Open it at a row."""
        # Spark writes INT96, which would be nanoseconds.
        self._file = pyarrow.parquet.ParquetFile(path, coerce_int96_timestamp_unit="us")
        self.row = self._end = 0
        metadata = self._file.metadata
        groups = []
        for number in range(metadata.num_row_groups):
            self._end += metadata.row_group(number).num_rows
            if self._end > first:
                groups.append(number)
            else:
                self.row = self._end
        there = [name for name in names if name in self._file.schema_arrow.names]
        # A name with a dot would be taken for a path into a struct.
        chosen = None if any("." in name for name in there) else there
        self._batches: Iterator[Any] = self._file.iter_batches(BATCH_ROWS, groups, chosen)
        self._rest: Any = None
        while self.row < first:
            self.take(first - self.row)

    def take(self, most: int) -> pa.RecordBatch:
        """Return the next rows, `most` at most; at least one, if the file has not ended."""
        batch = next(self._batches) if self._rest is None else self._rest
        self._rest = batch.slice(most) if batch.num_rows > most else None
        batch = batch.slice(0, most)
        self.row += batch.num_rows
        return batch

    @property
    def has_ended(self) -> bool:
        """True if all rows were taken."""
        return self.row >= self._end

    def close(self) -> None:
        """Close the file."""
        self._file.close()


_open: dict[tuple[Path, tuple[str, ...]], _OpenFile] = {}


def close_files() -> None:
    """Close the files that are kept open."""
    while _open:
        _open.popitem()[1].close()


def take_rows(
    directory: Path, file: DataFile, schema: pa.Schema, first: int, most: int
) -> tuple[pa.RecordBatch, list[str] | None]:
    """Return the rows of a file, and the kind of change of each row if a column contains it."""
    path = directory / file.path
    is_marked = file.rows is RowsOfFile.MARKED
    names = [*schema.names, CHANGE_TYPE] if is_marked else list(schema.names)
    key = (path, tuple(names))
    opened = _open.pop(key, None)  # others of this process may read it too
    if opened is not None and opened.row != first:
        opened.close()
        opened = None
    try:
        opened = opened or _OpenFile(path, names, first)
        batch = opened.take(most)
    except FileNotFoundError as cause:
        raise SourceError(
            f"the file {path} of the Delta table is gone: the table was vacuumed, or its directory changed",
            hint="Keep removed files for longer than the job may stand still "
            "(delta.deletedFileRetentionDuration). Restore the file, or start in a new checkpoint directory, "
            "which reads the table as it is now.",
        ) from cause
    _keep(key, opened)
    columns = [_column(batch, field, file, path) for field in schema]
    marks = batch.column(CHANGE_TYPE).to_pylist() if is_marked else None
    return pa.RecordBatch.from_arrays(columns, schema=schema), marks


def _keep(key: tuple[Path, tuple[str, ...]], opened: _OpenFile) -> None:
    if opened.has_ended:
        opened.close()
        return
    while len(_open) >= _MOST_OPEN:
        _open.pop(next(iter(_open))).close()
    _open[key] = opened


def _column(batch: pa.RecordBatch, field: pa.Field, file: DataFile, path: Path) -> pa.Array:
    for name, value in file.partition:
        if name == field.name:
            return pa.repeat(pa.scalar(value, field.type), batch.num_rows)
    index = batch.schema.get_field_index(field.name)
    if index < 0:
        return pa.nulls(batch.num_rows, field.type)
    try:
        return batch.column(index).cast(field.type)
    except pa.ArrowException as cause:
        raise SourceError(
            f"column {field.name!r} of {path} has the type {batch.column(index).type}, and is read as {field.type}: "
            f"{cause}",
            hint="The column was changed after the program was written. Start in a new checkpoint directory, "
            "or leave the column out with columns(…).",
        ) from cause


_KINDS = {
    "insert": RowKind.INSERT,
    "update_preimage": RowKind.UPDATE_BEFORE,
    "update_postimage": RowKind.UPDATE_AFTER,
    "delete": RowKind.DELETE,
}
"""`_change_type` of the protocol to the kind of a row."""


@dataclass(frozen=True, slots=True)
class DeltaSource(LogSource):
    """Reads a Delta table: what it has, then what its versions bring.

    The records are rows with the names of the table's columns. Their timestamp is the time at which their version
    was committed. Every row is read once, in history and live. Versions only add rows: one that
    changes or removes some stops the job, unless `change_feed` was called.

    Attributes:
        directory: The table's directory.
        schema: The columns that are read.
        whole: Version that is read as a whole; None is the newest one at the start.
        first: Version that is read first, without a snapshot; None if there is one.
        last: Version that is read last; None never ends, or ends at the newest one at the start.
        ends: True if it ends.
        feed: True if updates and deletions are read.
        records_per_second: Limit of the rate of a live run; None reads as fast as it can.

    Example:
        >>> import tempfile, deltalake, pyarrow
        >>> path = tempfile.mkdtemp()
        >>> deltalake.write_deltalake(path, pyarrow.table({"n": [1, 2]}))
        >>> source = DeltaSource.table(path)
        >>> source.get_produced_type()
        Row(n: Long)
        >>> some = DeltaSource.table(path).columns("n").at_version(0).limited_to(1_000)
        >>> collect(env.from_source(some, WatermarkStrategy.no_watermarks(), "some"))
        [Row(n=1), Row(n=2)]
        >>> DeltaSource.table(path).from_version(1).change_feed().feed
        True
    """

    directory: Path
    schema: pa.Schema
    whole: int | None = None
    first: int | None = None
    last: int | None = None
    ends: bool = False
    feed: bool = False
    records_per_second: int | None = None

    kind: ClassVar[str] = "delta"
    has_declared_form: ClassVar[bool] = True
    makes_records_anew: ClassVar[bool] = True

    @staticmethod
    def table(path: str | os.PathLike[str]) -> DeltaSource:
        """Return a source of a table as it is when the job starts, and of what is added to it.

        Args:
            path: Its directory: a path or a `file:` URI that the driver and all workers see.

        Raises:
            ArgumentError: The path names another kind of storage than files.
            SourceError: There is no table.
            MissingConnectorError: The package `deltalake` is not installed.
        """
        check_installed("DeltaSource")
        directory = local_path(path, "read")
        return DeltaSource(directory, log_of(directory).facts().schema)

    def columns(self, *names: str) -> DeltaSource:
        """Return the source with some of its columns.

        Args:
            names: Their names, in the order of the fields.

        Raises:
            ArgumentError: There is no such column, or none is named.
        """
        missing = [name for name in names if name not in self.schema.names]
        if missing or not names or len(set(names)) < len(names):
            raise ArgumentError.here(
                f"columns got {', '.join(map(repr, names)) or 'no names'}, and {self.describe()} has "
                f"{', '.join(self.schema.names)}",
                hint="Name columns of the table, each once.",
            )
        return replace(self, schema=pa.schema([self.schema.field(name) for name in names]))

    def at_version(self, version: int) -> DeltaSource:
        """Return the source with the table as it was at a version, then the versions behind it.

        Args:
            version: The version.

        Raises:
            ArgumentError: It is no version.
        """
        return replace(self, whole=_version(version), first=None)

    def from_version(self, version: int) -> DeltaSource:
        """Return the source with what versions bring, without what was there before.

        Args:
            version: The first one.

        Raises:
            ArgumentError: It is no version.
        """
        return replace(self, first=_version(version), whole=None)

    def bounded(self, version: int | None = None) -> DeltaSource:
        """Return the source with an end.

        Args:
            version: The last version, which must be there when the job starts; None is the newest one then.

        Raises:
            ArgumentError: It is no version.
        """
        last = None if version is None else _version(version)
        return replace(self, ends=True, last=last)

    def change_feed(self) -> DeltaSource:
        """Return the source with updates and deletions, as rows with their `RowKind`.

        An update is a row `UPDATE_BEFORE` and one `UPDATE_AFTER`. The table needs the property
        `delta.enableChangeDataFeed`.
        """
        return replace(self, feed=True)

    def limited_to(self, records_per_second: int) -> DeltaSource:
        """Return the source with a limit of its rate in a live run.

        Args:
            records_per_second: Rows per second.
        """
        return replace(self, records_per_second=records_per_second)

    @staticmethod
    def position_of_version(version: int) -> int:
        """Return the position of the first row of a version, for `HybridSource.until_position`.

        Args:
            version: The version; its rows are behind the position.

        Example:
            >>> DeltaSource.position_of_version(3) == 3 * 2**36
            True
        """
        return position_of(_version(version))

    @property
    def is_bounded(self) -> bool:
        """True if it ends."""
        return self.ends

    @property
    def is_divisible(self) -> bool:
        """True if tasks may read ranges of it at the same time."""
        return True

    def get_produced_type(self) -> TypeInformation:
        """Return the type of rows with the columns."""
        return type_of_arrow(self.schema)

    def discover(self, known: Mapping[str, int]) -> Sequence[LogSplit]:
        """Return the table with its newest version; see `LogSource.discover`."""
        facts = log_of(self.directory).look()
        if not known:
            return [self._first_split(facts)]
        ((name, position),) = known.items()
        split = TableSplit.of_id(name)
        self._check(split, position, facts)
        return [LogSplit(name, self._begin(split), position_of(self._newest(facts) + 1))]

    def read(self, split: str, start: int, end: int) -> LogBatch:
        """Return rows of a range; see `LogSource.read`."""
        position = start
        for version, rows, begin, stop in self._versions(TableSplit.of_id(split), start, end):
            if begin < stop:
                return self._rows(rows, position_of(version), begin, stop)
            position = min(position_of(version + 1), end)
        return LogBatch([], position)

    def cost(self, split: str, start: int, end: int) -> int:
        """Return the number of rows in a range.

        Args:
            split: Id of the split.
            start: First position.
            end: Position behind the last.
        """
        return sum(
            max(stop - begin, 0)
            for _, _, begin, stop in self._versions(TableSplit.of_id(split), start, end)
        )

    def position_at(self, split: str, timestamp_ms: int, start: int, end: int) -> int:
        """Return the first position of a range whose version was not committed before a time, else its end.

        Args:
            split: Id of the split.
            timestamp_ms: In epoch milliseconds.
            start: First position.
            end: Position behind the last.
        """
        for version, rows, begin, stop in self._versions(TableSplit.of_id(split), start, end):
            if rows.timestamp_ms >= timestamp_ms and begin < stop:
                return position_of(version, begin)
        return end

    def datasets(self) -> Sequence[Dataset]:
        """Return the directory of the table."""
        return (files_at(self.directory),)

    def describe(self) -> str:
        """Return e.g. `delta table /data/orders`."""
        return f"delta table {self.directory}"

    def _first_split(self, facts: TableFacts) -> LogSplit:
        newest = self._newest(facts)
        split = TableSplit(facts.id)
        if self.first is None:
            version = newest if self.whole is None else self.whole
            self._check_there(version, newest)
            rows = log_of(self.directory).rows(
                TableSplit(facts.id, version), version, feed=self.feed
            )
            split = TableSplit(facts.id, version, rows.row_count)
        else:
            self._check_there(self.first, newest + 1)
            if self.first < log_of(self.directory).oldest:
                raise gone(self.directory, self.first)
        begin = self._begin(split)
        version, _ = place_of(begin)
        if newest < version:
            return LogSplit(split.id, begin, begin)
        rows = log_of(self.directory).rows(split, newest, feed=self.feed)
        # Not the beginning of the next version: a batch run cuts the range into equal parts.
        return LogSplit(split.id, begin, position_of(newest, rows.row_count))

    def _begin(self, split: TableSplit) -> int:
        version = self.first if split.snapshot is None else split.snapshot
        return position_of(version or 0)

    def _newest(self, facts: TableFacts) -> int:
        if self.last is None:
            return facts.version
        if self.last > facts.version:
            raise SourceError(
                f"{self.describe()} ends at version {self.last}, but its newest one is {facts.version}",
                hint="End at a version that exists when the job starts.",
            )
        return self.last

    def _check_there(self, version: int, newest: int) -> None:
        if version > newest:
            raise SourceError(
                f"{self.describe()} begins at version {version}, but its newest one is {newest}",
                hint="Begin at an existing version.",
            )

    def _check(self, split: TableSplit, position: int, facts: TableFacts) -> None:
        """Refuse a table of which what is to be read next is gone."""
        if split.table != facts.id:
            raise SourceError(
                f"{self.describe()} is not the table that the job has read: it was created again",
                hint="Restore the earlier table, or start in a new checkpoint directory.",
            )
        version, _ = place_of(position)
        needed = version + 1 if version == split.snapshot else version
        oldest = log_of(self.directory).oldest
        if needed < oldest and needed <= facts.version:
            raise gone(self.directory, needed)

    def _versions(
        self, split: TableSplit, start: int, end: int
    ) -> Iterator[tuple[int, VersionRows, int, int]]:
        """Yield each version of a range with its rows, the first of them and the one behind the last."""
        first, begin = place_of(start)
        last, stop = place_of(end)
        log = log_of(self.directory)
        for version in range(first, last + 1):
            if version == last and not stop:
                return
            rows = log.rows(split, version, feed=self.feed)
            until = min(stop, rows.row_count) if version == last else rows.row_count
            yield version, rows, begin if version == first else 0, until

    def _rows(self, rows: VersionRows, base: int, begin: int, stop: int) -> LogBatch:
        number = next(n for n, end in enumerate(rows.ends) if begin < end)
        file = rows.files[number]
        before = rows.ends[number] - file.row_count
        most = min(rows.ends[number], stop, begin + BATCH_ROWS) - begin
        batch, marks = take_rows(self.directory, file, self.schema, begin - before, most)
        count = batch.num_rows
        return LogBatch(
            _records(batch, file, marks), base + begin + count, [rows.timestamp_ms] * count
        )


def _records(
    batch: pa.RecordBatch, file: DataFile, marks: list[str] | None
) -> pa.RecordBatch | list[Row]:
    if file.rows is RowsOfFile.INSERTED:
        return batch
    records = row_factory(batch.schema.names)(map(list, zip(*columns_to_lists(batch), strict=True)))
    for row, mark in zip(records, marks or ["delete"] * len(records), strict=True):
        row.set_row_kind(_KINDS[mark])
    return records


def _version(version: Any) -> int:
    if isinstance(version, bool) or not isinstance(version, int) or version < 0:
        raise ArgumentError.here(
            f"a version of a Delta table is {version!r}", hint="Pass an integer from 0."
        )
    return version
