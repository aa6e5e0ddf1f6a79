"""From messages and lines to rows of a table, and back: formats without a connector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import TypeMismatchError
from penstock.expressions.python.arithmetic import to_scale
from penstock.types.row import Row, RowKind, row_factory
from penstock.types.sql_types import SqlType

Decoder = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class RowsOfMessage:
    """Makes rows of a message; none of one that is skipped.

    Attributes:
        is_changelog: True if it makes kinds with values.
    """

    names: tuple[str, ...]
    decode: Decoder
    is_changelog: bool

    def __call__(self, message: Any) -> Sequence[Row]:
        """Return the rows."""
        decoded = self.decode(message)
        if not self.is_changelog:
            return () if decoded is None else (Row(*self.names)(*decoded),)
        return [with_kind(Row(*self.names)(*values), kind) for kind, values in decoded]


class ScaledDecimals:
    """Gives decimals the digits of their columns: Spark has read them with 18 behind the point."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]]) -> None:
        self.columns = tuple(columns)
        self._make = row_factory([name for name, _ in columns])
        self._places = [
            (position, kind) for position, (_, kind) in enumerate(columns) if _is_decimal(kind)
        ]

    def __call__(self, row: Row) -> Sequence[Row]:
        """Return the row."""
        values = list(row)
        for position, kind in self._places:
            if values[position] is not None:
                values[position] = to_scale(values[position], kind)
        (scaled,) = self._make((values,))
        return (with_kind(scaled, row.get_row_kind()),)

    def __reduce__(self) -> tuple[Any, ...]:
        return ScaledDecimals, (self.columns,)


def scaled_decimals(columns: Sequence[tuple[str, SqlType]]) -> ScaledDecimals | None:
    """Return the function that scales decimals of columns, None without decimals."""
    return ScaledDecimals(columns) if any(_is_decimal(kind) for _, kind in columns) else None


def _is_decimal(kind: SqlType) -> bool:
    return kind.name == "DECIMAL"


def with_kind(row: Row, kind: RowKind) -> Row:
    """Return a row that was just made, with a kind."""
    row.set_row_kind(kind)
    return row


@dataclass(frozen=True, slots=True)
class TextOfRow:
    """Writes a row as a line.

    Attributes:
        is_changelog: True if it needs the kind of the row, too.
    """

    encode: Callable[..., Any]
    is_changelog: bool

    def __call__(self, row: Row) -> str:
        """Return the text."""
        values = list(row)
        encoded = (
            self.encode(values, row.get_row_kind()) if self.is_changelog else self.encode(values)
        )
        try:
            text = encoded.decode() if isinstance(encoded, bytes) else encoded
        except UnicodeDecodeError:
            raise _no_line(values, "its bytes are no text in UTF-8") from None
        if text is None or "\n" in text or "\r" in text:
            raise _no_line(values, "NULL has no text" if text is None else "its text has line ends")
        return str(text)


def _no_line(values: list[Any], why: str) -> TypeMismatchError:
    return TypeMismatchError(
        f"the row {tuple(values)!r} is no line of a file: {why}",
        hint="Write Parquet or JSON, or replace line ends, such as with REPLACE.",
    )
