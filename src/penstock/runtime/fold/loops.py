"""The loops around functions that fold: one entry per key, in one pass; or one key, in one call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import chain
from operator import length_hint
from typing import Any

from penstock.errors import ExpressionError
from penstock.program.fold import Fold
from penstock.state.backends.base import ABSENT
from penstock.user_failure import failing_record, short


def fold_keys(
    fold: Fold, table: dict[Any, Any], keys: Iterable[Any], values: Iterator[Any]
) -> None:
    """Fold values into the entries of their keys, in order."""
    if fold.create is None:
        reduce_by_key(table, keys, values, fold.add)
    else:
        aggregate_by_key(table, keys, values, fold.create, fold.add)


def fold_panes(
    fold: Fold,
    tables: defaultdict[Any, dict[Any, Any]],
    keys: Iterable[Any],
    panes: Iterable[int],
    values: Iterator[Any],
) -> None:
    """Fold values into the entries of their keys and panes, in order.

    A table per pane takes half the time of one by pairs of key and pane: no pair is made, hashed or
    compared, and records in order of time are in the same table for long.
    """
    create, add = fold.create, fold.add
    last: int | None = None
    for value, key, pane in zip(values, keys, panes, strict=True):
        if pane != last:
            last, table = pane, tables[pane]
            get = table.get
        before = get(key, ABSENT)
        if create is not None:
            table[key] = add(value, create() if before is ABSENT else before)
        else:
            table[key] = value if before is ABSENT else add(before, value)


def fold_one(fold: Fold, before: Any, values: Iterator[Any]) -> Any:
    """Return the accumulator of one key with values added."""
    if fold.create is None:
        return reduce(fold.add, values if before is ABSENT else chain((before,), values))
    add = fold.add
    accumulator = fold.create() if before is ABSENT else before
    for value in values:
        accumulator = add(value, accumulator)
    return accumulator


def result_of(fold: Fold, accumulator: Any) -> Any:
    """Return the result of an accumulator."""
    return accumulator if fold.result is None else fold.result(accumulator)


def failing_place(
    cause: BaseException, values: list[Any], position: Iterator[Any], key: Any
) -> str:
    """Return the text of the record that could not be folded, with its key.

    Parts of aggregates of columns are unknown to the program: the error names only their key.
    """
    if isinstance(cause, ExpressionError):
        return f"key {short(key)}"
    return f"{failing_record(values, position)}, key {short(key)}"


def failing_key(keys: list[Any], values: list[Any], position: Iterator[Any]) -> Any:
    """Return the key of the value that a loop was at when it stopped."""
    return keys[len(values) - length_hint(position) - 1]


def reduce_by_key(
    table: dict[Any, Any],
    keys: Iterable[Any],
    values: Iterator[Any],
    function: Callable[[Any, Any], Any],
) -> None:
    """Fold values into the entries of their keys, in order; the first one begins an entry.

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
    """Fold values into the accumulators of their keys, in order."""
    get = table.get
    for value, key in zip(values, keys, strict=True):
        before = get(key, ABSENT)
        table[key] = add(value, create() if before is ABSENT else before)
