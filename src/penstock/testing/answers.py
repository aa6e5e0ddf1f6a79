"""Equality of answers: strict, and without need of hashable or sortable records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.types.row import Row, class_of, names_of


def same_answer(one: Iterable[Any], other: Iterable[Any]) -> bool:
    """Return whether both hold the same records, each as often, in any order.

    Stricter than `==`: 1, 1.0 and True are different records, and so are a tuple and a list;
    NaN is the same as NaN.
    """
    return difference(one, other) is None


def difference(one: Iterable[Any], other: Iterable[Any]) -> str | None:
    """Return what one answer has more often than the other, as text; None if nothing."""
    missing: dict[Any, list[Any]] = {}
    for record in one:
        missing.setdefault(_shape(record), []).append(record)
    extra = []
    for record in other:
        found = missing.get(_shape(record))
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


def _shape(value: Any) -> Any:
    """Return a hashable stand-in: equal exactly if type and content are equal."""
    kind = class_of(value)
    content = _CONTENT.get(kind)
    if content is not None:
        return kind, content(value)
    return kind, value if kind.__hash__ is not None else _Unhashable(value)


def _in_order(values: Iterable[Any]) -> Any:
    return tuple(map(_shape, values))


def _in_any_order(values: Iterable[Any]) -> Any:
    return frozenset(map(_shape, values))


_CONTENT: dict[type, Callable[[Any], Any]] = {
    float: repr,  # NaN equals nothing, and 0.0 equals -0.0
    tuple: _in_order,
    list: _in_order,
    set: _in_any_order,
    frozenset: _in_any_order,
    dict: lambda value: _in_any_order(value.items()),
    Row: lambda value: (value.get_row_kind(), names_of(value), _in_order(value)),
}


class _Unhashable:
    """An object that can only be compared."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __hash__(self) -> int:
        return hash(type(self._value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unhashable) and bool(self._value == other._value)
