"""`table.local-time-zone`: functions, casts and windows of instants, on days on which clocks are changed.

Catches: a zone that is ignored, a window of a day that is not the day of the zone, a zone that there is not.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.relation.groups import TableWindows
from penstock.sql.functions.windows import AssignWindows
from tests.sql.flink_answers.penstock_answers import Answer, python_text, typed

_ZONE = "America/Los_Angeles"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("HOUR(tz_leap)", "4"),
        ("EXTRACT(DAY FROM tz_year)", "31"),
        ("CAST(tz_year AS DATE)", "2024-12-31"),
        ("CAST(tz_gap AS STRING)", "2024-03-10 01:59:59.999"),
        ("CAST(tz_behind AS TIMESTAMP(3))", "2024-03-10 03:00:00"),
        ("DATE_FORMAT(tz_again, 'HH:mm')", "01:30"),
        ("FLOOR(tz_leap TO DAY)", "2024-02-29 00:00:00"),
        ("FROM_UNIXTIME(0)", "1969-12-31 16:00:00"),
        ("UNIX_TIMESTAMP('1969-12-31 16:00:00')", "0"),
        ("CAST(ts_gap AS TIMESTAMP_LTZ(3))", "2024-03-10 03:30:00"),
        ("TIMESTAMPDIFF(HOUR, TO_TIMESTAMP_LTZ(0, 3), CAST(dt_epoch AS TIMESTAMP_LTZ(3)))", "8"),
    ],
)
def test_functions_and_casts_are_in_the_zone(expression: str, expected: str) -> None:
    answer = Answer(_ZONE, expression, None, None)
    scalar = typed(answer)
    assert scalar is not None
    assert python_text(answer, scalar) == expected


def test_windows_of_a_day_are_days_of_the_zone() -> None:
    hour = 3_600_000
    spec = TableWindows(
        "TUMBLE", 0, is_instant=True, size_ms=24 * hour, step_ms=24 * hour, zone=_ZONE
    )
    assign = AssignWindows(spec, ("ts", "window_start", "window_end", "window_time"))
    moments = ["2024-03-10T07:59", "2024-03-10T08:00", "2024-03-11T06:59", "2024-03-11T07:00"]
    found = [assign(Row(ts=datetime.fromisoformat(f"{each}Z")))[0] for each in moments]
    starts = [(each.window_start.day, each.window_start.hour) for each in found]
    assert starts == [(9, 8), (10, 8), (10, 8), (11, 7)]
    lengths = [each.window_end - each.window_start for each in found]
    assert lengths == [timedelta(hours=each) for each in (24, 23, 23, 24)]


def test_a_zone_that_there_is_not_is_refused_by_set() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(SqlError, match="there is no time zone 'Mars/Base'"):
        env.execute_sql("SET 'table.local-time-zone' = 'Mars/Base'")


def test_a_wrong_pattern_is_an_error_of_the_query() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([Row(s="a")], Types.ROW_NAMED(["s"], [Types.STRING()]))
    with pytest.raises(SqlError, match=r"the pattern 'yyyy-jj' has 'jj'.*line 1"):
        env.sql("SELECT TO_TIMESTAMP(s, 'yyyy-jj') FROM t", {"t": stream})
