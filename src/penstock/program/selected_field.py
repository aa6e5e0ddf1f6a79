"""Finds the field of a record that a key selector reads, if the selector does nothing else.

For such a selector level 0 reads the keys from the column of the field, without making rows. For other
records a getter reads the field, at half the cost of a call. The bytecode shows these selectors:

    lambda row: row[0]    lambda row: row["name"]    lambda row: row.name

as a lambda or a `def`, and `operator.itemgetter` and `attrgetter` of one field. Any other selector is
called for every record.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter, itemgetter
from types import FunctionType
from typing import Any

from penstock.types.row import Row
from penstock.user_failure import raise_interrupt

_SILENT = frozenset({"RESUME", "NOP", "CACHE"})
_BY_ITEM = (("LOAD_FAST", "LOAD_CONST", "BINARY_SUBSCR", "RETURN_VALUE"), 1)
_BY_NAME = (("LOAD_FAST", "LOAD_ATTR", "RETURN_VALUE"), 1)
_CONSTANTS = frozenset({("LOAD_CONST", "RETURN_VALUE"), ("RETURN_CONST",)})
_OTHER_KINDS = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)


def field_position(selector: Callable[[Any], Any], names: Sequence[str]) -> int | None:
    """Return the position of the only field that `selector` reads of rows with these field names.

    Returns None if it does anything else, or if there is no such field.

    Examples:
        >>> field_position(lambda row: row.word, ["word", "count"])
        0
        >>> field_position(lambda row: row["count"], ["word", "count"])
        1
        >>> field_position(lambda row: row[0] % 2, ["word", "count"]) is None
        True
    """
    if type(selector) is FunctionType:
        way, field = _of_function(selector)
    elif type(selector) in _GETTERS:
        way, arguments = _GETTERS[type(selector)], selector.__reduce__()[1]
        assert isinstance(arguments, tuple), "a getter is pickled as its class and its arguments"
        field = arguments[0] if len(arguments) == 1 else None
    else:
        return None
    if type(field) is int and way is _BY_ITEM:
        return field % len(names) if -len(names) <= field < len(names) else None
    if type(field) is not str or field not in names:
        return None
    if way is _BY_NAME and (field[:1] == "_" or "." in field or hasattr(Row, field)):
        return (
            None  # `row.name` is a method or attribute of the class for these names, not the field
        )
    return list(names).index(field)


def field_positions(selector: Callable[[Any], Any], names: Sequence[str]) -> tuple[int, ...] | None:
    """Return the positions of the fields that `selector` reads of rows with these field names; none of a constant.

    Returns None if it does anything else, or if there is no such field.

    Examples:
        >>> field_positions(itemgetter("count", 0), ["word", "count"])
        (1, 0)
        >>> field_positions(lambda row: 0, ["word", "count"])
        ()
        >>> field_positions(abs, ["word", "count"]) is None
        True
    """
    if type(selector) is itemgetter:
        items = selector.__reduce__()[1]
        assert isinstance(items, tuple), "a getter is pickled as its class and its arguments"
        positions = [field_position(itemgetter(key), names) for key in items]
    elif type(selector) is FunctionType and _is_constant(selector):
        positions = []
    else:
        positions = [field_position(selector, names)]
    known = tuple(position for position in positions if position is not None)
    return known if len(known) == len(positions) else None


def missing_field(function: Callable[[Any], Any], names: Sequence[str]) -> str | None:
    """Return the field that a function reads, if the rows do not have it.

    Returns None if it does anything else, or if there is such a field.

    Examples:
        >>> missing_field(lambda row: row.wrod, ["word", "count"])
        'wrod'
        >>> missing_field(lambda row: row.word, ["word", "count"]) is None
        True
        >>> missing_field(lambda row: row.wrod.strip(), ["word", "count"]) is None
        True
    """
    way, field = _of_function(function) if type(function) is FunctionType else (None, None)
    if way is None or type(field) is not str or field in names or hasattr(Row, field):
        return None
    return field


def getter_of(selector: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a getter in C if `selector` only reads a field, else `selector`.

    The getter raises the same exceptions as `selector`, but without the user's line in the traceback.

    Examples:
        >>> getter_of(lambda record: record[0])
        operator.itemgetter(0)
        >>> getter_of(lambda record: record.word)
        operator.attrgetter('word')
        >>> getter_of(abs) is abs
        True
    """
    if type(selector) is not FunctionType:
        return selector
    way, field = _of_function(selector)
    if way is _BY_ITEM:
        return itemgetter(field)
    return attrgetter(field) if way is _BY_NAME else selector


@lru_cache(maxsize=256)
def _of_function(function: FunctionType) -> tuple[object, Any]:
    steps = _steps_of(function)
    done = tuple(step.opname for step in steps)
    for way in (_BY_ITEM, _BY_NAME):
        names, index = way
        if done == names:
            return way, steps[index].argval
    return None, None


def _is_constant(function: FunctionType) -> bool:
    return tuple(step.opname for step in _steps_of(function)) in _CONSTANTS


def _steps_of(function: FunctionType) -> list[dis.Instruction]:
    """Return the instructions of a function of one value, none of any other one."""
    code = function.__code__
    if code.co_argcount != 1 or code.co_kwonlyargcount or code.co_flags & _OTHER_KINDS:
        return []
    return [step for step in dis.get_instructions(code) if step.opname not in _SILENT]


_GETTERS: dict[type, object] = {itemgetter: _BY_ITEM, attrgetter: _BY_NAME}


def got(getter: Callable[[Any], Any], values: list[Any]) -> list[Any] | None:
    """Return the values of a getter of `getter_of` for all records; None if it failed.

    It failed as well if a record's own code raised `StopIteration`, which silently ends a loop in C.
    The caller then calls the selector, whose error has the user's line.
    """
    try:
        results = list(map(getter, values))
    except BaseException as cause:  # noqa: BLE001 - the caller calls the selector, which raises it again
        raise_interrupt(cause)
        return None
    return results if len(results) == len(values) else None
