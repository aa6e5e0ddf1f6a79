"""The JSON text of a value without a declared type: what it has in common with declared ones is written as these are."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.types import TypeInformation, Types
from penstock.types.row import Row, class_of, schemas_of
from penstock.types.time import Instant
from penstock.wire.text.rules import TextRules
from penstock.wire.text.scalars import writer


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
        raise TypeError(f"{type(value).__name__} is not JSON")  # json_text says so
    return form(value)


json_text: Callable[[Any], str] = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_to_json
).encode
"""Return the one-line JSON text of a value.

Raises:
    TypeError: It contains a value without a JSON form.
    ValueError: A number in it is NaN or infinite, or it contains itself; or a TextError, which is one.
"""
