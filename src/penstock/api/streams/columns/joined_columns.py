"""Makes one row of the columns of a pair of joined records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.api.functions.join_functions import JoinFunction, ProcessJoinFunction
from penstock.types import Row
from penstock.types.row import row_factory


class JoinedColumns(JoinFunction):
    """The columns of the left record, then some of the right one; NULL of a record that is missing.

    The compared columns are those of the record that is there.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        left_width: int,
        left_keys: tuple[int, ...],
        right_keys: tuple[int, ...],
        right_positions: tuple[int, ...],
    ) -> None:
        """For `join`.

        Args:
            names: Names of the columns of results.
            left_width: Number of columns of the left records.
            left_keys: Positions of the compared columns on the left.
            right_keys: Positions of the same on the right.
            right_positions: Positions of the columns of the right record that results have.
        """
        self._names = names
        self._left_width = left_width
        self._keys = tuple(zip(left_keys, right_keys, strict=True))
        self._right_positions = right_positions

    def join(self, first: Any, second: Any) -> Row:
        """Return the row of a pair."""
        if first is None:
            values = [None] * self._left_width
            for left, right in self._keys:
                values[left] = second[right]
        else:
            values = list(first)
        if second is None:
            values += [None] * len(self._right_positions)
        else:
            values += [second[at] for at in self._right_positions]
        return row_factory(self._names)([values])[0]

    def has_key(self, first: Any) -> bool:
        """Return whether no compared column is NULL."""
        return all(first[left] is not None for left, _ in self._keys)


class PairsInTime(ProcessJoinFunction):
    """The rows of pairs of an interval join; as in a regular join, NULL matches nothing."""

    def __init__(self, joined: JoinedColumns) -> None:
        """For `join`.

        Args:
            joined: Makes the rows.
        """
        self._joined = joined

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Row]:
        """Yield the row of a pair."""
        if self._joined.has_key(left):
            yield self._joined.join(left, right)
