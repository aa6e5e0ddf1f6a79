"""Rows of a changelog: their signs, and the changes between two results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.types.row import SIGN, Row, RowKind, row_factory, values_of_row


def signed(rows: Sequence[Row]) -> list[tuple[list[Any], int]]:
    """Return the values of rows, each with 1 or -1."""
    return [(values_of_row(row), SIGN[row.get_row_kind()]) for row in rows]


class RowMaker:
    """Makes rows of one schema."""

    def __init__(self, names: Sequence[str]) -> None:
        """Make the maker."""
        self.names = tuple(names)
        self._make = row_factory(self.names)

    def rows(self, values: list[list[Any]], kind: RowKind = RowKind.INSERT) -> list[Row]:
        """Return rows of a kind, which own the lists of values."""
        rows = self._make(values)
        if kind is not RowKind.INSERT:
            for row in rows:
                row.set_row_kind(kind)
        return rows

    def difference(self, before: list[Any] | None, now: list[Any] | None) -> list[Row]:
        """Return the changes from one row of a key to another; None is no row."""
        if before == now:
            return []
        if before is None:
            assert now is not None
            return self.rows([now])
        if now is None:
            return self.rows([before], RowKind.DELETE)
        return [
            *self.rows([before], RowKind.UPDATE_BEFORE),
            *self.rows([now], RowKind.UPDATE_AFTER),
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return RowMaker, (self.names,)
