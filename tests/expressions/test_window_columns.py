"""Windows whose parts are columns in a batch run give the results and leave the state of those whose parts are rows.

Catches: a window that fires twice or never where history ends, a pane of a later window that is not stored, panes that are
merged in another order, an end of time that leaves 64 bits, a key group of which a part are rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Row, Time, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import DiscardingSink
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.runtime.operators.windows import pane_columns
from penstock.runtime.operators.windows.pane_columns import ColumnWindows
from penstock.testing import Schedule, run_in_process
from tests.expressions.test_aggregates import AGGREGATED, MODES, SCHEDULES, VALUES
from tests.expressions.test_window_aggregates import MADE, program

AS_ROWS = mock.patch.object(pane_columns, "_MOST_WINDOWS", 0)
# Sums of these depend on their order.
INEXACT = {"real": st.sampled_from([0.1, 0.2, 0.3, 1e16, -1e16])}
RECORDS = st.lists(
    st.builds(
        Row,
        at_ms=st.integers(-5, 30),
        k=st.none() | st.sampled_from("ab"),
        **{name: st.none() | values for name, values in (VALUES | INEXACT).items()},
    ),
    max_size=20,
)
SHAPES = st.sampled_from(["tumbling", "sliding", "gaps"])


@contextmanager
def counted() -> Iterator[list[int]]:
    """Collect the numbers of windows that fired as columns."""
    fired: list[int] = []

    def windows_before(self: ColumnWindows, *arguments: Any) -> Any:
        parts, ends = original(self, *arguments)
        fired.append(parts.num_rows)
        return parts, ends

    original = ColumnWindows.windows_before
    with mock.patch.object(ColumnWindows, "windows_before", windows_before):
        yield fired


def by_key(env: StreamExecutionEnvironment, schedule: Schedule) -> dict[str, list[str]]:
    """Return the results of each key in their order, as text: NaN is equal to itself."""
    found: dict[str, list[str]] = {}
    for row in run_in_process(env, schedule).of():
        found.setdefault(str(row.k), []).append(repr(row))
    return found


@pytest.mark.parametrize("mode", ["batch", "mixed"])
@given(
    history=RECORDS,
    live=RECORDS,
    schedule=SCHEDULES,
    name=SHAPES,
    bound_ms=st.integers(0, 20),
    lateness_ms=st.just(0) | st.integers(0, 12),
)
@settings(max_examples=25, deadline=None)
def test_columns_give_what_rows_give(
    mode: str,
    history: list[Row],
    live: list[Row],
    schedule: Schedule,
    name: str,
    bound_ms: int,
    lateness_ms: int,
) -> None:
    env = program(
        MODES[mode], name, history, live, AGGREGATED, bound_ms=bound_ms, lateness_ms=lateness_ms
    )
    as_columns = by_key(env, schedule)
    with AS_ROWS:
        assert by_key(env, schedule) == as_columns


@pytest.mark.parametrize("name", ["tumbling", "sliding", "gaps"])
def test_windows_fire_as_columns(name: str) -> None:
    rows = [Row(**dict.fromkeys(MADE) | {"at_ms": at, "k": "a"}) for at in range(20)]
    env = program(MODES["batch"], name, rows, [], {"n": col.count()})
    with counted() as fired:
        results = run_in_process(env).of()
    assert sum(fired) == len(results) > 0
    with counted() as fired, AS_ROWS:
        assert sorted(map(repr, run_in_process(env).of())) == sorted(map(repr, results))
    assert fired == []


def test_sums_of_floats_are_those_of_panes_in_order_of_time() -> None:
    made = zip((6, 9, 12), (0.1, 0.2, 0.3), strict=True)
    rows = [Row(**dict.fromkeys(MADE) | {"at_ms": at, "k": "a", "real": real}) for at, real in made]
    env = program(MODES["batch"], "sliding", rows, [], {"total": col.real.sum()})
    with counted() as fired:
        results = run_in_process(env).of()
    assert sum(fired) == len(results)
    (total,) = (row.total for row in results if row.end.microsecond == 15_000)
    assert total == (0.1 + 0.2) + 0.3 != 0.1 + (0.2 + 0.3)


LONG_MAX = (1 << 63) - 1


@pytest.mark.parametrize("far", [LONG_MAX - 5, -(1 << 62), 1 << 62, -LONG_MAX + 3])
@pytest.mark.parametrize(
    "windows",
    [
        TumblingEventTimeWindows.of(Time.milliseconds(7)),
        SlidingEventTimeWindows.of(Time.milliseconds(9), Time.milliseconds(6)),
    ],
)
def test_times_too_far_for_kernels_become_rows(far: int, windows: Any) -> None:
    rows = [Row(k="a", at_ms=at) for at in (0, 3, 8, far, far)]
    kind = Types.ROW_NAMED(["k", "at_ms"], [Types.STRING(), Types.LONG()])
    configuration = Configuration.from_dict(MODES["batch"])
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col.at_ms)
    records = env.from_collection(rows, kind).assign_timestamps_and_watermarks(strategy)
    records.key_by(col.k).window(windows).aggregate(n=col.count()).sink_to(DiscardingSink())
    schedule = Schedule(frame_records=2, tasks=2)
    found = by_key(env, schedule)
    with AS_ROWS:
        assert by_key(env, schedule) == found
    assert found["a"]
