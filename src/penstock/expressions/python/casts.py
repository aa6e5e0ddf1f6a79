"""CAST between types of SQL, on values that are not NULL."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from typing import Any

from penstock.config.parse import zone_named
from penstock.errors import ExpressionError
from penstock.expressions.python.arithmetic import LIMITS, in_range, overflow, single, to_scale
from penstock.expressions.python.times import instant_at, local_of
from penstock.types.sql_types import FLOATS, TIMESTAMP, WHOLE, SqlType

Cast = Callable[[Any], Any]

_HINT = "Use TRY_CAST, which is NULL for such values."
# Python's own conversions take digits of all scripts, and underscores between them
_DIGITS = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")
_NUMBER = re.compile(rf"{_DIGITS.pattern}(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:NaN|Infinity)")
_TRUE = frozenset({"true", "t", "yes", "y", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "0"})


def refused(value: Any, kind: SqlType) -> ExpressionError:
    """Return the error of a value that cannot be cast."""
    return ExpressionError(f"CAST({value!r} AS {kind}) has no value", hint=_HINT)


def cast(source: SqlType, target: SqlType, zone: str = "UTC") -> Cast | None:
    """Return the cast from a type to another, None if there is none."""
    if source == target or source.name == "NULL":
        return _same
    if source.name == target.name == "ARRAY":
        inside = cast(source.components[0], target.components[0], zone)
        return None if inside is None else _of_each(inside)
    if target.name == "STRING" and source.name != "ANY":
        return shown(source, zone)
    if source.name == "TIMESTAMP_LTZ":
        return _through(partial(local_of, zone=zone_named(zone)), cast(TIMESTAMP, target))
    if target.name == "TIMESTAMP_LTZ":
        return _through(cast(source, TIMESTAMP), partial(instant_at, zone=zone_named(zone)))
    make = _CASTS.get((_family(source), _family(target)))
    return None if make is None else make(source, target)


def _through(first: Cast | None, then: Cast | None) -> Cast | None:
    if first is None or then is None:
        return None
    return lambda value: then(first(value))


def _of_each(inside: Cast) -> Cast:
    return lambda value: [None if element is None else inside(element) for element in value]


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
    def convert(value: Any) -> int:
        if isinstance(value, float) and not math.isfinite(value):
            raise overflow("CAST", value, target.name)
        return in_range(int(value), target.name, "CAST")

    return convert


def _text_to_whole(_: SqlType, target: SqlType) -> Cast:
    def convert(value: str) -> int:
        text = value.strip()
        if not _DIGITS.fullmatch(text):
            raise refused(value, target)
        return in_range(int(Decimal(text)), target.name, "CAST")

    return convert


def _decimal(text: str, target: SqlType) -> Decimal:
    if not _NUMBER.fullmatch(text.strip()):
        raise refused(text, target)
    number = to_scale(Decimal(text.strip()), target)
    if number is None:
        raise refused(text, target)
    return number


def _to_float(_: SqlType, target: SqlType) -> Cast:
    return (lambda value: single(float(value))) if target.name == "FLOAT" else float


def _text_to_float(_: SqlType, target: SqlType) -> Cast:
    def convert(value: str) -> float:
        text = value.strip()
        if not _NUMBER.fullmatch(text) and not _NOT_FINITE.fullmatch(text):
            raise refused(value, target)
        number = float(text)
        return single(number) if target.name == "FLOAT" else number

    return convert


def _to_decimal(_: SqlType, target: SqlType) -> Cast:
    def convert(value: Any) -> Decimal | None:
        if isinstance(value, float):
            if not math.isfinite(value):
                raise refused(value, target)
            value = repr(value)
        elif isinstance(value, str):
            return _decimal(value, target)
        return to_scale(Decimal(value), target)

    return convert


def _boolean_to_number(_: SqlType, target: SqlType) -> Cast:
    if target.name == "DECIMAL":
        return lambda value: to_scale(Decimal(int(value)), target)
    return float if target.name in FLOATS else int


def _text_to_boolean(_: SqlType, target: SqlType) -> Cast:
    def convert(value: str) -> bool:
        text = value.strip().lower()
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        raise refused(value, target)

    return convert


def _float_text(value: float, shortest: str = "") -> str:
    """Return a float as Java writes it; `shortest` are its digits if not those of a DOUBLE."""
    shortest = shortest or _of_double(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:  # noqa: PLR2004 - Java's limits
        text = f"{Decimal(shortest):f}"
        return text if "." in text else f"{text}.0"
    digits, exponent = f"{Decimal(shortest):E}".split("E")
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _of_double(value: float) -> str:
    """Return the fewest digits that distinguish a DOUBLE from others; where one would do, Java has the nearest two."""
    two = f"{value:.1e}"
    return two if float(two) == value and ".0" not in two else repr(float(value))


def _single_text(value: float) -> str:
    """Return a FLOAT as Java writes it: with the fewest digits that distinguish it from other FLOATs."""
    for digits in range(2, 10):
        shortest = f"{value:.{digits}g}"
        if single(float(shortest)) == value:
            break
    return _float_text(value, shortest)


def moment_text(value: datetime) -> str:
    """Return a timestamp as text, with as many digits of a second as it has."""
    text = f"{value.replace(microsecond=0, tzinfo=None)}"
    return f"{text}.{value.microsecond:06}".rstrip("0") if value.microsecond else text


def shown(kind: SqlType, zone: str = "UTC") -> Cast:  # noqa: PLR0911 - one per type
    """Return what makes texts of values of a type, as CAST does."""
    if kind.name == "BOOLEAN":
        return lambda value: "TRUE" if value else "FALSE"
    if kind.name in FLOATS:
        return _float_text if kind.name == "DOUBLE" else _single_text
    if kind.name == "DECIMAL":
        return lambda value: f"{value:f}"
    if kind.name == "TIMESTAMP_LTZ":
        time_zone = zone_named(zone)
        return lambda value: moment_text(local_of(value, time_zone))
    if kind.name == "TIMESTAMP":
        return moment_text
    if kind.name == "BYTES":
        return lambda value: bytes(value).decode("utf-8", "replace")
    if kind.name == "ARRAY":
        inside = _or_null(shown(kind.components[0], zone))
        return lambda value: "[" + ", ".join(map(inside, value)) + "]"
    if kind.name == "MAP":
        key, element = (_or_null(shown(component, zone)) for component in kind.components)
        return lambda value: (
            "{" + ", ".join(f"{key(name)}={element(part)}" for name, part in value.items()) + "}"
        )
    if kind.name == "ROW":
        fields = [_or_null(shown(component, zone)) for component in kind.components]
        return lambda value: (
            "(" + ", ".join(show(field) for show, field in zip(fields, value, strict=True)) + ")"
        )
    return str


def _or_null(show: Cast) -> Cast:
    return lambda value: "NULL" if value is None else show(value)


def _boolean_of(_: SqlType, __: SqlType) -> Cast:
    return lambda value: value != 0


_MOMENT = re.compile(
    r"\s*(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?\s*"
)


def moment_of(text: str) -> datetime | None:
    """Return the timestamp that a text is, None if it is none."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(group or 0) for group in match.groups()[:6])
    micros = int((match[7] or "").ljust(6, "0")[:6])
    try:
        return datetime(year, month, day, hour, minute, second, micros)  # noqa: DTZ001
    except ValueError:
        return None


def _text_to_moment(_: SqlType, target: SqlType) -> Cast:
    def convert(value: str) -> datetime:
        moment = moment_of(value)
        if moment is None:
            raise refused(value, target)
        return moment

    return convert


def _text_to_date(_: SqlType, target: SqlType) -> Cast:
    def convert(value: str) -> date:
        moment = moment_of(value)
        if moment is None:
            raise refused(value, target)
        return moment.date()

    return convert


def _text_to_time(_: SqlType, target: SqlType) -> Cast:
    def convert(value: str) -> time:
        moment = moment_of(f"1970-01-01 {value.strip()}")
        if moment is None or not value.strip():
            raise refused(value, target)
        return moment.time()

    return convert


def _date_to_moment(_: SqlType, __: SqlType) -> Cast:
    return lambda value: datetime(value.year, value.month, value.day)  # noqa: DTZ001 - no zone


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
    ("STRING", "DATE"): _text_to_date,
    ("STRING", "TIME"): _text_to_time,
    ("DATE", "TIMESTAMP"): _date_to_moment,
    ("TIMESTAMP", "DATE"): _date_of,
    ("TIMESTAMP", "TIME"): _time_of,
    ("STRING", "BYTES"): lambda _, __: lambda value: value.encode(),
}
"""Families of types to what makes the cast."""
