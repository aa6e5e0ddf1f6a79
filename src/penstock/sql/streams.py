"""Streams of the program as tables, and a catalogue of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.streams.columns.noted_queries import table_columns
from penstock.api.streams.data_stream import DataStream
from penstock.api.streams.stream_ends import DataStreamSink
from penstock.errors import ArgumentError
from penstock.expressions.steps import ExpressionChain, SelectStep
from penstock.expressions.tree import Field
from penstock.expressions.typing import record_type
from penstock.relation.tree import Changelog
from penstock.sql.catalogue import SqlCatalogue, SqlFunction, SqlTable, SqlView, TableSchema
from penstock.types.row import Row


class StreamTable:
    """A stream of rows or tuples as a table."""

    def __init__(
        self,
        stream: DataStream[Any],
        changelog: Changelog = Changelog.INSERT_ONLY,
        primary_key: Sequence[str] = (),
        time: str | None = None,
    ) -> None:
        """Make a table of a stream, whose timestamps are the values of `time`.

        If the changelog is INSERT_ONLY, other rows are an error.
        """
        records = record_type(stream.get_type(), "a table of SQL")
        self._stream = stream
        self._records = records
        self.schema = TableSchema(
            columns=table_columns(records, time),
            primary_key=tuple(primary_key),
            changelog=changelog,
        )

    def make_stream(self, environment: Any, name: str) -> DataStream[Row]:
        """Return its rows. One that is no `+I` fails the job if the table is insert-only."""
        if self._stream.get_execution_environment() is not environment:
            raise ArgumentError.here(
                f"the table {name!r} is a stream of another environment",
                hint="Make all streams with one environment.",
            )
        records = self._records
        fields = zip(records.field_names, records.field_types, strict=True)
        step = SelectStep(tuple((name, Field(name, kind)) for name, kind in fields))
        takes_changes = self.schema.changelog is not Changelog.INSERT_ONLY
        chain = ExpressionChain(records, (step,), takes_changes=takes_changes)
        return self._stream._evaluate(chain, f"table {name}")  # noqa: SLF001 - as streams do

    def accepts(self, changelog: Changelog, key: Sequence[str]) -> str | None:
        """Return why no rows can be written to it."""
        return "it is a stream of the program"

    def write(
        self, stream: DataStream[Row], changelog: Changelog, key: Sequence[str], name: str
    ) -> DataStreamSink:
        """Refuse, as `accepts` does."""
        raise AssertionError(name)


class StreamCatalogue:
    """Tables by their names, and functions of the user."""

    def __init__(
        self,
        tables: Mapping[str, SqlTable | SqlView],
        functions: Mapping[str, SqlFunction],
        others: SqlCatalogue | None = None,
    ) -> None:
        """Make a catalogue."""
        self._tables = dict(tables)
        self._functions = dict(functions)
        self._others = others

    def find(self, name: tuple[str, ...]) -> SqlTable | SqlView | None:
        """Return the table or view of a name, None if there is none."""
        table = self._tables.get(".".join(name))
        return table if table is not None or self._others is None else self._others.find(name)

    def find_function(self, name: str) -> SqlFunction | None:
        """Return a function of the user, None if there is none of that name."""
        function = self._functions.get(name)
        is_last = function is not None or self._others is None
        return function if is_last or self._others is None else self._others.find_function(name)

    def names(self) -> tuple[str, ...]:
        """Return the names of all tables and views."""
        others = () if self._others is None else self._others.names()
        return (*self._tables, *others)
