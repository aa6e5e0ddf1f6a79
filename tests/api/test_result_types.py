"""Types from annotations, which describe records and never change them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import pyarrow.parquet as pq
import pytest

from penstock.common import Row, Time, Types
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import DiscardingSink, FileSink
from penstock.datastream.window import TimeWindow, TumblingEventTimeWindows
from penstock.errors import GraphError, TypeMismatchError
from penstock.graph.endpoints import SinkContext
from penstock.testing import run_in_process
from penstock.types import InferredTypeInfo, TypeInformation
from tests.runtime.jobs import MODE_IDS, MODES, environment


@dataclass(frozen=True)
class Order:
    user: str
    cents: int


class Pair(NamedTuple):
    user: str
    cents: int


class Event(TypedDict):
    user: str
    cents: int


FIELDS = Types.ROW_NAMED(["user", "cents"], [Types.STRING(), Types.LONG()])
PICKLED = Types.PICKLED_BYTE_ARRAY()
TAG = OutputTag("late", Types.STRING())


def order(n: int) -> Order:
    return Order("a", n)


def pair(n: int) -> Pair:
    return Pair("a", n)


def event(n: int) -> Event:
    return {"user": "a", "cents": n}


def both(n: int) -> tuple[str, int]:
    return "a", n


def counts(n: int) -> dict[str, int]:
    return {"a": n}


def several(n: int) -> list[int]:
    return [n]


def text(n: int) -> str:
    return str(n)


def unknown(n: int) -> Any:
    return n


def elsewhere(n: int) -> NotImported:  # type: ignore[name-defined] # noqa: F821
    return n


def odd(n: int) -> "1 +":  # type: ignore[valid-type] # noqa: F722
    return n


def nothing(n: int) -> None:
    del n


def logged(function: Callable[[int], Any]) -> Callable[[int], Any]:
    @wraps(function)
    def call(n: int) -> Any:
        return function(n)

    return call


class ToOrder(MapFunction):
    def map(self, value: int) -> Order:
        return order(value)


class Declared(MapFunction[int, Order]):
    def map(self, value):
        return order(value)


class Called:
    def __call__(self, value: int) -> Order:
        return order(value)


def numbers() -> DataStream[int]:
    return environment({}).from_collection([1, 2])


def untyped(stream: DataStream[Any]) -> DataStream[Any]:
    return stream


def inferred(stream: DataStream[Any]) -> TypeInformation | None:
    found = stream.get_type()
    if isinstance(found, InferredTypeInfo):
        return found.described
    assert found == PICKLED
    return None


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (order, FIELDS),
        (pair, FIELDS),
        (event, FIELDS),
        (Order, FIELDS),
        (both, Types.TUPLE([Types.STRING(), Types.LONG()])),
        (counts, Types.MAP(Types.STRING(), Types.LONG())),
        (several, Types.LIST(Types.LONG())),
        (text, Types.STRING()),
        (str, Types.STRING()),
        (ToOrder(), FIELDS),
        (Declared(), FIELDS),
        (Called(), FIELDS),
        (Called().__call__, FIELDS),
        (partial(order), FIELDS),
        (logged(order), FIELDS),
        (unknown, None),
        (elsewhere, None),
        (odd, None),
        (nothing, None),
        (lambda n: n, None),
        (abs, None),
    ],
)
def test_map_reads_the_annotation_of_its_function(
    function: Any, expected: TypeInformation | None
) -> None:
    assert inferred(numbers().map(function)) == expected


def iterable(n: int) -> Iterable[Order]:
    yield order(n)


def iterator(n: int) -> Iterator[Order]:
    yield order(n)


def generator(n: int) -> Generator[Order, None, None]:
    yield order(n)


def listed(n: int) -> list[Order]:
    return [order(n)]


def tupled(n: int) -> tuple[Order, ...]:
    return (order(n),)


def pair_of(n: int) -> tuple[Order, Order]:
    return order(n), order(n)


def perhaps(n: int) -> list[Order] | None:
    return [order(n)]


def missing(n: int) -> list[Order | None]:
    return [None]


def letters(n: int) -> str:
    return str(n)


class Words(FlatMapFunction):
    def flat_map(self, value: int) -> Iterator[Order]:
        yield order(value)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        *((f, FIELDS) for f in (iterable, iterator, generator, listed, tupled, perhaps, Words())),
        *((f, None) for f in (pair_of, missing, letters, order, lambda n: [n])),
    ],
)
def test_flat_map_reads_what_the_function_iterates_over(
    function: Any, expected: TypeInformation | None
) -> None:
    assert inferred(numbers().flat_map(function)) == expected


class Split(ProcessFunction):
    def process_element(
        self, value: int, ctx: ProcessFunction.Context
    ) -> Iterator[Order | tuple[OutputTag[str], str]]:
        yield order(value)


class OnlySides(ProcessFunction):
    def process_element(
        self, value: int, ctx: ProcessFunction.Context
    ) -> Iterator[tuple[OutputTag, str]]:
        yield TAG, "late"


class Timed(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Order]:
        yield order(value)


class TimedToo(Timed):
    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[Order]:
        return [order(timestamp)]


class TimedElse(Timed):
    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[int]:
        return [timestamp]


class TimedSilently(Timed):
    def on_timer(self, timestamp, ctx):
        return []


def test_process_reads_results_but_not_side_outputs() -> None:
    assert inferred(numbers().process(Split())) == FIELDS
    assert inferred(numbers().process(OnlySides())) is None


@pytest.mark.parametrize(
    ("function", "expected"),
    [(Timed(), FIELDS), (TimedToo(), FIELDS), (TimedElse(), None), (TimedSilently(), None)],
)
def test_timers_have_to_agree(
    function: KeyedProcessFunction, expected: TypeInformation | None
) -> None:
    assert inferred(numbers().key_by(lambda n: n).process(function)) == expected


class Same(CoMapFunction, CoFlatMapFunction, CoProcessFunction):
    def map1(self, value: int) -> Order:
        return order(value)

    def map2(self, value: int) -> Order:
        return order(value)

    def flat_map1(self, value: int) -> Iterator[Order]:
        yield order(value)

    def flat_map2(self, value: int) -> list[Order]:
        return [order(value)]

    def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[Order]:
        yield order(value)

    def process_element2(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[int]:
        yield value


def test_both_inputs_have_to_agree() -> None:
    env = environment({})
    connected = env.from_collection([1]).connect(env.from_collection([2]))
    assert inferred(connected.map(Same())) == FIELDS
    assert inferred(connected.flat_map(Same())) == FIELDS
    assert inferred(connected.process(Same())) is None


class Window(ProcessWindowFunction[int, Order, int, TimeWindow]):
    def process(self, key, context, elements):
        return [order(n) for n in elements]


class Lookup(AsyncFunction):
    async def async_invoke(self, value: int) -> list[Order]:
        return [order(value)]


def test_windows_and_asynchronous_functions_are_read_too() -> None:
    assigner = TumblingEventTimeWindows.of(Time.seconds(1))
    windowed = numbers().key_by(lambda n: n).window(assigner)
    assert inferred(windowed.process(Window())) == FIELDS
    looked_up = AsyncDataStream.ordered_wait(numbers(), Lookup(), Time.seconds(1))
    assert inferred(looked_up) == FIELDS


def test_a_declared_type_wins() -> None:
    assert numbers().map(order, output_type=PICKLED).get_type() == PICKLED
    assert numbers().map(order, output_type=FIELDS).get_type() == FIELDS
    again = numbers().map(order)
    assert again.map(lambda o: o, output_type=again.get_type()).get_type() == again.get_type()


def test_the_type_is_kept_by_what_keeps_records() -> None:
    stream = numbers().map(order)
    keyed = stream.key_by(lambda o: o.user)
    for kept in (stream.filter(bool), keyed, keyed.reduce(lambda a, _: a), stream.rebalance()):
        assert inferred(kept) == FIELDS


def test_streams_of_inferred_types_may_be_united() -> None:
    env = environment({})
    one: DataStream[Any] = env.from_collection([1])
    other: DataStream[Any] = env.from_collection([2])
    assert inferred(one.map(order).union(other.map(partial(order)))) == FIELDS
    assert one.map(order).union(untyped(other.map(text))).get_type() == PICKLED
    assert one.union(untyped(other.map(text))).get_type() == PICKLED
    with pytest.raises(GraphError, match="Long"):
        one.map(text, Types.STRING()).union(untyped(other.map(text, Types.LONG())))
    with pytest.raises(GraphError, match="Inferred"):
        one.map(text, Types.STRING()).union(other.map(text))


def test_fields_of_inferred_tuples_can_be_projected() -> None:
    stream = numbers().map(both).project(1)
    assert inferred(stream) == Types.TUPLE([Types.LONG()])


def liar(n: int) -> Order:
    return ("not", "an", "order", n)  # type: ignore[return-value]


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("function", [order, pair, event, both, counts, several, text, liar])
def test_records_are_what_the_function_returned(
    settings: dict[str, str], function: Callable[[int], Any]
) -> None:
    env = environment(settings)
    seen = env.from_collection([1, 2]).map(function).key_by(str).map(lambda x: (type(x), x))
    seen.sink_to(DiscardingSink()).name("out")
    made = [function(n) for n in (1, 2)]
    results = run_in_process(env).of("out")
    assert sorted(results, key=str) == sorted(((type(x), x) for x in made), key=str)


def test_inferred_types_are_no_reason_to_convert() -> None:
    stream = numbers().map(order)
    stream.sink_to(DiscardingSink())
    (spec,) = stream.get_execution_environment().plan().levels[0].operators
    assert spec.result_type is None


def test_state_of_an_inferred_type_is_pickled() -> None:
    descriptor = ValueStateDescriptor("last", numbers().map(order).get_type())
    assert descriptor.type_info == PICKLED


def write(function: Callable[[int], Any], path: Path, records: list[Any]) -> list[dict[str, Any]]:
    stream = numbers().map(function)
    sink = FileSink.parquet(path / "out")
    sink.check(stream.get_type(), None)
    context = SinkContext("job", "sink", 0, stream.get_type(), "sink", None, path / "scratch")
    committer = sink.create_committer(context)
    committer.recover()
    writer = sink.create_writer(context)
    try:
        writer.write(records)
    except TypeMismatchError:
        writer.abort()
        raise
    committer.commit("0", writer.prepare_commit())
    rows: list[dict[str, Any]] = pq.read_table(path / "out").to_pylist()
    return rows


@pytest.mark.parametrize("function", [order, pair, event])
def test_files_with_columns_take_the_inferred_type(
    function: Callable[[int], Any], tmp_path: Path
) -> None:
    rows = write(function, tmp_path, [function(1), function(2), Row("b", 3)])
    assert rows == [event(1), event(2), {"user": "b", "cents": 3}]


def test_a_lie_is_found_where_the_type_is_needed(tmp_path: Path) -> None:
    with pytest.raises(TypeMismatchError, match="cents"):
        write(order, tmp_path, [Order("a", 2**63)])
