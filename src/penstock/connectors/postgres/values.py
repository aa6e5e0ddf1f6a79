"""Values of changes, tables and columns, and positions in the log of a database (LSN)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

from penstock.types.row import RowKind

_EPOCH_MS = 946_684_800_000
"""2000-01-01, from which PostgreSQL counts microseconds."""


def lsn_of(text: str) -> int:
    """Parse a position such as `16/B374D848`.

    Example:
        >>> lsn_of("1/10")
        4294967312
    """
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)


def text_of(lsn: int) -> str:
    """Return a position as PostgreSQL writes it.

    Example:
        >>> text_of(4294967312)
        '1/10'
    """
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def milliseconds_of(microseconds: int) -> int:
    """Return a time of PostgreSQL in epoch milliseconds."""
    return microseconds // 1000 + _EPOCH_MS


_NAMES = re.compile(r'(?:("(?:[^"]|"")+"|[^".]+)\.)?("(?:[^"]|"")+"|[^".]+)')
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


class Change(NamedTuple):
    """A row that was inserted, updated or deleted, or that was there when the job started.

    Attributes:
        op: `RowKind.INSERT`, `UPDATE_AFTER` or `DELETE`. A row of the snapshot is an INSERT.
        key: Values of the primary key, or of what else is the replica identity.
        before: The row before the change, by column, as the database's log has it: whole with REPLICA
            IDENTITY FULL; otherwise the key, of a DELETE and of an UPDATE that changes it; else None.
        after: The row by column; None of a DELETE. A large value that an UPDATE has not changed is not in
            the database's log: its column is absent, or as in `before` if that has it.
        commit_lsn: Position of the end of its transaction in the database's log.
        commit_timestamp: When it was committed, in epoch milliseconds; of a row of the snapshot when that was taken.
        table: The table, with its schema.
        previous_key: The key before an UPDATE that has changed it, else None.

    Example:
        >>> from penstock.common import RowKind
        >>> change = Change(RowKind.DELETE, (7,), {"id": 7}, None, 23_456, 0, "public.orders")
        >>> change.key
        (7,)
    """

    op: RowKind
    key: tuple[Any, ...]
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    commit_lsn: int
    commit_timestamp: int
    table: str = ""
    previous_key: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        type_oid: Number of its type in the catalogue; of a domain that of its base type.
        beyond: Policy for values that Python does not have, see `beyond.POLICIES`.
    """

    name: str
    type_oid: int
    is_key: bool
    beyond: str = "error"


@dataclass(frozen=True, slots=True)
class TableRows:
    """Whole rows of a table, by column: of a snapshot, or of inserts and updates of one transaction.

    Attributes:
        values: Their values, column by column.
        lsn: Position of the snapshot or the transaction.
        ops: Kind of change of each row; None means that all were inserted.
    """

    table: str
    columns: tuple[Column, ...]
    values: list[list[Any]]
    lsn: int
    timestamp_ms: int
    ops: Sequence[RowKind] | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values[0])

    def by_name(self) -> dict[str, list[Any]]:
        """Return column to values."""
        names = [column.name for column in self.columns]
        return dict(zip(names, self.values, strict=True))

    def changes(self) -> list[Change]:
        """Return the rows as changes."""
        names = [column.name for column in self.columns]
        keys = [self.values[index] for index, column in enumerate(self.columns) if column.is_key]
        key_of_each = zip(*keys, strict=True) if keys else repeat((), len(self))
        ops = repeat(RowKind.INSERT, len(self)) if self.ops is None else self.ops
        lsn, time, table = self.lsn, self.timestamp_ms, self.table
        return [
            Change(op, key, None, dict(zip(names, row, strict=True)), lsn, time, table)
            for op, key, row in zip(ops, key_of_each, zip(*self.values, strict=True), strict=True)
        ]


Run = TableRows | list[Change]
"""Changes that follow each other."""


@dataclass(frozen=True, slots=True)
class TableName:
    """The name of a table."""

    schema: str
    name: str

    @classmethod
    def of(cls, text: str) -> TableName:
        """Parse `schema.table` or `table`; the default schema is `public`.

        A name with a dot is in quotes, as in `"my.schema"."my.table"`. Names have the case of the catalogue.
        """
        match = _NAMES.fullmatch(text)
        if match is None:
            schema, dot, name = text.partition(".")
            return cls(schema, name) if dot else cls("public", text)
        given_schema, given_name = match.groups()
        return cls(_unquoted(given_schema or "public"), _unquoted(given_name))

    @property
    def quoted(self) -> str:
        """The name as a statement has it, e.g. `public."Orders"`."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    def __str__(self) -> str:
        names = (self.schema, self.name)
        return ".".join(_in_quotes(part) if "." in part else part for part in names)


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _in_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quoted(name: str) -> str:
    """Return a name as a user types it in a statement; unquoted, PostgreSQL would make capitals small.

    Example:
        >>> quoted("orders"), quoted("Orders")
        ('orders', '"Orders"')
    """
    return name if _PLAIN.fullmatch(name) else _in_quotes(name)


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table that is read.

    Attributes:
        oid: Its number in the catalogue.
        columns: The columns that are read, in order.
        row_filter: Condition in SQL which rows are published; None is all.
        is_partitioned: True if its rows are in its partitions.
    """

    oid: int
    name: TableName
    columns: tuple[Column, ...]
    row_filter: str | None = None
    is_partitioned: bool = False
