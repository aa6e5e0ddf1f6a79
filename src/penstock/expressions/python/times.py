"""Functions of dates and times, on values that are not NULL; instants have been made times of the session's zone before.

Zones are as Java has them: a time that a zone skips is as much later as it skips, one that there is twice is the first of
them.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from penstock.config.parse import zone_named
from penstock.errors import ExpressionError
from penstock.expressions.python.arithmetic import in_range
from penstock.expressions.python.patterns import Style, pattern_of

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
    "EPOCH": lambda t: _truncated(micros_of(t), 1_000_000),
}
"""Unit of EXTRACT to the part of a date or time."""


def micros_of(moment: date) -> int:
    """Return microseconds since 1970; of a TIMESTAMP as if it were UTC."""
    if not isinstance(moment, datetime):
        return (moment.toordinal() - _EPOCH.toordinal()) * _DAY_MICROS
    length: timedelta = moment.replace(tzinfo=None) - _EPOCH
    return length // _MICROSECOND


def _truncated(micros: int, unit: int) -> int:
    return micros // unit if micros >= 0 else -(-micros // unit)


def millis_of(moment: date) -> int:
    """Return milliseconds since 1970."""
    return micros_of(moment) // 1000


def timestamp_of(millis: int) -> datetime:
    """Return the TIMESTAMP of milliseconds since 1970."""
    try:
        return _EPOCH + timedelta(milliseconds=millis)
    except OverflowError as out:
        raise ExpressionError(
            f"{millis} milliseconds are in no year from 1 to 9999", hint="Guard it with CASE."
        ) from out


def instant_of(millis: int) -> datetime:
    """Return the TIMESTAMP_LTZ of milliseconds since 1970."""
    return timestamp_of(millis).replace(tzinfo=UTC)


def to_timestamp_ltz(number: int, precision: int = 3) -> datetime | None:
    """Return an instant of seconds (precision 0) or milliseconds (3), None of one in no year from 1 to 9999."""
    try:
        return instant_of(number * 1000 if precision == 0 else number)
    except ExpressionError:
        return None


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
    if not 1 <= year <= 9999:  # noqa: PLR2004
        raise ExpressionError(
            f"{moment} and {months} months is in no year from 1 to 9999", hint="Guard it with CASE."
        )
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


def difference(unit: str) -> Callable[[Any, Any], int]:
    """Return the function of TIMESTAMPDIFF: whole units from the first moment to the second."""
    if unit in MONTHS:

        def months(start: Any, end: Any) -> int:
            sign = 1 if micros_of(start) <= micros_of(end) else -1
            early, late = (start, end) if sign > 0 else (end, start)
            count: int = (late.year - early.year) * 12 + late.month - early.month
            if count and micros_of(shifted_months(early, count)) > micros_of(late):
                count -= 1
            return sign * (count // MONTHS[unit])

        return months
    micros = MILLIS.get(unit, 7 * MILLIS["DAY"]) * 1000

    def units(start: Any, end: Any) -> int:
        count = _truncated(micros_of(end) - micros_of(start), micros)
        return in_range(count, "INT", "TIMESTAMPDIFF")

    return units


def _floor_date(moment: Any, unit: str) -> Any:
    """Return the first day of a unit, at its begin."""
    if unit == "WEEK":
        return shifted(moment, -(moment.isoweekday() % 7) * MILLIS["DAY"])
    month = {"YEAR": 1, "QUARTER": (moment.month - 1) // 3 * 3 + 1}.get(unit, moment.month)
    return moment.replace(month=month, day=moment.day if unit == "DAY" else 1)


FLOORED = frozenset({*MILLIS, *MONTHS, "WEEK"})
"""Units of FLOOR(… TO unit) and CEIL(… TO unit)."""


def floor_to(unit: str) -> Callable[[Any], Any]:
    """Return the function of FLOOR(… TO unit)."""
    if unit in {"MILLISECOND", "SECOND", "MINUTE", "HOUR"}:
        micros = MILLIS[unit] * 1000

        def cut(moment: Any) -> Any:
            if isinstance(moment, time):  # what CAST to TIME(n) cuts
                return moment.replace(microsecond=moment.microsecond // micros * micros)
            return moment - _MICROSECOND * (micros_of(moment) % micros)

        return cut

    def floored(moment: Any) -> Any:
        if isinstance(moment, datetime):
            moment = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        return _floor_date(moment, unit)

    return floored


def ceil_to(unit: str) -> Callable[[Any], Any]:
    """Return the function of CEIL(… TO unit)."""
    floor = floor_to(unit)
    months, millis = MONTHS.get(unit), MILLIS.get(unit, 7 * MILLIS["DAY"])

    def raised(moment: Any) -> Any:
        floored = floor(moment)
        if floored == moment:
            return floored
        return shifted_months(floored, months) if months else shifted(floored, millis)

    return raised


_MOMENT = "yyyy-MM-dd HH:mm:ss"


def date_format(moment: Any, pattern: str) -> str:
    """Return a date or time as text."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001 - has no zone
    return pattern_of(pattern, Style.STRICT).written(moment)


_JDBC = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?: +(\d{1,9}):(\d{1,9}):(\d{1,9})(?:\.(\d{1,9}))?)?"
)


def _of_jdbc(text: str) -> datetime | None:
    """Return the moment of a text in JDBC's form, where a day or time that is too large carries over."""
    match = _JDBC.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(group or 0) for group in match.groups()[:6])
    try:
        if not 1 <= day <= 31:  # noqa: PLR2004
            return None
        first = datetime(year, month, 1)  # noqa: DTZ001 - has no zone
        millis = int((match[7] or "").ljust(3, "0")[:3])
        return first + timedelta(day - 1, second, 0, millis, minute, hour)
    except (ValueError, OverflowError):
        return None


def to_timestamp(text: str, pattern: str = _MOMENT) -> datetime | None:
    """Return the TIMESTAMP that a text is by a pattern, or in JDBC's form; None if it is none.

    It has milliseconds, as in Flink.
    """
    tried = (pattern, "yyyy-MM-dd") if pattern == _MOMENT else (pattern,)
    read = (pattern_of(candidate, Style.STRICT).read(text) for candidate in tried)
    moment = next((moment for moment in read if moment is not None), None) or _of_jdbc(text)
    if moment is None:
        return None
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def to_date(text: str, pattern: str) -> date | None:
    """Return the DATE that a text is by a pattern, None if it is none."""
    moment = pattern_of(pattern, Style.LENIENT).read(text)
    return None if moment is None else moment.date()


def from_unixtime(zone: str) -> Callable[..., str]:
    """Return the function of seconds since 1970 as text in a zone."""
    time_zone = zone_named(zone)

    def write(seconds: int, pattern: str = _MOMENT) -> str:
        moment = instant_of(seconds * 1000)
        local = local_of(moment, time_zone)
        length = local - moment.replace(tzinfo=None)
        named = moment.astimezone(time_zone) if length else moment
        return pattern_of(pattern, Style.LENIENT).written(named)

    return write


def unix_timestamp(zone: str) -> Callable[..., int]:
    """Return the function of the seconds since 1970 of a text; of one that is no time they are the least BIGINT, as in Flink."""
    time_zone = zone_named(zone)

    def read(text: str, pattern: str = _MOMENT) -> int:
        moment = pattern_of(pattern, Style.LENIENT).read(text)
        if moment is None:
            return -(1 << 63)
        instant = instant_at(moment, time_zone) if moment.tzinfo is None else moment.astimezone(UTC)
        return micros_of(instant) // 1_000_000

    return read


def local_of(moment: datetime, zone: tzinfo) -> datetime:
    """Return the time of a zone at an instant, without the zone."""
    if zone is UTC:
        return moment.replace(tzinfo=None)
    try:
        return moment.astimezone(zone).replace(tzinfo=None, fold=0)
    except OverflowError:
        raise _no_year(moment) from None


def instant_at(local: datetime, zone: tzinfo) -> datetime:
    """Return the instant at which a zone has a time."""
    try:
        return local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    except OverflowError:
        raise _no_year(local) from None


def _no_year(moment: datetime) -> ExpressionError:
    return ExpressionError(
        f"{moment} is in no year from 1 to 9999 in the other zone", hint="Guard it with CASE."
    )
