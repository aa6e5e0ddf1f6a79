"""Programs about time: timestamps, watermarks, timers."""

from __future__ import annotations

import time

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import KeyedProcessFunction, OutputTag, ProcessFunction, TimeDomain
from penstock.datastream.connectors import NumberSequenceSource
from penstock.datastream.state import ValueStateDescriptor
from tests.conformance.catalog import program

BEFORE_TIME, END_OF_TIME = -(2**63), 2**63 - 1


class At(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


def in_order(stream):
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(At()))


class Time(ProcessFunction):
    def process_element(self, value, ctx):
        yield value[0], ctx.timestamp()


@program([("a", 7), ("b", 3)])
def an_assigner_gives_timestamps(env):
    return in_order(env.from_collection([("a", 7), ("b", 3)])).process(Time())


class Previous(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        assert record_timestamp == BEFORE_TIME
        return 1


@program([("a", 1)])
def an_assigner_is_told_that_there_was_no_timestamp(env):
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(Previous())
    return (
        env.from_collection([("a", 7)]).assign_timestamps_and_watermarks(strategy).process(Time())
    )


@program([("a", 70)])
def the_last_assignment_counts(env):
    class Tenfold(TimestampAssigner):
        def extract_timestamp(self, value, record_timestamp):
            return record_timestamp * 10

    timed = in_order(env.from_collection([("a", 7)]))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Tenfold())
    return timed.map(lambda v: v).assign_timestamps_and_watermarks(strategy).process(Time())


class Number(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 100


class NumberAndTime(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.timestamp()


@program([(1, 100), (2, 200)])
def the_assigner_of_a_source_counts(env):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
    return env.from_source(NumberSequenceSource(1, 2), strategy, "numbers").process(NumberAndTime())


@program([("a", 7)])
def idleness_keeps_the_assigner(env):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    strategy = strategy.with_timestamp_assigner(At()).with_idleness(Duration.of_seconds(5))
    return (
        env.from_collection([("a", 7)]).assign_timestamps_and_watermarks(strategy).process(Time())
    )


class Watermark(ProcessFunction):
    def process_element(self, value, ctx):
        yield value[0], ctx.timer_service().current_watermark()


@program(
    batch=[("a", BEFORE_TIME), ("b", BEFORE_TIME), ("c", BEFORE_TIME)],
    streaming=[("a", BEFORE_TIME), ("b", 6), ("c", 6)],
    batch_size=1,
)
def a_watermark_is_the_greatest_timestamp_less_one(env):
    timed = in_order(env.from_collection([("a", 7), ("b", 3), ("c", 9)]))
    return timed.rebalance().process(Watermark())


@program(streaming=[("a", BEFORE_TIME), ("b", 4)], batch_size=1)
def a_bound_of_disorder_holds_the_watermark_back(env):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(2))
    stream = env.from_collection([("a", 7), ("b", 3)])
    return (
        stream.assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(lambda value, _: value[1])
        )
        .rebalance()
        .process(Watermark())
    )


class Alarm(KeyedProcessFunction):
    """Registers the timers of a record; reports those that fire."""

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        for delay in value[2:]:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + delay)

    def on_timer(self, timestamp, ctx: KeyedProcessFunction.OnTimerContext):
        assert ctx.timestamp() == timestamp
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        assert ctx.timer_service().current_watermark() >= timestamp
        yield ctx.get_current_key(), timestamp


def alarms(env, *records):
    return in_order(env.from_collection(list(records))).key_by(lambda value: value[0])


@program([("a", 3), ("a", 8), ("b", 4)])
def a_timer_fires_for_its_key(env):
    return alarms(env, ("a", 1, 2, 7), ("b", 2, 2)).process(Alarm())


@program([("a", 1), ("a", 5), ("a", 9)], ordered=True, parallelism=1)
def timers_fire_in_order_of_time(env):
    return alarms(env, ("a", 0, 9, 1, 5)).process(Alarm())


@program([("a", 5), ("b", 5)])
def a_timer_is_one_per_key_and_time(env):
    return alarms(env, ("a", 1, 4, 4), ("a", 2, 3), ("b", 2, 3)).process(Alarm())


class Cancel(Alarm):
    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        if value[2] is None:
            timers.delete_event_time_timer(10)
            timers.delete_event_time_timer(11)
        else:
            timers.register_event_time_timer(value[2])


@program([("a", 12), ("b", 10)])
def a_deleted_timer_does_not_fire(env):
    records = ("a", 1, 10), ("b", 2, 10), ("a", 3, 12), ("a", 4, None)
    return alarms(env, *records).process(Cancel())


class Again(Alarm):
    def on_timer(self, timestamp, ctx):
        if timestamp < 4:
            ctx.timer_service().register_event_time_timer(timestamp + 1)
        yield timestamp


@program([2, 3, 4])
def a_timer_may_register_another(env):
    return alarms(env, ("a", 1, 1)).process(Again())


class Sums(KeyedProcessFunction):
    def open(self, runtime_context):
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.INT()))

    def process_element(self, value, ctx):
        self.sum.update((self.sum.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(100)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.sum.value()
        self.sum.clear()


@program([("a", 4), ("b", 2)])
def a_timer_sees_the_state_of_its_key(env):
    return alarms(env, ("a", 1), ("b", 2), ("a", 3)).process(Sums())


@program([("a", 4), ("b", 2)])
def timers_without_watermarks_fire_at_the_end(env):
    stream = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    return stream.key_by(lambda value: value[0]).process(Sums())


class AtEnd(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(END_OF_TIME - 1)

    def on_timer(self, timestamp, ctx):
        yield ctx.timer_service().current_watermark() == END_OF_TIME


@program([True])
def the_last_watermark_is_the_end_of_time(env):
    return env.from_collection([1]).key_by(lambda _: 0).process(AtEnd())


YEAR_2100 = 4_102_444_800_000


class Later(KeyedProcessFunction):
    def process_element(self, value, ctx):
        service = ctx.timer_service()
        assert abs(service.current_processing_time() - time.time() * 1000) < 60_000
        service.register_processing_time_timer(YEAR_2100)

    def on_timer(self, timestamp, ctx):
        assert ctx.time_domain() is TimeDomain.PROCESSING_TIME
        yield ctx.get_current_key()


@program(batch=["a", "b"], streaming=[])
def processing_time_timers_fire_at_the_end_of_a_batch_only(env):
    return env.from_collection(["a", "b", "a"]).key_by(lambda v: v).process(Later())


class Order(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value[1]


@program(batch=[1, 2, 5], streaming=[5, 1, 2], ordered=True, parallelism=1)
def a_batch_gives_records_of_a_key_in_order_of_time(env):
    return alarms(env, ("a", 5), ("a", 1), ("a", 2)).process(Order())


LATE = OutputTag("late")


class Late(KeyedProcessFunction):
    def process_element(self, value, ctx):
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            yield LATE, value[1]
        else:
            ctx.timer_service().register_event_time_timer(value[1])

    def on_timer(self, timestamp, ctx):
        yield LATE, -timestamp


@program(batch=[-5, -9, -2], streaming=[2, -5, -9], batch_size=1)
def keyed_functions_and_timers_have_side_outputs(env):
    keyed = alarms(env, ("a", 5), ("a", 9), ("a", 2))
    return keyed.process(Late()).get_side_output(LATE)


@program([("a", 1, 11), ("b", 2, 12)])
def results_take_the_timestamp_of_their_record_or_timer(env):
    class Ten(Alarm):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
            yield value

    class Both(ProcessFunction):
        def process_element(self, value, ctx):
            if len(value) == 2 and value[1] < 10:
                assert ctx.timestamp() == value[1]
            else:
                yield value[0], value[1] - 10, ctx.timestamp()

    return alarms(env, ("a", 1), ("b", 2)).process(Ten()).process(Both())
