"""Values of basic types from their text, for CSV, and for types that JSON lacks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.types.time import Instant

_BOOLEANS = {"true": True, "false": False}


def _boolean(text: str) -> bool:
    value = _BOOLEANS.get(text.strip().lower())
    if value is None:
        raise ValueError(f"{text!r} is neither true nor false")
    return value


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as cause:
        raise ValueError(f"{text!r} is not a number") from cause


def _instant(text: str) -> Instant:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    whole = moment.replace(microsecond=0)
    return Instant(int(whole.timestamp()), moment.microsecond * 1000)


UNLIKE_JSON: dict[str, Callable[[str], Any]] = {
    "BigDecimal": _decimal,
    "SqlDate": dt.date.fromisoformat,
    "SqlTime": dt.time.fromisoformat,
    "SqlTimestamp": dt.datetime.fromisoformat,
    "TimestampLtz": dt.datetime.fromisoformat,
    "Instant": _instant,
}
"""Name of a basic type to the reader of its text, for types that are strings in JSON."""

FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "String": str,
    "Char": str,
    "Boolean": _boolean,
    "Byte": int,
    "Short": int,
    "Integer": int,
    "Long": int,
    "BigInteger": int,
    "Float": float,
    "Double": float,
    **UNLIKE_JSON,
}
"""Name of a basic type to the reader of its text. Readers raise ValueError."""
