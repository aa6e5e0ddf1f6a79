"""The names of `pyflink.datastream`: change the import, keep the program.

The examples in docstrings start from these lines. `collect` runs a stream in this process,
without Spark, and returns its records; a job on Spark is started by `env.execute()`.

>>> import numpy as np
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
>>> class Lookup(AsyncFunction):
...     async def async_invoke(self, value):
...         return [value * 10]
"""

from penstock.api.environment.job import JobClient, JobExecutionResult, JobStatus
from penstock.api.functions.watermark import TimestampAssigner, WatermarkStrategy
from penstock.api.streams.stream_handles import JoinedRows
from penstock.datastream import functions
from penstock.datastream.async_data_stream import AsyncDataStream
from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.datastream.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.datastream.checkpointing_mode import CheckpointingMode
from penstock.datastream.data_stream import (
    AllWindowedStream,
    BroadcastConnectedStream,
    BroadcastStream,
    CloseableIterator,
    CoGroupedStreams,
    ConnectedStreams,
    DataStream,
    DataStreamSink,
    IntervalJoin,
    JoinedStreams,
    KeyedStream,
    MultipleConnectedStreams,
    WindowedStream,
)
from penstock.datastream.execution_mode import RuntimeExecutionMode
from penstock.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from penstock.datastream.functions import *  # noqa: F403 - all that its `__all__` names
from penstock.datastream.operators import (
    AbstractInput,
    ExternalSorter,
    Input,
    MultipleInputStreamOperator,
    OneInputStreamOperator,
    OperatorAttributes,
    OperatorAttributesBuilder,
    RecordAttributes,
    RecordAttributesBuilder,
    SimpleOperatorFactory,
    StreamOperatorFactory,
    TwoInputStreamOperator,
)
from penstock.datastream.output_tag import OutputTag
from penstock.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from penstock.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    ReducingState,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueState,
    ValueStateDescriptor,
)
from penstock.datastream.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.datastream.time_domain import TimeDomain
from penstock.datastream.window import (
    CountWindow,
    GlobalWindow,
    MergingWindowAssigner,
    TimeWindow,
    Trigger,
    TriggerResult,
    Window,
    WindowAssigner,
)
from penstock.expressions.column import (
    ColumnExpression,
    coalesce,
    col,
    concat,
    greatest,
    least,
    lit,
    null_if,
    struct,
    when,
)
from penstock.program.join import TaggedUnion

__all__ = [
    "AbstractInput",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AllWindowedStream",
    "AsyncDataStream",
    "BroadcastConnectedStream",
    "BroadcastState",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointStorage",
    "CheckpointingMode",
    "CloseableIterator",
    "CoGroupedStreams",
    "ColumnExpression",
    "ConnectedStreams",
    "CountWindow",
    "CustomStateBackend",
    "DataStream",
    "DataStreamSink",
    "EmbeddedRocksDBStateBackend",
    "ExternalSorter",
    "ExternalizedCheckpointRetention",
    "FileSystemCheckpointStorage",
    "GlobalWindow",
    "HashMapStateBackend",
    "Input",
    "IntervalJoin",
    "JobClient",
    "JobExecutionResult",
    "JobManagerCheckpointStorage",
    "JobStatus",
    "JoinedRows",
    "JoinedStreams",
    "KeyedStream",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MemorySize",
    "MergingWindowAssigner",
    "MultipleConnectedStreams",
    "MultipleInputStreamOperator",
    "OneInputStreamOperator",
    "OperatorAttributes",
    "OperatorAttributesBuilder",
    "OutputTag",
    "PredefinedOptions",
    "ReadOnlyBroadcastState",
    "RecordAttributes",
    "RecordAttributesBuilder",
    "ReducingState",
    "ReducingStateDescriptor",
    "RuntimeExecutionMode",
    "SimpleOperatorFactory",
    "SlotSharingGroup",
    "StateBackend",
    "StateTtlConfig",
    "StreamExecutionEnvironment",
    "StreamOperatorFactory",
    "TaggedUnion",
    "TimeDomain",
    "TimeWindow",
    "TimestampAssigner",
    "Trigger",
    "TriggerResult",
    "TwoInputStreamOperator",
    "ValueState",
    "ValueStateDescriptor",
    "WatermarkStrategy",
    "Window",
    "WindowAssigner",
    "WindowedStream",
    "coalesce",
    "col",
    "concat",
    "greatest",
    "least",
    "lit",
    "null_if",
    "struct",
    "when",
]
__all__ += functions.__all__
