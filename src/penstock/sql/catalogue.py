"""Meanings of the names in statements: tables, views and functions.

A query looks names up in a `SqlCatalogue`. A table has a schema, and creates a stream or accepts one. So a query treats a
table of a connector, a stream of the program and a table of a test in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from penstock.api.streams.data_stream import DataStream
from penstock.api.streams.stream_ends import DataStreamSink
from penstock.relation.tree import Changelog, SqlColumn
from penstock.types.row import Row
from penstock.types.sql_types import SqlType


class FunctionKind(Enum):
    """Kind of calls of a function of the user."""

    SCALAR = "scalar"
    """A value per row."""

    TABLE = "table"
    """Any number of rows per row, in LATERAL TABLE."""

    AGGREGATE = "aggregate"
    """A value per group: an `AggregateFunction`, with `retract` if its rows change."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Columns, keys and times of the rows of a table.

    Attributes:
        columns: In order, computed and metadata columns included.
        primary_key: Names of the columns of its key; empty if it has none.
        written: Names of the columns that a sink takes, in order; None is all.
    """

    columns: tuple[SqlColumn, ...]
    primary_key: tuple[str, ...] = ()
    changelog: Changelog = Changelog.INSERT_ONLY
    written: tuple[str, ...] | None = None


class SqlTable(Protocol):
    """A table of a catalogue."""

    @property
    def schema(self) -> TableSchema:
        """Schema of its rows."""

    def make_stream(self, environment: Any, name: str) -> DataStream[Row]:
        """Return its rows: all columns of the schema, in order and by name.

        If a column is the event time, the rows have timestamps and watermarks.
        """

    def accepts(self, changelog: Changelog, key: Sequence[str]) -> str | None:
        """Return why rows that change so cannot be written to it, None if they can."""

    def write(
        self, stream: DataStream[Row], changelog: Changelog, key: Sequence[str], name: str
    ) -> DataStreamSink:
        """Add a sink for rows of the columns that it takes, in their order and types, and return it."""


@dataclass(frozen=True, slots=True)
class SqlView:
    """A view: a query with a name.

    Attributes:
        columns: Names of its columns; empty takes those of the query.
    """

    query: Any
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A function of the user.

    Attributes:
        name: As statements write it.
        function: A function, or an object with the methods of its kind: `eval` of scalar and table functions;
            `create_accumulator`, `accumulate`, `retract` and `get_value` of aggregates, as in PyFlink.
        result_type: Type of its values; of a table function a ROW.
        is_deterministic: True if equal arguments have equal results. Rows that are taken back need it.
        takes_batches: True if it is given columns of many rows, as in `map_batches`.
    """

    name: str
    kind: FunctionKind
    function: Callable[..., Any] | Any
    result_type: SqlType
    is_deterministic: bool = True
    takes_batches: bool = False


class SqlCatalogue(Protocol):
    """Names of tables, views and functions."""

    def find(self, name: tuple[str, ...]) -> SqlTable | SqlView | None:
        """Return the table or view of a name, None if there is none."""

    def find_function(self, name: str) -> SqlFunction | None:
        """Return a function of the user, None if there is none of that name."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all tables and views, for messages."""
