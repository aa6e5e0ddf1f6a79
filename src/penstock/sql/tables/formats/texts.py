"""Values of SQL types from text and to text, as JSON and CSV have them."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from penstock.sql.column_types import SqlType

FromText = Callable[[str], Any]

_BOOLEANS = {"true": True, "false": False}
_LIMITS = {"TINYINT": 1 << 7, "SMALLINT": 1 << 15, "INT": 1 << 31, "BIGINT": 1 << 63}
_MILLIS = 3


def _boolean(text: str) -> bool:
    found = _BOOLEANS.get(text.strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is neither true nor false")
    return found


def _whole(kind: SqlType) -> FromText:
    limit = _LIMITS[kind.name]

    def read(text: str) -> int:
        number = int(text)
        if not -limit <= number < limit:
            raise ValueError(f"{text} is no {kind}")
        return number

    return read


def decimal_of(kind: SqlType) -> Callable[[Any], Decimal]:
    """Return the function from a number or its text to a decimal of a type, rounded half up.

    The function raises ValueError for a number with too many digits before the point.
    """
    unit, limit = Decimal(1).scaleb(-kind.scale), Decimal(10) ** (kind.precision - kind.scale)

    def read(value: Any) -> Decimal:
        try:
            found = Decimal(str(value)).quantize(unit, ROUND_HALF_UP)
        except InvalidOperation as cause:
            raise ValueError(f"{value!r} is no {kind}") from cause
        if abs(found) >= limit:
            raise ValueError(f"{value!r} is no {kind}")
        return found

    return read


def _timestamp(text: str) -> dt.datetime:
    found = dt.datetime.fromisoformat(text.strip())
    if found.tzinfo is not None:
        raise ValueError(f"{text!r} has a time zone, and TIMESTAMP has none")
    return found


def _timestamp_ltz(text: str) -> dt.datetime:
    found = dt.datetime.fromisoformat(text.strip())
    if found.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; TIMESTAMP_LTZ is written with Z")
    return found.astimezone(dt.UTC)


_READERS: Mapping[str, FromText] = {
    "BOOLEAN": _boolean,
    "FLOAT": float,
    "DOUBLE": float,
    "STRING": str,
    "BYTES": base64.b64decode,
    "DATE": dt.date.fromisoformat,
    "TIME": dt.time.fromisoformat,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP_LTZ": _timestamp_ltz,
}


def from_text(kind: SqlType) -> FromText | None:
    """Return the reader of values of a simple type, None if the type has components.

    The reader raises ValueError for text that is no such value.
    """
    if kind.name in _LIMITS:
        return _whole(kind)
    if kind.name == "DECIMAL":
        return decimal_of(kind)
    return _READERS.get(kind.name)


def _fraction(moment: dt.datetime | dt.time) -> str:
    """Return the fraction of a second as Flink writes it: as many digits as are needed."""
    digits = f"{moment.microsecond:06d}".rstrip("0")
    return f".{digits}" if digits else ""


def _time_text(value: dt.time) -> str:
    return f"{value:%H:%M:%S}{_fraction(value)}"


def _moments(between: str) -> Mapping[str, Callable[[Any], str]]:
    """Return the writers of timestamps, with a text between date and time."""

    def write(value: dt.datetime) -> str:
        return f"{value.date()}{between}{value:%H:%M:%S}{_fraction(value)}"

    return {
        "TIMESTAMP": write,
        "TIMESTAMP_LTZ": lambda value: f"{write(value.astimezone(dt.UTC))}Z",
    }


_WRITERS: Mapping[str, Callable[[Any], str]] = {
    "BOOLEAN": lambda value: "true" if value else "false",
    "DECIMAL": lambda value: f"{value:f}",
    "BYTES": lambda value: base64.b64encode(value).decode(),
    "DATE": dt.date.isoformat,
    "TIME": _time_text,
}
_SQL = _moments(" ")
_ISO = _moments("T")


def to_text(kind: SqlType, *, is_iso: bool = False) -> Callable[[Any], str]:
    """Return the writer of values of a simple type.

    Args:
        kind: The type.
        is_iso: Whether date and time have a T between them, and not a space.
    """
    return {**_WRITERS, **(_ISO if is_iso else _SQL)}.get(kind.name, str)
