"""Programs a type checker understands; run as they stand, and checked with all other tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, assert_type

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastStream,
    CloseableIterator,
    CoFlatMapFunction,
    CoMapFunction,
    ConnectedStreams,
    DataStream,
    DataStreamSink,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueState,
)
from penstock.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ValueStateDescriptor,
)


@dataclass(frozen=True)
class Order:
    user: str
    cents: int


LATE: OutputTag[str] = OutputTag("late", Types.STRING())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class ToOrder(MapFunction[int, Order]):
    def map(self, value: int) -> Order:
        return Order("a", value)


class Untyped(MapFunction):
    """As written for PyFlink: no parameters, no annotations."""

    def map(self, value):
        return value


class Words(FlatMapFunction[Order, str]):
    def flat_map(self, value: Order) -> Iterable[str]:
        return value.user.split()


class Split(ProcessFunction[Order, Order]):
    def process_element(
        self, value: Order, ctx: ProcessFunction.Context
    ) -> Iterator[Order | tuple[OutputTag[str], str]]:
        if ctx.timestamp() < 0:
            yield LATE, value.user
        yield value


class Longest(AggregateFunction[str, int, str]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: str, accumulator: int) -> int:
        return max(accumulator, len(value))

    def get_result(self, accumulator: int) -> str:
        return "x" * accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return max(acc_a, acc_b)


class Totals(KeyedProcessFunction[str, Order, tuple[str, int]]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        assert_type(self.total, ValueState[int])
        lists = runtime_context.get_list_state(ListStateDescriptor("all", Types.STRING()))
        assert_type(lists, ListState[str])
        assert_type(runtime_context.get_map_state(RULES), MapState[str, int])
        longest = AggregatingStateDescriptor("longest", Longest(), Types.LONG())
        assert_type(runtime_context.get_aggregating_state(longest), AggregatingState[str, str])

    def process_element(
        self, value: Order, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[str, int]]:
        self.total.update((self.total.value() or 0) + value.cents)
        yield value.user, self.total.value()

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[tuple[str, int]]:
        yield ctx.get_current_key(), timestamp


class Greater(ReduceFunction[Order]):
    def reduce(self, value1: Order, value2: Order) -> Order:
        return max(value1, value2, key=lambda order: order.cents)


class Either(CoMapFunction[Order, str, str]):
    def map1(self, value: Order) -> str:
        return value.user

    def map2(self, value: str) -> str | None:
        return value or None


class Both(CoFlatMapFunction[Order, str, int]):
    def flat_map1(self, value: Order) -> Iterator[int]:
        yield value.cents

    def flat_map2(self, value: str) -> list[int]:
        return [len(value)]


class Join(KeyedCoProcessFunction[str, Order, str, str]):
    def process_element1(self, value: Order, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        yield value.user

    def process_element2(self, value: str, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        yield value


class Filtered(BroadcastProcessFunction[Order, str, int]):
    def process_element(
        self, value: Order, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[int]:
        yield ctx.get_broadcast_state(RULES).get(value.user) or value.cents

    def process_broadcast_element(
        self, value: str, ctx: BroadcastProcessFunction.Context
    ) -> Iterator[int]:
        ctx.get_broadcast_state(RULES).put(value, 1)
        yield 0


def one_stream(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1, 2, 3])
    assert_type(numbers, DataStream[int])
    assert_type(env.from_collection([(1, "a")]), DataStream[tuple[int, str]])
    assert_type(
        env.from_collection([(1, 2)], Types.ROW([Types.LONG(), Types.INT()])), DataStream[Row]
    )

    assert_type(numbers.map(lambda n: n + 0.5), DataStream[float])
    assert_type(numbers.map(str), DataStream[str])
    assert_type(numbers.map(lambda n: (n,), output_type=Types.STRING()), DataStream[str])
    assert_type(numbers.map(lambda n: (n,), Types.ROW([Types.LONG()])), DataStream[Row])
    assert_type(numbers.map(Untyped()), DataStream[Any])
    assert_type(numbers.filter(lambda n: n % 2), DataStream[int])
    assert_type(numbers.flat_map(lambda n: [str(n)]), DataStream[str])
    assert_type(numbers.flat_map(range), DataStream[int])
    assert_type(numbers.union(numbers), DataStream[int])
    assert_type(numbers.rebalance(), DataStream[int])
    assert_type(numbers.partition_custom(lambda key, n: key % n, lambda n: n), DataStream[int])
    assert_type(
        numbers.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks()),
        DataStream[int],
    )
    assert_type(numbers.name("numbers").uid("n"), DataStream[int])
    assert_type(numbers.print(), DataStreamSink)

    orders = numbers.map(ToOrder())
    assert_type(orders, DataStream[Order])
    assert_type(orders.flat_map(Words()), DataStream[str])
    split = orders.process(Split())
    assert_type(split, DataStream[Order])
    assert_type(split.get_side_output(LATE), DataStream[str])


def with_a_key(orders: DataStream[Order]) -> None:
    keyed = orders.key_by(lambda order: order.user)
    assert_type(keyed, KeyedStream[Order, str])
    assert_type(orders.key_by(lambda order: order.user, Types.STRING()), KeyedStream[Order, str])
    assert_type(keyed.process(Totals()), DataStream[tuple[str, int]])
    assert_type(keyed.process(Totals(), output_type=Types.ROW([Types.LONG()])), DataStream[Row])
    assert_type(keyed.map(lambda order: order.cents), DataStream[int])
    assert_type(keyed.filter(lambda order: order.cents > 1), DataStream[Order])
    assert_type(keyed.reduce(Greater()), DataStream[Order])
    assert_type(keyed.reduce(lambda a, b: a if a.cents > b.cents else b), DataStream[Order])
    assert_type(keyed.max_by("cents"), DataStream[Order])


def two_streams(orders: DataStream[Order], words: DataStream[str]) -> None:
    connected = orders.connect(words)
    assert_type(connected, ConnectedStreams[Order, str])
    assert_type(connected.map(Either()), DataStream[str])
    assert_type(connected.flat_map(Both()), DataStream[int])
    keyed = connected.key_by(lambda order: order.user, lambda word: word)
    assert_type(keyed, ConnectedStreams[Order, str])
    assert_type(keyed.process(Join()), DataStream[str])
    rules = words.broadcast(RULES)
    assert_type(rules, BroadcastStream[str])
    assert_type(orders.connect(rules), BroadcastConnectedStream[Order, str])
    assert_type(orders.connect(rules).process(Filtered()), DataStream[int])


def ends(orders: DataStream[Order]) -> None:
    assert_type(orders.execute_and_collect(), CloseableIterator[Order])
    assert_type(orders.execute_and_collect("job", 3), list[Order])
    assert_type(orders.execute_and_collect(limit=3), list[Order])
    with orders.execute_and_collect() as collected:
        for order in collected:
            assert_type(order, Order)


def without_types(stream: DataStream, other: DataStream) -> DataStream:
    """As written for PyFlink: the names without parameters, and whatever functions."""
    keyed: KeyedStream = stream.map(lambda value: value[0]).key_by(lambda value: value)
    reduced = keyed.reduce(lambda a, b: a + b)
    return reduced.union(other).map(Untyped(), output_type=Types.LONG())
