"""The names of `pyflink.datastream`: change the import, keep the program."""

from __future__ import annotations

from penstock.api.async_data_stream import AsyncDataStream
from penstock.api.async_functions import AsyncFunction
from penstock.api.async_retries import AsyncRetryPredicate, AsyncRetryStrategy
from penstock.api.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.api.checkpointing import (
    CheckpointConfig,
    CheckpointingMode,
    ExternalizedCheckpointRetention,
)
from penstock.api.co_grouped_streams import CoGroupedStreams
from penstock.api.collecting import CloseableIterator
from penstock.api.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from penstock.api.context import KeyedStateStore, RuntimeContext, TimerService
from penstock.api.data_stream import DataStream
from penstock.api.environment import StreamExecutionEnvironment
from penstock.api.functions import (
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
from penstock.api.interval_join import IntervalJoin
from penstock.api.job import JobClient, JobExecutionResult, JobStatus
from penstock.api.join_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from penstock.api.joined_rows import JoinedRows
from penstock.api.joined_streams import JoinedStreams
from penstock.api.keyed_stream import KeyedStream
from penstock.api.sink_functions import SinkFunction
from penstock.api.sink_stream import DataStreamSink
from penstock.api.slot_sharing import MemorySize, SlotSharingGroup
from penstock.api.source_functions import SourceFunction
from penstock.api.state import (
    AggregatingState,
    BroadcastState,
    ListState,
    MapState,
    ReadOnlyBroadcastState,
    ReducingState,
    ValueState,
)
from penstock.api.state_backends import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)
from penstock.api.state_descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.api.state_ttl import StateTtlConfig
from penstock.api.stream_operators import OneInputStreamOperator, TwoInputStreamOperator
from penstock.api.two_input_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.api.watermark import TimestampAssigner, WatermarkStrategy
from penstock.api.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.api.windowed_stream import AllWindowedStream, WindowedStream
from penstock.api.windows.assigner import MergingWindowAssigner, WindowAssigner
from penstock.api.windows.trigger import Trigger, TriggerResult
from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.graph.operator_attributes import OperatorAttributes, OperatorAttributesBuilder
from penstock.types import TimeDomain
from penstock.types.output_tag import OutputTag
from penstock.types.record_attributes import RecordAttributes, RecordAttributesBuilder
from penstock.types.tagged_union import TaggedUnion
from penstock.types.windows import CountWindow, GlobalWindow, TimeWindow, Window

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
