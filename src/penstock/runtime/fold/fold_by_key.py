"""The loop around functions that fold: one pass over records, one entry per key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.state.backends.base import ABSENT


def reduce_by_key(
    table: dict[Any, Any],
    keys: Iterable[Any],
    values: Iterator[Any],
    function: Callable[[Any, Any], Any],
) -> None:
    """Fold values into the entries of their keys, in order; the first one begins an entry.

    Args:
        table: Key to what its values gave so far.
        keys: One per value.
        values: What is left of it tells, if `function` raises, on which value.
        function: (entry, value) to entry.

    Examples:
        >>> totals = {"a": 1}
        >>> reduce_by_key(totals, "ab", iter([2, 3]), lambda total, value: total + value)
        >>> totals
        {'a': 3, 'b': 3}
    """
    get = table.get
    for value, key in zip(values, keys, strict=True):
        before = get(key, ABSENT)
        table[key] = value if before is ABSENT else function(before, value)


def aggregate_by_key(
    table: dict[Any, Any],
    keys: Iterable[Any],
    values: Iterator[Any],
    create: Callable[[], Any],
    add: Callable[[Any, Any], Any],
) -> None:
    """Fold values into the accumulators of their keys, in order.

    Args:
        table: Key to accumulator.
        keys: One per value.
        values: As in `reduce_by_key`.
        create: Makes the accumulator of a new key.
        add: (value, accumulator) to accumulator.
    """
    get = table.get
    for value, key in zip(values, keys, strict=True):
        before = get(key, ABSENT)
        table[key] = add(value, create() if before is ABSENT else before)
