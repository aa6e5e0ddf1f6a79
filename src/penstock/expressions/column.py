"""`col`, `lit` and `when`, and functions of several columns: how a program writes expressions of columns."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from functools import reduce
from typing import Any, Self

from penstock.errors import ArgumentError
from penstock.expressions.aggregates import AggregateExpression
from penstock.expressions.mistakes import Mistaken, constant_of, not_none
from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.types.base import TypeInformation


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


class FurtherMethods:
    """Base of `ColumnExpression`: functions whose first argument is the column."""

    __slots__ = ()

    def strip_start(self, characters: str = " ") -> Self:
        """Return a text without some characters at its begin."""
        return self._called("strip_start", characters)

    def strip_end(self, characters: str = " ") -> Self:
        """Return a text without some characters at its end."""
        return self._called("strip_end", characters)

    def pad_start(self, width: int, character: str = " ") -> Self:
        """Return a text with characters before it until it has `width` code points; a longer one stays."""
        return self._called("pad_start", width, character)

    def pad_end(self, width: int, character: str = " ") -> Self:
        """Return a text with characters behind it until it has `width` code points; a longer one stays."""
        return self._called("pad_end", width, character)

    def reverse(self) -> Self:
        """Return the code points of a text in reverse."""
        return self._called("reverse")

    def repeat(self, count: int) -> Self:
        """Return a text `count` times."""
        return self._called("repeat", count)

    def find(self, part: str) -> Self:
        """Return the position of a text in another, from 0; -1 if it is not there."""
        return self._called("find", part)

    def split(self, separator: str) -> Self:
        """Return the list of texts between the separators."""
        return self._called("split", separator)

    def quarter(self) -> Self:
        """Return the quarter, 1 to 4."""
        return self._called("quarter")

    def week(self) -> Self:
        """Return the week of the year as ISO 8601 counts, 1 to 53."""
        return self._called("week")

    def day_of_year(self) -> Self:
        """Return the day of the year, from 1."""
        return self._called("day_of_year")

    def days_since(self, other: Self | date) -> Self:
        """Return the days from another date to this one."""
        return self._beside("days_since", other)

    def list_contains(self, element: str | int) -> Self:
        """Return whether a list of texts or whole numbers has an element; NULL elements equal nothing."""
        return self._called("list_contains", element)

    def _called(self, function: str, *parameters: Any) -> Self:
        """Return a call for this column, with constants."""
        raise AssertionError(type(self).__name__)

    def _beside(self, function: str, other: Any) -> Self:
        """Return a call for this column and another value."""
        raise AssertionError(type(self).__name__)


class ColumnExpression(Aggregating, FurtherMethods, Mistaken):
    """A value that is computed of the columns of a record, with Python's operators.

    It is immutable. Its types are checked where a stream takes it, such as in `where`. Operators and
    methods return the same for NULL (None), NaN and values out of range in every mode of execution:
    see the page on columns.

    Attributes:
        tree: The expression, without types.
        name: Name of the result; None if it has none.

    Example:
        >>> priced = env.from_collection(
        ...     [("ann", 5), ("bob", None)],
        ...     Types.ROW_NAMED(["customer", "amount"], [Types.STRING(), Types.INT()]),
        ... )
        >>> collect(priced.select(col.customer, twice=col.amount.fill_null(0) * 2))
        [Row(customer='ann', twice=10), Row(customer='bob', twice=0)]
    """

    __slots__ = ("name", "tree")

    def __init__(self, tree: Expression, name: str | None = None) -> None:
        """Wrap a tree.

        Args:
            tree: The expression, without types.
            name: Name of the result.
        """
        self.tree = tree
        self.name = name

    def __add__(self, other: Any) -> ColumnExpression:
        return self._shifted("add", other, 1)

    def __radd__(self, other: Any) -> ColumnExpression:
        if isinstance(other, timedelta):
            return self + other
        return _call("add", other, self)

    def __sub__(self, other: Any) -> ColumnExpression:
        return self._shifted("subtract", other, -1)

    def __rsub__(self, other: Any) -> ColumnExpression:
        return _call("subtract", other, self)

    def __mul__(self, other: Any) -> ColumnExpression:
        return _call("multiply", self, other)

    def __rmul__(self, other: Any) -> ColumnExpression:
        return _call("multiply", other, self)

    def __truediv__(self, other: Any) -> ColumnExpression:
        return _call("divide", self, other)

    def __rtruediv__(self, other: Any) -> ColumnExpression:
        return _call("divide", other, self)

    def __mod__(self, other: Any) -> ColumnExpression:
        return _call("modulo", self, other)

    def __rmod__(self, other: Any) -> ColumnExpression:
        return _call("modulo", other, self)

    def __neg__(self) -> ColumnExpression:
        return _call("negate", self)

    def __abs__(self) -> ColumnExpression:
        return _call("abs", self)

    def __eq__(self, other: object) -> ColumnExpression:  # type: ignore[override]
        return _call("equal", self, not_none(other, "is_null"))

    def __ne__(self, other: object) -> ColumnExpression:  # type: ignore[override]
        return _call("not_equal", self, not_none(other, "is_not_null"))

    def __lt__(self, other: Any) -> ColumnExpression:
        return _call("less", self, other)

    def __le__(self, other: Any) -> ColumnExpression:
        return _call("less_equal", self, other)

    def __gt__(self, other: Any) -> ColumnExpression:
        return _call("greater", self, other)

    def __ge__(self, other: Any) -> ColumnExpression:
        return _call("greater_equal", self, other)

    def __and__(self, other: Any) -> ColumnExpression:
        return _call("and", self, other)

    def __rand__(self, other: Any) -> ColumnExpression:
        return _call("and", other, self)

    def __or__(self, other: Any) -> ColumnExpression:
        return _call("or", self, other)

    def __ror__(self, other: Any) -> ColumnExpression:
        return _call("or", other, self)

    def __invert__(self) -> ColumnExpression:
        return _call("not", self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<column {self.tree}>"

    def alias(self, name: str) -> ColumnExpression:
        """Return the same value under another name, for `select` and `with_columns`."""
        if not isinstance(name, str) or not name:
            raise ArgumentError.here(f"alias got {name!r}", hint="Pass a name that is not empty.")
        return ColumnExpression(self.tree, name)

    def is_null(self) -> ColumnExpression:
        """Return whether the value is NULL; never NULL itself."""
        return _call("is_null", self)

    def is_not_null(self) -> ColumnExpression:
        """Return whether the value is not NULL; never NULL itself."""
        return _call("not", self.is_null())

    def is_nan(self) -> ColumnExpression:
        """Return whether a float is NaN; NULL for NULL."""
        return _call("is_nan", self)

    def fill_null(self, *values: Any) -> ColumnExpression:
        """Return the value, or the first of `values` that is not NULL."""
        return _call("coalesce", self, *values)

    def cast(self, type_info: TypeInformation) -> ColumnExpression:
        """Return the value as another type; a value that the type does not have is an error."""
        return _call("cast", self, parameters=(type_info,))

    def isin(self, values: Iterable[Any]) -> ColumnExpression:
        """Return whether the value is one of some constants; NULL for NULL.

        Args:
            values: The constants; None is not allowed among them.
        """
        # a set has another order in another process, and expressions are compared by their text
        in_order = sorted(values, key=repr) if isinstance(values, set | frozenset) else values
        return _call("isin", self, parameters=tuple(in_order))

    def between(self, low: Any, high: Any) -> ColumnExpression:
        """Return whether `low <= value <= high`."""
        return _call("and", self >= low, self <= high)

    def floor(self) -> ColumnExpression:
        """Return the greatest whole number that is not greater, as a float."""
        return _call("floor", self)

    def ceil(self) -> ColumnExpression:
        """Return the least whole number that is not less, as a float."""
        return _call("ceil", self)

    def round(self) -> ColumnExpression:
        """Return the nearest whole number as a float; of two the even one, as Python's `round`."""
        return _call("round", self)

    def sqrt(self) -> ColumnExpression:
        """Return the square root; NaN for negative numbers."""
        return _call("sqrt", self)

    def length(self) -> ColumnExpression:
        """Return the number of code points of a text, or of elements of a list."""
        return _call("length", self)

    def ascii_lower(self) -> ColumnExpression:
        """Return a text with a to z in place of A to Z; other letters stay."""
        return _call("ascii_lower", self)

    def ascii_upper(self) -> ColumnExpression:
        """Return a text with A to Z in place of a to z; other letters stay."""
        return _call("ascii_upper", self)

    def strip(self, characters: str = " ") -> ColumnExpression:
        """Return a text without some characters at both ends."""
        return _call("strip", self, parameters=(characters,))

    def slice(self, start: int, stop: int) -> ColumnExpression:
        """Return the code points from `start` up to, without, `stop`, both from 0."""
        return _call("slice", self, parameters=(start, stop))

    def starts_with(self, prefix: str) -> ColumnExpression:
        """Return whether a text starts with another."""
        return _call("starts_with", self, parameters=(prefix,))

    def ends_with(self, suffix: str) -> ColumnExpression:
        """Return whether a text ends with another."""
        return _call("ends_with", self, parameters=(suffix,))

    def contains(self, part: str) -> ColumnExpression:
        """Return whether a text contains another."""
        return _call("contains", self, parameters=(part,))

    def replace(self, old: str, new: str) -> ColumnExpression:
        """Return a text with `new` in place of every `old`, from left to right."""
        return _call("replace", self, parameters=(old, new))

    def year(self) -> ColumnExpression:
        """Return the year of a date or timestamp; of a TIMESTAMP_LTZ that in UTC."""
        return _call("year", self)

    def month(self) -> ColumnExpression:
        """Return the month, 1 to 12."""
        return _call("month", self)

    def day(self) -> ColumnExpression:
        """Return the day of the month, from 1."""
        return _call("day", self)

    def weekday(self) -> ColumnExpression:
        """Return the day of the week; Monday is 0."""
        return _call("weekday", self)

    def hour(self) -> ColumnExpression:
        """Return the hour of a timestamp."""
        return _call("hour", self)

    def minute(self) -> ColumnExpression:
        """Return the minute of a timestamp."""
        return _call("minute", self)

    def second(self) -> ColumnExpression:
        """Return the second of a timestamp, without its fraction."""
        return _call("second", self)

    def epoch_millis(self) -> ColumnExpression:
        """Return the milliseconds since 1970, rounded down; without zone, as if it were UTC."""
        return _call("epoch_millis", self)

    def truncate(self, unit: str) -> ColumnExpression:
        """Return a timestamp at the begin of its `second`, `minute`, `hour` or `day`."""
        return _call("truncate", self, parameters=(unit,))

    def get(self, index: int) -> ColumnExpression:
        """Return the element of a list at a position from 0; NULL if there is none."""
        return _call("get", self, parameters=(index,))

    def field(self, name: str) -> ColumnExpression:
        """Return a field of a row inside the record; NULL of NULL."""
        return ColumnExpression(Call("field", (self.tree,), (name,)), name)

    def _called(self, function: str, *parameters: Any) -> Self:
        return type(self)(Call(function, (self.tree,), parameters))

    def _beside(self, function: str, other: Any) -> Self:
        return type(self)(Call(function, (self.tree, tree_of(other))))

    def _shifted(self, function: str, other: Any, sign: int) -> ColumnExpression:
        """Return a sum or difference; of a timestamp and a `timedelta` a shifted timestamp."""
        if isinstance(other, timedelta):
            micros = sign * (other // timedelta(microseconds=1))
            return _call("shift", self, parameters=(micros,))
        return _call(function, self, other)


class When:
    """Conditions with values, see `when`.

    Attributes:
        branches: Conditions and values in turns.
    """

    __slots__ = ("branches",)

    def __init__(self, branches: tuple[Expression, ...]) -> None:
        """Hold the branches so far."""
        self.branches = branches

    def when(self, condition: ColumnExpression, value: Any) -> When:
        """Return the same with a further condition, tested behind those before."""
        return When((*self.branches, tree_of(condition), tree_of(value)))

    def otherwise(self, value: Any) -> ColumnExpression:
        """Return the value of the first condition that is true, else `value`."""
        return ColumnExpression(Call("case", (*self.branches, tree_of(value))))


def when(condition: ColumnExpression, value: Any) -> When:
    """Begin a choice: the value of the first condition that is true. NULL is not true.

    Args:
        condition: An expression of type BOOLEAN.
        value: An expression or a constant; it is computed only for records it is chosen for.

    Returns:
        An object with `when` for further conditions, and `otherwise` for the end.

    Example:
        >>> small = when(col.f0 < 2, "small").otherwise("large")
        >>> pairs = env.from_collection([(1,), (2,)], Types.TUPLE([Types.INT()]))
        >>> collect(pairs.select(size=small))
        [Row(size='small'), Row(size='large')]
    """
    return When(()).when(condition, value)


def lit(value: Any, type_info: TypeInformation | None = None) -> ColumnExpression:
    """Return a constant as an expression. Operators and methods take plain constants as well.

    Args:
        value: A bool, int, float, str, Decimal, date, datetime or None.
        type_info: Its type; None takes that of the value.

    Example:
        >>> pairs = env.from_collection([(1,)], Types.TUPLE([Types.INT()]))
        >>> collect(pairs.select(none=lit(None, Types.STRING())))
        [Row(none=None)]
    """
    constant = ColumnExpression(Literal(value))
    return constant if type_info is None else constant.cast(type_info)


class CountColumn(ColumnExpression):
    """`col.count`: the column of this name, and called, the number of records of a key."""

    __slots__ = ()

    def __call__(self) -> AggregateExpression:
        """Return the number of records."""
        return AggregateExpression("count")


class Columns:
    """`col`: the columns of the records of a stream, by name.

    `col.carrier`, `col["a name with blanks"]`. The fields of tuples are `col.f0`, `col.f1`, …

    Example:
        >>> col.dep_delay > 15
        <column greater(dep_delay, 15)>
    """

    __slots__ = ()

    @property
    def count(self) -> CountColumn:
        """The column `count`; called, the number of records of a key."""
        return CountColumn(Field("count"), "count")

    def __getattr__(self, name: str) -> ColumnExpression:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # looked up by `copy`, `inspect` and others
        return self[name]

    def __getitem__(self, name: str) -> ColumnExpression:
        if not isinstance(name, str):
            raise ArgumentError.here(f"col got {name!r}", hint="Pass the name of a column.")
        return ColumnExpression(Field(name), name)

    def __repr__(self) -> str:
        return "col"


col = Columns()
"""The columns of a stream's records: `col.name`."""


def tree_of(value: Any) -> Expression:
    """Return the tree of an expression, or a constant."""
    return value.tree if isinstance(value, ColumnExpression) else constant_of(value)


def _call(function: str, *arguments: Any, parameters: tuple[Any, ...] = ()) -> ColumnExpression:
    return ColumnExpression(Call(function, tuple(map(tree_of, arguments)), parameters))


def coalesce(first: Any, *others: Any) -> ColumnExpression:
    """Return the first value that is not NULL; a later one is computed only where it is needed.

    Args:
        first: An expression or a constant.
        others: Further ones.

    Example:
        >>> collect(orders.select(size=coalesce(lit(None, Types.INT()), col.f1)))[:1]
        [Row(size=5)]
    """
    return ColumnExpression(Call("coalesce", tuple(map(tree_of, (first, *others)))))


def concat(first: Any, second: Any, *others: Any) -> ColumnExpression:
    """Return texts one behind the other; NULL if one is NULL.

    Args:
        first: An expression or a constant, as all of them.
        second: The second text.
        others: Further texts.

    Example:
        >>> collect(orders.select(name=concat("<", col.f0, ">")))[:1]
        [Row(name='<ann>')]
    """
    return _folded("concat", (first, second, *others))


def greatest(first: Any, second: Any, *others: Any) -> ColumnExpression:
    """Return the greatest of some values, NULL if one is NULL; NaN is greater than any number, 0.0 than -0.0.

    Args:
        first: An expression or a constant, as all of them.
        second: Another one, of a type in common.
        others: Further ones.

    Example:
        >>> collect(orders.select(price=greatest(col.f1, 6)))[:2]
        [Row(price=6), Row(price=6)]
    """
    return _folded("greatest", (first, second, *others))


def least(first: Any, second: Any, *others: Any) -> ColumnExpression:
    """Return the least of some values, NULL if one is NULL; NaN is greater than any number, -0.0 less than 0.0.

    Args:
        first: An expression or a constant, as all of them.
        second: Another one, of a type in common.
        others: Further ones.

    Example:
        >>> collect(orders.select(price=least(col.f1, 4)))[:2]
        [Row(price=4), Row(price=3)]
    """
    return _folded("least", (first, second, *others))


def null_if(value: Any, missing: Any) -> ColumnExpression:
    """Return a value, or NULL if it equals another one, as sources have for missing values.

    Args:
        value: An expression.
        missing: An expression or a constant.

    Example:
        >>> collect(orders.select(amount=null_if(col.f1, 3)))[:2]
        [Row(amount=5), Row(amount=None)]
    """
    known = lit(value) if not isinstance(value, ColumnExpression) else value
    return when(known == missing, None).otherwise(known)


def struct(**fields: Any) -> ColumnExpression:
    """Return a row inside the record.

    Args:
        fields: Names with expressions or constants.

    Raises:
        ArgumentError: There are no fields.

    Example:
        >>> collect(orders.select(order=struct(who=col.f0, amount=col.f1)))[:1]
        [Row(order=Row(who='ann', amount=5))]
    """
    if not fields:
        raise ArgumentError.here("struct got no fields", hint="Write name=expression.")
    return ColumnExpression(Call("struct", tuple(map(tree_of, fields.values())), tuple(fields)))


def _folded(function: str, values: tuple[Any, ...]) -> ColumnExpression:
    return ColumnExpression(
        reduce(lambda left, right: Call(function, (left, right)), map(tree_of, values))
    )
