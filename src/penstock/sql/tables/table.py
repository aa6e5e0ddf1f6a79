"""Tables of CREATE TABLE, as queries see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from penstock.api.functions.watermark import WatermarkStrategy
from penstock.api.streams.data_stream import DataStream
from penstock.sql.catalogue import Changelog, SqlCatalogue, TableSchema
from penstock.sql.lowering.lower import Lowering
from penstock.sql.relations.select import QueryTranslator
from penstock.sql.relations.tree import SqlRelation
from penstock.sql.sqlglot_source import exp
from penstock.sql.statements import ColumnKind, CreateTable
from penstock.sql.tables.definition import Connector, TableDefinition, Takes
from penstock.sql.tables.keyed_writes import latest_by_key, without_former_rows
from penstock.sql.tables.registry import SCAN_PARALLELISM, SINK_PARALLELISM, defined
from penstock.sql.tables.row_times import strategy_of
from penstock.types.row import Row
from penstock.types.types import Types

_STORED_NAME = "stored"


class SystemTable:
    """The columns of a table that are in its system.

    Attributes:
        schema: What its rows are.
    """

    def __init__(self, connector: Connector, table: TableDefinition) -> None:
        """Make a table.

        Args:
            connector: What it is of.
            table: What the statement says.
        """
        self._connector, self._table = connector, table
        self.schema = TableSchema(
            tuple(each.column for each in table.stored),
            primary_key=table.primary_key,
            changelog=connector.changelog(table),
        )
        self.strategy = WatermarkStrategy.no_watermarks()
        self._made: WeakKeyDictionary[Any, DataStream[Row]] = WeakKeyDictionary()

    def make_stream(self, environment: Any, name: str) -> DataStream[Row]:
        """Return its rows; the same stream for all statements of a program, so that they are read once.

        Raises:
            SqlError: It cannot be read.
        """
        program = environment.graph.program
        if program not in self._made:
            self._made[program] = self._read(environment)
        return self._made[program]

    def _read(self, environment: Any) -> DataStream[Row]:
        make = self._connector.source
        if make is None:
            raise self._table.options.wrong(
                f"is of the connector {self._connector.name!r}, which cannot be read",
                "Read another table.",
            )
        found, row_type = make(self._table), self._table.row_type
        if found.rows is None:
            rows: DataStream[Row] = environment.from_source(
                found.source, self.strategy, self._table.name, row_type
            )
            return self._in_parallel(rows)
        records = self._in_parallel(
            environment.from_source(
                found.source, WatermarkStrategy.no_watermarks(), self._table.name
            )
        )
        rows = records.flat_map(found.rows, row_type).name(f"rows of {self._table.name}")
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
    ) -> None:
        """Refuse: `accepts` has said so."""
        raise AssertionError(name)


class ConnectorTable:
    """A table of CREATE TABLE.

    Attributes:
        statement: It.
        schema: What its rows are.
    """

    def __init__(self, statement: CreateTable, catalogue: SqlCatalogue) -> None:
        """Make a table.

        Args:
            statement: What it is.
            catalogue: Has the functions that its computed columns call.

        Raises:
            SqlError: An option, a column or the watermark is wrong.
        """
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
                replace(each, is_time=each.name == watermark.column) for each in columns
            )
            if self._computed is None:
                self._stored.strategy = strategy
            else:
                self._strategy = strategy
        self.schema = replace(
            self._stored.schema,
            columns=columns,
            written=tuple(each.column.name for each in self._table.written),
        )

    def with_options(self, options: Sequence[tuple[str, str]]) -> ConnectorTable:
        """Return the table with other values of some options, as the hint OPTIONS gives them."""
        merged = dict(self.statement.options) | dict(options)
        changed = replace(self.statement, options=tuple(merged.items()))
        return ConnectorTable(changed, self._catalogue)

    def make_stream(self, environment: Any, name: str) -> DataStream[Row]:
        """Return its rows, computed columns included.

        Raises:
            SqlError: It cannot be read.
        """
        if self._computed is None:
            return self._stored.make_stream(environment, name)
        rows = Lowering(environment).stream(self._computed)
        return (
            rows
            if self._strategy is None
            else rows.assign_timestamps_and_watermarks(self._strategy)
        )

    def accepts(self, changelog: Changelog, key: Sequence[str]) -> str | None:
        """Return why rows that change so cannot be written to it, None if they can.

        Args:
            changelog: How the rows change those before.
            key: Names of the columns of the table by which they are unique; empty if none are known.
        """
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
    ) -> None:
        """Add a sink for rows; see `SqlTable`.

        Raises:
            SqlError: It cannot be written.
        """
        assert self._connector.sink is not None, "accepts has agreed"
        found = self._connector.sink(self._table)
        rows = stream
        if found.takes is Takes.UPSERTS and changelog is not Changelog.INSERT_ONLY:
            is_by_key = set(key) == set(self._table.primary_key)
            rows = (
                without_former_rows(stream)
                if is_by_key
                else latest_by_key(stream, self._table.primary_key)
            )
        if found.records is not None:
            kind = found.record_type or Types.PICKLED_BYTE_ARRAY()
            rows = rows.map(found.records, kind).name(f"records of {self._table.name}")
        sink = rows.sink_to(found.sink).name(self._table.name)
        parallelism = self._table.options.get(SINK_PARALLELISM)
        if parallelism is not None:
            sink.set_parallelism(parallelism)

    def _relation(self) -> SqlRelation | None:
        """Return the relation of all columns, None if none is computed."""
        columns = self.statement.columns
        if all(column.kind is not ColumnKind.COMPUTED for column in columns):
            return None
        made = [
            exp.alias_(column.expression.copy(), column.name, quoted=True)
            if column.expression is not None
            else exp.column(column.name, quoted=True)
            for column in columns
        ]
        query = exp.select(*made).from_(exp.to_table(_STORED_NAME))
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
