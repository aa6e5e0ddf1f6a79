"""JSON as RFC 8259 has it, with numbers as their texts, and the JSON text of a value without a declared type."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
from collections.abc import Callable
from decimal import Decimal
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any

from penstock.types import TypeInformation, Types
from penstock.types.row import Row, class_of, schemas_of
from penstock.types.time import Instant
from penstock.wire.text.scalars import TextError, TextRules, check_characters, text_of, writer


def _row(row: Row) -> Any:
    return list(row) if None in schemas_of((row,)) else row.as_dict()


def _as(type_info: TypeInformation) -> Callable[[Any], str]:
    write = writer(type_info, TextRules())
    assert write is not None, "it is a scalar"
    return write


_plain, _zoned = _as(Types.SQL_TIMESTAMP()), _as(Types.TIMESTAMP_LTZ())

_FORMS: dict[type, Callable[[Any], Any]] = {
    Row: _row,
    dt.datetime: lambda moment: (_plain if moment.tzinfo is None else _zoned)(moment),
    dt.date: _as(Types.SQL_DATE()),
    dt.time: _as(Types.SQL_TIME()),
    Decimal: _as(Types.BIG_DEC()),
    Instant: _as(Types.INSTANT()),
    bytes: _as(Types.PRIMITIVE_ARRAY(Types.BYTE())),
}
"""Type to the JSON value of its values, for types that JSON lacks."""


def _to_json(value: Any) -> Any:
    form = _FORMS.get(class_of(value))
    if form is None and dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if form is None:
        raise TypeError(f"{type(value).__name__} is not JSON")  # as in json_text
    return form(value)


json_text: Callable[[Any], str] = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_to_json
).encode
"""Return the one-line JSON text of a value.

Raises:
    TypeError: It contains a value without a JSON form.
    ValueError: A number in it is NaN or infinite, or it contains itself; or a TextError, which is one.
"""


_DEEPEST = 200
"""Python's parser fails at a depth that depends on its caller's; this one is the same everywhere."""
_brackets = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL).finditer
_surrogate = re.compile(r"\\u[dD][89a-fA-F]").search


class JsonNumber(str):
    """A number as it was written."""

    __slots__ = ()


class SpannedList(list[Any]):
    """An array, with its text."""

    text: str


class SpannedDict(dict[str, Any]):
    """An object, with its text."""

    text: str


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise TextError(f"an object has the name {twice!r} twice")
    return members


def _no_constant(text: str) -> Any:
    raise TextError(f"{text} is not JSON")


_ARGUMENTS: dict[str, Any] = {
    "parse_int": JsonNumber,
    "parse_float": JsonNumber,
    "parse_constant": _no_constant,
    "object_pairs_hook": _unique,
}
_decode = json.JSONDecoder(**_ARGUMENTS).decode


class _SpanDecoder(json.JSONDecoder):
    """Keeps the texts of arrays and objects. It is slow: few columns are texts of such values."""

    def __init__(self) -> None:
        super().__init__(**_ARGUMENTS)
        parse_object: Callable[..., tuple[Any, int]] = self.parse_object  # type: ignore[has-type]
        parse_array: Callable[..., tuple[Any, int]] = self.parse_array  # type: ignore[has-type]

        def spanned(parse: Callable[..., tuple[Any, int]], kind: Any) -> Callable[..., Any]:
            def parsed(start: tuple[str, int], *rest: Any) -> tuple[Any, int]:
                value, end = parse(start, *rest)
                container = kind(value)
                container.text = start[0][start[1] - 1 : end]
                return container, end

            return parsed

        self.parse_object = spanned(parse_object, SpannedDict)
        self.parse_array = spanned(parse_array, SpannedList)
        self.scan_once = py_make_scanner(self)


def parse_json(message: object, *, with_texts: bool = False) -> Any:
    """Return the value of a JSON text: numbers are `JsonNumber`."""
    text = text_of(message).removeprefix("\ufeff")
    if text.count("[") + text.count("{") > _DEEPEST:
        _check_depth(text)
    try:
        value = _SpanDecoder().decode(text) if with_texts else _decode(text)
    except RecursionError:
        raise TextError("it is nested too deeply") from None
    except json.JSONDecodeError as cause:
        raise TextError(str(cause)) from None
    if "\\u" in text and _surrogate(text):
        _check_strings(value)
    return value


def _check_depth(text: str) -> None:
    depth = 0
    for match in _brackets(text):
        first = match[0][0]
        depth += (first in "[{") - (first in "]}")
        if depth > _DEEPEST:
            raise TextError(f"it is nested more than {_DEEPEST} deep")


def _check_strings(value: Any) -> None:
    if isinstance(value, str):
        check_characters(value)
    elif isinstance(value, dict):
        for name, inside in value.items():
            check_characters(name)
            _check_strings(inside)
    elif isinstance(value, list):
        for inside in value:
            _check_strings(inside)
