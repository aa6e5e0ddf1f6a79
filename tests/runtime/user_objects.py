"""Objects of every kind of class that a program may derive, which do as little as they may."""

from __future__ import annotations

import asyncio

from penstock.common import (
    DeserializationSchema,
    Row,
    SerializationSchema,
    TimestampAssigner,
    Types,
    WatermarkGenerator,
)
from penstock.datastream import (
    AbstractInput,
    AggregateFunction,
    AllWindowFunction,
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
    JoinFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapBatchFunction,
    MapFunction,
    MapGroupFunction,
    MergingWindowAssigner,
    MultipleInputStreamOperator,
    OneInputStreamOperator,
    Partitioner,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ReduceFunction,
    SinkFunction,
    SourceFunction,
    StreamOperatorFactory,
    TimeWindow,
    Trigger,
    TriggerResult,
    TwoInputStreamOperator,
    WindowAssigner,
    WindowFunction,
)
from penstock.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    SessionWindowTimeGapExtractor,
)
from penstock.graph.endpoints import (
    Committer,
    LogBatch,
    LogSnapshot,
    LogSource,
    LogSplit,
    Sink,
    SinkWriter,
)
from tests.runtime.jobs import Splits


class Mapping(MapFunction, FlatMapFunction, FilterFunction, ProcessFunction):
    def map(self, value):
        return value

    def flat_map(self, value):
        return [value]

    def filter(self, value):
        return True

    def process_element(self, value, ctx):
        return [value]


class Batching(MapBatchFunction):
    def map_batch(self, batch):
        return batch


class Grouping(MapGroupFunction):
    def map_group(self, batch):
        return batch


class Folding(ReduceFunction, AggregateFunction):
    def reduce(self, value1, value2):
        return value1

    def create_accumulator(self):
        return ("", 0, 0)

    def add(self, value, accumulator):
        return value

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a


class Applying(WindowFunction):
    def apply(self, key, window, inputs):
        return [len(list(inputs))]


class ApplyingToAll(AllWindowFunction):
    def apply(self, window, inputs):
        return [len(list(inputs))]


class ProcessingWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        return [len(list(elements))]


class ProcessingAllWindow(ProcessAllWindowFunction):
    def process(self, context, elements):
        return [len(list(elements))]


class Pairing(CoMapFunction, CoFlatMapFunction, CoGroupFunction):
    def map1(self, value):
        return value

    map2 = map1

    def flat_map1(self, value):
        return [value]

    flat_map2 = flat_map1

    def co_group(self, first, second):
        return [len(first), len(second)]


class Joining(JoinFunction):
    def join(self, first, second):
        return Row(first, second)


class FlatJoining(FlatJoinFunction):
    def join(self, first, second):
        return [first]


class PairsInTime(ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        return [left]


class KeyedProcessing(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 1)
        return [value]

    def on_timer(self, timestamp, ctx):
        return [timestamp]


class Broadcasting(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        return [value]

    def process_broadcast_element(self, value, ctx):
        return None


class KeyedBroadcasting(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 1)
        return [value]

    def process_broadcast_element(self, value, ctx):
        return None

    def on_timer(self, timestamp, ctx):
        return [timestamp]


class CoProcessing(CoProcessFunction):
    def process_element1(self, value, ctx):
        return [value]

    def process_element2(self, value, ctx):
        return [value]


class KeyedCoProcessing(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 1)
        return [value]

    def process_element2(self, value, ctx):
        return [value]

    def on_timer(self, timestamp, ctx):
        return [timestamp]


class OneInput(OneInputStreamOperator):
    is_keyed = False

    def process_element(self, value, ctx):
        if self.is_keyed:
            ctx.timer_service().register_event_time_timer(value[1] + 1)
        self.output.collect(value)

    def on_timer(self, timestamp, ctx):
        self.output.collect(timestamp)


class KeyedOneInput(OneInput):
    is_keyed = True


class TwoInputs(TwoInputStreamOperator):
    is_keyed = False

    def process_element1(self, value, ctx):
        if self.is_keyed:
            ctx.timer_service().register_event_time_timer(value[1] + 1)
        self.output.collect(value)

    def process_element2(self, value, ctx):
        self.output.collect(value)

    def on_timer(self, timestamp, ctx):
        self.output.collect(timestamp)


class KeyedTwoInputs(TwoInputs):
    is_keyed = True


class InputOfMany(AbstractInput):
    def __init__(self, owner=None, input_id=1):
        super().__init__(owner, input_id)

    def process_element(self, value, ctx):
        if self.owner.is_keyed and self.input_id == 1:
            ctx.timer_service().register_event_time_timer(value[1] + 1)
        self.output.collect(value)


class ManyInputs(MultipleInputStreamOperator):
    is_keyed = False

    def __init__(self, first=None):
        self.first = first or InputOfMany()

    def get_inputs(self):
        self.first.owner = self
        return [self.first, InputOfMany(self, 2), InputOfMany(self, 3)]

    def on_timer(self, timestamp, ctx):
        self.output.collect(timestamp)


class KeyedManyInputs(ManyInputs):
    is_keyed = True


class Creating(StreamOperatorFactory):
    def create_stream_operator(self, parameters):
        return OneInput()


class Asking(AsyncFunction):
    async def async_invoke(self, value):
        return [value]


class AskingTooLong(Asking):
    async def async_invoke(self, value):
        await asyncio.sleep(60)
        return [value]

    def timeout(self, value):
        return [value]


class Retrying(AsyncRetryStrategy):
    def __init__(self, predicate=None):
        self.predicate = predicate

    def can_retry(self, current_attempts):
        return current_attempts < 2

    def get_backoff_time_millis(self, current_attempts):
        return 0

    def get_retry_predicate(self):
        return self.predicate or Again()


class Again(AsyncRetryPredicate):
    def result_predicate(self):
        return bool

    def exception_predicate(self):
        return bool


class Selecting(KeySelector, Partitioner):
    def get_key(self, value):
        return value[0]

    def partition(self, key, num_partitions):
        return 0


class Assigning(WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        return [TimeWindow(timestamp - timestamp % 10, timestamp - timestamp % 10 + 10)]

    def get_default_trigger(self, env):
        return EventTimeTrigger()

    def is_event_time(self):
        return True


class Merging(Assigning, MergingWindowAssigner):
    def assign_windows(self, element, timestamp, context):
        return [TimeWindow(timestamp, timestamp + 10)]

    def merge_windows(self, windows, callback):
        EventTimeSessionWindows(10).merge_windows(windows, callback)


class Triggering(Trigger):
    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE

    def can_merge(self):
        return True

    def on_merge(self, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window, ctx):
        pass


class ByTheClock(Triggering):
    def on_element(self, element, timestamp, window, ctx):
        ctx.register_processing_time_timer(0)
        return TriggerResult.CONTINUE


class Evicting(Evictor):
    def evict_before(self, elements, size, window, ctx):
        pass

    evict_after = evict_before


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 10


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Marks(WatermarkGenerator):
    def on_event(self, *told):
        pass

    on_periodic_emit = on_event


class Schema(SerializationSchema, DeserializationSchema):
    def serialize(self, element):
        return repr(element).encode()

    def deserialize(self, message):
        return message

    def get_produced_type(self):
        return Types.PICKLED_BYTE_ARRAY()


class Reading(Splits):
    """A source of the user's; a dataclass, so methods are replaced in a subclass."""


class TimedReading(Reading):
    def read_timestamped(self, split, start, end):
        records = self.read(split, start, end)
        return records, [record[1] for record in records]


class LogReading(LogSource):
    """A log of two splits."""

    kind = "own"
    splits = {"a": [("a", 1, 5), ("a", 12, 7), ("b", 6, 3)], "b": [("b", 31, 1)]}  # noqa: RUF012

    @property
    def is_bounded(self):
        return True

    def get_produced_type(self):
        return Types.PICKLED_BYTE_ARRAY()

    def discover(self, known):
        return [LogSplit(name, 0, len(records)) for name, records in self.splits.items()]

    def read(self, split, start, end):
        records = self.splits[split][start:end]
        return LogBatch(records, end, [record[1] for record in records])


class CapturedReading(LogReading):
    """The same, whose first records are captured when a job starts."""

    def snapshot(self, directory):
        (directory / "a").touch()
        return LogSnapshot({"a": 2}, {"a": 2, "b": 0})

    def read_snapshot(self, file, start, end):
        return self.read(file.name, start, end)


class EndedReading(LogReading):
    """The same, with a backlog that ends somewhere, so there is nothing to capture."""

    takes_snapshot = False


class Pushing(SourceFunction):
    def run(self, ctx):
        ctx.collect_with_timestamp(("a", 1, 5), 1)

    def cancel(self):
        pass


class Invoking(SinkFunction):
    def invoke(self, value, context):
        pass


class Writing(Sink, SinkWriter, Committer):
    """All three, so that one object can be made to fail in any of them."""

    kind = "own"

    def create_writer(self, context):
        return self

    def create_committer(self, context):
        return self

    def write(self, values):
        pass

    def prepare_commit(self):
        return []

    def abort(self):
        pass

    def recover(self):
        pass

    def commit(self, epoch, committables):
        pass
