"""As many objects of a function are opened as its operator has subtasks, each with its own index.

One function that counts per method of the API that takes one. Found by walking the API, so that a
new method is not forgotten. An operator of the user's own behind key_by is another matter: it has an
object per key group in a batch run.
"""

from __future__ import annotations

import inspect
import os
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import ClassVar

import pytest

from penstock import datastream
from penstock.api.streams import (
    co_grouped_streams,
    connected_streams,
    data_stream,
    interval_join,
    joined_streams,
    keyed_stream,
    multiple_connected_streams,
)
from penstock.api.windows import windowed_stream
from penstock.common import Time, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AbstractInput,
    AggregateFunction,
    AllWindowFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    JoinFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    MapStateDescriptor,
    MultipleConnectedStreams,
    MultipleInputStreamOperator,
    OneInputStreamOperator,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ReduceFunction,
    TwoInputStreamOperator,
    WindowFunction,
)
from penstock.datastream.connectors import HybridSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.graph.endpoints import SplitSource
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import MODE_IDS, MODES, by_time, environment, history_then_live

OPENED: dict[str, list[tuple[int, int]]] = defaultdict(list)
"""Run to (index, number of subtasks) of each object that was opened; jobs run in this process."""

RULES = MapStateDescriptor("rules", Types.STRING(), Types.STRING())
WINDOWS = TumblingEventTimeWindows.of(Time.milliseconds(5))


class Counts:
    """Says when it is opened, and that a record came in a subtask that has been opened."""

    index = None

    def open(self, context):
        self.index = context.get_index_of_this_subtask()
        kind = "live" if context.is_live else "batch"
        OPENED[kind].append((self.index, context.get_number_of_parallel_subtasks()))

    def same(self, value, *_):
        assert self.index is not None
        return value

    def many(self, value, *_):
        assert self.index is not None
        return [value]

    map = map1 = map2 = same
    flat_map = flat_map1 = flat_map2 = many
    process_element = process_element1 = process_element2 = many
    process_broadcast_element = many

    def filter(self, value):
        return self.same(True)

    def reduce(self, one, two):
        return one

    def create_accumulator(self):
        return ()

    def add(self, value, accumulator):
        return self.same(value)

    def get_result(self, accumulator):
        return accumulator

    def merge(self, one, two):
        return one

    def join(self, one, two, *_):
        return self.same(one)

    def co_group(self, ones, twos):
        return self.many(len(list(ones)) + len(list(twos)))

    def apply(self, *arguments):
        return self.many(len(list(arguments[-1])))

    process = apply


def of(*kinds):
    """Return an object that counts, of the given kinds of function."""
    return type("Counted", (Counts, *kinds), {})()


class CountedOperator(OneInputStreamOperator):
    def open(self, runtime_context):
        Counts().open(runtime_context)

    def process_element(self, value, ctx):
        self.output.collect(value)


class CountedOperator2(TwoInputStreamOperator):
    def open(self, runtime_context):
        Counts().open(runtime_context)

    def process_element1(self, value, ctx):
        self.output.collect(value)

    process_element2 = process_element1


class PassingOn(AbstractInput):
    def process_element(self, value, ctx):
        self.output.collect(value)


class CountedOperator3(MultipleInputStreamOperator):
    def open(self, runtime_context):
        Counts().open(runtime_context)

    def get_inputs(self):
        return [PassingOn(self, number) for number in (1, 2, 3)]


class CountedAsync(Counts, AsyncFunction):
    async def async_invoke(self, value):
        return [value]


class FlatJoined(Counts, FlatJoinFunction):
    def join(self, one, two):
        yield one


class Joined(Counts, ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        yield left


def keyed(stream):
    return stream.key_by(lambda record: record[0])


def two(stream):
    return keyed(stream), keyed(stream)


def broadcast(stream):
    return stream.broadcast(RULES)


def pairs(stream, kind):
    joined = getattr(stream, kind)(stream).where(lambda r: r[0]).equal_to(lambda r: r[0])
    return joined.window(WINDOWS)


def windows(stream):
    return keyed(stream).window(WINDOWS)


def whole(stream):
    return stream.window_all(WINDOWS)


METHODS = {
    "DataStream.map": lambda s: s.map(of(MapFunction)),
    "DataStream.flat_map": lambda s: s.flat_map(of(FlatMapFunction)),
    "DataStream.filter": lambda s: s.filter(of(FilterFunction)),
    "DataStream.process": lambda s: s.process(of(ProcessFunction)),
    "DataStream.transform": lambda s: s.transform("own", None, CountedOperator()),
    "AsyncDataStream.unordered_wait": lambda s: AsyncDataStream.unordered_wait(
        s, CountedAsync(), Time.seconds(9)
    ),
    "KeyedStream.map": lambda s: keyed(s).map(of(MapFunction)),
    "KeyedStream.flat_map": lambda s: keyed(s).flat_map(of(FlatMapFunction)),
    "KeyedStream.filter": lambda s: keyed(s).filter(of(FilterFunction)),
    "KeyedStream.process": lambda s: keyed(s).process(of(KeyedProcessFunction)),
    "KeyedStream.reduce": lambda s: keyed(s).reduce(of(ReduceFunction)),
    "WindowedStream.reduce": lambda s: windows(s).reduce(of(ReduceFunction)),
    "WindowedStream.aggregate": lambda s: windows(s).aggregate(of(AggregateFunction)),
    "WindowedStream.apply": lambda s: windows(s).apply(of(WindowFunction)),
    "WindowedStream.process": lambda s: windows(s).process(of(ProcessWindowFunction)),
    "ConnectedStreams.map": lambda s: s.connect(s).map(of(CoMapFunction)),
    "ConnectedStreams.flat_map": lambda s: s.connect(s).flat_map(of(CoFlatMapFunction)),
    "ConnectedStreams.process": lambda s: s.connect(s).process(of(CoProcessFunction)),
    "ConnectedStreams.transform": lambda s: s.connect(s).transform("own", None, CountedOperator2()),
    "MultipleConnectedStreams.transform": lambda s: MultipleConnectedStreams(s, s, s).transform(
        "own", None, CountedOperator3()
    ),
    "keyed ConnectedStreams.map": lambda s: keyed(s).connect(keyed(s)).map(of(CoMapFunction)),
    "keyed ConnectedStreams.flat_map": lambda s: (
        keyed(s).connect(keyed(s)).flat_map(of(CoFlatMapFunction))
    ),
    "keyed ConnectedStreams.process": lambda s: (
        keyed(s).connect(keyed(s)).process(of(KeyedCoProcessFunction))
    ),
    "BroadcastConnectedStream.process": lambda s: s.connect(broadcast(s)).process(
        of(BroadcastProcessFunction)
    ),
    "keyed BroadcastConnectedStream.process": lambda s: (
        keyed(s).connect(broadcast(s)).process(of(KeyedBroadcastProcessFunction))
    ),
    "CoGroupedStreams.apply": lambda s: pairs(s, "co_group").apply(of(CoGroupFunction)),
    "JoinedStreams.apply": lambda s: pairs(s, "join").apply(of(JoinFunction)),
    "flat JoinedStreams.apply": lambda s: pairs(s, "join").apply(FlatJoined()),
    "IntervalJoin.process": lambda s: (
        keyed(s)
        .interval_join(keyed(s))
        .between(Time.milliseconds(-1), Time.milliseconds(1))
        .process(Joined())
    ),
}
ONE_KEY = {
    "AllWindowedStream.apply": lambda s: whole(s).apply(of(AllWindowFunction)),
    "AllWindowedStream.process": lambda s: whole(s).process(of(ProcessAllWindowFunction)),
    "AllWindowedStream.reduce": lambda s: whole(s).reduce(of(ReduceFunction)),
    "AllWindowedStream.aggregate": lambda s: whole(s).aggregate(of(AggregateFunction)),
}

RECORDS = [(n % 7, n) for n in range(40)]


def opened(env):
    OPENED.clear()
    run_in_process(env, Schedule(batch_sizes=(13,)))
    return {kind: sorted(found) for kind, found in OPENED.items()}


def every(parallelism):
    return [(index, parallelism) for index in range(parallelism)]


def source_of(env):
    read = history_then_live(RECORDS[:20], RECORDS[20:])
    return env.from_source(read, by_time(99), "records")


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize(("of_job", "own"), [(2, 1), (2, 3), (3, None)])
def test_as_many_objects_as_subtasks(mode, method, of_job, own):
    env = environment(mode, of_job)
    # Behind an exchange: beside a source a subtask that reads no split opens nothing.
    stream = METHODS[method](source_of(env).rebalance())
    if own is not None:
        stream = stream.set_parallelism(own)
    stream.map(lambda record: record).key_by(str).map(str).sink_to(DiscardingSink())
    wanted = every(own or of_job)
    for found in opened(env).values():
        # A hybrid source in STREAMING mode is read by two live runs.
        assert found in (wanted, sorted(wanted * 2))
    assert OPENED


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("method", sorted(ONE_KEY))
def test_one_object_of_what_has_one_key(mode, method):
    env = environment(mode, 3)
    ONE_KEY[method](source_of(env)).map(str).key_by(str).map(str).sink_to(DiscardingSink())
    for found in opened(env).values():
        assert set(found) == {(0, 1)}
    assert OPENED


def splits(env, first, number=8):
    """Return a stream of more splits than anything has subtasks."""
    made = env.from_source(Splits(first, number), WatermarkStrategy.no_watermarks(), "splits")
    return made.map(lambda n: (n % 7, n))


@dataclass(frozen=True)
class Splits(SplitSource):
    """As many splits of three numbers as it is told, however many subtasks there are."""

    kind: ClassVar[str] = "of tests"
    first: int
    number: int

    @property
    def is_bounded(self):
        return True

    def get_produced_type(self):
        return Types.PICKLED_BYTE_ARRAY()

    def splits(self, parallelism):
        return [(0, 3)] * self.number

    def read(self, split, start, end):
        return range(self.first + 3 * split + start, self.first + 3 * split + end)


def twice(stream):
    return stream.union(stream.map(lambda record: record))


def source_with(parallelism):
    def made(env):
        read = env.from_source(Splits(0, 8), WatermarkStrategy.no_watermarks(), "few")
        return read.set_parallelism(parallelism).map(lambda n: (n % 7, n))

    return made


BESIDE = {
    "splits": lambda env: splits(env, 0),
    "one source twice": lambda env: twice(splits(env, 0)),
    "union": lambda env: splits(env, 0).union(splits(env, 50, 3)),
    "union of a source of its own parallelism": lambda env: splits(env, 0).union(
        source_with(1)(env)
    ),
    "hybrid": lambda env: env.from_source(
        HybridSource.builder(Splits(0, 5)).add_source(Splits(50, 6)).build(),
        WatermarkStrategy.no_watermarks(),
        "hybrid",
    ).map(lambda n: (n % 7, n)),
    "union with a hybrid": lambda env: splits(env, 90).union(source_of(env)),
    "source of fewer": source_with(1),
    "source of more": source_with(4),
}


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("read", sorted(BESIDE))
@pytest.mark.parametrize(("of_job", "own"), [(1, None), (2, None), (3, None), (2, 3), (None, 2)])
def test_beside_sources_no_more_objects_than_subtasks_each_with_its_index(
    mode, read, of_job, own, monkeypatch
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})  # the own number is no sign
    env = environment(mode, of_job or 1)
    if of_job is None:
        env.get_configuration().remove_config("parallelism.default")
    stream = BESIDE[read](env).map(of(MapFunction))
    if own is not None:
        stream.set_parallelism(own)
    stream.key_by(str).map(str).sink_to(DiscardingSink())
    runs = Counter(run.kind.name.lower() for run in env.plan().runs)
    for kind, found in opened(env).items():
        assert set(found) <= set(every(own or of_job))
        assert all(found.count(each) <= runs[kind] for each in found)
    assert OPENED


class CountsAtEnd(OneInputStreamOperator):
    def open(self, runtime_context):
        self.records = 0

    def process_element(self, value, ctx):
        self.records += 1

    def end_input(self):
        self.output.collect(self.records)


@pytest.mark.parametrize("mode", MODES[:2], ids=MODE_IDS[:2])
@pytest.mark.parametrize("parallelism", range(1, 5))
def test_one_subtask_sees_every_record_and_ends_once(mode, parallelism):
    env = environment(mode, parallelism)
    counted = env.from_collection(RECORDS).transform("count", None, CountsAtEnd())
    counted.set_parallelism(1).sink_to(DiscardingSink())
    assert run_in_process(env).of() == [len(RECORDS)]


class Sums(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().start, sum(record[1] for record in elements)


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("chaining", [True, False])
@pytest.mark.parametrize("numbers", [(1, None), (4, None), (1, 3, None), (3, 1, None), (4, 1, 3)])
def test_watermarks_pass_operators_of_any_parallelism(mode, chaining, numbers):
    def results(numbers, env):
        stream = source_of(env).rebalance()
        for number in numbers:
            stream = stream.map(lambda record: record)
            stream = stream if number is None else stream.set_parallelism(number)
        windows(stream).process(Sums()).sink_to(DiscardingSink())
        return sorted(run_in_process(env, Schedule(batch_sizes=(7,), workers=2)).of())

    settings = mode | {"pipeline.operator-chaining.enabled": str(chaining).lower()}
    wanted = results((), environment(mode, 2))
    assert len(wanted) > 7
    assert results(numbers, environment(settings, 2)) == wanted


def takes_a_function(method):
    names = inspect.signature(method).parameters
    return any("func" in name or name in {"operator", "process_function"} for name in names)


ENDS = {
    "DataStream.add_sink",
    "DataStream.for_each_batch",
    "StreamExecutionEnvironment.add_source",
}
"""Sources and sinks have no subtasks of a level."""


def test_no_method_of_the_api_is_left_out():
    known = {name.split(" ")[-1] for name in METHODS | ONE_KEY}
    modules = [
        co_grouped_streams,
        connected_streams,
        data_stream,
        interval_join,
        joined_streams,
        keyed_stream,
        multiple_connected_streams,
        windowed_stream,
        datastream,
    ]
    found = set()
    for module in modules:
        for kind in vars(module).values():
            if inspect.isclass(kind) and "Stream" in kind.__name__:
                methods = {name: m for name, m in vars(kind).items() if inspect.isfunction(m)}
                owner = data_stream.DataStream if issubclass(data_stream.DataStream, kind) else kind
                found |= {
                    f"{owner.__name__}.{name}"
                    for name, method in methods.items()
                    if not name.startswith("_") and takes_a_function(method)
                }
    assert found - known == ENDS
