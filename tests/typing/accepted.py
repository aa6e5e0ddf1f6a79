"""Programs a type checker understands; run as they stand, and checked with all other tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, assert_type

from penstock.common import Row, Time, Types, WatermarkStrategy
from penstock.datastream import (
    AbstractInput,
    AggregateFunction,
    AllWindowedStream,
    AllWindowFunction,
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastStream,
    CloseableIterator,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    ConnectedStreams,
    DataStream,
    DataStreamSink,
    FlatJoinFunction,
    FlatMapFunction,
    JoinFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    MapFunction,
    MultipleConnectedStreams,
    MultipleInputStreamOperator,
    OneInputStreamOperator,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    SimpleOperatorFactory,
    StreamExecutionEnvironment,
    StreamOperatorFactory,
    TimeWindow,
    ValueState,
    WindowedStream,
    WindowFunction,
)
from penstock.datastream.operators import StreamOperatorParameters
from penstock.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import EndOfStreamWindows, TumblingEventTimeWindows


@dataclass(frozen=True)
class Order:
    user: str
    cents: int


LATE: OutputTag[str] = OutputTag("late", Types.STRING())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class ToOrder(MapFunction[int, Order]):
    def map(self, value: int) -> Order:
        return Order("a", value)


class UntypedWindow(ProcessWindowFunction):
    """The same for windows."""

    def process(self, key, context, elements):
        yield key


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


class Grouped(CoGroupFunction[Order, str, int]):
    def co_group(self, first: Iterable[Order], second: Iterable[str]) -> Iterator[int]:
        yield sum(order.cents for order in first)


class Paired(JoinFunction[Order, str, str]):
    def join(self, first: Order, second: str) -> str:
        return first.user + second


class PairedOften(FlatJoinFunction[Order, str, int]):
    def join(self, first: Order, second: str) -> list[int]:
        return [first.cents]


class Close(ProcessJoinFunction[Order, str, int]):
    def process_element(
        self, left: Order, right: str, ctx: ProcessJoinFunction.Context
    ) -> Iterator[int | tuple[OutputTag[str], str]]:
        yield ctx.get_timestamp()
        yield LATE, right


def groups_and_pairs(orders: DataStream[Order], words: DataStream[str]) -> None:
    window = EndOfStreamWindows.get()
    grouped = orders.co_group(words).where(lambda order: order.user).equal_to(lambda word: word)
    assert_type(grouped.window(window).apply(Grouped()), DataStream[int])
    assert_type(grouped.window(window).apply(lambda a, b: [len(a), len(b)]), DataStream[int])
    joined = orders.join(words).where(lambda order: order.user).equal_to(lambda word: word)
    assert_type(joined.window(window).apply(Paired()), DataStream[str])
    assert_type(joined.window(window).left().apply(PairedOften()), DataStream[int])
    keyed = orders.key_by(lambda order: order.user), words.key_by(lambda word: word)
    close = keyed[0].interval_join(keyed[1]).between(0, Time.seconds(5))
    assert_type(close.process(Close()), DataStream[int])


class Cents(AggregateFunction[Order, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Order, accumulator: int) -> int:
        return accumulator + value.cents

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class PerWindow(ProcessWindowFunction[Order, str, str, TimeWindow]):
    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[Order],
    ) -> Iterator[str]:
        assert_type(context.window(), TimeWindow)
        yield key


class SumPerWindow(WindowFunction[int, tuple[str, int], str, TimeWindow]):
    def apply(
        self, key: str, window: TimeWindow, inputs: Iterable[int]
    ) -> Iterator[tuple[str, int]]:
        yield key, sum(inputs)


class Applied(WindowFunction[Order, int, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[Order]) -> list[int]:
        return [order.cents for order in inputs]


class OfAll(ProcessAllWindowFunction[Order, int, TimeWindow]):
    def process(
        self,
        context: ProcessAllWindowFunction.Context[TimeWindow],
        elements: Iterable[Order],
    ) -> list[int]:
        return [order.cents for order in elements]


class AppliedToAll(AllWindowFunction[Order, str, TimeWindow]):
    def apply(self, window: TimeWindow, inputs: Iterable[Order]) -> list[str]:
        return [order.user for order in inputs]


def windows(orders: DataStream[Order]) -> None:
    minutes = TumblingEventTimeWindows.of(Time.minutes(1))
    keyed = orders.key_by(lambda order: order.user)
    cut = keyed.window(minutes).allowed_lateness(5)
    assert_type(cut, WindowedStream[Order, str])
    assert_type(keyed.count_window(3), WindowedStream[Order, str])
    assert_type(cut.process(PerWindow()), DataStream[str])
    assert_type(cut.process(PerWindow(), Types.LONG()), DataStream[int])
    assert_type(cut.apply(Applied()), DataStream[int])
    assert_type(cut.reduce(lambda a, b: max(a, b, key=lambda o: o.cents)), DataStream[Order])
    assert_type(cut.reduce(Greater(), PerWindow()), DataStream[str])
    assert_type(cut.reduce(Greater(), output_type=Types.ROW([Types.LONG()])), DataStream[Row])
    assert_type(cut.aggregate(Cents()), DataStream[int])
    assert_type(cut.aggregate(Cents(), SumPerWindow()), DataStream[tuple[str, int]])
    assert_type(
        cut.aggregate(Cents(), accumulator_type=Types.LONG(), output_type=Types.LONG()),
        DataStream[int],
    )
    whole = orders.window_all(minutes)
    assert_type(whole, AllWindowedStream[Order])
    assert_type(whole.process(OfAll()), DataStream[int])
    assert_type(whole.apply(AppliedToAll()), DataStream[str])
    assert_type(whole.reduce(Greater(), AppliedToAll()), DataStream[str])
    assert_type(whole.aggregate(Cents()), DataStream[int])


class Texts(AbstractInput[object, str]):
    def process_element(self, value: object, ctx: Any) -> None:
        self.output.collect(str(value))


class AllTexts(MultipleInputStreamOperator[str]):
    def get_inputs(self) -> list[Texts]:
        return [Texts(self, 1), Texts(self, 2)]


class Sorts(OneInputStreamOperator[Order, int]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sorter = runtime_context.create_external_sorter(share=0.5)

    def process_element(self, value: Order, ctx: Any) -> None:
        self.sorter.add(value.user, value, ctx.timestamp())

    def end_input(self) -> None:
        for key, timestamp, _ in self.sorter:
            assert_type(timestamp, int | None)
            self.output.collect(key)


class MakesSorts(StreamOperatorFactory[int]):
    def create_stream_operator(self, parameters: StreamOperatorParameters) -> Sorts:
        assert_type(parameters.get_runtime_context(), RuntimeContext)
        return Sorts()


def own_operators(orders: DataStream[Order], words: DataStream[str]) -> None:
    both = MultipleConnectedStreams(orders, words)
    assert_type(both.transform("texts", None, AllTexts()), DataStream[str])
    keyed = both.key_by(lambda order: order.user, lambda word: word)
    assert_type(keyed.transform("texts", Types.STRING(), AllTexts()), DataStream[str])
    assert_type(orders.transform("sorts", None, Sorts()), DataStream[int])
    assert_type(orders.transform("sorts", None, MakesSorts()), DataStream[int])
    of_one = SimpleOperatorFactory.of(Sorts())
    assert_type(orders.transform("sorts", Types.INT(), of_one), DataStream[int])


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
    cut: WindowedStream = keyed.window(EndOfStreamWindows.get())
    cut.reduce(lambda a, b: a + b, UntypedWindow(), Types.LONG()).union(reduced)
    cut.process(UntypedWindow()).union(other)
    return reduced.union(other).map(Untyped(), output_type=Types.LONG())
