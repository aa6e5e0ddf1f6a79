"""Every parameter of the API that takes a function as it is, and a program for each."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from typing import Any

from penstock.common import Time, Types, WatermarkStrategy
from penstock.connectors.python.data_generator import DataGeneratorSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.connectors.python.iterator_source import IteratorSource
from penstock.datastream import AsyncDataStream, AsyncRetryStrategy, MapFunction
from penstock.datastream import ReducingStateDescriptor as Reducing
from penstock.datastream.window import DeltaEvictor
from tests.runtime.jobs import by_time
from tests.runtime.user_callables import (
    AddsTo,
    Build,
    Programs,
    batched,
    both,
    grouped,
    joined_in_time,
    key_of,
    tens,
    three,
)
from tests.runtime.user_objects import Applying, Asking, ManyInputs, Pairing

_FUNCTION = re.compile(r"\b(Callable|ToOne|ToMany|Predicate|ToKey|Combination|ToSubtask|Reducer)\b")
_NAME = re.compile(
    r"^(func|function|\w+_func(tion)?|key_selector\d?|partitioner|timestamp_assigner|supplier)$"
)

OBJECTS = {
    "AggregatingStateDescriptor.__init__(agg_function)",
    "AsyncDataStream.ordered_wait(async_function)",
    "AsyncDataStream.ordered_wait_with_retry(async_function)",
    "AsyncDataStream.unordered_wait(async_function)",
    "AsyncDataStream.unordered_wait_with_retry(async_function)",
    "BroadcastConnectedStream.process(func)",
    "ConnectedStreams.flat_map(func)",
    "ConnectedStreams.map(func)",
    "ConnectedStreams.process(func)",
    "StreamOperations.process(func)",
    "KeyedStream.process(func)",
    "StreamExecutionEnvironment.add_source(source_func)",
    "WindowSettings.aggregate(aggregate_function)",
    "WindowSettings.aggregate(window_function)",
    "WindowSettings.apply(window_function)",
    "WindowSettings.process(process_window_function)",
    "WindowSettings.reduce(window_function)",
}
"""Take function objects only; see `user_callables`."""

ALIKE = {
    "AsyncRetryStrategy.exponential_backoff(exception_predicate)": "AsyncRetryStrategy.fixed_delay",
    "AsyncRetryStrategy.exponential_backoff(result_predicate)": "AsyncRetryStrategy.fixed_delay",
    "DeltaEvictor.__init__(delta_function)": "DeltaEvictor.of",
    "ExponentialBackoffDelayRetryStrategy.__init__(exception_predicate)": "AsyncRetryStrategy",
    "ExponentialBackoffDelayRetryStrategy.__init__(result_predicate)": "AsyncRetryStrategy",
    "FixedDelayRetryStrategy.__init__(exception_predicate)": "AsyncRetryStrategy",
    "FixedDelayRetryStrategy.__init__(result_predicate)": "AsyncRetryStrategy",
    "KafkaRecordSerializationSchemaBuilder.set_headers(headers)": "tests/connectors/kafka",
    "KafkaRecordSerializationSchemaBuilder.set_partitioner(partitioner)": "tests/connectors/kafka",
    "KafkaRecordSerializationSchemaBuilder.set_timestamp(timestamp)": "tests/connectors/kafka",
    "KafkaRecordSerializationSchemaBuilder.set_topic_selector(topic_selector)": "the same",
    "KafkaSinkBuilder.set_record_serializer(record_serializer)": "tests/connectors/kafka",
    "KafkaSourceBuilder.__init__(make)": "ours",
    "KafkaSourceBuilder.set_deserializer(deserializer)": "tests/connectors/kafka",
    "PostgresSourceBuilder.__init__(make)": "ours",
    "PostgresSourceBuilder.set_deserializer(deserializer)": "tests/connectors/postgres",
    "RedisSink.to_hashes(key)": "tests/connectors/redis",
    "RedisSource.__init__(function)": "map_entries",
    "RedisSource.map_entries(function)": "tests/connectors/redis",
    "RetryPredicate.__init__(exception_predicate)": "AsyncRetryStrategy",
    "RetryPredicate.__init__(result_predicate)": "AsyncRetryStrategy",
    "SqlMethods.create_function(function)": "tests/sql/test_scripts.py",
    "StreamEnds.for_each_batch(function)": "tests/spark/test_for_each_batch.py",
    "WatermarkStrategy.__init__(assigner)": "with_timestamp_assigner",
    "WatermarkStrategy.__init__(make_generator)": "for_generator",
    "Where.__init__(selector)": "where",
    "Where.__init__(then)": "where",
}
"""Another way to pass what a tested parameter takes; or why nothing is called."""

MADE_BY_US = {
    "AsOf",
    "BatchFunctionSink",
    "CallableCoGroup",
    "ChangeFunction",
    "Decoder",
    "EpochMarks",
    "EpochTransactions",
    "FileMerger",
    "LocalPartFile",
    "FormatSpec",
    "FunctionSink",
    "Gauge",
    "HiddenFiles",
    "KafkaRecordSerializationSchema",
    "LineDecoder",
    "LineRecordFile",
    "Meter",
    "MetricRegistry",
    "PairFunction",
    "PairedKeys",
    "PairingCoGroup",
    "RecordDeserializer",
    "RecordFunction",
    "RecordWrites",
    "SpoolCommitter",
    "SpoolWriter",
    "TaskClock",
    "TypedKeySelector",
    "WrappedJoin",
}
"""Classes that a program does not make."""


def named_parameters() -> set[str]:
    """Return every parameter of the API that may take a callable, as `Class.method(name)`."""
    found: set[str] = set()
    for package in ("penstock.api", "penstock.connectors", "penstock.metrics"):
        path = importlib.import_module(package).__path__
        for module in pkgutil.walk_packages(path, package + "."):
            for cls in vars(importlib.import_module(module.name)).values():
                if inspect.isclass(cls) and cls.__module__ == module.name:
                    found |= _of_class(cls)
    return found


def _of_class(cls: type) -> set[str]:
    if cls.__name__.startswith("_") or cls.__name__ in MADE_BY_US:
        return set()
    return {
        f"{cls.__name__}.{name}({parameter.name})"
        for name, member in vars(cls).items()
        if not name.startswith("_") or name == "__init__"
        if inspect.isfunction(method := getattr(member, "__func__", member))
        for parameter in inspect.signature(method).parameters.values()
        if _FUNCTION.search(str(parameter.annotation)) or _NAME.match(parameter.name)
        if "self" not in parameter.name
    }


def to_first(_: Any, count: int) -> int:
    return min(0, count)


class Refusing(Asking):
    async def async_invoke(self, value):
        raise ValueError(value)


def _retried(function: Any, **predicates: Any) -> Build:
    def build(p: Programs, f: Any) -> Any:
        given = {name: f if chosen else None for name, chosen in predicates.items()}
        strategy = AsyncRetryStrategy.fixed_delay(2, 1, **given)
        wait = Time.seconds(60)
        return AsyncDataStream.unordered_wait_with_retry(p.stream(), function, wait, strategy)

    return build


class Gauging(MapFunction):
    def __init__(self, read):
        self.read = read

    def open(self, runtime_context):
        runtime_context.get_metrics_group().gauge("reading", self.read)

    def map(self, value):
        return value


def _reducing(p: Programs, f: Any) -> Any:
    described = Reducing("sum", f, Types.PICKLED_BYTE_ARRAY())
    return p.keyed().process(AddsTo("get_reducing_state", described))


def _two(p: Programs, pairing: str, first: Any, second: Any) -> Any:
    one, other = p.two()
    pairs = getattr(one, pairing)(other).where(first).equal_to(second).window(tens())
    return pairs.apply(lambda *sides: [len(sides)])


def _paired(pairing: str) -> Build:
    def build(p: Programs, f: Any) -> Any:
        one, other = p.two()
        pairs = getattr(one, pairing)(other).where(key_of).equal_to(key_of).window(tens())
        return pairs.apply(f)

    return build


def _regularly_joined(p: Programs, f: Any) -> Any:
    one, other = p.two()
    return one.join(other).where(key_of).equal_to(key_of).full().apply(f)


def _evicting(p: Programs, f: Any) -> Any:
    return p.keyed().window(tens()).evictor(DeltaEvictor.of(1.0, f)).apply(Applying())


def _generated(p: Programs, f: Any) -> Any:
    return p.stream(strategy=WatermarkStrategy.for_generator(f)).map(key_of)


def _stamped(p: Programs, f: Any) -> Any:
    return p.stream(strategy=by_time().with_timestamp_assigner(f)).map(key_of)


PLAIN: dict[str, Build] = {
    "AsyncRetryStrategy.fixed_delay(exception_predicate)": _retried(
        Refusing(), exception_predicate=True, result_predicate=False
    ),
    "AsyncRetryStrategy.fixed_delay(result_predicate)": _retried(
        Asking(), result_predicate=True, exception_predicate=False
    ),
    "BatchOperations.map_batches(func)": batched,
    "KeyedBatches.map_groups(func)": grouped,
    "CoGroupedStreams.where(key_selector)": lambda p, f: _two(p, "co_group", f, key_of),
    "CoGroupedWindows.apply(function)": _paired("co_group"),
    "ConnectedStreams.key_by(key_selector1)": lambda p, f: both(p).key_by(f, key_of).map(Pairing()),
    "ConnectedStreams.key_by(key_selector2)": lambda p, f: both(p).key_by(key_of, f).map(Pairing()),
    "DataGeneratorSource.__init__(generator)": lambda p, f: p.stream(DataGeneratorSource(f, 5)),
    "StreamOperations.filter(func)": lambda p, f: p.stream().filter(f),
    "StreamOperations.flat_map(func)": lambda p, f: p.stream().flat_map(f),
    "DataStream.key_by(key_selector)": lambda p, f: p.stream().key_by(f).map(key_of),
    "StreamOperations.map(func)": lambda p, f: p.stream().map(f),
    "DeltaEvictor.of(delta_function)": _evicting,
    "IntervalJoined.process(process_join_function)": joined_in_time,
    "IteratorSource.__init__(iterate)": lambda p, f: p.stream(IteratorSource(f, (5,))),
    "IteratorSource.of_generator(function)": lambda p, f: p.stream(IteratorSource.of_generator(f)),
    "JoinedRows.apply(func)": _regularly_joined,
    "JoinedStreams.where(key_selector)": lambda p, f: _two(p, "join", f, key_of),
    "JoinedWindows.apply(function)": _paired("join"),
    "KeyedStream.reduce(func)": lambda p, f: p.keyed().reduce(f),
    "MetricGroup.gauge(obj)": lambda p, f: p.stream().map(Gauging(f)),
    "MultipleConnectedStreams.key_by(key_selectors)": lambda p, f: (
        three(p).key_by(key_of, f, key_of).transform("own", None, ManyInputs())
    ),
    "ReducingStateDescriptor.__init__(reduce_function)": _reducing,
    "Repartitioning.partition_custom(key_selector)": lambda p, f: (
        p.stream().partition_custom(to_first, f).map(key_of)
    ),
    "Repartitioning.partition_custom(partitioner)": lambda p, f: (
        p.stream().partition_custom(f, key_of).map(key_of)
    ),
    "StreamEnds.add_sink(sink_func)": lambda p, f: p.stream().add_sink(f),
    "StreamEnds.upsert_to(key)": lambda p, f: p.stream().upsert_to(DiscardingSink(), key=f),
    "WatermarkStrategy.for_generator(supplier)": _generated,
    "WatermarkStrategy.with_timestamp_assigner(timestamp_assigner)": _stamped,
    "Where.equal_to(key_selector)": lambda p, f: _two(p, "co_group", key_of, f),
    "WindowSettings.reduce(reduce_function)": lambda p, f: p.keyed().window(tens()).reduce(f),
}
"""Parameter to a program that passes a function there."""
