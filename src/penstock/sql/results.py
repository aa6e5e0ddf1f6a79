"""Results of statements: rows, or a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api.environment.job import JobExecutionResult
from penstock.api.streams.data_stream import DataStream
from penstock.config.configuration import is_secret
from penstock.errors import HIDDEN
from penstock.relation.tree import Changelog, Relation
from penstock.sql.catalogue import SqlTable, SqlView, TableSchema
from penstock.sql.tables.table import ConnectorTable
from penstock.types.row import Row

_QUOTE = "'"
_VALUE = r"\s*=\s*)'(?:[^']|'')*'"
_LOGIN = re.compile(r"(?<=://)[^/\s@']+(?=@)|(?i:(?<=[?&]password=))[^&\s']+")
"""Logins in addresses."""


@dataclass(frozen=True, slots=True)
class SqlResult:
    """Result of a statement.

    Attributes:
        columns: Names of the columns of its rows; empty if it has none.
        text: Its text; empty if it has rows.
        changes: True if its rows are changes, which have a kind.
        is_answer: True if the statement requests the text; False for the report of a statement with an effect.
    """

    columns: tuple[str, ...] = ()
    text: str = ""
    changes: bool = False
    is_answer: bool = False
    _stream: DataStream[Row] | None = None
    _values: tuple[Sequence[Any], ...] = ()
    _job: JobExecutionResult | None = None

    @classmethod
    def done(cls, text: str) -> SqlResult:
        """Return the result of a statement without rows."""
        return cls(text=text)

    @classmethod
    def of_text(cls, text: str) -> SqlResult:
        """Return the result of a statement that requests a text."""
        return cls(text=text, is_answer=True)

    @classmethod
    def of_values(cls, columns: Sequence[str], values: Iterable[Sequence[Any]]) -> SqlResult:
        """Return the result of a statement whose rows are there."""
        return cls(tuple(columns), is_answer=True, _values=tuple(values))

    @classmethod
    def of_rows(
        cls, stream: DataStream[Row], changelog: Changelog, relation: Relation
    ) -> SqlResult:
        """Return the result of a SELECT."""
        columns = tuple(column.name for column in relation.columns)
        is_changelog = changelog is not Changelog.INSERT_ONLY
        return cls(columns, changes=is_changelog, is_answer=True, _stream=stream)

    @classmethod
    def of_job(cls, result: JobExecutionResult) -> SqlResult:
        """Return the result of a job that has ended."""
        return cls(text=f"job {result.get_job_id()} has ended", _job=result)

    @property
    def stream(self) -> DataStream[Row] | None:
        """The rows of a SELECT as a stream; None of other statements."""
        return self._stream

    @property
    def job_result(self) -> JobExecutionResult | None:
        """Result of the job, if INSERTs ran; else None."""
        return self._job

    def collect(self) -> Iterator[Row]:
        """Return its rows; those of a SELECT as the job computes them. Closing the iterator ends the job."""
        if self._stream is not None:
            return self._stream.execute_and_collect("select")
        return (Row(*self.columns)(*values) for values in self._values)

    def print(self) -> None:
        """Print its rows as they come, or its text."""
        if self.text:
            print(self.text)  # noqa: T201 - its purpose
        for line in self.lines():
            print(line)  # noqa: T201

    def lines(self) -> Iterator[str]:
        """Yield a heading and its rows as text; nothing if it has none."""
        if self.columns:
            kind = ("op",) if self.changes else ()
            yield " | ".join((*kind, *self.columns))
            for row in self.collect():
                yield " | ".join(self.cells(row))

    def cells(self, row: Row) -> list[str]:
        """Return a row as texts, its kind first if rows are changes."""
        cells = [row.get_row_kind().short_string] if self.changes else []
        return cells + ["NULL" if value is None else str(value) for value in row]


def described(schema: TableSchema) -> SqlResult:
    """Return the columns of a table."""
    rows = [
        (
            column.name,
            str(column.type),
            "PRIMARY KEY" if column.name in schema.primary_key else "",
            "event time" if column.is_time else "",
        )
        for column in schema.columns
    ]
    return SqlResult.of_values(("name", "type", "key", "time"), rows)


def text_of_table(table: SqlTable | SqlView, name: str) -> str:
    """Return a statement that makes a table or view."""
    if isinstance(table, SqlView):
        columns = f" ({', '.join(table.columns)})" if table.columns else ""
        return f"CREATE VIEW {name}{columns} AS {table.query.sql(dialect='presto')}"
    if not isinstance(table, ConnectorTable):
        return f"{name} is a stream of the program"
    text = table.statement.text
    for key, _ in table.statement.options:
        if is_secret(key):
            quoted = re.escape(f"'{key.replace(_QUOTE, 2 * _QUOTE)}'")
            text = re.sub(f"({quoted}{_VALUE}", rf"\g<1>'{HIDDEN}'", text)
    return _LOGIN.sub(HIDDEN, text)
