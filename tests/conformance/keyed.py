"""Programs with a key: rolling aggregates, keyed state, and what a key is."""

from __future__ import annotations

from penstock.common import Row, Time, Types
from penstock.datastream import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
    RuntimeContext,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from tests.conformance.catalog import program

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
SALES = [("a", 3), ("b", 5), ("a", 1), ("a", 2), ("b", 5)]


def sales(env):
    return env.from_collection(SALES, PAIR).key_by(lambda sale: sale[0], Types.STRING())


@program(
    streaming=[("a", 3), ("a", 4), ("a", 6), ("b", 5), ("b", 10)],
    batch=[("a", 6), ("b", 10)],
)
def reduce_is_rolling_or_final(env):
    return sales(env).reduce(lambda one, other: (one[0], one[1] + other[1]))


class Add(ReduceFunction):
    def open(self, runtime_context: RuntimeContext):
        self.calls = runtime_context.get_state(ValueStateDescriptor("calls", Types.INT()))

    def reduce(self, value1, value2):
        self.calls.update((self.calls.value() or 0) + 1)
        return value1[0], value1[1] + 10 * self.calls.value()


@program(
    streaming=[("a", 3), ("a", 13), ("a", 33), ("b", 5), ("b", 15)],
    batch=[("a", 33), ("b", 15)],
)
def a_reduce_function_may_use_keyed_state(env):
    return sales(env).reduce(Add())


@program(streaming=[("a", 3), ("a", 4), ("a", 6), ("b", 5), ("b", 10)], batch=[("a", 6), ("b", 10)])
def sum_by_position(env):
    return sales(env).sum(1)


@program(streaming=[1, 3], batch=[3])
def sum_of_plain_numbers(env):
    return env.from_collection([1, 2]).key_by(lambda _: 0).sum()


@program(streaming=[Row(k="a", n=1), Row(k="a", n=3)], batch=[Row(k="a", n=3)])
def sum_by_name(env):
    typed = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()])
    return env.from_collection([Row("a", 1), Row("a", 2)], typed).key_by(lambda r: r.k).sum("n")


READINGS = [("a", 3, "x"), ("a", 1, "y"), ("a", 5, "z"), ("a", 1, "w")]


def readings(env):
    return env.from_collection(READINGS).key_by(lambda reading: reading[0])


@program(
    streaming=[("a", 3, "x"), ("a", 1, "x"), ("a", 1, "x"), ("a", 1, "x")], batch=[("a", 1, "x")]
)
def min_keeps_the_other_fields_of_the_first(env):
    return readings(env).min(1)


@program(
    streaming=[("a", 3, "x"), ("a", 3, "x"), ("a", 5, "x"), ("a", 5, "x")], batch=[("a", 5, "x")]
)
def max_keeps_the_other_fields_of_the_first(env):
    return readings(env).max(1)


@program(
    streaming=[("a", 3, "x"), ("a", 1, "y"), ("a", 1, "y"), ("a", 1, "y")], batch=[("a", 1, "y")]
)
def min_by_is_the_whole_record_and_the_first_of_equals(env):
    return readings(env).min_by(1)


@program(
    streaming=[("a", 3, "x"), ("a", 3, "x"), ("a", 5, "z"), ("a", 5, "z")], batch=[("a", 5, "z")]
)
def max_by_is_the_whole_record(env):
    return readings(env).max_by(1)


class Count(MapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map(self, value):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return value[0], count


@program([("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)])
def a_keyed_map_has_state_per_key(env):
    return sales(env).map(Count(), PAIR)


class Earlier(FlatMapFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def flat_map(self, value):
        for number in self.seen.get():
            yield value[0], value[1], number
        self.seen.add(value[1])


@program([("a", 1, 3), ("a", 2, 3), ("a", 2, 1), ("b", 5, 5)])
def a_keyed_flat_map_has_list_state(env):
    return sales(env).flat_map(Earlier())


class Unseen(FilterFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_map_state(
            MapStateDescriptor("seen", Types.INT(), Types.BOOLEAN())
        )

    def filter(self, value):
        if value[1] in self.seen:
            return False
        self.seen[value[1]] = True
        return True


@program([("a", 3), ("a", 1), ("a", 2), ("b", 5)])
def a_keyed_filter_has_map_state(env):
    return sales(env).filter(Unseen())


class Everything(KeyedProcessFunction):
    """All kinds of state, by all of their methods."""

    def open(self, runtime_context: RuntimeContext):
        get = runtime_context
        self.value = get.get_state(ValueStateDescriptor("value", Types.INT()))
        self.list = get.get_list_state(ListStateDescriptor("list", Types.INT()))
        self.map = get.get_map_state(MapStateDescriptor("map", Types.INT(), Types.STRING()))
        self.sum = get.get_reducing_state(
            ReducingStateDescriptor("sum", lambda a, b: a + b, Types.INT())
        )
        self.mean = get.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx: KeyedProcessFunction.Context):
        assert self.map.is_empty() is (self.value.value() is None)
        self.value.update(value)
        self.list.add_all([value, value])
        self.map.put(value, "x")
        self.map.put_all({-value: "y"})
        self.sum.add(value)
        self.mean.add(value)
        if value == 3:
            self.list.update([9])
            self.map.remove(-3)
            assert self.map.contains(3)
            assert not self.map.contains(-3)
        yield (
            self.value.value(),
            list(self.list.get()),
            sorted(self.map.keys()),
            sorted(self.map.values()),
            sorted(self.map.items()),
            self.sum.get(),
            self.mean.get(),
        )
        if value == 3:
            for state in (self.value, self.list, self.map, self.sum, self.mean):
                state.clear()


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


@program(
    [
        (1, [1, 1], [-1, 1], ["x", "y"], [(-1, "y"), (1, "x")], 1, 1.0),
        (3, [9], [-1, 1, 3], ["x", "x", "y"], [(-1, "y"), (1, "x"), (3, "x")], 4, 2.0),
        (5, [5, 5], [-5, 5], ["x", "y"], [(-5, "y"), (5, "x")], 5, 5.0),
    ]
)
def every_kind_of_state(env):
    return env.from_collection([1, 3, 5]).key_by(lambda _: "one").process(Everything())


class Shared(KeyedProcessFunction):
    """An attribute belongs to the subtask, whatever the key."""

    def __init__(self):
        self.registered = False

    def process_element(self, value, ctx):
        first, self.registered = not self.registered, True
        yield first


@program([True, False, False], parallelism=1)
def attributes_are_shared_by_keys(env):
    return env.from_collection([1, 2, 3]).key_by(lambda n: n).process(Shared())


class First(KeySelector):
    def get_key(self, value):
        return value[0]


class Key(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.get_current_key(), value


@program([("a", ("a", 3)), ("a", ("a", 1))])
def a_key_selector_may_be_an_object(env):
    return env.from_collection([("a", 3), ("a", 1)]).key_by(First()).process(Key())


@program([((1, "x"), 1), ((1, "y"), 1), ((1, "x"), 2)])
def a_key_may_be_a_tuple(env):
    stream = env.from_collection([(1, "x"), (1, "y"), (1, "x")])
    return stream.key_by(lambda pair: pair).map(Count()).map(lambda p: p) and (
        stream.key_by(lambda pair: pair).process(CountOfKey())
    )


class CountOfKey(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


@program([(Row(1, "x"), 1), (Row(1, "x"), 2)])
def a_key_may_be_a_row(env):
    rows = env.from_collection([Row(1, "x"), Row(1, "x")])
    return rows.key_by(lambda row: row).process(CountOfKey())


@program([("none", 1), ("none", 2)])
def a_key_may_be_none(env):
    keyed = env.from_collection([1, 2]).key_by(lambda _: None)
    return keyed.process(CountOfKey()).map(lambda pair: ("none", pair[1]))


@program([1, 2, 3])
def one_and_one_point_zero_and_true_are_one_key(env):
    keyed = env.from_collection([1, 1.0, True]).key_by(lambda n: n)
    return keyed.process(CountOfKey()).map(lambda pair: pair[1])


@program([("a", 3), ("b", 5), ("a", 1), ("a", 2), ("b", 5)])
def a_second_key_by_replaces_the_first(env):
    return sales(env).key_by(lambda sale: sale[1]).filter(lambda _: True)


@program(streaming=[1, 2, 3, 1, 2], batch=[3, 2])
def a_reduce_may_be_keyed_again(env):
    ones = sales(env).map(lambda sale: (sale[0], 1)).key_by(lambda p: p[0]).sum(1)
    return ones.map(lambda pair: pair[1])


@program(["a", "b", "a", "a", "b", "c"])
def union_of_a_keyed_stream_has_no_key(env):
    other = env.from_collection([("c", 0)], PAIR)
    return sales(env).union(other).map(lambda sale: sale[0])


class WithTtl(MapFunction):
    def open(self, runtime_context):
        descriptor = ValueStateDescriptor("n", Types.INT())
        descriptor.enable_time_to_live(
            StateTtlConfig.new_builder(Time.hours(1))
            .set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
            .set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
            .cleanup_full_snapshot()
            .build()
        )
        self.n = runtime_context.get_state(descriptor)

    def map(self, value):
        self.n.update((self.n.value() or 0) + 1)
        return self.n.value()


@program([1, 2, 3, 1, 2])
def state_may_have_a_time_to_live(env):
    return sales(env).map(WithTtl())


@program(
    [("a", [3, 1, 2]), ("b", [5, 5])],
    batch=[("a", [3, 1, 2]), ("b", [5, 5])],
    streaming=[("a", [3]), ("a", [3, 1]), ("a", [3, 1, 2]), ("b", [5]), ("b", [5, 5])],
)
def records_of_a_key_keep_their_order(env):
    lists = sales(env).map(lambda sale: (sale[0], [sale[1]])).key_by(lambda pair: pair[0])
    return lists.reduce(lambda one, other: (one[0], one[1] + other[1]))
