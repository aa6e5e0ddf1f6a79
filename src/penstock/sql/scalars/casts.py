"""CAST between types of SQL, on values that are not NULL."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.errors import ExpressionError
from penstock.sql.column_types import FLOATS, TIMESTAMPS, WHOLE, SqlType
from penstock.sql.scalars.arithmetic import LIMITS, in_range, overflow, single, to_scale

Cast = Callable[[Any], Any]

_HINT = "Use TRY_CAST, which is NULL for such values."
_TRUE = frozenset({"true", "t", "yes", "y", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "0"})


def refused(value: Any, kind: SqlType) -> ExpressionError:
    """Return the error of a value that cannot be cast."""
    return ExpressionError(f"CAST({value!r} AS {kind}) has no value", hint=_HINT)


def cast(source: SqlType, target: SqlType) -> Cast | None:
    """Return the cast from a type to another, None if there is none."""
    if source == target or source.name == "NULL":
        return _same
    if source.name == target.name == "ARRAY":
        inside = cast(source.components[0], target.components[0])
        return None if inside is None else _of_each(inside)
    make = _CASTS.get((_family(source), _family(target)))
    return None if make is None else make(source, target)


def _of_each(inside: Cast) -> Cast:
    return lambda value: [None if each is None else inside(each) for each in value]


def _same(value: Any) -> Any:
    return value


def _family(kind: SqlType) -> str:
    if kind.name in WHOLE:
        return "WHOLE"
    return "FLOATS" if kind.name in FLOATS else kind.name


def _whole_to_whole(source: SqlType, target: SqlType) -> Cast:
    if LIMITS[source.name] <= LIMITS[target.name]:
        return _same
    return lambda value: in_range(value, target.name, "CAST")


def _to_whole(_: SqlType, target: SqlType) -> Cast:
    def made(value: Any) -> int:
        if isinstance(value, float) and not math.isfinite(value):
            raise overflow("CAST", value, target.name)
        return in_range(int(value), target.name, "CAST")

    return made


def _text_to_whole(_: SqlType, target: SqlType) -> Cast:
    def made(value: str) -> int:
        found = _decimal(value, target)
        return in_range(int(found), target.name, "CAST")

    return made


def _decimal(text: str, target: SqlType) -> Decimal:
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        raise refused(text, target) from None
    if not found.is_finite() or "_" in text:
        raise refused(text, target)
    return found


def _to_float(_: SqlType, target: SqlType) -> Cast:
    return (lambda value: single(float(value))) if target.name == "FLOAT" else float


def _text_to_float(_: SqlType, target: SqlType) -> Cast:
    def made(value: str) -> float:
        try:
            found = float(value.strip())
        except ValueError:
            raise refused(value, target) from None
        return single(found) if target.name == "FLOAT" else found

    return made


def _to_decimal(_: SqlType, target: SqlType) -> Cast:
    def made(value: Any) -> Decimal | None:
        if isinstance(value, float):
            if not math.isfinite(value):
                raise refused(value, target)
            value = repr(value)
        found = _decimal(value, target) if isinstance(value, str) else Decimal(value)
        return to_scale(found, target)

    return made


def _boolean_to_number(_: SqlType, target: SqlType) -> Cast:
    if target.name == "DECIMAL":
        return lambda value: to_scale(Decimal(int(value)), target)
    return float if target.name in FLOATS else int


def _text_to_boolean(_: SqlType, target: SqlType) -> Cast:
    def made(value: str) -> bool:
        text = value.strip().lower()
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        raise refused(value, target)

    return made


def _float_text(value: float) -> str:
    """Return a float as Java writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:  # noqa: PLR2004 - Java's limits
        return repr(float(value)) if "e" not in repr(value) else f"{value:f}"
    digits, exponent = f"{Decimal(repr(value)):E}".split("E")
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def moment_text(value: datetime) -> str:
    """Return a timestamp as text, with as many digits of a second as it has."""
    text = f"{value.replace(microsecond=0, tzinfo=None)}"
    return f"{text}.{value.microsecond:06}".rstrip("0") if value.microsecond else text


def shown(kind: SqlType) -> Cast:  # noqa: PLR0911 - one per type
    """Return what makes texts of values of a type, as CAST does."""
    if kind.name == "BOOLEAN":
        return lambda value: "TRUE" if value else "FALSE"
    if kind.name in FLOATS:
        return _float_text
    if kind.name == "DECIMAL":
        return lambda value: f"{value:f}"
    if kind.name in TIMESTAMPS:
        return moment_text
    if kind.name == "BYTES":
        return lambda value: bytes(value).decode("utf-8", "replace")
    if kind.name == "ARRAY":
        inside = shown(kind.components[0])
        return lambda value: (
            "[" + ", ".join("NULL" if each is None else inside(each) for each in value) + "]"
        )
    if kind.name in {"MAP", "ROW", "ANY"}:
        return lambda value: json.dumps(value, default=str)
    return str


def _to_text(source: SqlType, _: SqlType) -> Cast:
    return shown(source)


def _boolean_of(_: SqlType, __: SqlType) -> Cast:
    return lambda value: value != 0


_MOMENT = re.compile(
    r"\s*(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?\s*"
)


def moment_of(text: str) -> datetime | None:
    """Return the timestamp that a text is, None if it is none."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(each or 0) for each in found.groups()[:6])
    micros = int((found[7] or "").ljust(6, "0")[:6])
    try:
        return datetime(year, month, day, hour, minute, second, micros)  # noqa: DTZ001
    except ValueError:
        return None


def _text_to_moment(_: SqlType, target: SqlType) -> Cast:
    zone = UTC if target.name == "TIMESTAMP_LTZ" else None

    def made(value: str) -> datetime:
        found = moment_of(value)
        if found is None:
            raise refused(value, target)
        return found.replace(tzinfo=zone)

    return made


def _text_to_date(_: SqlType, target: SqlType) -> Cast:
    def made(value: str) -> date:
        found = moment_of(value)
        if found is None:
            raise refused(value, target)
        return found.date()

    return made


def _text_to_time(_: SqlType, target: SqlType) -> Cast:
    def made(value: str) -> time:
        found = moment_of(f"1970-01-01 {value.strip()}")
        if found is None:
            raise refused(value, target)
        return found.time()

    return made


def _date_to_moment(_: SqlType, target: SqlType) -> Cast:
    zone = UTC if target.name == "TIMESTAMP_LTZ" else None
    return lambda value: datetime(value.year, value.month, value.day, tzinfo=zone)


def _zoned(_: SqlType, __: SqlType) -> Cast:
    return lambda value: value.replace(tzinfo=UTC)


def _unzoned(_: SqlType, __: SqlType) -> Cast:
    return lambda value: value.replace(tzinfo=None)


def _date_of(_: SqlType, __: SqlType) -> Cast:
    return lambda value: value.date()


def _time_of(_: SqlType, __: SqlType) -> Cast:
    return lambda value: value.time()


_NUMBERS = ("WHOLE", "FLOATS", "DECIMAL")
_CASTS: dict[tuple[str, str], Callable[[SqlType, SqlType], Cast]] = {
    ("WHOLE", "WHOLE"): _whole_to_whole,
    ("FLOATS", "WHOLE"): _to_whole,
    ("DECIMAL", "WHOLE"): _to_whole,
    ("STRING", "WHOLE"): _text_to_whole,
    **{(family, "FLOATS"): _to_float for family in _NUMBERS},
    ("STRING", "FLOATS"): _text_to_float,
    **{(family, "DECIMAL"): _to_decimal for family in (*_NUMBERS, "STRING")},
    **{("BOOLEAN", family): _boolean_to_number for family in _NUMBERS},
    **{(family, "BOOLEAN"): _boolean_of for family in _NUMBERS},
    ("STRING", "BOOLEAN"): _text_to_boolean,
    ("STRING", "TIMESTAMP"): _text_to_moment,
    ("STRING", "TIMESTAMP_LTZ"): _text_to_moment,
    ("STRING", "DATE"): _text_to_date,
    ("STRING", "TIME"): _text_to_time,
    ("DATE", "TIMESTAMP"): _date_to_moment,
    ("DATE", "TIMESTAMP_LTZ"): _date_to_moment,
    ("TIMESTAMP", "TIMESTAMP_LTZ"): _zoned,
    ("TIMESTAMP_LTZ", "TIMESTAMP"): _unzoned,
    ("TIMESTAMP", "DATE"): _date_of,
    ("TIMESTAMP_LTZ", "DATE"): _date_of,
    ("TIMESTAMP", "TIME"): _time_of,
    ("TIMESTAMP_LTZ", "TIME"): _time_of,
    ("STRING", "BYTES"): lambda _, __: lambda value: value.encode(),
    **{
        (family, "STRING"): _to_text
        for family in (
            *_NUMBERS,
            "BOOLEAN",
            "DATE",
            "TIME",
            "TIMESTAMP",
            "TIMESTAMP_LTZ",
            "BYTES",
            "ARRAY",
            "MAP",
            "ROW",
        )
    },
}
"""Families of types to what makes the cast."""
