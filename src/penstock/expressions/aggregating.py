"""The methods of columns that aggregate the records of a key."""

from __future__ import annotations

from penstock.expressions.aggregates import AggregateExpression
from penstock.expressions.tree import Expression


class Aggregating:
    """Base of `ColumnExpression`: aggregates for `KeyedStream.aggregate`. NULL is no value.

    Attributes:
        tree: The expression, without types.
    """

    __slots__ = ()

    tree: Expression

    def count(self) -> AggregateExpression:
        """Return the number of records that have a value; `col.count()` is that of all."""
        return AggregateExpression("count", self.tree)

    def sum(self) -> AggregateExpression:
        """Return the sum: a LONG of whole numbers, a DOUBLE of floats; NULL of no values."""
        return AggregateExpression("sum", self.tree)

    def mean(self) -> AggregateExpression:
        """Return the sum by the number of values, a DOUBLE; NULL of no values."""
        return AggregateExpression("mean", self.tree)

    def min(self) -> AggregateExpression:
        """Return the least value; NaN if one is NaN, NULL of no values."""
        return AggregateExpression("min", self.tree)

    def max(self) -> AggregateExpression:
        """Return the greatest value; NaN if one is NaN, NULL of no values."""
        return AggregateExpression("max", self.tree)
