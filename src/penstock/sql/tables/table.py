"""Tables of CREATE TABLE, as queries see them.

Rows of a changelog for sinks that write by key.

Event time of a table: WATERMARK FOR as a strategy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from penstock.api.functions.function_classes import KeyedProcessFunction
from penstock.api.functions.watermark import WatermarkStrategy
from penstock.api.state.descriptors import ListStateDescriptor
from penstock.api.streams.data_stream import DataStream
from penstock.api.streams.stream_ends import DataStreamSink
from penstock.expressions.column import col
from penstock.program.timestamps import ColumnTimestamps
from penstock.relation.tree import Changelog, Relation, SqlColumn
from penstock.sql.catalogue import SqlCatalogue, TableSchema
from penstock.sql.lowering.lower import Lowering
from penstock.sql.place import unsupported, wrong
from penstock.sql.query_binding.select import QueryTranslator
from penstock.sql.scalar_binding.intervals import milliseconds
from penstock.sql.sqlglot_source import exp
from penstock.sql.statements import ColumnKind, CreateTable, WatermarkDefinition
from penstock.sql.tables.definition import Connector, TableDefinition, Takes
from penstock.sql.tables.registry import SCAN_PARALLELISM, SINK_PARALLELISM, defined
from penstock.types import TypeInformation
from penstock.types.row import Row, RowKind
from penstock.types.sql_types import TIMESTAMPS
from penstock.types.time import Duration
from penstock.types.types import Types


def strategy_of(
    watermark: WatermarkDefinition, columns: tuple[SqlColumn, ...]
) -> WatermarkStrategy:
    """Return the watermark strategy of the rows."""
    names = [column.name for column in columns]
    if watermark.column not in names:
        raise wrong(
            f"WATERMARK FOR {watermark.column!r} is of no column ({watermark.place})",
            None,
            hint=f"Use one of: {', '.join(names)}.",
        )
    kind = columns[names.index(watermark.column)].type
    if kind.name not in TIMESTAMPS:
        raise wrong(
            f"WATERMARK FOR {watermark.column!r} is of {kind} ({watermark.place})",
            None,
            hint="Use a column of TIMESTAMP or TIMESTAMP_LTZ; a computed column may make one.",
        )
    delay = Duration.of_millis(_delay(watermark))
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(delay)
    return bounded.with_timestamp_assigner(ColumnTimestamps(watermark.column, watermark.column))


def _delay(watermark: WatermarkDefinition) -> int:
    node = watermark.expression
    column, interval = (node.this, node.expression) if isinstance(node, exp.Sub) else (node, None)
    if not isinstance(column, exp.Column) or column.name != watermark.column:
        raise unsupported(
            "WATERMARK FOR of another expression than the column less an interval",
            node,
            hint=f"Write WATERMARK FOR {watermark.column} AS {watermark.column} - INTERVAL '5' SECOND.",
        )
    return 0 if interval is None else milliseconds(interval, "the delay of a watermark")


_ADDED = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER})


def is_no_former_row(row: Row) -> bool:
    """Return whether a row is not the former content of one that follows."""
    return row.get_row_kind() is not RowKind.UPDATE_BEFORE


def without_former_rows(rows: DataStream[Row]) -> DataStream[Row]:
    """Return the changes of rows that are unique by the key of the sink: the next one of a key replaces a former one."""
    return rows.filter(is_no_former_row).name("rows of the sink")


def latest_by_key(rows: DataStream[Row], key: Sequence[str]) -> DataStream[Row]:
    """Return the changes of the newest row of each key, of rows that are unique by something else.

    While a row of a key goes and another comes, which is in no order, both are kept.
    """
    row_type = rows.get_type()
    keyed = rows.key_by(*(col[name] for name in key))
    return keyed.process(LatestRow(row_type), row_type).name(f"newest row by {', '.join(key)}")


class LatestRow(KeyedProcessFunction):
    """Keeps the rows of a key, and finds the newest one."""

    def __init__(self, row_type: TypeInformation) -> None:
        self.row_type = row_type

    def open(self, runtime_context: Any) -> None:
        """Take the state."""
        self._rows = runtime_context.get_list_state(ListStateDescriptor("rows", self.row_type))

    def process_element(self, value: Row, ctx: Any) -> Iterator[Row]:
        """Yield the newest row if it is another one now, and `-D` if there is none any more."""
        rows = list(self._rows.get() or ())
        if value.get_row_kind() in _ADDED:
            self._rows.add(_of_kind(value, RowKind.INSERT))
            yield _of_kind(value, RowKind.UPDATE_AFTER)
            return
        fields = list(value)
        position = next((i for i in reversed(range(len(rows))) if list(rows[i]) == fields), None)
        if position is None:
            return
        is_newest = position == len(rows) - 1
        del rows[position]
        self._rows.update(rows)
        if not rows:
            yield _of_kind(value, RowKind.DELETE)
        elif is_newest:
            yield _of_kind(rows[-1], RowKind.UPDATE_AFTER)


def _of_kind(row: Row, kind: RowKind) -> Row:
    changed = copy(row)
    changed.set_row_kind(kind)
    return changed


_STORED_NAME = "stored"


class SystemTable:
    """The columns of a table that are in its system."""

    def __init__(self, connector: Connector, table: TableDefinition) -> None:
        """Make a table."""
        self._connector, self._table = connector, table
        self.schema = TableSchema(
            tuple(stored.column for stored in table.stored),
            primary_key=table.primary_key,
            changelog=connector.changelog(table),
        )
        self.strategy = WatermarkStrategy.no_watermarks()
        self._streams: WeakKeyDictionary[Any, DataStream[Row]] = WeakKeyDictionary()

    def make_stream(self, environment: Any, name: str) -> DataStream[Row]:
        """Return its rows; the same stream for all statements of a program, so that they are read once."""
        program = environment.graph.program
        if program not in self._streams:
            self._streams[program] = self._read(environment)
        return self._streams[program]

    def _read(self, environment: Any) -> DataStream[Row]:
        make = self._connector.source
        if make is None:
            raise self._table.options.wrong(
                f"is of the connector {self._connector.name!r}, which cannot be read",
                "Read another table.",
            )
        table_source, row_type = make(self._table), self._table.row_type
        if table_source.rows is None:
            rows: DataStream[Row] = environment.from_source(
                table_source.source, self.strategy, self._table.name, row_type
            )
            return self._in_parallel(rows)
        records = self._in_parallel(
            environment.from_source(
                table_source.source, WatermarkStrategy.no_watermarks(), self._table.name
            )
        )
        rows = records.flat_map(table_source.rows, row_type).name(f"rows of {self._table.name}")
        if self.strategy == WatermarkStrategy.no_watermarks():
            return rows
        return rows.assign_timestamps_and_watermarks(self.strategy)

    def _in_parallel(self, records: DataStream[Any]) -> DataStream[Any]:
        parallelism = self._table.options.get(SCAN_PARALLELISM)
        return records if parallelism is None else records.set_parallelism(parallelism)

    def accepts(self, changelog: Changelog, key: Sequence[str]) -> str | None:
        """Return why no rows can be written to it: `ConnectorTable` is for that."""
        return "it is not written"

    def write(
        self, stream: DataStream[Row], changelog: Changelog, key: Sequence[str], name: str
    ) -> DataStreamSink:
        """Refuse, as `accepts` does."""
        raise AssertionError(name)


class ConnectorTable:
    """A table of CREATE TABLE."""

    def __init__(self, statement: CreateTable, catalogue: SqlCatalogue) -> None:
        """Make a table."""
        self.statement = statement
        self._catalogue = catalogue
        self._connector, self._table = defined(statement)
        self._stored = SystemTable(self._connector, self._table)
        self._computed = self._relation()
        columns = self._stored.schema.columns if self._computed is None else self._computed.columns
        watermark = statement.watermark
        self._strategy: WatermarkStrategy | None = None
        if watermark is not None:
            strategy = strategy_of(watermark, columns)
            columns = tuple(
                replace(column, is_time=column.name == watermark.column) for column in columns
            )
            if self._computed is None:
                self._stored.strategy = strategy
            else:
                self._strategy = strategy
        self.schema = replace(
            self._stored.schema,
            columns=columns,
            written=tuple(written.column.name for written in self._table.written),
        )

    def with_options(self, options: Sequence[tuple[str, str]]) -> ConnectorTable:
        """Return the table with other values of some options, as the hint OPTIONS gives them."""
        merged = dict(self.statement.options) | dict(options)
        changed = replace(self.statement, options=tuple(merged.items()))
        return ConnectorTable(changed, self._catalogue)

    def make_stream(self, environment: Any, name: str) -> DataStream[Row]:
        """Return its rows, computed columns included."""
        if self._computed is None:
            return self._stored.make_stream(environment, name)
        rows = Lowering(environment).stream(self._computed)
        return (
            rows
            if self._strategy is None
            else rows.assign_timestamps_and_watermarks(self._strategy)
        )

    def accepts(self, changelog: Changelog, key: Sequence[str]) -> str | None:
        """Return why rows that change so cannot be written to it, None if they can."""
        if self._connector.sink is None:
            return f"the connector {self._connector.name!r} only reads"
        takes = self._connector.sink(self._table).takes
        if changelog is Changelog.INSERT_ONLY or takes is Takes.CHANGES:
            return None
        if takes is Takes.INSERTS or not self._table.primary_key:
            return f"the connector {self._connector.name!r} takes {takes.value}"
        if changelog is Changelog.UPSERT and set(key) != set(self._table.primary_key):
            by = ", ".join(key) or "no columns"
            return (
                f"its key is {', '.join(self._table.primary_key)}, and the rows are unique by {by}"
            )
        return None

    def write(
        self, stream: DataStream[Row], changelog: Changelog, key: Sequence[str], name: str
    ) -> DataStreamSink:
        """Add a sink for rows and return it; see `SqlTable`."""
        assert self._connector.sink is not None, "accepts has agreed"
        table_sink = self._connector.sink(self._table)
        rows = stream
        if table_sink.takes is Takes.UPSERTS and changelog is not Changelog.INSERT_ONLY:
            is_by_key = set(key) == set(self._table.primary_key)
            rows = (
                without_former_rows(stream)
                if is_by_key
                else latest_by_key(stream, self._table.primary_key)
            )
        if table_sink.records is not None:
            kind = table_sink.record_type or Types.PICKLED_BYTE_ARRAY()
            rows = rows.map(table_sink.records, kind).name(f"records of {self._table.name}")
        sink = rows.sink_to(table_sink.sink).name(self._table.name)
        parallelism = self._table.options.get(SINK_PARALLELISM)
        if parallelism is not None:
            sink.set_parallelism(parallelism)
        return sink

    def _relation(self) -> Relation | None:
        """Return the relation of all columns, None if none is computed."""
        columns = self.statement.columns
        if all(column.kind is not ColumnKind.COMPUTED for column in columns):
            return None
        selected = [
            exp.alias_(column.expression.copy(), column.name, quoted=True)
            if column.expression is not None
            else exp.column(column.name, quoted=True)
            for column in columns
        ]
        query = exp.select(*selected).from_(exp.to_table(_STORED_NAME))
        return QueryTranslator(_StoredCatalogue(self._stored, self._catalogue)).relation(query)


class _StoredCatalogue:
    """A catalogue of one table, with the functions of another catalogue."""

    def __init__(self, table: SystemTable, functions: SqlCatalogue) -> None:
        self._table, self._functions = table, functions

    def find(self, name: tuple[str, ...]) -> Any:
        return self._table

    def find_function(self, name: str) -> Any:
        return self._functions.find_function(name)

    def names(self) -> tuple[str, ...]:
        return (_STORED_NAME,)
