"""Dates and times: ISO 8601 with fixed digits, and a zone where the type is a point in time.

2026-03-04    10:20:30.5    2026-03-04T10:20:30.5    2026-03-04 10:20:30.123456789+02:00
"""

from __future__ import annotations

import datetime as dt
import re

from penstock.types.time import Instant
from penstock.wire.text.rules import TextError, TextRules

_DATE = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_TIME = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
_ZONE = r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_date = re.compile(_DATE).fullmatch
_time = re.compile(_TIME).fullmatch
_moment = re.compile(f"{_DATE}(?:[ T]{_TIME}{_ZONE})?").fullmatch
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NANOS, _MICRO, _DAY = 9, 1_000, 86_400
_LARGEST_OFFSET = 18 * 60


def read_date(text: str) -> dt.date:
    """Return the day."""
    found = _date(text)
    if found is None:
        raise TextError(f"{text!r} is no date, such as 2026-01-31")
    try:
        return dt.date(*map(int, found.groups()))
    except ValueError as cause:
        raise TextError(f"{text!r} is no date: {cause}") from None


def read_time(text: str) -> dt.time:
    """Return the time of day."""
    found = _time(text)
    if found is None:
        raise TextError(f"{text!r} is no time of day, such as 10:20:30.5")
    hour, minute, second, fraction = found.groups()
    try:
        return dt.time(int(hour), int(minute), int(second or 0), _micros(text, fraction))
    except ValueError as cause:
        raise TextError(f"{text!r} is no time of day: {cause}") from None


def read_timestamp(text: str) -> dt.datetime:
    """Return the date and time, without zone."""
    moment, nanos, zone = _parts(text)
    if zone is not None:
        raise TextError(f"{text!r} has a time zone, and its type has none")
    return moment.replace(microsecond=_whole_micros(text, nanos))


def read_utc(text: str, rules: TextRules) -> dt.datetime:
    """Return the point in time, in UTC."""
    moment, nanos = _in_utc(text, rules)
    return moment.replace(microsecond=_whole_micros(text, nanos))


def read_instant(text: str, rules: TextRules) -> Instant:
    """Return the point in time, with nanoseconds."""
    moment, nanos = _in_utc(text, rules)
    past = moment - _EPOCH
    return Instant(past.days * _DAY + past.seconds, nanos)


def _parts(text: str) -> tuple[dt.datetime, int, str | None]:
    """Return whole seconds, nanoseconds and the zone of a text."""
    found = _moment(text)
    if found is None:
        raise TextError(f"{text!r} is no timestamp, such as 2026-01-31T10:20:30.5")
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        moment = dt.datetime(  # noqa: DTZ001 - its zone is in the text, or in the rules
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0)
        )
    except ValueError as cause:
        raise TextError(f"{text!r} is no timestamp: {cause}") from None
    return moment, int((fraction or "").ljust(_NANOS, "0")), zone


def _in_utc(text: str, rules: TextRules) -> tuple[dt.datetime, int]:
    moment, nanos, zone = _parts(text)
    known = rules.zone if zone is None else _offset(text, zone)
    if known is None:
        raise TextError(f"{text!r} has no time zone; write Z behind a time in UTC")
    try:
        utc = moment.replace(tzinfo=known).astimezone(dt.UTC)
        back = utc.astimezone(known)
    except (OverflowError, ValueError):
        raise TextError(f"{text!r} is before the year 1 or after 9999 in UTC") from None
    # An hour that a clock skips: the way there and back ends an hour later.
    if back.replace(tzinfo=None) != moment:
        raise TextError(f"{text!r} does not exist in {known}: the clock skips it")
    return utc, nanos


def _offset(text: str, zone: str) -> dt.tzinfo:
    if zone == "Z":
        return dt.UTC
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    total = hours * 60 + minutes
    if minutes >= 60 or total > _LARGEST_OFFSET:  # noqa: PLR2004 - minutes of an hour
        raise TextError(f"{text!r} has the zone {zone}, which is none")
    return dt.timezone(dt.timedelta(minutes=-total if zone[0] == "-" else total))


def _micros(text: str, fraction: str | None) -> int:
    return _whole_micros(text, int((fraction or "").ljust(_NANOS, "0")))


def _whole_micros(text: str, nanos: int) -> int:
    micros, rest = divmod(nanos, _MICRO)
    if rest:
        raise TextError(f"{text!r} has nanoseconds; its type has whole microseconds")
    return micros


def _fraction(nanos: int) -> str:
    return f".{nanos:09d}".rstrip("0") if nanos else ""


def write_time(value: dt.time) -> str:
    """Return the text of a time of day."""
    whole = value.replace(microsecond=0, fold=0)
    return f"{whole.isoformat()}{_fraction(value.microsecond * _MICRO)}"


def write_timestamp(value: dt.datetime, rules: TextRules) -> str:
    """Return the text of a date and time without zone."""
    return f"{value.date()}{rules.between}{write_time(value.time())}"


def write_utc(value: dt.datetime, rules: TextRules) -> str:
    """Return the text of a point in time."""
    return f"{write_timestamp(value.astimezone(dt.UTC), rules)}Z"


def write_instant(value: Instant, rules: TextRules) -> str:
    """Return the text of a point in time with nanoseconds."""
    try:
        second = _EPOCH + dt.timedelta(seconds=value.seconds)
    except OverflowError:
        raise TextError(f"{value!r} is before the year 1 or after 9999") from None
    whole = f"{second.date()}{rules.between}{second.time().isoformat()}"
    return f"{whole}{_fraction(value.nanos)}Z"
