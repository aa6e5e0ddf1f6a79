"""Aggregates of columns per window: the last result of a key and window is that of an obvious reference, in every mode.

Catches: a record in a wrong pane, a pane that is merged twice or lost at a restart, a window whose bounds are those of
another, a place that gives other results than state, a late record that changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api.windows.time_assigners import CumulatingEventTimeWindows
from penstock.common import Configuration, Duration, Row, Time, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import OutputTag, StreamExecutionEnvironment, col
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.datastream.window import (
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.errors import (
    ArgumentError,
    PenstockError,
    TypeMismatchError,
    UnknownFieldError,
)
from penstock.plan.folding.choice import legal_places
from penstock.program.fold import Place
from penstock.testing import Schedule, collect, run_in_process
from tests.expressions.test_aggregates import (
    AGGREGATED,
    COLUMNS,
    EXACT,
    FORCED,
    MODES,
    REFERENCE,
    SCHEDULES,
    VALUES,
    check,
)
from tests.runtime.jobs import BATCH, STREAMING

MADE = {"at_ms": Types.LONG(), **COLUMNS}
ROW = Types.ROW_NAMED(list(MADE), list(MADE.values()))
RECORDS = st.lists(
    st.builds(
        Row,
        at_ms=st.integers(-5, 30),
        k=st.none() | st.sampled_from("abc"),
        **{name: st.none() | values for name, values in VALUES.items()},
    ),
    max_size=12,
)


def milliseconds(number: int) -> Time:
    return Time.milliseconds(number)


ASSIGNERS = {
    "tumbling": TumblingEventTimeWindows.of(milliseconds(7), milliseconds(2)),
    "sliding": SlidingEventTimeWindows.of(milliseconds(9), milliseconds(6)),
    "gaps": SlidingEventTimeWindows.of(milliseconds(4), milliseconds(6)),
    "cumulating": CumulatingEventTimeWindows(9, 3, 1),
    "session": EventTimeSessionWindows.with_gap(milliseconds(4)),
}


def windows_of(name: str, times: list[int]) -> list[tuple[int, int]]:
    """Return the windows that have records at some times, by their definition."""
    if name == "session":
        found: list[tuple[int, int]] = []
        for time in sorted(times):
            if found and time <= found[-1][1]:
                found[-1] = (found[-1][0], time + 4)
            else:
                found.append((time, time + 4))
        return found
    size, slide, offset = {
        "tumbling": (7, 7, 2),
        "sliding": (9, 6, 0),
        "gaps": (4, 6, 0),
        "cumulating": (9, 9, 1),
    }[name]
    starts = range(offset - 10 * slide, 60, slide)
    sizes = (3, 6, 9) if name == "cumulating" else (size,)
    return [
        (start, start + each)
        for start in starts
        for each in sizes
        if any(start <= time < start + each for time in times)
    ]


def expected(name: str, rows: list[Row], aggregates: Any) -> dict[Any, dict[str, Any]]:
    def of(each: str, group: list[Row]) -> Any:
        how, _, column = each.partition("_")
        if how == "n":
            return len(group)
        return REFERENCE[how]([row[column] for row in group if row[column] is not None])

    found = {}
    for key in {row.k for row in rows}:
        own = [row for row in rows if row.k == key]
        for start, end in windows_of(name, [row.at_ms for row in own]):
            group = [row for row in own if start <= row.at_ms < end]
            found[key, start, end] = {each: of(each, group) for each in aggregates}
    return found


def program(
    mode: dict[str, str],
    name: str,
    history: list[Row],
    live: list[Row],
    aggregates: dict[str, Any],
    *,
    bound_ms: int = 10_000,
    lateness_ms: int = 0,
    select: Callable[[Any], Any] = lambda results: results,
) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict(mode | {"parallelism.default": 2})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    before = CollectionSource(tuple(history), ROW)
    source = HybridSource.builder(before).add_source(CollectionSource(tuple(live), ROW)).build()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound_ms))
    # With a column as assigner nothing is called per record.
    strategy = strategy.with_timestamp_assigner(
        (lambda row, _: row.at_ms) if lateness_ms else col.at_ms
    )
    windows = env.from_source(source, strategy, "records").key_by(col.k).window(ASSIGNERS[name])
    if lateness_ms:
        windows = windows.allowed_lateness(lateness_ms)
    results = windows.aggregate(col.window_start, end=col.window_end, **aggregates)
    select(results).sink_to(DiscardingSink())
    return env


def in_ms(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def last_of_windows(results: list[Row]) -> dict[Any, dict[str, Any]]:
    return {
        (row.k, in_ms(row.window_start), in_ms(row.end)): {
            name: value
            for name, value in row.as_dict().items()
            if name not in {"k", "window_start", "end"}
        }
        for row in results
    }


@pytest.mark.parametrize("name", ASSIGNERS)
@pytest.mark.parametrize("mode", MODES)
@given(
    history=RECORDS,
    live=RECORDS,
    schedule=SCHEDULES,
    force=FORCED,
    lateness_ms=st.just(0) | st.just(50),
)
@settings(max_examples=6, deadline=None)
def test_the_last_results_are_those_of_the_reference(
    mode: str,
    name: str,
    history: list[Row],
    live: list[Row],
    schedule: Schedule,
    force: AbstractContextManager[None],
    lateness_ms: int,
) -> None:
    env = program(MODES[mode], name, history, live, AGGREGATED, lateness_ms=lateness_ms)
    with force:
        found = last_of_windows(run_in_process(env, schedule).of())
    check(found, expected(name, history + live, AGGREGATED))


@pytest.mark.parametrize("aggregates", [EXACT, AGGREGATED], ids=["exact", "floats"])
@pytest.mark.parametrize("mode", ["batch", "mixed", "streaming"])
@given(
    history=RECORDS,
    live=RECORDS,
    schedule=SCHEDULES,
    name=st.sampled_from(list(ASSIGNERS)),
    force=FORCED,
)
@settings(max_examples=4, deadline=None)
def test_every_legal_place_gives_what_state_gives(
    mode: str,
    aggregates: dict[str, Any],
    history: list[Row],
    live: list[Row],
    schedule: Schedule,
    name: str,
    force: AbstractContextManager[None],
) -> None:
    plan = program(MODES[mode], name, history, live, aggregates).plan()
    choices = [legal_places(plan, plan.runs[fold.run], fold.operator) for fold in plan.folds]
    wanted = expected(name, history + live, aggregates)
    with force:
        for choice in product(*choices):
            folds = tuple(
                replace(fold, plan=replace(fold.plan, places=places))
                for fold, places in zip(plan.folds, choice, strict=True)
            )
            found = run_in_process(replace(plan, folds=folds), schedule).of()
            check(last_of_windows(found), wanted)


@given(rows=RECORDS, schedule=SCHEDULES)
@settings(max_examples=20, deadline=None)
def test_late_records_within_the_allowed_lateness_count(
    rows: list[Row], schedule: Schedule
) -> None:
    env = program(STREAMING, "tumbling", rows, [], EXACT, bound_ms=0, lateness_ms=1000)
    found = last_of_windows(run_in_process(env, schedule).of())
    check(found, expected("tumbling", rows, EXACT))


@pytest.mark.parametrize("mode", [BATCH, STREAMING], ids=["batch", "streaming"])
def test_exact_windows_are_merged_by_pane_before_they_are_sent(mode: dict[str, str]) -> None:
    places = {
        (name, exact): program(mode, name, [], [], aggregates).plan().folds[-1].plan.places
        for name in ASSIGNERS
        for exact, aggregates in ((True, EXACT), (False, AGGREGATED))
    }
    merged = {name for (name, exact), found in places.items() if exact and Place.SENDER in found}
    assert merged == set(ASSIGNERS) - (set() if mode is BATCH else {"session"})
    assert not any(Place.SENDER in found for (_, exact), found in places.items() if not exact)


TWO = Types.ROW_NAMED(["k", "x"], [Types.STRING(), Types.INT()])


def two_columns() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([Row(k="a", x=n) for n in range(4)], TWO)


def test_windows_of_counts_and_of_whole_streams() -> None:
    keyed = two_columns().key_by(col.k)
    assert collect(keyed.count_window(2).aggregate(n=col.count(), total=col.x.sum())) == [
        Row(k="a", n=2, total=1),
        Row(k="a", n=2, total=5),
    ]
    whole = two_columns().window_all(CountTumblingWindowAssigner.of(3))
    assert collect(whole.aggregate(most=col.x.max())) == [Row(most=2)]


def mistakes() -> dict[str, tuple[Any, str]]:
    tumbling = ASSIGNERS["tumbling"]

    def keyed(stream: Any) -> Any:
        return stream.key_by(col.k).window(tumbling)

    return {
        "none": (lambda s: keyed(s).aggregate(col.window_start), "no aggregates"),
        "no bound": (lambda s: keyed(s).aggregate(col.x, n=col.count()), "without a name"),
        "column": (lambda s: keyed(s).aggregate(n=col.x), "is not an aggregate"),
        "key": (lambda s: keyed(s).aggregate(k=col.window_end, n=col.count()), "column of the key"),
        "count": (
            lambda s: s.key_by(col.k).count_window(2).aggregate(col.window_end, n=col.count()),
            "no begin and end",
        ),
        "late": (
            lambda s: (
                keyed(s).side_output_late_data(OutputTag("late", TWO)).aggregate(n=col.count())
            ),
            "no late records",
        ),
        "function": (
            lambda s: s.key_by(lambda row: row.k * 2).window(tumbling).aggregate(n=col.count()),
            "no column",
        ),
    }


@pytest.mark.parametrize("name", mistakes())
def test_mistakes_are_told_where_the_program_is_written(name: str) -> None:
    then, said = mistakes()[name]
    with pytest.raises(ArgumentError, match=said) as refused:
        then(two_columns())
    assert refused.value.origin is not None
    assert refused.value.origin.filename == __file__


def timed(kind: Any, value: Any, assigner: Any) -> Any:
    types = Types.TUPLE([kind])
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(assigner)
    stream = env.from_collection([(value,)], types).assign_timestamps_and_watermarks(strategy)
    return stream.key_by(col.f0).window(ASSIGNERS["tumbling"]).aggregate(col.window_start)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Types.INT(), 30),
        (Types.SQL_TIMESTAMP(), datetime(1970, 1, 1, microsecond=30_999)),  # noqa: DTZ001
        (Types.TIMESTAMP_LTZ(), datetime(1970, 1, 1, microsecond=30_000, tzinfo=UTC)),
    ],
    ids=["whole", "local", "instant"],
)
def test_a_column_is_the_timestamp(kind: Any, value: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col.f0)
    stream = env.from_collection([(value, 1)], Types.TUPLE([kind, Types.INT()]))
    keyed = stream.assign_timestamps_and_watermarks(strategy).key_by(col.f1)
    windows = keyed.window(ASSIGNERS["tumbling"]).aggregate(col.window_start, n=col.count())
    assert [(in_ms(row.window_start), row.n) for row in collect(windows)] == [(30, 1)]


@pytest.mark.parametrize(
    ("kind", "assigner", "error", "said"),
    [
        (Types.STRING(), col.f0, ArgumentError, "String"),
        (Types.INT(), col.f1, UnknownFieldError, "f1"),
        (Types.INT(), col.f0 + 1, ArgumentError, "not a column"),
    ],
    ids=["text", "typo", "expression"],
)
def test_what_is_no_time_column_is_refused(
    kind: Any, assigner: Any, error: type[PenstockError], said: str
) -> None:
    with pytest.raises(error, match=said):
        timed(kind, 1, assigner)


@pytest.mark.parametrize("mode", [BATCH, STREAMING], ids=["batch", "streaming"])
def test_records_without_timestamps_are_refused(mode: dict[str, str]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(mode))
    stream = env.from_collection([Row(k="a", x=1)], TWO)
    stream.key_by(col.k).window(ASSIGNERS["tumbling"]).aggregate(n=col.count()).print()
    with pytest.raises(TypeMismatchError, match="no timestamp"):
        run_in_process(env)
