"""Functions that compute rows in Python, where expressions of columns have no counterpart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.expressions.row_values import RowCondition, RowValues
from penstock.expressions.tree import Expression
from penstock.types.row import Row, row_factory, values_of_row


class ProjectRows:
    """Makes a row of expressions; its kind is that of the row that they read."""

    def __init__(self, outputs: Sequence[Expression], names: Sequence[str]) -> None:
        """Make the function."""
        self._values = RowValues(outputs)
        self._names = tuple(names)
        self._make = row_factory(self._names)

    def __call__(self, row: Row) -> Row:
        """Return the row that is made of a row."""
        (projected,) = self._make((self._values.of(values_of_row(row)),))
        projected.set_row_kind(row.get_row_kind())
        return projected

    def __reduce__(self) -> tuple[Any, ...]:
        return ProjectRows, (self._values.scalars, self._names)


class KeepRows:
    """Returns whether a condition is true of a row."""

    def __init__(self, condition: Expression) -> None:
        """Make the function."""
        self._condition = RowCondition(condition)

    def __call__(self, row: Row) -> bool:
        """Return whether the condition is true."""
        return self._condition.holds(values_of_row(row))

    def __reduce__(self) -> tuple[Any, ...]:
        return KeepRows, (self._condition.condition,)


class KeyValues:
    """Returns the key of a row: the value of an expression, or the tuple of several."""

    def __init__(self, keys: Sequence[Expression]) -> None:
        """Make the function."""
        self._values = RowValues(keys)

    def __call__(self, row: Row) -> Any:
        """Return the key."""
        values = self._values.of(values_of_row(row))
        return tuple(values) if len(values) > 1 else values[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyValues, (self._values.scalars,)
