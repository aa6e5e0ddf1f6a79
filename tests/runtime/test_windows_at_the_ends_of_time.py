"""Windows whose records are stamped near either end of Long: fired once, or late, in every mode.

The oracle is the definition of a window in integers without limits. What it cannot see is which of
several windows that are due at Long.MAX fires first.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.common import Time
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
)
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.runtime.operators.windows.general import stored_window
from penstock.testing import Schedule, difference, run_in_process
from tests.runtime.jobs import MAX, MIN, MODE_IDS, MODES, by_time, environment, history_then_live
from tests.runtime.window_harness import WindowHarness
from tests.testing.strategies import schedules

ms = Time.milliseconds
LATE = OutputTag("late")

times = st.one_of(
    st.integers(MIN + 1, MIN + 40), st.integers(-5, 5), st.integers(MAX - 40, MAX), st.just(MAX)
)
records = st.lists(st.tuples(st.integers(0, 2), times), max_size=12).map(
    lambda found: [(*record, 1, number) for number, record in enumerate(found)]
)
shapes = st.one_of(
    st.tuples(st.sampled_from([1, 5, 7, 60_000]), st.just(0), st.integers(-4, 4)).filter(
        lambda shape: abs(shape[2]) < shape[0]
    ),
    st.tuples(st.sampled_from([3, 6, 10, 15]), st.sampled_from([2, 4, 5, 10]), st.integers(-1, 1)),
    st.tuples(st.sampled_from([1, 4, 60_000])),
)
"""(size, slide, offset), of tumbling windows with slide 0, or (gap,)."""


def assigner(shape):
    if len(shape) == 1:
        return EventTimeSessionWindows.with_gap(ms(shape[0]))
    size, slide, offset = shape
    if not slide:
        return TumblingEventTimeWindows.of(ms(size), ms(offset))
    return SlidingEventTimeWindows.of(ms(size), ms(slide), ms(offset))


def windows_of(shape, found):
    """Return (key, start, end) to numbers of records, by definition."""
    held: dict[Any, list[int]] = {}
    if len(shape) == 3:
        size, slide, offset = shape[0], shape[1] or shape[0], shape[2]
        for key, time, _, number in found:
            start = offset + (time - offset) // slide * slide
            while start + size > time:
                held.setdefault((key, start, start + size), []).append(number)
                start -= slide
        return held
    for key in {record[0] for record in found}:
        group: list[Any] = []
        for record in [*sorted((r for r in found if r[0] == key), key=lambda r: r[1]), None]:
            if record is not None and group and record[1] - group[-1][1] <= shape[0]:
                group.append(record)
                continue
            if group:
                held[key, group[0][1], group[-1][1] + shape[0]] = [r[3] for r in group]
            group = [record]
    return held


class Numbers(ProcessWindowFunction):
    def process(self, key, context, elements):
        start, end = stored_window(context.window())
        yield (key, start, end), tuple(sorted(record[3] for record in elements))


class Listed(AggregateFunction):
    def create_accumulator(self):
        return ()

    def add(self, value, accumulator):
        return (*accumulator, value)

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class OfOne(ProcessWindowFunction):
    def process(self, key, context, elements):
        (whole,) = elements
        return Numbers().process(key, context, whole)


class Stamped(ProcessFunction):
    def process_element(self, value, ctx):
        yield (*value, ctx.timestamp())


FOLDS = {
    "process": lambda cut: cut.process(Numbers()),
    "aggregate": lambda cut: cut.aggregate(Listed(), OfOne()),
}


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("fold", sorted(FOLDS))
@settings(max_examples=40)
@given(found=records, cut=st.integers(0, 12), shape=shapes, schedule=schedules)
@example([(0, MAX, 1, 0)], 0, (7, 0, 0), Schedule())
@example([(0, MAX - 7, 1, 0), (0, MAX, 1, 1), (0, MAX - 3, 1, 2)], 1, (15, 2, 0), Schedule())
@example([(0, MAX, 1, 0), (0, MAX - 2, 1, 1)], 0, (4,), Schedule())
def test_every_window_fires_once(mode, fold, found, cut, shape, schedule):
    env = environment(mode, 2)
    # As disordered as can be, so that none is late.
    source = env.from_source(
        history_then_live(found[:cut], found[cut:]), by_time(2 * MAX), "records"
    )
    windows = source.key_by(lambda record: record[0]).window(assigner(shape))
    FOLDS[fold](windows).process(Stamped()).sink_to(DiscardingSink())
    wanted = [
        (window, tuple(sorted(numbers)), min(window[2] - 1, MAX))
        for window, numbers in windows_of(shape, found).items()
    ]
    assert difference(run_in_process(env, schedule).of(), wanted) is None


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("shape", [(7, 0, 0), (15, 2, 1), (4,)])
def test_totals_at_the_end_of_the_stream_go_on_into_windows_beside_a_live_stream(mode, shape):
    env = environment(mode, 2)
    source = env.from_source(
        history_then_live([(k, k, 1, k) for k in range(3)], [(9, 50, 1, 9)]), by_time(), "whole"
    )
    totals = (
        source.key_by(lambda record: record[0])
        .window(GlobalWindows.create_with_end_of_stream_trigger())
        .reduce(lambda left, _: left)
        .process(Stamped())
        .map(lambda record: (record[0], record[-1], 1, record[3]))
    )
    live = env.from_source(history_then_live([], [(5, 20, 1, 5)]), by_time(), "live")
    cut = totals.union(live).key_by(lambda record: record[0]).window(assigner(shape))
    fired = cut.side_output_late_data(LATE).process(Numbers())
    fired.sink_to(DiscardingSink()).name("fired")
    fired.get_side_output(LATE).sink_to(DiscardingSink()).name("late")
    results = run_in_process(env)
    numbers = sorted({number for _, of in results.of("fired") for number in of})
    assert numbers == [0, 1, 2, 5, 9]
    assert results.of("late") == []


@pytest.mark.parametrize("shape", [(7, 0, 0), (15, 2, 1), (4,)])
@pytest.mark.parametrize("lateness", [0, 3])
def test_what_comes_after_the_end_of_time_is_late(shape, lateness):
    harness = WindowHarness(
        lambda keyed: (
            keyed.window(assigner(shape))
            .allowed_lateness(lateness)
            .side_output_late_data(LATE)
            .process(Numbers())
        )
    )
    harness.add((0, MAX - 1, 1, 0))
    harness.watermark(MAX)
    assert {numbers for _, numbers in harness.fired()} == {(0,)}
    harness.add((0, MAX, 1, 1))
    assert harness.fired() == []
    assert harness.late() == [(0, MAX, 1, 1)]


@pytest.mark.parametrize("shape", [(7, 0, 0), (15, 2, 1)])
@pytest.mark.parametrize("fold", sorted(FOLDS))
def test_nothing_is_kept_behind_the_end_of_time(shape, fold):
    harness = WindowHarness(lambda keyed: FOLDS[fold](keyed.window(assigner(shape))))
    harness.add(*((key, MAX - n, 1, n) for n in range(20) for key in range(2)))
    harness.watermark(MAX)
    assert harness.entries() == 0


def test_windows_in_panes_fire_in_order_at_the_end_of_time():
    cut = FOLDS["aggregate"]
    harness = WindowHarness(lambda keyed: cut(keyed.window(assigner((6, 2, 0)))))
    harness.add((0, MAX, 1, 0), (0, MAX - 5, 1, 1))
    harness.watermark(MAX)
    starts = [window[1] for window, _ in harness.fired()]
    assert starts == list(range(MAX - 9, MAX, 2))


def test_a_trigger_with_an_interval_fires_at_the_end_of_time():
    harness = WindowHarness(
        lambda keyed: (
            keyed.window(assigner((60_000, 0, 0)))
            .trigger(ContinuousEventTimeTrigger.of(ms(1000)))
            .process(Numbers())
        )
    )
    harness.add((0, MAX, 1, 0))
    harness.watermark(MAX)
    assert [numbers for _, numbers in harness.fired()] == [(0,)]


class Later(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 60_000)
        ctx.timer_service().register_event_time_timer(value[1] + 70_000)
        if value[2] < 0:
            ctx.timer_service().delete_event_time_timer(value[1] + 60_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_a_timer_beyond_the_end_of_time_is_due_at_its_end(mode, backend):
    env = environment(mode, 2)
    read = history_then_live([(0, MAX, 1)], [(1, MAX, 1), (2, 5, 1)])
    source = env.from_source(read, by_time(2 * MAX), "records")
    source.key_by(lambda record: record[0]).process(Later()).sink_to(DiscardingSink())
    found = run_in_process(env, Schedule(backend=backend)).of()
    assert sorted(found) == [(0, MAX), (1, MAX), (2, 60_005), (2, 70_005)]
