"""From messages and lines to rows of a table, and back: formats without a connector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.types.row import Row, RowKind

Decoder = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class RowsOfMessage:
    """Makes rows of a message; none of one that is skipped.

    Attributes:
        names: Of the columns.
        decode: What reads a message: values, or kinds with values.
        is_changelog: Whether it makes kinds with values.
    """

    names: tuple[str, ...]
    decode: Decoder
    is_changelog: bool

    def __call__(self, message: Any) -> Sequence[Row]:
        """Return the rows."""
        found = self.decode(message)
        if not self.is_changelog:
            return () if found is None else (Row(*self.names)(*found),)
        return [with_kind(Row(*self.names)(*values), kind) for kind, values in found]


def with_kind(row: Row, kind: RowKind) -> Row:
    """Return a row that was just made, with a kind."""
    row.set_row_kind(kind)
    return row


@dataclass(frozen=True, slots=True)
class TextOfRow:
    """Writes a row as a line.

    Attributes:
        encode: What writes values.
        is_changelog: Whether it needs the kind of the row, too.
    """

    encode: Callable[..., Any]
    is_changelog: bool

    def __call__(self, row: Row) -> Any:
        """Return the text."""
        if self.is_changelog:
            return self.encode(list(row), row.get_row_kind())
        return self.encode(list(row))
