"""What a change of a table is, and what tables and columns are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.types.row import RowKind


class Change(NamedTuple):
    """A row that was inserted, updated or deleted, or that was there when the job started.

    Attributes:
        op: `RowKind.INSERT`, `UPDATE_AFTER` or `DELETE`. A row of the snapshot is an INSERT.
        key: Values of the primary key, or of what else is the replica identity.
        before: What the database's log has of the row as it was, by column: everything with REPLICA
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
        name: Its name.
        type_oid: Number of its type in the catalogue; of a domain that of its base type.
        is_key: Whether it is of the key.
    """

    name: str
    type_oid: int
    is_key: bool


@dataclass(frozen=True, slots=True)
class TableName:
    """The name of a table.

    Attributes:
        schema: Its schema.
        name: Its name there.
    """

    schema: str
    name: str

    @classmethod
    def of(cls, text: str) -> TableName:
        """Return the name that `schema.table` or `table` says; the default schema is `public`."""
        schema, dot, name = text.partition(".")
        return cls(schema, name) if dot else cls("public", text)

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table that is read.

    Attributes:
        oid: Its number in the catalogue.
        name: Its name.
        columns: The columns that are read, in order.
        row_filter: Condition in SQL which rows are published; None is all.
    """

    oid: int
    name: TableName
    columns: tuple[Column, ...]
    row_filter: str | None = None
