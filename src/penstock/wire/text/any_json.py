"""The JSON text of a record."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.types.row import Row, class_of, schemas_of
from penstock.types.time import Instant


def _row_to_json(row: Row) -> Any:
    return list(row) if None in schemas_of((row,)) else row.as_dict()


def _instant_to_json(instant: Instant) -> str:
    second = dt.datetime.fromtimestamp(instant.seconds, dt.UTC)
    fraction = f".{instant.nanos:09d}" if instant.nanos else ""
    return f"{second.replace(tzinfo=None).isoformat()}{fraction}Z"


JSON_FORMS: dict[type, Callable[[Any], Any]] = {
    Row: _row_to_json,
    dt.datetime: dt.datetime.isoformat,
    dt.date: dt.date.isoformat,
    dt.time: dt.time.isoformat,
    Decimal: str,
    Instant: _instant_to_json,
    bytes: lambda data: base64.b64encode(data).decode(),
}
"""Type to the JSON value of its values, for types that JSON lacks."""


def _to_json(value: Any) -> Any:
    form = JSON_FORMS.get(class_of(value))
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
    ValueError: A number in it is NaN or infinite, or it contains itself.
"""
