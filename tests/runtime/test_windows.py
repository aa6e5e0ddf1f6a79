"""What users may rely on beyond the contents of windows: functions, errors, the API's checks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from penstock.common import Time, Types
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AggregateFunction,
    AllWindowFunction,
    OutputTag,
    ProcessWindowFunction,
    ReduceFunction,
    Trigger,
    TriggerResult,
    ValueStateDescriptor,
    Window,
    WindowAssigner,
    WindowedStream,
    WindowFunction,
)
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    CountWindow,
    EndOfStreamWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    NeverTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.errors import ArgumentError, GraphError, PenstockError, UserFunctionError
from penstock.plan.compat.fingerprint import fingerprint
from penstock.state.schema.own_states import WINDOW_CONTENTS
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import BATCH, MODE_IDS, MODES, STREAMING, by_time, environment
from tests.runtime.window_harness import MAX, WindowHarness

ms = Time.milliseconds
RECORDS = [("a", 1, 1), ("b", 2, 2), ("a", 5, 3), ("a", 12, 4), ("b", 3, 5), ("a", 25, 6)]


def key_of(record):
    return record[0]


def added(left, right):
    return (left[0], left[1], left[2] + right[2])


def results(settings: dict[str, str], build: Any, records: Any = RECORDS, size: int = 2) -> Any:
    env = environment(settings)
    source = env.from_source(CollectionSource.of(records), by_time(10), "records")
    build(source).sink_to(DiscardingSink()).name("out")
    return run_in_process(env, Schedule(batch_sizes=(size,))).of("out")


def keyed(stream):
    return stream.key_by(key_of)


TEN = TumblingEventTimeWindows.of(ms(10))


class Sum(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[2]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class Opened(ReduceFunction):
    """Works only between `open` and `close`."""

    def open(self, runtime_context):
        self.name = runtime_context.get_task_name()

    def reduce(self, value1, value2):
        return (self.name, 0, value1[2] + value2[2])


class Labelled(WindowFunction):
    def open(self, runtime_context):
        self.label = runtime_context.get_index_of_this_subtask() * 0

    def apply(self, key, window, inputs):
        return [(self.label, key, window.start, window.end, element) for element in inputs]


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_incremental_and_window_function_are_both_opened(settings):
    got = results(settings, lambda s: keyed(s).window(TEN).reduce(Opened(), Labelled()))
    assert (0, "a", 0, 10, ("Labelled", 0, 4)) in got
    assert (0, "a", 10, 20, ("a", 12, 4)) in got


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_results_of_windows_have_the_time_of_their_window(settings):
    twenty = TumblingEventTimeWindows.of(ms(20))
    got = results(
        settings,
        lambda s: (
            keyed(s)
            .window(TEN)
            .aggregate(Sum())
            .map(lambda total: ("all", 0, total))
            .key_by(key_of)
            .window(twenty)
            .aggregate(Sum())
        ),
    )
    assert sorted(got) == [6, 15]


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_count_windows_of_a_job(settings):
    records = [("a", n, n) for n in range(7)] + [("b", 0, 100)]
    got = results(settings, lambda s: keyed(s).count_window(3).aggregate(Sum()), records)
    assert sorted(got) == [0 + 1 + 2, 3 + 4 + 5]
    got = results(settings, lambda s: keyed(s).count_window(3, 2).aggregate(Sum()), records)
    assert sorted(got) == [0 + 1 + 2, 2 + 3 + 4, 4 + 5 + 6]


def test_processing_time_windows_fire_at_the_end_of_a_batch_and_are_dropped_by_a_live_end():
    day = TumblingProcessingTimeWindows.of(Time.days(40_000))

    def build(stream):
        return keyed(stream).window(day).aggregate(Sum())

    assert sorted(results(BATCH, build)) == [7, 14]
    assert results(STREAMING, build) == []


class Tagging(ProcessWindowFunction):
    """One result, and one for the side."""

    SIDE = OutputTag("side", Types.STRING())

    def process(self, key, context, elements):
        yield self.SIDE, f"{key} at {context.window().end}"
        yield len(list(elements))


def test_functions_of_windows_have_side_outputs():
    env = environment(STREAMING)
    stream = env.from_source(CollectionSource.of(RECORDS), by_time(10), "records")
    result = keyed(stream).window(TEN).process(Tagging())
    result.sink_to(DiscardingSink()).name("main")
    result.get_side_output(Tagging.SIDE).sink_to(DiscardingSink()).name("side")
    got = run_in_process(env)
    assert sorted(got.of("main")) == [1, 1, 2, 2]
    assert sorted(got.of("side")) == ["a at 10", "a at 20", "a at 30", "b at 10"]


class Broken(WindowFunction):
    def apply(self, key, window, inputs):
        raise ZeroDivisionError


def broken_reduce(left, right):
    raise ZeroDivisionError(right[2])


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("window", [TEN, EventTimeSessionWindows.with_gap(ms(5))])
def test_errors_of_functions_name_key_and_operator(settings, window):
    with pytest.raises(UserFunctionError, match="key 'a'") as failed:
        results(settings, lambda s: keyed(s).window(window).reduce(broken_reduce), size=10)
    assert "record ('a', 5, 3)" in failed.value.problem
    with pytest.raises(UserFunctionError, match=r"'Broken' failed on timer 9 of key '[ab]'"):
        results(settings, lambda s: keyed(s).window(TEN).apply(Broken()))


def test_results_do_not_change_after_they_were_fired():
    class Everything(Sum):
        def create_accumulator(self):
            return []

        def add(self, value, accumulator):
            accumulator.append(value[2])
            return accumulator

    driven = WindowHarness(
        lambda s: (
            s.window(GlobalWindows.create()).trigger(CountTrigger.of(1)).aggregate(Everything())
        )
    )
    driven.add((0, 1, 1), (0, 2, 2))
    assert driven.fired() == [[1], [1, 2]]


@dataclass(frozen=True)
class Parity(Window):
    """A window of the user's own."""

    odd: bool

    def max_timestamp(self):
        return 99


class ByParity(WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        return [Parity(odd=bool(element[2] % 2))]

    def get_default_trigger(self, env):
        return EventTimeTrigger.create()

    def is_event_time(self):
        return True


class Windows(ProcessWindowFunction):
    def process(self, key, context: ProcessWindowFunction.Context[Any], elements):
        yield (key, context.window(), sum(element[2] for element in elements))


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_windows_and_assigners_of_the_users_own(settings):
    got = results(settings, lambda s: keyed(s).window(ByParity()).process(Windows()))
    assert set(got) == {
        ("a", Parity(odd=True), 4),
        ("a", Parity(odd=False), 10),
        ("b", Parity(odd=True), 5),
        ("b", Parity(odd=False), 2),
    }


class FireOnSix(Trigger):
    """Fires and purges at a value; remembers how many there were."""

    SEEN = ValueStateDescriptor("seen")

    def on_element(self, element, timestamp, window, ctx):
        seen = ctx.get_partitioned_state(self.SEEN)
        seen.update((seen.value() or 0) + 1)
        if seen.value() < 2:
            return TriggerResult.CONTINUE
        seen.clear()
        return TriggerResult.FIRE_AND_PURGE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.SEEN).clear()


def test_a_trigger_of_the_users_own_has_state_per_window():
    driven = WindowHarness(lambda s: s.window(TEN).trigger(FireOnSix()).aggregate(Sum()))
    driven.add((0, 1, 1), (0, 11, 2), (1, 1, 4))
    assert driven.fired() == []
    driven.add((0, 2, 8), (0, 12, 16))
    assert driven.fired() == [9, 18]
    driven.watermark(MAX)
    assert driven.entries() == 0


class GapOfRecord(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element[2]


def test_records_may_say_how_long_their_session_stays_open():
    dynamic = EventTimeSessionWindows.with_dynamic_gap(GapOfRecord())
    driven = WindowHarness(lambda s: s.window(dynamic).process(Windows()))
    driven.add((0, 0, 10), (0, 9, 1), (0, 11, 2))
    driven.watermark(MAX)
    assert driven.fired() == [(0, TimeWindow(0, 10), 11), (0, TimeWindow(11, 13), 2)]


def test_a_record_of_a_sliding_window_is_kept_once_however_many_windows_hold_it():
    driven = WindowHarness(
        lambda s: s.window(SlidingEventTimeWindows.of(ms(1000), ms(1))).aggregate(Sum())
    )
    driven.add((0, 5000, 1))
    assert driven.entries() == 2  # one pane, one timer
    driven.watermark(5001)
    assert driven.fired() == [1, 1]


# FLIP-331, rule 4.
def test_end_of_stream_windows_keep_nothing_in_a_batch_run():
    driven = WindowHarness(lambda s: s.window(EndOfStreamWindows.get()).aggregate(Sum()))
    driven.batch()
    driven.add((0, 1, 1), (1, 1, 2), (0, 3, 4))
    assert driven.fired() == [5, 2]
    assert driven.entries() == 0


def test_history_leaves_open_windows_to_the_live_run():
    driven = WindowHarness(lambda s: s.window(TEN).aggregate(Sum()))
    driven.batch(final_watermark=9, is_last_run=False)
    driven.add((0, 15, 1), (0, 1, 2))
    assert driven.fired() == [2]
    assert driven.entries() == 2


def test_windows_without_timestamps_need_no_event_time():
    driven = WindowHarness(
        lambda s: s.window(GlobalWindows.create_with_end_of_stream_trigger()).aggregate(Sum())
    )
    driven.add_unstamped((0, 0, 1), (0, 0, 2))
    driven.watermark(MAX)
    assert driven.stamped() == [(3, MAX)]


def test_windows_without_timestamps_say_what_is_missing():
    driven = WindowHarness(lambda s: s.window(TEN).aggregate(Sum()))
    with pytest.raises(PenstockError, match="no timestamp") as failed:
        driven.add_unstamped((0, 0, 1))
    assert "assign_timestamps_and_watermarks" in failed.value.hint


def test_one_window_operation_of_the_whole_stream_has_one_subtask():
    class Count(AllWindowFunction):
        def apply(self, window, inputs):
            return [len(list(inputs))]

    for settings in MODES:
        got = results(settings, lambda s: s.window_all(TEN).apply(Count()))
        assert sorted(got) == [1, 1, 4]


def test_windows_have_pyflinks_names_and_values():
    assert TimeWindow(3, 10).max_timestamp() == 9
    assert CountWindow(1).max_timestamp() == GlobalWindow.get().max_timestamp() == MAX
    assert TimeWindow.get_window_start_with_offset(-1, 0, 10) == -10
    assert TimeWindow(0, 5).cover(TimeWindow(5, 9)) == TimeWindow(0, 9)
    assert TimeWindow(0, 5) < TimeWindow(1, 2)
    assert repr(TimeWindow(0, 5)) == "TimeWindow(start=0, end=5)"
    assert repr(GlobalWindows.create_with_end_of_stream_trigger()) == (
        "GlobalWindows(trigger=EndOfStreamTrigger())"
    )


WRONG: Any = 10

REFUSED: dict[str, tuple[Any, str]] = {
    "no assigner": (lambda s: s.window(Time.seconds(1)), "GRAPH_ARGUMENT"),
    "no trigger": (lambda s: s.window(TEN).trigger(CountTrigger), "GRAPH_ARGUMENT"),
    "no evictor": (lambda s: s.window(TEN).evictor(CountTrigger.of(1)), "GRAPH_ARGUMENT"),
    "no lateness": (lambda s: s.window(TEN).allowed_lateness(ms(1)), "GRAPH_ARGUMENT"),
    "less than none": (lambda s: s.window(TEN).allowed_lateness(-1), "GRAPH_ARGUMENT"),
    "no tag": (lambda s: s.window(TEN).side_output_late_data("late"), "GRAPH_ARGUMENT"),
    "no length": (lambda _: TumblingEventTimeWindows.of(WRONG), "GRAPH_ARGUMENT"),
    "a length of 0": (lambda _: TumblingEventTimeWindows.of(ms(0)), "GRAPH_ARGUMENT"),
    "an offset too long": (
        lambda _: SlidingEventTimeWindows.of(ms(10), ms(5), ms(5)),
        "GRAPH_ARGUMENT",
    ),
    "no extractor": (lambda _: EventTimeSessionWindows.with_dynamic_gap(WRONG), "GRAPH_ARGUMENT"),
    "an empty count": (lambda s: s.count_window(0), "GRAPH_ARGUMENT"),
    "a trigger that cannot merge": (
        lambda s: s.window(EventTimeSessionWindows.with_gap(ms(1))).trigger(NeverTrigger()),
        "GRAPH",
    ),
    "a trigger at the end": (
        lambda s: s.window(EndOfStreamWindows.get()).trigger(CountTrigger.of(1)),
        "GRAPH",
    ),
    "an evictor at the end": (
        lambda s: s.window(EndOfStreamWindows.get()).evictor(CountEvictor.of(1)),
        "GRAPH",
    ),
    "no trigger to purge": (lambda _: PurgingTrigger.of(WRONG), "GRAPH_ARGUMENT"),
    "a class": (lambda s: s.window(TEN).process(Windows), "GRAPH_ARGUMENT"),
    "the wrong method": (lambda s: s.window(TEN).apply(Windows()), "GRAPH_ARGUMENT"),
    "of the whole stream": (lambda s: s.window_all(TEN).process(Windows()), "GRAPH_ARGUMENT"),
    "no reduce function": (lambda s: s.window(TEN).reduce(1), "GRAPH_ARGUMENT"),
    "no aggregate function": (lambda s: s.window(TEN).aggregate(added), "GRAPH_ARGUMENT"),
    "no type": (lambda s: s.window(TEN).aggregate(Sum(), output_type=int), "GRAPH_ARGUMENT"),
}


# FLIP-331, rule 9.
@pytest.mark.parametrize("wrong", sorted(REFUSED))
def test_what_makes_no_sense_is_refused_at_once(wrong):
    build, code = REFUSED[wrong]
    stream = environment(STREAMING).from_collection(RECORDS).key_by(key_of)
    with pytest.raises(GraphError) as failed:
        build(stream)
    assert failed.value.code == code
    assert failed.value.hint


def test_a_checkpoint_knows_the_shape_of_windows_kept_in_panes():
    def shape(window):
        env = environment(STREAMING)
        stream = env.from_source(CollectionSource.of(RECORDS), by_time(10), "records")
        keyed(stream).window(window).aggregate(Sum()).sink_to(DiscardingSink())
        return fingerprint(env.plan())

    sliding = SlidingEventTimeWindows.of(ms(10), ms(5))
    assert shape(TEN) == shape(TumblingEventTimeWindows.of(ms(10)))
    assert len({shape(TEN), shape(sliding), shape(TumblingEventTimeWindows.of(ms(20)))}) == 3


def test_a_windowed_stream_needs_a_key():
    stream: Any = environment(STREAMING).from_collection(RECORDS)
    with pytest.raises(GraphError, match="without a key"):
        WindowedStream(stream, TEN)


def _processed(function, stream):
    return stream.window(TEN).process(function)


def test_names_of_windows_state_are_taken():
    class Taking(Windows):
        def process(self, key, context, elements):
            context.global_state().get_list_state(ValueStateDescriptor(WINDOW_CONTENTS))
            return []

    class Reserved(Windows):
        def process(self, key, context, elements):
            context.global_state().get_state(ValueStateDescriptor(WINDOW_CONTENTS))
            return []

    for function in (Taking(), Reserved()):
        driven = WindowHarness(partial(_processed, function))
        driven.add((0, 1, 1))
        with pytest.raises(ArgumentError):
            driven.watermark(MAX)
