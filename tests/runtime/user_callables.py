"""Every callable of a program that the engine calls: found in the API, and a program for each.

Classes are found as what is abstract in the public modules; of each, every public method is made to
raise, one after the other, in every program that `PROGRAMS` has for the class.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

from penstock.common import (
    DeserializationSchema,
    Row,
    SerializationSchema,
    Time,
    TimestampAssigner,
    Types,
    WatermarkGenerator,
    WatermarkStrategy,
)
from penstock.connectors.python.collection import CollectionSource
from penstock.datastream import (
    AbstractInput,
    AggregateFunction,
    AggregatingStateDescriptor,
    AllWindowFunction,
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    Input,
    JoinFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapBatchFunction,
    MapFunction,
    MapGroupFunction,
    MapStateDescriptor,
    MergingWindowAssigner,
    MultipleConnectedStreams,
    MultipleInputStreamOperator,
    OneInputStreamOperator,
    Partitioner,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ReduceFunction,
    ReducingStateDescriptor,
    SinkFunction,
    SourceFunction,
    StreamOperatorFactory,
    Trigger,
    TwoInputStreamOperator,
    WindowAssigner,
    WindowFunction,
)
from penstock.datastream.connectors import HybridSource
from penstock.datastream.window import (
    EventTimeSessionWindows,
    Evictor,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.graph.endpoints import Committer, LogSource, Sink, SinkWriter, SplitSource
from tests.runtime.jobs import by_time, environment, history_then_live
from tests.runtime.user_objects import (
    Again,
    Applying,
    ApplyingToAll,
    Asking,
    AskingTooLong,
    Assigning,
    Batching,
    Broadcasting,
    ByTheClock,
    CapturedReading,
    CoProcessing,
    Creating,
    EndedReading,
    Evicting,
    FlatJoining,
    Folding,
    Gap,
    Grouping,
    InputOfMany,
    Invoking,
    Joining,
    KeyedBroadcasting,
    KeyedCoProcessing,
    KeyedManyInputs,
    KeyedOneInput,
    KeyedProcessing,
    KeyedTwoInputs,
    LogReading,
    ManyInputs,
    Mapping,
    Marks,
    Merging,
    OneInput,
    Pairing,
    PairsInTime,
    ProcessingAllWindow,
    ProcessingWindow,
    Pushing,
    Reading,
    Retrying,
    Schema,
    Selecting,
    Stamps,
    TimedReading,
    Triggering,
    TwoInputs,
    Writing,
)

HISTORY = [("a", 1, 5), ("a", 12, 7), ("b", 6, 3)]
LIVE = [("a", 6, 4), ("b", 31, 1)]
"""Records 1 and 12 of `a` are sessions of 10, which the one of 6 makes one."""

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


def key_of(record: Any) -> Any:
    return record[0]


def tens() -> Any:
    return TumblingEventTimeWindows.of(Time.milliseconds(10))


class Programs:
    """Builds programs: a graph in an environment of one mode."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.env = environment(settings)

    def stream(self, source: Any = None, strategy: WatermarkStrategy | None = None) -> Any:
        source = source or history_then_live(HISTORY, LIVE)
        return self.env.from_source(source, strategy or by_time(), "records")

    def keyed(self) -> Any:
        return self.stream().key_by(key_of)

    def two(self) -> tuple[Any, Any]:
        return self.stream(), self.stream()

    def rules(self) -> Any:
        return self.stream(CollectionSource.of([("r", 1)])).broadcast(RULES)


def batched(programs: Programs, function: Any) -> Any:
    """Return a stream whose records a function gets in batches."""
    kind = Types.ROW_NAMED(["text"], [Types.STRING()])
    rows = programs.stream().map(lambda record: Row(text=repr(record)), kind)
    return rows.map_batches(function, kind)


def grouped(programs: Programs, function: Any) -> Any:
    """Return a stream whose records a function gets in batches of one key."""
    kind = Types.ROW_NAMED(["text"], [Types.STRING()])
    rows = programs.stream().map(lambda record: Row(text=repr(record)), kind)
    return rows.key_by(lambda row: row.text).map_groups(function, kind)


Build = Callable[[Programs, Any], Any]
"""(programs, object of the user's) to the stream whose records are thrown away, or None."""


def _async(strategy: Any = None, timeout_ms: int = 60_000) -> Build:
    wait = Time.milliseconds(timeout_ms)

    def build(p: Programs, f: Any) -> Any:
        if strategy is None:
            return AsyncDataStream.ordered_wait(p.stream(), f, wait)
        retry = strategy(f)
        return AsyncDataStream.unordered_wait_with_retry(p.stream(), Asking(), wait, retry)

    return build


def _paired(pairing: str) -> Build:
    def build(p: Programs, f: Any) -> Any:
        one, other = p.two()
        pairs = getattr(one, pairing)(other).where(key_of).equal_to(key_of)
        return pairs.window(tens()).apply(f)

    return build


def _reducing_state(p: Programs, f: Any) -> Any:
    described = ReducingStateDescriptor("sum", f, Types.PICKLED_BYTE_ARRAY())
    return p.keyed().process(AddsTo("get_reducing_state", described))


def _aggregating_state(p: Programs, f: Any) -> Any:
    described = AggregatingStateDescriptor("sum", f, Types.PICKLED_BYTE_ARRAY())
    return p.keyed().process(AddsTo("get_aggregating_state", described))


class AddsTo(KeyedProcessFunction):
    def __init__(self, getter, descriptor):
        self.getter, self.descriptor = getter, descriptor

    def open(self, runtime_context):
        self.state = getattr(runtime_context, self.getter)(self.descriptor)

    def process_element(self, value, ctx):
        self.state.add(value)
        return [self.state.get()]


def both(p: Programs) -> Any:
    one, other = p.two()
    return one.connect(other)


def both_keyed(p: Programs) -> Any:
    return both(p).key_by(key_of, key_of)


def three(p: Programs) -> Any:
    return MultipleConnectedStreams(p.stream(), p.stream(), p.stream())


def three_keyed(p: Programs) -> Any:
    return three(p).key_by(key_of, key_of, key_of)


def joined_in_time(p: Programs, f: Any) -> Any:
    one, other = p.keyed(), p.keyed()
    span = Time.milliseconds(0), Time.milliseconds(5)
    return one.interval_join(other).between(*span).process(f)


def _regularly_joined(p: Programs, f: Any) -> Any:
    one, other = p.two()
    return one.join(other).where(key_of).equal_to(key_of).inner().apply(f)


def _windowed(assigner: Callable[[Any], Any] = lambda _: tens()) -> Callable[[Programs, Any], Any]:
    return lambda p, f: p.keyed().window(assigner(f))


def _session(p: Programs, f: Any) -> Any:
    patient = p.stream(strategy=by_time(100)).key_by(key_of)  # so that a record joins two sessions
    return patient.window(EventTimeSessionWindows(10)).aggregate(f)


def _evicted(p: Programs, f: Any) -> Any:
    return p.keyed().window(tens()).evictor(f).apply(Applying())


def _generated(p: Programs, f: Any) -> Any:
    return p.stream(strategy=WatermarkStrategy.for_generator(lambda: f)).map(key_of)


def _stamped(p: Programs, f: Any) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(f)
    return p.stream(strategy=strategy).map(key_of)


def _stamped_behind(p: Programs, f: Any) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(f)
    return p.keyed().map(lambda r: r).assign_timestamps_and_watermarks(strategy)


def _sliding() -> Any:
    return SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(10))


PROGRAMS: dict[type, list[tuple[type, Build]]] = {
    MapFunction: [
        (Mapping, lambda p, f: p.stream().map(f)),
        (Mapping, lambda p, f: p.keyed().map(f)),
    ],
    MapBatchFunction: [(Batching, batched)],
    MapGroupFunction: [(Grouping, grouped)],
    FlatMapFunction: [
        (Mapping, lambda p, f: p.stream().flat_map(f)),
        (Mapping, lambda p, f: p.keyed().flat_map(f)),
    ],
    FilterFunction: [
        (Mapping, lambda p, f: p.stream().filter(f)),
        (Mapping, lambda p, f: p.keyed().filter(f)),
    ],
    ProcessFunction: [(Mapping, lambda p, f: p.stream().process(f))],
    KeyedProcessFunction: [(KeyedProcessing, lambda p, f: p.keyed().process(f))],
    ReduceFunction: [
        (Folding, lambda p, f: p.keyed().reduce(f)),
        (Folding, lambda p, f: p.keyed().window(tens()).reduce(f)),
        (Folding, lambda p, f: p.keyed().window(_sliding()).reduce(f)),
        (Folding, lambda p, f: p.stream().window_all(Assigning()).reduce(f)),
        (Folding, _reducing_state),
    ],
    AggregateFunction: [
        (Folding, lambda p, f: p.keyed().window(tens()).aggregate(f)),
        (Folding, lambda p, f: p.keyed().window(_sliding()).aggregate(f)),
        (Folding, _session),
        (Folding, _aggregating_state),
    ],
    WindowFunction: [(Applying, lambda p, f: p.keyed().window(tens()).apply(f))],
    AllWindowFunction: [(ApplyingToAll, lambda p, f: p.stream().window_all(tens()).apply(f))],
    ProcessWindowFunction: [
        (ProcessingWindow, lambda p, f: p.keyed().window(tens()).process(f)),
        (ProcessingWindow, lambda p, f: p.keyed().window(Assigning()).process(f)),
    ],
    ProcessAllWindowFunction: [
        (ProcessingAllWindow, lambda p, f: p.stream().window_all(tens()).process(f))
    ],
    AsyncFunction: [(Asking, _async()), (AskingTooLong, _async(timeout_ms=1))],
    AsyncRetryStrategy: [(Retrying, _async(lambda f: f))],
    AsyncRetryPredicate: [(Again, _async(Retrying))],
    CoMapFunction: [
        (Pairing, lambda p, f: both(p).map(f)),
        (Pairing, lambda p, f: both_keyed(p).map(f)),
    ],
    CoFlatMapFunction: [
        (Pairing, lambda p, f: both(p).flat_map(f)),
        (Pairing, lambda p, f: both_keyed(p).flat_map(f)),
    ],
    CoProcessFunction: [(CoProcessing, lambda p, f: both(p).process(f))],
    KeyedCoProcessFunction: [(KeyedCoProcessing, lambda p, f: both_keyed(p).process(f))],
    BroadcastProcessFunction: [
        (Broadcasting, lambda p, f: p.stream().connect(p.rules()).process(f))
    ],
    KeyedBroadcastProcessFunction: [
        (KeyedBroadcasting, lambda p, f: p.keyed().connect(p.rules()).process(f))
    ],
    CoGroupFunction: [(Pairing, _paired("co_group"))],
    JoinFunction: [(Joining, _paired("join")), (Joining, _regularly_joined)],
    FlatJoinFunction: [(FlatJoining, _paired("join"))],
    ProcessJoinFunction: [(PairsInTime, joined_in_time)],
    OneInputStreamOperator: [
        (OneInput, lambda p, f: p.stream().transform("own", None, f)),
        (KeyedOneInput, lambda p, f: p.keyed().transform("own", None, f)),
    ],
    TwoInputStreamOperator: [
        (TwoInputs, lambda p, f: both(p).transform("own", None, f)),
        (KeyedTwoInputs, lambda p, f: both_keyed(p).transform("own", None, f)),
    ],
    MultipleInputStreamOperator: [
        (ManyInputs, lambda p, f: three(p).transform("own", None, f)),
        (KeyedManyInputs, lambda p, f: three_keyed(p).transform("own", None, f)),
    ],
    Input: [
        (InputOfMany, lambda p, f: three(p).transform("own", None, ManyInputs(f))),
        (InputOfMany, lambda p, f: three_keyed(p).transform("own", None, KeyedManyInputs(f))),
    ],
    AbstractInput: [(InputOfMany, lambda p, f: three(p).transform("own", None, ManyInputs(f)))],
    StreamOperatorFactory: [
        (Creating, lambda p, f: p.stream().transform("own", None, f)),
        (Creating, lambda p, f: p.keyed().transform("own", None, f)),
    ],
    KeySelector: [
        (Selecting, lambda p, f: p.stream().key_by(f).map(key_of)),
        (Selecting, lambda p, f: p.stream().partition_custom(Selecting(), f).map(key_of)),
    ],
    Partitioner: [(Selecting, lambda p, f: p.stream().partition_custom(f, key_of).map(key_of))],
    WindowAssigner: [(Assigning, lambda p, f: p.keyed().window(f).apply(Applying()))],
    MergingWindowAssigner: [(Merging, lambda p, f: p.keyed().window(f).apply(Applying()))],
    SessionWindowTimeGapExtractor: [
        (
            Gap,
            lambda p, f: (
                p.keyed().window(EventTimeSessionWindows.with_dynamic_gap(f)).apply(Applying())
            ),
        )
    ],
    Trigger: [
        (Triggering, lambda p, f: p.keyed().window(tens()).trigger(f).apply(Applying())),
        (Triggering, lambda p, f: p.keyed().window(Merging()).trigger(f).apply(Applying())),
        (ByTheClock, lambda p, f: p.keyed().window(tens()).trigger(f).apply(Applying())),
    ],
    Evictor: [(Evicting, _evicted)],
    TimestampAssigner: [(Stamps, _stamped), (Stamps, _stamped_behind)],
    WatermarkGenerator: [(Marks, _generated)],
    SerializationSchema: [(Schema, lambda p, f: p.stream().map(f.serialize))],
    DeserializationSchema: [(Schema, lambda p, f: p.stream().map(f.deserialize))],
    SplitSource: [
        (Reading, lambda p, f: p.stream(f).map(key_of)),
        (TimedReading, lambda p, f: p.stream(HybridSource.until_timestamp(f, 10)).map(key_of)),
    ],
    LogSource: [
        (LogReading, lambda p, f: p.stream(f).map(key_of)),
        (CapturedReading, lambda p, f: p.stream(f).map(key_of)),
        (EndedReading, lambda p, f: p.stream(HybridSource.until_timestamp(f, 10)).map(key_of)),
    ],
    SourceFunction: [(Pushing, lambda p, f: p.env.add_source(f))],
    SinkFunction: [(Invoking, lambda p, f: p.stream().add_sink(f))],
    Sink: [(Writing, lambda p, f: p.stream().sink_to(f))],
    SinkWriter: [(Writing, lambda p, f: p.stream().sink_to(f))],
    Committer: [(Writing, lambda p, f: p.stream().sink_to(f))],
}
"""Class to objects of it, and programs that have one."""

ABSTRACT_ONLY = {
    "BaseBroadcastProcessFunction": "BroadcastProcessFunction and its keyed sibling are it",
    "KafkaTopicSelector": "called by the writer of a Kafka sink: see `tests/connectors/kafka`",
    "Source": "read by nobody but Spark; SplitSource and LogSource are those that run in Python",
    "TypeInformation": "its serializer: see tests/state/test_user_types.py",
    "TypeSerializer": "called for state: see tests/state/test_user_types.py",
    "WatermarkOutput": "given to the program",
    "Window": "TimeWindow, GlobalWindow and CountWindow are made by the program",
}
"""Abstract classes of the API that have no callable of the user's, and why."""


def public_classes() -> dict[str, type]:
    """Return the classes of the API by name."""
    names = ["penstock.graph.endpoints"]
    for package in ("penstock.datastream", "penstock.common"):
        path = importlib.import_module(package).__path__
        names += [package, *(found.name for found in pkgutil.walk_packages(path, package + "."))]
    modules = [importlib.import_module(name) for name in names]
    return {
        value.__qualname__: value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and value.__module__.startswith("penstock.")
    }


def callables() -> Iterator[tuple[type, str]]:
    """Yield the abstract classes of the API that have programs, and their public methods."""
    for cls in PROGRAMS:
        for name in dir(cls):
            found = inspect.getattr_static(cls, name)
            is_method = inspect.isfunction(found) and not hasattr(found, "__final__")
            if not name.startswith("_") and is_method:
                yield cls, name
