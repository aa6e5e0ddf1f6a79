"""The names of `pyflink.datastream`: change the import, keep the program.

The examples in docstrings start from these lines. `collect` runs a stream in this process,
without Spark, and returns its records; a job on Spark is started by `env.execute()`.

>>> from penstock.common import *
>>> from penstock.datastream import *
>>> from penstock.datastream.connectors import *
>>> from penstock.datastream.window import *
>>> from penstock.testing import *
>>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
>>> numbers = env.from_collection([1, 2, 3, 4], Types.INT())
>>> orders = env.from_collection(  # (customer, amount, epoch milliseconds)
...     [("ann", 5, 1_000), ("bob", 3, 2_000), ("ann", 7, 12_000)],
...     Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()]),
... ).assign_timestamps_and_watermarks(
...     WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
...         lambda order, _: order[2]
...     )
... )
"""

from __future__ import annotations

from penstock.api.environment.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.api.environment.checkpointing import (
    CheckpointConfig,
    CheckpointingMode,
    ExternalizedCheckpointRetention,
)
from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.api.environment.job import JobClient, JobExecutionResult, JobStatus
from penstock.api.environment.slot_sharing import MemorySize, SlotSharingGroup
from penstock.api.environment.state_backends import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)
from penstock.api.functions.async_functions import AsyncFunction
from penstock.api.functions.async_retries import AsyncRetryPredicate, AsyncRetryStrategy
from penstock.api.functions.context import KeyedStateStore, RuntimeContext, TimerService
from penstock.api.functions.function_classes import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
)
from penstock.api.functions.join_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from penstock.api.functions.sink_functions import SinkFunction
from penstock.api.functions.source_functions import SourceFunction
from penstock.api.functions.stream_operators import OneInputStreamOperator, TwoInputStreamOperator
from penstock.api.functions.two_input_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.api.functions.watermark import TimestampAssigner, WatermarkStrategy
from penstock.api.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.api.state.handles import (
    AggregatingState,
    BroadcastState,
    ListState,
    MapState,
    ReadOnlyBroadcastState,
    ReducingState,
    ValueState,
)
from penstock.api.state.ttl import StateTtlConfig
from penstock.api.streams.async_data_stream import AsyncDataStream
from penstock.api.streams.broadcast_streams import BroadcastConnectedStream, BroadcastStream
from penstock.api.streams.co_grouped_streams import CoGroupedStreams
from penstock.api.streams.collecting import CloseableIterator
from penstock.api.streams.connected_streams import ConnectedStreams
from penstock.api.streams.data_stream import DataStream
from penstock.api.streams.interval_join import IntervalJoin
from penstock.api.streams.joined_rows import JoinedRows
from penstock.api.streams.joined_streams import JoinedStreams
from penstock.api.streams.keyed_stream import KeyedStream
from penstock.api.streams.stream_ends import DataStreamSink
from penstock.api.windows.assigner import MergingWindowAssigner, WindowAssigner
from penstock.api.windows.trigger import Trigger, TriggerResult
from penstock.api.windows.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.api.windows.windowed_stream import AllWindowedStream, WindowedStream
from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.graph.operator_attributes import OperatorAttributes, OperatorAttributesBuilder
from penstock.program.record_attributes import RecordAttributes, RecordAttributesBuilder
from penstock.program.tagged_union import TaggedUnion
from penstock.program.windows import CountWindow, GlobalWindow, TimeWindow, Window
from penstock.types import TimeDomain
from penstock.types.output_tag import OutputTag

__all__ = [
    "AggregateFunction",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AllWindowFunction",
    "AllWindowedStream",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastState",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointStorage",
    "CheckpointingMode",
    "CloseableIterator",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoGroupedStreams",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedStreams",
    "CountWindow",
    "CustomStateBackend",
    "DataStream",
    "DataStreamSink",
    "EmbeddedRocksDBStateBackend",
    "ExternalizedCheckpointRetention",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "GlobalWindow",
    "HashMapStateBackend",
    "IntervalJoin",
    "JobClient",
    "JobExecutionResult",
    "JobManagerCheckpointStorage",
    "JobStatus",
    "JoinFunction",
    "JoinedRows",
    "JoinedStreams",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "KeyedStream",
    "ListState",
    "ListStateDescriptor",
    "MapFunction",
    "MapState",
    "MapStateDescriptor",
    "MemorySize",
    "MergingWindowAssigner",
    "OneInputStreamOperator",
    "OperatorAttributes",
    "OperatorAttributesBuilder",
    "OutputTag",
    "Partitioner",
    "PredefinedOptions",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReadOnlyBroadcastState",
    "RecordAttributes",
    "RecordAttributesBuilder",
    "ReduceFunction",
    "ReducingState",
    "ReducingStateDescriptor",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SinkFunction",
    "SlotSharingGroup",
    "SourceFunction",
    "StateBackend",
    "StateTtlConfig",
    "StreamExecutionEnvironment",
    "TaggedUnion",
    "TimeDomain",
    "TimeWindow",
    "TimerService",
    "TimestampAssigner",
    "Trigger",
    "TriggerResult",
    "TwoInputStreamOperator",
    "ValueState",
    "ValueStateDescriptor",
    "WatermarkStrategy",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
]
