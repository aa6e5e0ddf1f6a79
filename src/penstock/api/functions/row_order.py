"""The order of rows by some of their columns."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any


class RowOrder:
    """Compares rows column by column. NaN is greater than any number; NULL is behind all, in both directions.

    Attributes:
        key: Makes a row a key for `sorted` and `bisect`.
    """

    def __init__(self, columns: tuple[tuple[int, bool], ...]) -> None:
        """Make an order.

        Args:
            columns: Position of a field, and whether great values come first; the first column that differs decides.
        """
        self._columns = columns
        self.key = cmp_to_key(self.compare)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowOrder, (self._columns,)

    def compare(self, first: Any, second: Any) -> int:
        """Return a negative number if `first` comes first, a positive one if `second` does, else 0."""
        for position, is_descending in self._columns:
            one, other = first[position], second[position]
            if one is None or other is None:
                if one is not other:
                    return 1 if one is None else -1
            elif decided := _compared(one, other):
                return -decided if is_descending else decided
        return 0


def _compared(one: Any, other: Any) -> int:
    if one < other:
        return -1
    if one > other:
        return 1
    return int(one != one) - int(other != other)  # noqa: PLR0124 - only NaN differs from itself
