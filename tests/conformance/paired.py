"""Programs that group or pair two streams. Not in PyFlink: the answers are those of Flink's Java."""

from __future__ import annotations

from penstock.common import Time, Types
from penstock.datastream import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    KeySelector,
    OutputTag,
    ProcessJoinFunction,
)
from penstock.datastream.window import (
    CountEvictor,
    EndOfStreamWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.conformance.catalog import program
from tests.conformance.timely import in_order

ORDERS = [("a", 1), ("b", 3), ("a", 6), ("c", 7)]
PAYMENTS = [("a", 2), ("a", 3), ("b", 8), ("d", 9)]


class First(KeySelector):
    def get_key(self, value):
        return value[0]


def two(env):
    return in_order(env.from_collection(ORDERS)), in_order(env.from_collection(PAYMENTS))


def tumbling(size):
    return TumblingEventTimeWindows.of(Time.milliseconds(size))


def grouped(env, assigner):
    orders, payments = two(env)
    return orders.co_group(payments).where(First()).equal_to(First()).window(assigner)


def joined(env, assigner):
    orders, payments = two(env)
    return orders.join(payments).where(First()).equal_to(First()).window(assigner)


class Lists(CoGroupFunction):
    def co_group(self, first, second):
        key = next(iter([*first, *second]))[0]
        yield key, sorted(value[1] for value in first), sorted(value[1] for value in second)


@program(
    [
        ("a", [1], [2, 3]),
        ("b", [3], []),
        ("a", [6], []),
        ("b", [], [8]),
        ("c", [7], []),
        ("d", [], [9]),
    ]
)
def co_group_in_tumbling_windows(env):
    return grouped(env, tumbling(5)).apply(Lists())


@program([("a", [1, 6], [2, 3]), ("b", [3], [8]), ("c", [7], []), ("d", [], [9])])
def co_group_at_the_end_of_the_stream(env):
    return grouped(env, EndOfStreamWindows.get()).apply(Lists())


@program([("a", [1, 6], [2, 3]), ("b", [3], [8]), ("c", [7], []), ("d", [], [9])])
def co_group_in_a_global_window(env):
    return grouped(env, GlobalWindows.create_with_end_of_stream_trigger()).apply(Lists())


@program(
    [
        ("a", [1], [2, 3]),
        ("a", [6], []),
        ("b", [3], []),
        ("b", [], [8]),
        ("c", [7], []),
        ("d", [], [9]),
    ]
)
def sessions_have_records_of_both_streams(env):
    assigner = EventTimeSessionWindows.with_gap(Time.milliseconds(2))
    return grouped(env, assigner).apply(Lists())


class Sizes(CoGroupFunction):
    def co_group(self, first, second):
        yield next(iter([*first, *second]))[0], len(first) + len(second)


@program([("a", 3), ("b", 2), ("c", 1), ("d", 1)])
def an_evictor_counts_the_records_of_both_streams(env):
    windows = grouped(env, GlobalWindows.create_with_end_of_stream_trigger())
    return windows.evictor(CountEvictor.of(3)).apply(Sizes())


class Pair(JoinFunction):
    def join(self, first, second):
        return first[0], first[1], second[1]


@program([("a", 1, 2), ("a", 1, 3)])
def a_window_join_is_inner(env):
    return joined(env, tumbling(5)).apply(Pair())


@program([("a", 1, 2)] * 2 + [("a", 1, 3)] * 2)
def a_window_join_in_sliding_windows(env):
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(8), Time.milliseconds(4))
    return (
        joined(env, assigner)
        .apply(Pair(), Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()]))
        .filter(lambda pair: pair[1] == 1)
    )


class Differences(FlatJoinFunction):
    def join(self, first, second):
        if second[1] > first[1]:
            yield second[1] - first[1]


@program([1, 2, 5])
def a_flat_join_may_leave_pairs_out(env):
    return joined(env, EndOfStreamWindows.get()).apply(Differences())


def numbers(first, second):
    return (first and first[1], second and second[1])


@program([(1, 2), (1, 3), (6, 2), (6, 3), (3, 8), (7, None)])
def a_left_join_keeps_what_has_no_partner(env):
    return joined(env, EndOfStreamWindows.get()).left().apply(numbers)


@program([(1, 2), (1, 3), (6, 2), (6, 3), (3, 8), (None, 9)])
def a_right_join_keeps_what_has_no_partner(env):
    return joined(env, EndOfStreamWindows.get()).right().apply(numbers)


@program([(1, 2), (1, 3), (3, None), (6, None), (7, None), (None, 8), (None, 9)])
def a_full_join_keeps_both(env):
    return joined(env, tumbling(5)).full().apply(numbers)


class Close(ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        yield left[0], ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()


def close(env):
    orders, payments = two(env)
    return orders.key_by(First()).interval_join(payments.key_by(First()))


@program([("a", 1, 2, 2), ("a", 1, 3, 3), ("b", 3, 8, 8), ("a", 6, 3, 6)])
def an_interval_join_includes_its_bounds(env):
    return close(env).between(Time.milliseconds(-3), Time.milliseconds(5)).process(Close())


@program([("a", 1, 2, 2), ("a", 1, 3, 3)])
def an_interval_join_may_exclude_its_bounds(env):
    interval = close(env).between(Time.milliseconds(-3), Time.milliseconds(5))
    return interval.lower_bound_exclusive().upper_bound_exclusive().process(Close())


WIDE = OutputTag("wide", Types.LONG())


class WideAside(ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        ctx.output(WIDE, right[1] - left[1])


@program([1, 2, 5])
def an_interval_join_has_side_outputs(env):
    interval = close(env).between(Time.milliseconds(0), Time.milliseconds(5))
    return interval.process(WideAside()).get_side_output(WIDE)


LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


@program(streaming=[("a", 2)], batch=[], batch_size=1)
def late_records_of_an_interval_join_have_a_side_output(env):
    left = in_order(env.from_collection([("a", 1), ("a", 9), ("a", 2)])).key_by(First())
    right = in_order(env.from_collection([("a", 1), ("a", 9), ("a", 9)])).key_by(First())
    interval = left.interval_join(right).between(Time.milliseconds(0), Time.milliseconds(5))
    return interval.side_output_left_late_data(LATE).process(Close()).get_side_output(LATE)
