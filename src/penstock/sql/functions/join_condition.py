"""Conditions of a join beside the equality of keys, and the times of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.expressions.python.times import millis_of
from penstock.expressions.row_values import RowCondition
from penstock.expressions.tree import Expression
from penstock.types.row import Row, values_of_row


@dataclass(frozen=True, slots=True)
class MillisAt:
    """Returns the time of a row in milliseconds since 1970, None if it has none."""

    position: int
    offset_ms: int = 0

    def __call__(self, row: Row) -> int | None:
        """Return the time of a row."""
        moment = row[self.position]
        return None if moment is None else millis_of(moment) + self.offset_ms


class PairCondition:
    """Returns whether a condition over the columns of two rows is true."""

    def __init__(self, condition: Expression) -> None:
        """Make the function."""
        self._condition = RowCondition(condition)

    def __call__(self, left: Row, right: Row) -> bool:
        """Return whether two rows match."""
        return self._condition.holds([*values_of_row(left), *values_of_row(right)])

    def __reduce__(self) -> tuple[Any, ...]:
        return PairCondition, (self._condition.condition,)
