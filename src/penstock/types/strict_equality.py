"""Strict equality of values: they are equal exactly if class and contents are."""

from __future__ import annotations

import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from penstock.types.row import class_of
from penstock.types.value_kinds import KINDS, Kind, slot_names


def shape_of(value: Any) -> Any:
    """Return the hashable shape of a value: equal exactly if class and content are."""
    return _Shapes().of(value)


class _Shapes:
    """Makes shapes; it tracks the values around the current one, so that cycles end."""

    def __init__(self) -> None:
        self._open: list[int] = []

    def of(self, value: Any) -> Any:
        kind = class_of(value)
        if id(value) in self._open:
            return kind, "the value itself", len(self._open) - self._open.index(id(value))
        self._open.append(id(value))
        try:
            return kind, self._content(kind, value)
        finally:
            self._open.pop()

    def _content(self, kind: type, value: Any) -> Any:
        exact = _CONTENT.get(kind)
        if exact is not None:
            return exact(self, value)
        if isinstance(value, Enum):
            return value.name
        of_pandas = _OF_PANDAS.get(_pandas_name(kind))
        if of_pandas is not None:
            return of_pandas(self, value)
        own = _attributes(value)
        if is_dataclass(value):
            own |= {field.name: getattr(value, field.name) for field in fields(value)}
        for base in kind.__mro__:
            if base in _CONTENT:
                return _CONTENT[base](self, value), self._named(own)
        if own or is_dataclass(value) or isinstance(value, BaseException):
            return self._named(own), self.of_all(getattr(value, "args", ()))
        return _Compared(value)

    def of_all(self, values: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(map(self.of, values))

    def in_any_order(self, values: Iterable[Any]) -> frozenset[Any]:
        return frozenset(map(self.of, values))

    def _named(self, members: dict[str, Any]) -> tuple[Any, ...]:
        return tuple((name, self.of(members[name])) for name in sorted(members))


def _attributes(value: Any) -> dict[str, Any]:
    attributes = dict(getattr(value, "__dict__", ()))
    for name in slot_names(type(value)):
        if not name.startswith("__") and hasattr(value, name):
            attributes[name] = getattr(value, name)
    return attributes


_Content = Callable[[_Shapes, Any], Any]


class _Compared:
    """An object that is compared by `==`."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __hash__(self) -> int:
        return hash(type(self._value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Compared) and bool(self._value == other._value)


def _in_zone(text: Callable[[Any], str]) -> _Content:
    """Return the content of times: the text of the base class, since a subclass may have another text."""
    return lambda shapes, value: (text(value), shapes.of(value.tzinfo))


def _array(shapes: _Shapes, value: Any) -> Any:
    # Arrays of nanoseconds stay integers; as objects they would lose digits or their class.
    plain = value.view(np.int64) if value.dtype.kind in "mM" else value
    return value.dtype.str, value.dtype.names, value.shape, shapes.of(plain.tolist())


def _frame(shapes: _Shapes, value: Any) -> Any:
    columns = [value.iloc[:, index] for index in range(value.shape[1])]
    return shapes.of(value.index), shapes.of_all(value.columns), shapes.of_all(columns)


def _series(shapes: _Shapes, value: Any) -> Any:
    return shapes.of(value.name), str(value.dtype), shapes.of(value.index), shapes.of_all(value)


def _index(shapes: _Shapes, value: Any) -> Any:
    return shapes.of_all(value.names), str(value.dtype), shapes.of_all(value)


def _text(_: _Shapes, value: Any) -> str:
    return repr(value)


def _by_kind(kind: Kind) -> _Content:
    if kind.content is not None:
        content = kind.content
        return lambda _, value: content(value)
    if kind.is_ordered:
        return lambda shapes, value: shapes.of_all(kind.components(value))
    return lambda shapes, value: shapes.in_any_order(kind.components(value))


_CONTENT: dict[type, _Content] = {
    **{cls: _by_kind(kind) for cls, kind in KINDS.items() if kind.content or kind.mark},
    Decimal: lambda _, value: Decimal.__str__(value),
    datetime: _in_zone(datetime.__repr__),
    date: lambda _, value: date.__repr__(value),
    time: _in_zone(time.__repr__),
    complex: lambda _, value: (repr(value.real), repr(value.imag)),
    Fraction: lambda _, value: (value.numerator, value.denominator),
    memoryview: lambda _, value: (value.format, value.shape, value.tobytes()),
    deque: lambda shapes, value: (value.maxlen, shapes.of_all(value)),
    array.array: lambda _, value: (value.typecode, tuple(map(repr, value))),
    range: lambda _, value: (value.start, value.stop, value.step),
    OrderedDict: lambda shapes, value: shapes.of_all(value.items()),
    defaultdict: lambda shapes, value: (value.default_factory, shapes.in_any_order(value.items())),
    timedelta: lambda _, value: (value.days, value.seconds, value.microseconds),
    tzinfo: lambda _, value: repr(value),
    np.ndarray: _array,
    np.generic: lambda shapes, value: _array(shapes, np.asarray(value)),
    type: _text,
    FunctionType: lambda _, value: (value.__module__, value.__qualname__, value.__code__),
    BuiltinFunctionType: _text,
}
"""Class to the function that returns the content of its instances."""

_OF_PANDAS: dict[str, _Content] = {
    "NaTType": _text,
    "Timestamp": lambda shapes, value: (
        value.value,
        value.unit,
        shapes.of(value.tzinfo),
        value.fold,
    ),
    "Timedelta": lambda _, value: (value.value, value.unit),
    "DataFrame": _frame,
    "Series": _series,
    **dict.fromkeys(("Index", "RangeIndex", "DatetimeIndex", "MultiIndex"), _index),
}
"""Name of a class of pandas to the function; so programs without pandas need not import it."""


def _pandas_name(cls: type) -> str:
    return cls.__name__ if cls.__module__.partition(".")[0] == "pandas" else ""


def only_in_one(one: Iterable[Any], other: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Return the records that only one of two results has, each so often as the other lacks it.

    Example:
        >>> only_in_one([1, 2, 2], [2, 1, 3])
        ([2], [3])
    """
    missing: dict[Any, list[Any]] = {}
    for record in one:
        missing.setdefault(shape_of(record), []).append(record)
    extra = []
    for record in other:
        matches = missing.get(shape_of(record))
        if matches:
            matches.pop()
        else:
            extra.append(record)
    return [record for records in missing.values() for record in records], extra
