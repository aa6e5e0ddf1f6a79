"""The names of `pyflink.datastream`: change the import, keep the program."""

from __future__ import annotations

from penstock.api.checkpointing import CheckpointConfig, CheckpointingMode
from penstock.api.collecting import CloseableIterator
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
    ProcessFunction,
    ReduceFunction,
)
from penstock.api.job import JobClient, JobExecutionResult, JobStatus
from penstock.api.keyed_stream import KeyedStream
from penstock.api.sink_stream import DataStreamSink
from penstock.api.state import (
    AggregatingState,
    BroadcastState,
    ListState,
    MapState,
    ReadOnlyBroadcastState,
    ReducingState,
    ValueState,
)
from penstock.api.state_descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.api.state_ttl import StateTtlConfig
from penstock.api.watermark import TimestampAssigner, WatermarkStrategy
from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.types import TimeDomain

__all__ = [
    "AggregateFunction",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "BroadcastState",
    "CheckpointConfig",
    "CheckpointingMode",
    "CloseableIterator",
    "DataStream",
    "DataStreamSink",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "JobClient",
    "JobExecutionResult",
    "JobStatus",
    "KeySelector",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "KeyedStream",
    "ListState",
    "ListStateDescriptor",
    "MapFunction",
    "MapState",
    "MapStateDescriptor",
    "ProcessFunction",
    "ReadOnlyBroadcastState",
    "ReduceFunction",
    "ReducingState",
    "ReducingStateDescriptor",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "StateTtlConfig",
    "StreamExecutionEnvironment",
    "TimeDomain",
    "TimerService",
    "TimestampAssigner",
    "ValueState",
    "ValueStateDescriptor",
    "WatermarkStrategy",
]
