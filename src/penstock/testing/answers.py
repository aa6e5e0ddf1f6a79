"""Equality of answers: strict, and without need of hashable or sortable records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.testing.shapes import shape_of


def same_answer(one: Iterable[Any], other: Iterable[Any]) -> bool:
    """Return whether both hold the same records, each as often, in any order.

    Stricter than `==`, however deep: 1, 1.0 and True are different records, and so are a tuple and a list
    or named tuple, 0.0 and -0.0, `Decimal("1.0")` and `Decimal("1.00")`, times of another zone or `fold`,
    rows of another kind. NaN is the same as NaN.
    """
    return difference(one, other) is None


def difference(one: Iterable[Any], other: Iterable[Any]) -> str | None:
    """Return what one answer has more often than the other, as text; None if nothing."""
    missing: dict[Any, list[Any]] = {}
    for record in one:
        missing.setdefault(shape_of(record), []).append(record)
    extra = []
    for record in other:
        found = missing.get(shape_of(record))
        if found:
            found.pop()
        else:
            extra.append(record)
    left = [record for records in missing.values() for record in records]
    if not left and not extra:
        return None
    return f"only in the first: {left!r}; only in the second: {extra!r}"


def last_per_key(records: Iterable[Any], key: Callable[[Any], Any]) -> list[Any]:
    """Return the last record of every key: the answer of a rolling aggregate.

    Args:
        records: In the order they were committed.
        key: The key selector.
    """
    return list({key(record): record for record in records}.values())
