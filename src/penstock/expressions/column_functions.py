"""Functions of several columns: `coalesce`, `concat`, `greatest`, `least`, `null_if`, `struct`."""

from __future__ import annotations

from functools import reduce
from typing import Any

from penstock.errors import ArgumentError
from penstock.expressions.column import ColumnExpression, lit, tree_of, when
from penstock.expressions.tree import Call


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
        second: What follows.
        others: What follows that.

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
    """Return a value, or NULL if it equals another one, as sources have for what is missing.

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
