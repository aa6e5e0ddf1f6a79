"""Comparison of results, by strict equality of their records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.types.strict_equality import only_in_one


def same_answer(one: Iterable[Any], other: Iterable[Any]) -> bool:
    """Return whether both contain the same records, each as often, in any order.

    The comparison is stricter than `==`, at any depth: 1, 1.0 and True are different records, and so
    are a tuple and a list or named tuple, 0.0 and -0.0, `Decimal("1.0")` and `Decimal("1.00")`, times
    with another zone or `fold`, rows of another kind. NaN equals NaN.

    Args:
        one: Records.
        other: Records.

    Example:
        >>> same_answer([1, 2], [2, 1]), same_answer([1], [1.0])
        (True, False)
    """
    return difference(one, other) is None


def difference(one: Iterable[Any], other: Iterable[Any]) -> str | None:
    """Return the records that are only in one of two results, as text; None if there are none.

    Args:
        one: Records.
        other: Records, compared as by `same_answer`.

    Example:
        >>> difference([1, 2, 2], [2, 1, 3])
        'only in the first: [2]; only in the second: [3]'
    """
    left, extra = only_in_one(one, other)
    if not left and not extra:
        return None
    return f"only in the first: {left!r}; only in the second: {extra!r}"


def last_per_key(records: Iterable[Any], key: Callable[[Any], Any]) -> list[Any]:
    """Return the last record of every key: the result of a rolling aggregation.

    Args:
        records: In the order they were committed.
        key: The key selector.

    Example:
        >>> last_per_key([("a", 1), ("b", 1), ("a", 2)], key=lambda record: record[0])
        [('a', 2), ('b', 1)]
    """
    return list({key(record): record for record in records}.values())
