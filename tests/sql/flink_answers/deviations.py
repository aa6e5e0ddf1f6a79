"""Where Penstock's answer is another one than Flink's, and why. docs/sql.md and decision 99 have them for users."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from numpy import float32

from penstock.config.parse import zone_named
from penstock.expressions.python.times import local_of
from tests.sql.flink_answers.penstock_answers import Answer, edge


@dataclass(frozen=True, slots=True)
class Deviation:
    """A deviation that is decided.

    Attributes:
        of: Returns whether an answer is one, given ours.
    """

    of: Callable[[Answer, Any], bool]


def _matching(pattern: str, ours: Callable[[Any], bool] = lambda _: True) -> Deviation:
    expression = re.compile(pattern)
    return Deviation(lambda each, found: bool(expression.search(each.expression)) and ours(found))


def _is_error(found: Any) -> bool:
    return found is False


_WHOLE = {"TINYINT", "SMALLINT", "INT", "BIGINT"}
_LARGE = re.compile(r"_(least|most|inf|ninf|nan|large|long|great|old|first|last)\b")
_NO_TIME = str(-(1 << 63))
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a local time
_GREGORIAN = datetime(1582, 10, 15)  # noqa: DTZ001
_STANDARD = datetime(1900, 1, 1)  # noqa: DTZ001
_DAY = timedelta(1)
_COLUMN = re.compile(r"\b(dt|ts|tz)_\w+")


def _value(answer: Answer) -> Any:
    """Return the first date or time of an expression."""
    found = _COLUMN.search(answer.expression)
    columns, values = edge()
    return values[[each.name for each in columns].index(found[0])] if found else None


def _local(answer: Answer) -> datetime | None:
    """Return the local time of the first date or time of an expression."""
    value = _value(answer)
    if not isinstance(value, datetime):
        return value and datetime(value.year, value.month, value.day)  # noqa: DTZ001
    return value if value.tzinfo is None else local_of(value, zone_named(answer.zone))


def _of_times(pattern: str, holds: Callable[[datetime], bool]) -> Deviation:
    """Return a deviation of calls whose first time has a property."""
    expression = re.compile(pattern)

    def of(each: Answer, _: Any) -> bool:
        local = _local(each) if expression.search(each.expression) else None
        return local is not None and holds(local)

    return Deviation(of)


def _switches(each: Answer, _: Any) -> bool:
    """Return whether the offset of a zone is another one at the begin of a unit than at an instant."""
    if not re.match(r"(FLOOR|CEIL)\(tz_", each.expression) or not isinstance(each.text, str):
        return False
    zone, begin = zone_named(each.zone), datetime.fromisoformat(each.text)
    found: bool = (
        _value(each).astimezone(zone).utcoffset() != begin.replace(tzinfo=zone).utcoffset()
    )
    return found


DEVIATIONS: dict[str, Deviation] = {
    "parts of times before 1970 that are not midnight are those of the calendar; Flink's are of the"
    " next unit": _of_times(
        r"^EXTRACT\((?!EPOCH)|^(FLOOR|CEIL)\(t\w+ TO (MONTH|QUARTER|YEAR)",
        lambda t: t < _EPOCH and (t - _EPOCH) % _DAY > timedelta(0),
    ),
    "a time is rounded to a week, month or year of the Gregorian calendar before 1582, too": _of_times(
        r"^(FLOOR|CEIL)\(\w+ TO (WEEK|MONTH|YEAR)", lambda t: t < _GREGORIAN
    ),
    "an instant before a zone had a standard time is rounded in that zone; Flink takes the offset in"
    " whole seconds of today's kind": _of_times(
        r"^(EXTRACT\(EPOCH|(FLOOR|CEIL)\().*tz_", lambda t: t < _STANDARD
    ),
    "an instant is rounded to the begin of a unit of the zone; Flink's is an hour off where the clock"
    " is changed between": Deviation(_switches),
    "a time of the first day of a year is rounded up to the next one; Flink's is that day": _of_times(
        r"^CEIL\(\w+ TO YEAR", lambda t: t.timetuple().tm_yday == 1
    ),
    "years are those from 1 to 9999, in the zone, too": Deviation(
        lambda each, found: (
            found in {False, None, _NO_TIME}
            and bool(re.search(r"'(10000|12345)-|(dt|ts)_(first|last)", each.expression))
        )
    ),
    "a whole number that leaves its type is an error; Flink wraps it around": Deviation(
        lambda each, found: (
            found is False
            and each.type in _WHOLE
            and isinstance(each.text, str)
            and bool(_LARGE.search(each.expression))
        )
    ),
    "SIGN has TINYINT; Flink fails": _matching(r"^SIGN\(t_"),
    "ROUND of NaN and infinities is that; Flink fails": _matching(r"^ROUND\([fd]_(nan|inf|ninf)"),
    "SQRT of minus infinity is NaN; Flink's is an infinity": _matching(r"^SQRT\(d_ninf\)"),
    "FLOAT and another number are computed as DOUBLE; Flink's result is FLOAT": Deviation(
        lambda each, _: each.type == "FLOAT" and bool(re.search(r" [-+*/] ", each.expression))
    ),
    "there is a remainder of floats; Flink fails": Deviation(
        lambda each, _: (
            each.text is False and bool(re.search(r"\b[fd]_\w+ %|% [fd]_", each.expression))
        )
    ),
    "the remainder of a decimal of 38 digits is that; Flink makes a BIGINT of it before": _matching(
        r"^w_most % [il]_"
    ),
    "NaN equals nothing, not even itself, and has no order; in Flink a column equals itself": _matching(
        r"^[fd]_nan (=|<>|IS DISTINCT FROM|BETWEEN) [fd]_nan|^NULLIF\(d_nan, d_nan\)"
    ),
    "NaN is neither less nor greater than a DECIMAL": _matching(r"^c_zero < f_nan$"),
    "-0.0 is IN a list with 0.0": _matching(r"^d_minus IN \("),
    "rows with different fields are distinct": _matching(r"^r_\w+ IS DISTINCT FROM r_"),
    "arrays have no order": _matching(r"^a_\w+ < a_", _is_error),
    "a T between date and time is one in CAST, too": _matching(r"CAST\(s_iso AS "),
    "a month, quarter or year counts when it is full; Flink counts one too many backwards": _matching(
        r"^TIMESTAMPDIFF\((MONTH|QUARTER|YEAR), ts_leap, (dt_leap|ts_before)\)"
    ),
    "TIMESTAMPDIFF of an instant and a TIMESTAMP takes the time of the zone; Flink fails": _matching(
        r"^TIMESTAMPDIFF\(\w+, (tz_\w+, (dt|ts)_|(dt|ts)_\w+, tz_)"
    ),
    "a text that is not a date is NULL in TO_DATE; Flink's is the year 5471": Deviation(
        lambda each, found: each.text == "5471-09-27" and found in {None, "1970-01-01"}
    ),
    "the calendar is the Gregorian one at all times; in TO_DATE and UNIX_TIMESTAMP Flink's is the"
    " Julian one before 1582": _matching(r"^(TO_DATE|UNIX_TIMESTAMP)\('(1500|1582|0001)-"),
    "a pattern that is empty is one": _matching(r"^UNIX_TIMESTAMP\('2024-02-03', ''\)"),
    "texts of dates are read as by CAST in TO_DATE": _matching(
        r"^TO_DATE\(s_(twelve|iso|midnight)\)"
    ),
    "letters of eras, and brackets, are refused when the query is planned": _matching(
        r"^(DATE_FORMAT|FROM_UNIXTIME)\(\w+, '(G|\[yyyy\])'\)|^FROM_UNIXTIME\(l_null, ", _is_error
    ),
    "a TIMESTAMP as text has as many digits of a second as it needs": Deviation(
        lambda each, found: (
            bool(re.search(r"CAST\(t[sz]_\w+ AS (STRING|VARCHAR)", each.expression))
            and isinstance(each.text, str)
            and each.text.rstrip("0").rstrip(".") == found
        )
    ),
    "a text of a time of a zone before 1900 has its local mean time": _of_times(
        r"^UNIX_TIMESTAMP\(CAST", lambda t: t < _STANDARD
    ),
    "a pattern with an unknown letter is an error; Flink's TO_TIMESTAMP is NULL": _matching(
        r"^TO_TIMESTAMP\('2024-02-03', 'j'\)", _is_error
    ),
    "TO_TIMESTAMP_LTZ of a text that is no time is NULL, as TO_TIMESTAMP is; Flink fails": _matching(
        r"^TO_TIMESTAMP_LTZ\(s_bad\)"
    ),
    "DATE_FORMAT of a text reads a date, too": _matching(r"^DATE_FORMAT\(s_date, "),
    "DATE and TIMESTAMP are compared; Flink fails": _matching(r"^(dt|ts)_\w+ = (dt|ts)_\w+$"),
    "TIMESTAMP and TIMESTAMP_LTZ are compared with a CAST only": _matching(
        r"^(tz|ts)_\w+ = (tz|ts)_\w+$", _is_error
    ),
    "a number that a whole type does not have is an error of CAST, and NULL in TRY_CAST; Flink cuts"
    " it to bits": _matching(
        r"^TRY_CAST\(([hilfdw]_\w+ AS (TINYINT|SMALLINT|INT|BIGINT)|a_\w+ AS ARRAY<INT>)\)$",
        lambda found: found is None,
    ),
    "a number that a DECIMAL does not have is NULL in TRY_CAST; Flink fails for NaN and infinities": _matching(
        r"^TRY_CAST\([fd]_(nan|inf|ninf) AS DECIMAL", lambda found: found is None
    ),
    "a FLOAT as text has the fewest digits; Flink's has one more for some": Deviation(
        lambda each, found: (
            each.type == "FLOAT"
            and isinstance(each.text, str)
            and isinstance(found, str)
            and float32(each.text) == float32(found)
            and len(found) < len(each.text)
        )
    ),
    "a character is a code point in LPAD, RPAD and SPLIT, too; Flink's are of 16 bits": _matching(
        r"^(LPAD|RPAD|SPLIT)\(s_emoji, "
    ),
    "a regular expression that is wrong, or of Java alone, is an error": _matching(
        r"^REGEXP\w*\(\w+, '(\(|x\{2,1\}|\(\?<n>a\)|\\h|\\p\{L\}\+|\\Aa\\z|\[a-c&&\[\^b\]\])'",
        _is_error,
    ),
    "a key of a MAP is not NULL": _matching(r"MAP\[s_\w+, 1", _is_error),
    "a text that is a year, a day that is not there, or 24:00 is no time": _matching(
        r"^TRY_CAST\(s_(twelve|nodate|midnight) AS (DATE|TIMESTAMP)", lambda found: found is None
    ),
    "there is no CAST of a TIME to a time with a date, nor between MAPs": _matching(
        r"^TRY_CAST\((tm_\w+ AS TIMESTAMP|m_\w+ AS MAP)", _is_error
    ),
    "the day and time of a TIMESTAMP before 1970 are those of the calendar": _of_times(
        r"^TRY_CAST\(ts_\w+ AS (DATE|TIME)\)", lambda t: t < _EPOCH
    ),
}
"""Reason to the answers it is about."""

AGGREGATE_DEVIATIONS: dict[str, Deviation] = {
    "variances are DOUBLE, and of values that are not finite an error; Flink's have the type of AVG": _matching(
        r"^(VAR_POP|STDDEV_SAMP)\("
    ),
    "SUM of whole numbers is BIGINT, and one that leaves it is an error; Flink's has the type of the"
    " values and wraps around, and so does AVG": _matching(
        r"^(SUM|AVG)\([thil]_(most|least|seven)"
    ),
    "a sum that is zero is 0.0": _matching(r"^(SUM|AVG)\([fd]_minus, [fd]_minus\)"),
    "NaN is greater than any number; in Flink the first one decides": _matching(
        r"^(MIN|MAX)\(.*_nan"
    ),
    "of 0.0 and -0.0 the least is -0.0; in Flink the first one is": _matching(
        r"^(MIN|MAX)\(([fd]_(zero|minus)(, )?)+\)"
    ),
    "BYTES have a least and a greatest value; Flink fails": _matching(r"^(MIN|MAX)\(y_"),
    "COUNT(DISTINCT) of arrays and rows is refused": _matching(
        r"^COUNT\(DISTINCT [ar]_", _is_error
    ),
}
"""Reason to the answers of aggregates that it is about."""
