"""Order of rows by columns: of ORDER BY, of first rows, and of the newest one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column of ORDER BY."""

    position: int
    is_descending: bool
    nulls_first: bool

    def __str__(self) -> str:
        return f"#{self.position}{' DESC' if self.is_descending else ''}"


class RowOrder:
    """Orders rows, or lists of their values. NaN is greater than any number.

    Attributes:
        columns: The columns, the first one decides first.
        key: Makes a row a key for `sorted`.
    """

    def __init__(self, columns: Iterable[SortColumn]) -> None:
        """Make an order."""
        self.columns = tuple(columns)
        self.key = cmp_to_key(self.compare)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowOrder, (self.columns,)

    def compare(self, first: Sequence[Any], second: Sequence[Any]) -> int:
        """Return a negative number if `first` comes first, a positive one if `second` does, else 0."""
        for column in self.columns:
            one, other = first[column.position], second[column.position]
            if one is None or other is None:
                if one is not other:
                    return -1 if (one is None) is column.nulls_first else 1
            elif one != other:
                less = one < other if one == one and other == other else other != other  # noqa: PLR0124
                if one == one or other == other:  # noqa: PLR0124 - two NaN are equal
                    return -1 if less is not column.is_descending else 1
        return 0

    def only_in(
        self, first: Sequence[Any], second: Sequence[Any], *, by_order: bool
    ) -> tuple[list[Any], list[Any]]:
        """Return the rows of two ordered lists that the other one does not have, by all columns or by those of the order."""
        gone, come, first_index, second_index = [], [], 0, 0
        while first_index < len(first) and second_index < len(second):
            one, other = first[first_index], second[second_index]
            decided = 0 if one is other else self.compare(one, other)
            is_same = not decided and (by_order or one is other or one == other)
            if decided <= 0:
                first_index += 1
                if not is_same:
                    gone.append(one)
            if decided >= 0:
                second_index += 1
                if not is_same:
                    come.append(other)
        return [*gone, *first[first_index:]], [*come, *second[second_index:]]
