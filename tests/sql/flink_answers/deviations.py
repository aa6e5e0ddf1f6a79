"""Where Penstock's answer is another one than Flink's, and why. docs/sql.md has them for users."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.sql.flink_answers.penstock_answers import Answer


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


_EARLY = r"(ts_before|tz_before|ts_old|tz_old|dt_old|ts_first|ts_last)"

DEVIATIONS: dict[str, Deviation] = {
    "parts of times before 1970 and before 1582 are those of the calendar; Flink's are of the next"
    " unit, or of another day": _matching(rf"^(EXTRACT|FLOOR|CEIL)\(.*{_EARLY}"),
    "a month, quarter or year counts when it is full; Flink counts one too many backwards": _matching(
        r"^TIMESTAMPDIFF\((MONTH|QUARTER|YEAR), ts_leap, (dt_leap|ts_before)\)"
    ),
    "TIMESTAMPDIFF of an instant and a TIMESTAMP takes the time of the zone; Flink fails": _matching(
        r"^TIMESTAMPDIFF\(\w+, (tz_\w+, (dt|ts)_|(dt|ts)_\w+, tz_)"
    ),
    "a text that is no date is NULL in TO_DATE; Flink's is the year 5471": Deviation(
        lambda each, found: each.text == "5471-09-27" and found in {None, "1970-01-01"}
    ),
    "the calendar is the Gregorian one at all times; in TO_DATE and UNIX_TIMESTAMP Flink's is the"
    " Julian one before 1582": _matching(r"^(TO_DATE|UNIX_TIMESTAMP)\('(1500|1582|0001)-"),
    "years are those from 1 to 9999": _matching(r"^\w+\('(10000|12345)-"),
    "a pattern that is empty is one": _matching(r"^UNIX_TIMESTAMP\('2024-02-03', ''\)"),
    "texts of dates are read as by CAST in TO_DATE": _matching(
        r"^TO_DATE\(s_(twelve|iso|midnight)\)"
    ),
    "letters of eras, and brackets, are refused when the query is planned": _matching(
        r"^DATE_FORMAT\(\w+, '(G|\[yyyy\])'\)", _is_error
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
}
"""Reason to the answers it is about."""
