"""The names of `pyflink.datastream`: change the import, keep the program."""

from __future__ import annotations

from penstock.api.checkpointing import CheckpointConfig, CheckpointingMode
from penstock.api.collecting import CloseableIterator
from penstock.api.context import RuntimeContext, TimerService
from penstock.api.data_stream import DataStream
from penstock.api.environment import StreamExecutionEnvironment
from penstock.api.functions import (
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
from penstock.api.state import ValueState, ValueStateDescriptor
from penstock.api.watermark import TimestampAssigner, WatermarkStrategy
from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.types import TimeDomain

__all__ = [
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
    "KeyedStream",
    "MapFunction",
    "ProcessFunction",
    "ReduceFunction",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "StreamExecutionEnvironment",
    "TimeDomain",
    "TimerService",
    "TimestampAssigner",
    "ValueState",
    "ValueStateDescriptor",
    "WatermarkStrategy",
]
