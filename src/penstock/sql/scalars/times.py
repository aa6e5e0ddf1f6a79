"""Functions of dates and times, on values that are not NULL. The zone of the session is UTC."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

from penstock.errors import ExpressionError

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a TIMESTAMP has no zone
_MICROSECOND = timedelta(microseconds=1)
_DAY_MICROS = 86_400_000_000

MILLIS = {"MILLISECOND": 1, "SECOND": 1_000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000}
"""Unit of an interval to its milliseconds."""
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
"""Unit of an interval to its months."""

PARTS: dict[str, Callable[[Any], int]] = {
    "YEAR": lambda t: t.year,
    "QUARTER": lambda t: (t.month + 2) // 3,
    "MONTH": lambda t: t.month,
    "WEEK": lambda t: t.isocalendar()[1],
    "DAY": lambda t: t.day,
    "DAYOFMONTH": lambda t: t.day,
    "DOY": lambda t: t.timetuple().tm_yday,
    "DOW": lambda t: t.isoweekday() % 7 + 1,
    "HOUR": lambda t: t.hour,
    "MINUTE": lambda t: t.minute,
    "SECOND": lambda t: t.second,
    "MILLISECOND": lambda t: t.microsecond // 1000,
    "EPOCH": lambda t: micros_of(t) // 1_000_000,
}
"""Unit of EXTRACT to the part of a date or time."""


def micros_of(moment: date) -> int:
    """Return microseconds since 1970; of a TIMESTAMP as if it were UTC."""
    if not isinstance(moment, datetime):
        return (moment.toordinal() - _EPOCH.toordinal()) * _DAY_MICROS
    length: timedelta = moment.replace(tzinfo=None) - _EPOCH
    return length // _MICROSECOND


def millis_of(moment: date) -> int:
    """Return milliseconds since 1970."""
    return micros_of(moment) // 1000


def timestamp_of(millis: int) -> datetime:
    """Return the TIMESTAMP of milliseconds since 1970.

    Raises:
        ExpressionError: It is in no year from 1 to 9999.
    """
    try:
        return _EPOCH + timedelta(milliseconds=millis)
    except OverflowError as out:
        raise ExpressionError(
            f"{millis} milliseconds are in no year from 1 to 9999", hint="Guard it with CASE."
        ) from out


def instant_of(millis: int) -> datetime:
    """Return the TIMESTAMP_LTZ of milliseconds since 1970."""
    return timestamp_of(millis).replace(tzinfo=UTC)


def to_timestamp_ltz(number: int, precision: int = 3) -> datetime:
    """Return an instant of seconds (precision 0) or milliseconds (3)."""
    return instant_of(number * 1000 if precision == 0 else number)


def shifted(moment: Any, millis: int) -> Any:
    """Return a date or time some milliseconds later."""
    try:
        if isinstance(moment, datetime):
            return moment + timedelta(milliseconds=millis)
        return moment + timedelta(days=millis // MILLIS["DAY"])
    except OverflowError as out:
        raise ExpressionError(
            f"{moment} and {millis} milliseconds is in no year from 1 to 9999",
            hint="Guard it with CASE.",
        ) from out


def shifted_months(moment: Any, months: int) -> Any:
    """Return a date or time some months later; the day is the last one of the month if it has fewer."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


def difference(unit: str) -> Callable[[Any, Any], int]:
    """Return the function of TIMESTAMPDIFF: whole units from the first moment to the second."""
    if unit in MONTHS:

        def months(start: Any, end: Any) -> int:
            sign = 1 if micros_of(start) <= micros_of(end) else -1
            early, late = (start, end) if sign > 0 else (end, start)
            found: int = (late.year - early.year) * 12 + late.month - early.month
            if found and micros_of(shifted_months(early, found)) > micros_of(late):
                found -= 1
            return sign * (found // MONTHS[unit])

        return months
    micros = MILLIS.get(unit, 7 * MILLIS["DAY"]) * 1000

    def units(start: Any, end: Any) -> int:
        length = micros_of(end) - micros_of(start)
        return length // micros if length >= 0 else -(-length // micros)

    return units


_TRUNCATED: dict[str, Callable[[datetime], datetime]] = {
    "MILLISECOND": lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000),
    "SECOND": lambda t: t.replace(microsecond=0),
    "MINUTE": lambda t: t.replace(second=0, microsecond=0),
    "HOUR": lambda t: t.replace(minute=0, second=0, microsecond=0),
    "DAY": lambda t: t.replace(hour=0, minute=0, second=0, microsecond=0),
    "MONTH": lambda t: t.replace(day=1, hour=0, minute=0, second=0, microsecond=0),
    "YEAR": lambda t: t.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0),
}


def floor_to(unit: str) -> Callable[[datetime], datetime]:
    """Return the function of FLOOR(… TO unit)."""
    return _TRUNCATED[unit]


FLOORED = frozenset(_TRUNCATED)
"""Units of FLOOR(… TO unit)."""

# Longer ones first; what is not a letter stands for itself.
_PATTERN = re.compile(r"yyyy|yy|MM|dd|HH|hh|mm|ss|SSSSSS|SSS|a|'[^']*'|[A-Za-z]+|[^A-Za-z']")
_FORMATS: dict[str, Callable[[Any], str]] = {
    "yyyy": lambda t: f"{t.year:04}",
    "yy": lambda t: f"{t.year % 100:02}",
    "MM": lambda t: f"{t.month:02}",
    "dd": lambda t: f"{t.day:02}",
    "HH": lambda t: f"{t.hour:02}",
    "hh": lambda t: f"{(t.hour + 11) % 12 + 1:02}",
    "mm": lambda t: f"{t.minute:02}",
    "ss": lambda t: f"{t.second:02}",
    "SSS": lambda t: f"{t.microsecond // 1000:03}",
    "SSSSSS": lambda t: f"{t.microsecond:06}",
    "a": lambda t: "AM" if t.hour < 12 else "PM",  # noqa: PLR2004 - noon
}
_DIRECTIVES = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%f",
    "SSSSSS": "%f",
}


@lru_cache(maxsize=64)
def _tokens(pattern: str) -> tuple[str, ...]:
    return tuple(_PATTERN.findall(pattern))


def date_format(moment: Any, pattern: str) -> str:
    """Return a date or time as text, by a pattern of Java's SimpleDateFormat.

    Raises:
        ExpressionError: The pattern has a letter that is not supported.
    """
    made = []
    for token in _tokens(pattern):
        write = _FORMATS.get(token)
        if write is not None:
            made.append(write(moment))
        elif token[0] == "'":
            made.append(token[1:-1] or "'")
        elif token.isalpha():
            raise _unknown(pattern, token)
        else:
            made.append(token)
    return "".join(made)


@lru_cache(maxsize=64)
def _directive(pattern: str) -> str:
    made = []
    for token in _tokens(pattern):
        directive = _DIRECTIVES.get(token)
        if directive is not None:
            made.append(directive)
        elif token[0] == "'":
            made.append(token[1:-1].replace("%", "%%"))
        elif token.isalpha():
            raise _unknown(pattern, token)
        else:
            made.append(token.replace("%", "%%"))
    return "".join(made)


def _unknown(pattern: str, token: str) -> ExpressionError:
    return ExpressionError(
        f"the pattern {pattern!r} has {token!r}", hint=f"Use {', '.join(_FORMATS)}."
    )


def to_timestamp(text: str, pattern: str = "yyyy-MM-dd HH:mm:ss") -> datetime | None:
    """Return the TIMESTAMP that a text is by a pattern, None if it is none."""
    try:
        return datetime.strptime(text, _directive(pattern))  # noqa: DTZ007 - a TIMESTAMP has no zone
    except ValueError:
        return None


def to_date(text: str, pattern: str = "yyyy-MM-dd") -> date | None:
    """Return the DATE that a text is by a pattern, None if it is none."""
    found = to_timestamp(text, pattern)
    return None if found is None else found.date()


def from_unixtime(seconds: int, pattern: str = "yyyy-MM-dd HH:mm:ss") -> str:
    """Return seconds since 1970 as text."""
    return date_format(timestamp_of(seconds * 1000), pattern)


def unix_timestamp(text: str, pattern: str = "yyyy-MM-dd HH:mm:ss") -> int:
    """Return the seconds since 1970 of a text; of one that is no time the least BIGINT, as in Flink."""
    found = to_timestamp(text, pattern)
    return -(1 << 63) if found is None else micros_of(found) // 1_000_000
