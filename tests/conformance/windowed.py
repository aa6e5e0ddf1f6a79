"""Programs with windows: assigners, functions, triggers, late records."""

from __future__ import annotations

from typing import Any

from penstock.common import Time, Types
from penstock.datastream import (
    AggregateFunction,
    OutputTag,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from penstock.datastream.functions import AllWindowFunction, ProcessAllWindowFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import (
    CountTrigger,
    CountWindow,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)
from tests.conformance.catalog import program
from tests.conformance.timely import in_order

EVENTS = [("a", 1), ("a", 4), ("b", 2), ("a", 6), ("b", 12)]


def events(env, records=EVENTS):
    return in_order(env.from_collection(records)).key_by(lambda event: event[0])


def tumbling(size):
    return TumblingEventTimeWindows.of(Time.milliseconds(size))


class Contents(ProcessWindowFunction[Any, Any, str, TimeWindow]):
    def process(self, key, context: ProcessWindowFunction.Context[TimeWindow], elements):
        window = context.window()
        assert window.max_timestamp() == window.end - 1
        yield key, window.start, window.end, sorted(element[1] for element in elements)


class Sum(ReduceFunction):
    def reduce(self, value1, value2):
        return value1[0], value1[1] + value2[1]


@program([("a", 0, 5, [1, 4]), ("b", 0, 5, [2]), ("a", 5, 10, [6]), ("b", 10, 15, [12])])
def tumbling_windows(env):
    return events(env).window(tumbling(5)).process(Contents())


@program([("a", -1, 4, [1]), ("a", 4, 9, [4, 6])])
def tumbling_windows_with_an_offset(env):
    assigner = TumblingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(4))
    return events(env, [("a", 1), ("a", 4), ("a", 6)]).window(assigner).process(Contents())


@program([("a", -2, 2, [1]), ("a", 0, 4, [1]), ("a", 2, 6, [5]), ("a", 4, 8, [5])])
def sliding_windows(env):
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(4), Time.milliseconds(2))
    return events(env, [("a", 1), ("a", 5)]).window(assigner).process(Contents())


@program([("a", 1, 9, [1, 4]), ("a", 20, 25, [20])])
def session_windows_merge(env):
    assigner = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
    return events(env, [("a", 1), ("a", 4), ("a", 20)]).window(assigner).process(Contents())


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element[2]


@program([("a", 1, 12, [1, 2]), ("a", 20, 21, [20])])
def session_windows_with_a_gap_per_record(env):
    records = [("a", 1, 5), ("a", 2, 10), ("a", 20, 1)]
    assigner = EventTimeSessionWindows.with_dynamic_gap(Gap())
    return events(env, records).window(assigner).process(Contents())


@program([("a", 5), ("b", 2), ("a", 6), ("b", 12)])
def a_window_reduces(env):
    return events(env).window(tumbling(5)).reduce(Sum())


@program([("a", 0, 5, [5]), ("b", 0, 5, [2]), ("a", 5, 10, [6]), ("b", 10, 15, [12])])
def a_window_function_sees_the_reduced_value(env):
    windows = events(env).window(tumbling(5))
    return windows.reduce(lambda a, b: (a[0], a[1] + b[1]), window_function=Contents())


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


@program([2.5, 2.0, 6.0, 12.0])
def a_window_aggregates(env):
    return (
        events(env)
        .window(tumbling(5))
        .aggregate(
            Mean(),
            accumulator_type=Types.TUPLE([Types.LONG(), Types.LONG()]),
            output_type=Types.DOUBLE(),
        )
    )


@program([2.5])
def session_windows_merge_accumulators(env):
    assigner = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
    return events(env, [("a", 1), ("a", 4)]).window(assigner).aggregate(Mean())


class Apply(WindowFunction[Any, Any, str, CountWindow]):
    def apply(self, key, window, inputs):
        return [(key, sum(value[1] for value in inputs))]


@program([("a", 3), ("a", 7)])
def count_windows(env):
    records = [("a", n) for n in (1, 2, 3, 4, 5)]
    return env.from_collection(records).key_by(lambda v: v[0]).count_window(2).apply(Apply())


@program([("a", 3), ("a", 5)])
def sliding_count_windows(env):
    records = [("a", n) for n in (1, 2, 3)]
    keyed = env.from_collection(records).key_by(lambda v: v[0])
    return keyed.count_window(2, 1).apply(Apply())


class ApplyAll(AllWindowFunction):
    def apply(self, window, inputs):
        yield window.start, sorted(value[1] for value in inputs)


@program([(0, [1, 2, 4]), (5, [6]), (10, [12])])
def windows_of_all_records(env):
    return in_order(env.from_collection(EVENTS)).window_all(tumbling(5)).apply(ApplyAll())


class ProcessAll(ProcessAllWindowFunction):
    def process(self, context: ProcessAllWindowFunction.Context, elements):
        yield context.window().end, len(list(elements))


@program([(5, 3), (10, 1), (15, 1)])
def a_process_function_of_all_records(env):
    return in_order(env.from_collection(EVENTS)).window_all(tumbling(5)).process(ProcessAll())


class Firings(ProcessWindowFunction):
    """Counts firings per window, and windows per key."""

    def process(self, key, context, elements):
        fired = context.window_state().get_state(ValueStateDescriptor("fired", Types.INT()))
        total = context.global_state().get_state(ValueStateDescriptor("total", Types.INT()))
        fired.update((fired.value() or 0) + 1)
        total.update((total.value() or 0) + 1)
        yield context.window().start, fired.value(), total.value()

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("fired", Types.INT())).clear()


@program([(0, 1, 1), (5, 1, 2)])
def a_window_has_state_of_its_own_and_of_the_key(env):
    return events(env, [("a", 1), ("a", 6)]).window(tumbling(5)).process(Firings())


class Every(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield [element[1] for element in elements]


@program([[1, 2], [1, 2, 3, 4]])
def a_count_trigger_keeps_what_it_fired(env):
    records = [("a", n) for n in (1, 2, 3, 4)]
    windows = events(env, records).window(GlobalWindows.create())
    return windows.trigger(CountTrigger.of(2)).process(Every())


@program([[1, 2], [3, 4]])
def a_purging_trigger_forgets_what_it_fired(env):
    records = [("a", n) for n in (1, 2, 3, 4)]
    windows = events(env, records).window(GlobalWindows.create())
    return windows.trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Every())


class OnBig(Trigger):
    """Fires and purges at a value of 10 or more."""

    def on_element(self, element, timestamp, window, ctx):
        return TriggerResult.FIRE_AND_PURGE if element[1] >= 10 else TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        pass


@program([[1, 10], [2, 11]])
def a_trigger_of_ones_own(env):
    records = [("a", n) for n in (1, 10, 2, 11, 3)]
    windows = env.from_collection(records).key_by(lambda v: v[0]).window(GlobalWindows.create())
    return windows.trigger(OnBig()).process(Every())


DISORDER = [("a", 1), ("a", 7), ("a", 2), ("a", 30), ("a", 3)]
LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


@program(streaming=[[1], [1, 2], [7], [30]], batch=[[1, 2, 3], [7], [30]], batch_size=1)
def allowed_lateness_fires_again(env):
    return events(env, DISORDER).window(tumbling(5)).allowed_lateness(10).process(Every())


@program(streaming=[("a", 2), ("a", 3)], batch=[], batch_size=1)
def late_records_have_a_side_output(env):
    windows = events(env, DISORDER).window(tumbling(5)).side_output_late_data(LATE)
    return windows.process(Every()).get_side_output(LATE)
