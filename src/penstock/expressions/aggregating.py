"""The methods of columns that aggregate the records of a key."""

from __future__ import annotations

from penstock.errors import ArgumentError
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
        """Return the least value, NULL of no values; NaN is greater than any number, and -0.0 is 0.0."""
        return AggregateExpression("min", self.tree)

    def approx_quantile(self, share: float) -> AggregateExpression:
        """Return a quantile, a DOUBLE that is at most 1/128 of the exact one nearer to 0; NULL of no values.

        It is the same in every order and mode. Whole numbers up to 256 are exact. One NaN makes it NaN. State has a number
        per bucket that has values, of which a power of two has 128; a key whose values are within a factor of 1,000
        has 1,280 at most.

        Args:
            share: From 0 to 1; 0.5 is the median. The exact quantile is the value of which at least this share of all
                values is not greater.

        Raises:
            ArgumentError: `share` is no number from 0 to 1.
        """
        is_number = isinstance(share, int | float) and not isinstance(share, bool)
        if not is_number or not 0 <= share <= 1:
            raise ArgumentError.here(
                f"approx_quantile got {share!r}", hint="Pass a number from 0 to 1, such as 0.9."
            )
        return AggregateExpression("approx_quantile", self.tree, (float(share),))

    def count_distinct(self) -> AggregateExpression:
        """Return the exact number of different values, a LONG. State has every one of them."""
        return AggregateExpression("count_distinct", self.tree)

    def variance(self) -> AggregateExpression:
        """Return the variance of whole numbers as a sample, a DOUBLE; NULL of fewer than two values.

        Their squares are added as LONG; a sum that leaves it is an error.
        """
        return AggregateExpression("variance", self.tree)

    def stddev(self) -> AggregateExpression:
        """Return the root of `variance`."""
        return AggregateExpression("stddev", self.tree)

    def max(self) -> AggregateExpression:
        """Return the greatest value, NULL of no values; NaN is greater than any number, and -0.0 is 0.0."""
        return AggregateExpression("max", self.tree)
