"""Coerces single values to the declared type of a state when they are stored.

A value of state is checked completely when it is written, and never again. Records of basic fields,
the usual case, have a fast path: `coerce` takes the first record with a new combination of classes; if
it changes nothing, only the ranged fields of later records with these classes are checked. A row of
three fields takes 1.5 µs instead of 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import CallSite, TypeMismatchError
from penstock.types import (
    BasicTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    rows_to_values,
)
from penstock.types.basic import BASIC_RULES

Form = Callable[[Any], Any]
"""Returns the declared form of a value, or raises `TypeMismatchError`."""

Check = Callable[[Any], bool]

_MAX_COMBINATIONS = 64
_INTEGER_BITS = {"Byte": 8, "Short": 16, "Integer": 32, "Long": 64}


def declared_form(
    type_info: TypeInformation, subject: str, origin: CallSite | None = None
) -> Form | None:
    """Return the coercion of values to `type_info`; None if any object is allowed."""
    if isinstance(type_info, PickledBytesTypeInfo):
        return None
    coerce, is_formed = type_info.coerce, quick_check(type_info)

    def form(value: Any) -> Any:
        if is_formed(value):
            return value
        try:
            return coerce(value)
        except ValueError as refused:
            raise TypeMismatchError(
                f"{subject} got {value!r:.300}, which is not of its declared type "
                f"{type_info!r}: {refused}",
                hint="Correct the stored value, or the type in the descriptor.",
                origin=origin,
            ) from refused

    return form


def quick_check(type_info: TypeInformation) -> Check:
    """Return a check that a value certainly has the declared form; its result False means unknown."""
    if isinstance(type_info, BasicTypeInfo):
        return _basic_check(type_info)
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        fields = [field for field in type_info.field_types if isinstance(field, BasicTypeInfo)]
        if len(fields) == len(type_info.field_types):
            return _record_check(type_info, fields)
    return _unknown


def _unknown(_: Any) -> bool:
    return False


def _basic_check(basic: BasicTypeInfo) -> Check:
    rule = BASIC_RULES[basic.name]
    python_class = rule.python_class
    if basic.name in _INTEGER_BITS:
        low, high = _limits(basic)
        return lambda value: type(value) is int and low <= value <= high
    if rule.settle is None:
        return lambda value: type(value) is python_class
    return _unknown


def _record_check(type_info: RowTypeInfo | TupleTypeInfo, fields: list[BasicTypeInfo]) -> Check:
    integers = [
        (position, *_limits(field))
        for position, field in enumerate(fields)
        if field.name in _INTEGER_BITS
    ]
    others = [
        (position, BASIC_RULES[field.name].coerce)
        for position, field in enumerate(fields)
        if field.name not in _INTEGER_BITS and BASIC_RULES[field.name].settle is not None
    ]
    proven: set[tuple[type, ...]] = set()
    is_row = isinstance(type_info, RowTypeInfo)
    has_form, coerce = type_info.has_form, type_info.coerce

    def is_formed(value: Any) -> bool:
        if not has_form(value):
            return False
        values = rows_to_values((value,))[0] if is_row else value
        classes = tuple(map(type, values))
        try:
            if classes not in proven:
                if coerce(value) is not value:
                    return False
                if len(proven) < _MAX_COMBINATIONS:
                    proven.add(classes)
                return True
            for position, low, high in integers:
                if values[position] is not None and not low <= values[position] <= high:
                    return False
            return not others or all(
                values[position] is None or c(values[position]) is values[position]
                for position, c in others
            )
        except ValueError:
            return False

    return is_formed


def _limits(integer: BasicTypeInfo) -> tuple[int, int]:
    half = 1 << (_INTEGER_BITS[integer.name] - 1)
    return -half, half - 1
