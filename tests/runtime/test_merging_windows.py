"""Windows that merge by rules of the user's, and what triggers do then."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Time, Types
from penstock.datastream import (
    AggregateFunction,
    MergingWindowAssigner,
    ProcessWindowFunction,
    ReducingStateDescriptor,
    TimeWindow,
    Trigger,
    TriggerResult,
)
from penstock.datastream.window import (
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SessionWindowTimeGapExtractor,
)
from penstock.errors import StateError
from penstock.testing import OperatorHarness
from tests.runtime.window_harness import MAX, WindowHarness


class Numbers(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield window.start, window.end, [record[2] for record in elements]


class Shrinking(MergingWindowAssigner):
    """Merges all windows into one that is shorter than they are."""

    def assign_windows(self, element, timestamp, context):
        return [TimeWindow(timestamp, timestamp + 10)]

    def merge_windows(self, windows, callback):
        found = sorted(windows, key=lambda window: window.start)
        if len(found) > 1:
            callback.merge(found, TimeWindow(found[0].start, found[0].start + 1))

    def get_default_trigger(self, env):
        return EventTimeTrigger()

    def is_event_time(self):
        return True


def test_windows_cannot_merge_into_the_past():
    driven = WindowHarness(lambda s: s.window(Shrinking()).process(Numbers()))
    driven.add((0, 0, 1))
    driven.watermark(5)
    with pytest.raises(StateError, match="ended before 5"):
        driven.add((0, 7, 2))


class AtThree(Trigger[Any, TimeWindow]):
    """Fires once a window has three records; counts those of merged windows together."""

    COUNT = ReducingStateDescriptor("count", lambda a, b: a + b, Types.LONG())

    def on_element(self, element, timestamp, window, ctx):
        count = ctx.get_partitioned_state(self.COUNT)
        count.add(1)
        ctx.get_metric_group().counter("seen").inc()
        return TriggerResult.FIRE if count.get() == 3 else TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def can_merge(self):
        return True

    def on_merge(self, window, ctx):
        ctx.merge_partitioned_state(self.COUNT)

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.COUNT).clear()


def test_a_trigger_of_the_users_own_merges_its_state():
    sessions = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
    driven = WindowHarness(lambda s: s.window(sessions).trigger(AtThree()).process(Numbers()))
    driven.add((0, 0, 1), (0, 10, 2), (1, 0, 4), (1, 1, 8))
    assert driven.fired() == []
    driven.add((0, 5, 16))
    assert driven.fired() == [(0, 15, [1, 2, 16])]
    driven.watermark(MAX)
    assert driven.fired() == []
    assert driven.entries() == 0


class Concat(AggregateFunction):
    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        return [*accumulator, value[2]]

    def get_result(self, accumulator):
        return sorted(accumulator)

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class GapOfRecord(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element[2]


def test_sessions_by_the_clock_may_have_gaps_of_their_records():
    sessions = DynamicProcessingTimeSessionWindows.with_dynamic_gap(GapOfRecord())
    driven = WindowHarness(lambda s: s.window(sessions).aggregate(Concat()))
    driven.clock(100)
    driven.add((0, 0, 10), (1, 0, 3))
    driven.clock(105)
    assert driven.fired() == [[3]]
    driven.add((0, 0, 20))
    driven.clock(123)
    assert driven.fired() == []
    driven.clock(124)
    assert driven.fired() == [[10, 20]]
    assert driven.entries() == 0


class Three(MergingWindowAssigner):
    """Sessions as programs write them: the callback goes to `TimeWindow.merge_windows`."""

    def assign_windows(self, element, timestamp, context):
        return [TimeWindow(timestamp, timestamp + 3)]

    def merge_windows(self, windows, callback):
        TimeWindow.merge_windows(windows, callback)

    def get_default_trigger(self, env):
        return EventTimeTrigger()

    def is_event_time(self):
        return True


def test_windows_merge_as_a_program_calls_it():
    driven = WindowHarness(lambda s: s.window(Three()).process(Numbers()))
    driven.add((0, 0, 1), (0, 2, 2), (0, 9, 4))
    driven.watermark(MAX)
    assert driven.fired() == [(0, 5, [1, 2]), (9, 12, [4])]


@pytest.mark.parametrize(("is_between", "sessions"), [(False, [("a", 2)]), (True, [("a", 1)] * 2)])
def test_a_watermark_between_sessions_that_touch_leaves_two(
    *, is_between: bool, sessions: list[tuple[str, int]]
) -> None:
    """An exception of the law (semantics.md), as in Flink."""

    def counted(records: Any) -> Any:
        windows = records.key_by(lambda record: record[0]).window(
            EventTimeSessionWindows.with_gap(Time.milliseconds(3))
        )
        return windows.reduce(lambda a, b: (a[0], a[1] + b[1]))

    with OperatorHarness.of(counted) as harness:
        results = harness.push(("a", 1), 0)
        if is_between:
            results += harness.advance_watermark(2)
        results += harness.push(("a", 1), 3)
        results += harness.end_input()
    assert results == sessions
