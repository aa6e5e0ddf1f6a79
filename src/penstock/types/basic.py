"""The table of basic types: the Python class of each, and the values that are coerced to it.

A rule has two functions with equal results. `coerce` takes one value of any class. `settle` takes
a batch whose values all have the declared class: most batches pass unchanged, at 15 to 50 ns a
value, without a Python call per value.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from numbers import Real
from operator import attrgetter, index, is_, methodcaller
from typing import Any

import numpy as np

from penstock.types.time import Instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_tzinfo_of = attrgetter("tzinfo")
_is_finite = methodcaller("is_finite")


@dataclass(frozen=True, slots=True)
class BasicRule:
    """The Python values of one basic type.

    Attributes:
        python_class: Exact class of every value in the declared form.
        coerce: Returns the declared form of a value; the same object if it has that form already.
            Raises `ValueError` with the reason.
        settle: Given values of exactly `python_class`, returns their declared forms, or the
            same sequence if nothing changes, or None if some value is refused. None for
            types that hold every value of the class.
    """

    python_class: type
    coerce: Callable[[Any], Any]
    settle: Callable[[Sequence[Any]], Sequence[Any] | None] | None = None


def refusal(value: object, expected: str) -> ValueError:
    """Return the error for a value that is not `expected`, e.g. `an integer`."""
    return ValueError(f"{value!r} of class {type(value).__name__} is not {expected}")


def _integer(value: Any, low: int | None, high: int | None) -> int:
    # `index` takes ints, their subclasses and NumPy integers, never floats.
    if isinstance(value, bool):
        raise refusal(value, "an integer")
    try:
        number = value if type(value) is int else index(value)
    except TypeError:
        raise refusal(value, "an integer") from None
    if low is not None and high is not None and not low <= number <= high:
        msg = f"{value!r} is out of range, {low} to {high}"
        raise ValueError(msg)
    return number


def _integers_in_range(values: Sequence[int], low: int, high: int) -> Sequence[int] | None:
    return values if low <= min(values) and max(values) <= high else None


def _ranged_integer(bits: int) -> BasicRule:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return BasicRule(
        int,
        partial(_integer, low=low, high=high),
        partial(_integers_in_range, low=low, high=high),
    )


def _big_integer(value: Any) -> int:
    # Decimals because that is how columns give big integers back.
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    return _integer(value, None, None)


def _double(value: Any) -> float:
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise refusal(value, "a number")
    try:
        return float(value)
    except OverflowError:
        msg = f"{value!r} is out of range for a float"
        raise ValueError(msg) from None


_single_struct = struct.Struct("<f")  # in native order, too large a number would become inf


def _single(value: Any) -> float:
    number = _double(value)
    try:
        (rounded,) = _single_struct.unpack(_single_struct.pack(number))
    except OverflowError:
        msg = f"{value!r} is out of range for 32 bits"
        raise ValueError(msg) from None
    # `number` if nothing was lost, so that values in the declared form stay the same object.
    return number if rounded == number or math.isnan(number) else rounded


def _singles(values: Sequence[float]) -> Sequence[float] | None:
    layout = f"<{len(values)}f"
    try:
        rounded = struct.unpack(layout, struct.pack(layout, *values))
    except OverflowError:
        return None
    if all(map(float.__eq__, rounded, values)):
        return values
    singles = list(map(_single, values))  # NaN is unequal to itself, yet unchanged
    return values if all(map(is_, singles, values)) else singles


def _boolean(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise refusal(value, "a bool")


def _string(value: Any) -> str:
    if type(value) is str:
        return value
    if isinstance(value, str):
        # Not `str(value)`: of an enum that is a str it returns the name of the member.
        return str.__str__(value)
    raise refusal(value, "a str")


def _char(value: Any) -> str:
    text = _string(value)
    if len(text) != 1:
        raise refusal(value, "one character")
    return text


def _chars(values: Sequence[str]) -> Sequence[str] | None:
    return values if set(map(len, values)) == {1} else None


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise refusal(value, "a finite decimal")
        return value if type(value) is Decimal else Decimal(value)
    return Decimal(_integer(value, None, None))


def _decimals(values: Sequence[Decimal]) -> Sequence[Decimal] | None:
    return values if all(map(_is_finite, values)) else None


def _date(value: Any) -> date:
    # `isinstance` takes a datetime for a date; coercing it would silently drop the time of day.
    if isinstance(value, datetime) or not isinstance(value, date):
        raise refusal(value, "a datetime.date")
    return value if type(value) is date else date(value.year, value.month, value.day)


def _time(value: Any) -> time:
    if not isinstance(value, time) or value.tzinfo is not None:
        raise refusal(value, "a datetime.time without time zone")
    if type(value) is time:
        return value
    return time(value.hour, value.minute, value.second, value.microsecond, fold=value.fold)


def _plain_datetime(value: Any, expected: str) -> datetime:
    if type(value) is datetime:
        return value
    # pandas' Timestamp is a datetime with nanoseconds, and its NaT one without a year.
    if not isinstance(value, datetime) or getattr(value, "nanosecond", None):
        raise refusal(value, f"{expected} of whole microseconds")
    try:
        return datetime(
            value.year, value.month, value.day, value.hour, value.minute, value.second,
            value.microsecond, value.tzinfo, fold=value.fold,
        )  # fmt: skip
    except (TypeError, ValueError):
        raise refusal(value, expected) from None


def _timestamp(value: Any) -> datetime:
    moment = _plain_datetime(value, "a datetime")
    if moment.tzinfo is not None:
        raise refusal(value, "a datetime without time zone")
    return moment


def _without_zone(values: Sequence[Any]) -> Sequence[Any] | None:
    return values if set(map(_tzinfo_of, values)) == {None} else None


def _zoned_timestamp(value: Any) -> datetime:
    moment = _plain_datetime(value, "a datetime")
    if moment.utcoffset() is None:
        raise refusal(value, "a datetime with time zone")
    try:
        return moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    except OverflowError:
        raise refusal(value, "a datetime that exists in UTC") from None


def _in_utc(values: Sequence[datetime]) -> Sequence[datetime] | None:
    return values if all(zone is UTC for zone in map(_tzinfo_of, values)) else None


def _instant(value: Any) -> Instant:
    if isinstance(value, Instant):
        return value
    if not isinstance(value, datetime):
        raise refusal(value, "an Instant")
    past = _zoned_timestamp(value) - _EPOCH
    return Instant(past.days * 86_400 + past.seconds, past.microseconds * 1_000)


BASIC_RULES: dict[str, BasicRule] = {
    "String": BasicRule(str, _string),
    "Boolean": BasicRule(bool, _boolean),
    "Byte": _ranged_integer(8),
    "Short": _ranged_integer(16),
    "Integer": _ranged_integer(32),
    "Long": _ranged_integer(64),
    "Float": BasicRule(float, _single, _singles),
    "Double": BasicRule(float, _double),
    "Char": BasicRule(str, _char, _chars),
    "BigInteger": BasicRule(int, _big_integer),
    "BigDecimal": BasicRule(Decimal, _decimal, _decimals),
    "Instant": BasicRule(Instant, _instant),
    "SqlDate": BasicRule(date, _date),
    "SqlTime": BasicRule(time, _time, _without_zone),
    "SqlTimestamp": BasicRule(datetime, _timestamp, _without_zone),
    "TimestampLtz": BasicRule(datetime, _zoned_timestamp, _in_utc),
}
"""Name of every basic type to its rule. Names appear in messages, plans and fingerprints."""
