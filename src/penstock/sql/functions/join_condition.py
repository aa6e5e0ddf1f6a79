"""Conditions of a join beside the equality of keys."""

from __future__ import annotations

from typing import Any

from penstock.sql.scalars.evaluation import RowCondition
from penstock.sql.scalars.tree import Scalar
from penstock.types.row import Row, values_of_row


def is_null(key: Any) -> bool:
    """Return whether a key matches nothing, as in SQL: it is NULL, or has a NULL in it."""
    return key is None or (isinstance(key, tuple) and None in key)


class PairCondition:
    """Returns whether a condition over the columns of two rows is true."""

    def __init__(self, condition: Scalar) -> None:
        """Make the function."""
        self._condition = RowCondition(condition)

    def __call__(self, left: Row, right: Row) -> bool:
        """Return whether two rows match."""
        return self._condition.holds([*values_of_row(left), *values_of_row(right)])

    def __reduce__(self) -> tuple[Any, ...]:
        return PairCondition, (self._condition.condition,)
