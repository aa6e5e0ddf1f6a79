"""Sources and sinks."""

from penstock.connectors.absent import find_connector
from penstock.connectors.delta.delta_sink import DeltaSink
from penstock.connectors.delta.delta_source import DeltaSource
from penstock.connectors.epoch_marks import DeliveryGuarantee
from penstock.connectors.files.batch_function_sink import BatchEpoch, BatchFunctionSink
from penstock.connectors.files.file_sink import FileSink
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.kafka.flink_kafka import FlinkKafkaConsumer, FlinkKafkaProducer, Semantic
from penstock.connectors.kafka.kafka_sink import KafkaSink
from penstock.connectors.kafka.kafka_source import KafkaSource
from penstock.connectors.postgres.jdbc_sink import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.data_generator import DataGeneratorSource, NumberSequenceSource
from penstock.connectors.python.function_sink import DiscardingSink, FunctionSink
from penstock.connectors.python.iterator_source import IteratorSource
from penstock.connectors.python.print_sink import PrintSink
from penstock.connectors.redis.redis_sink import RedisSink
from penstock.connectors.redis.redis_source import RedisSource
from penstock.connectors.spark_source import SparkSource
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileEnumeratorProvider,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from penstock.graph.endpoints import (
    Committer,
    EpochNumber,
    KeptOutside,
    LogBatch,
    LogSnapshot,
    LogSource,
    LogSplit,
    Sink,
    SinkContext,
    SinkWriter,
    Source,
    SplitSource,
)
from penstock.graph.hybrid import HybridSource
from penstock.graph.source_switch import SourceSwitch

__all__ = [
    "BatchEpoch",
    "BatchFunctionSink",
    "BucketAssigner",
    "CollectionSource",
    "Committer",
    "DataGeneratorSource",
    "DeliveryGuarantee",
    "DeltaSink",
    "DeltaSource",
    "DiscardingSink",
    "EpochNumber",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "FunctionSink",
    "HybridSource",
    "IteratorSource",
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "KafkaSink",
    "KafkaSource",
    "KeptOutside",
    "LogBatch",
    "LogSnapshot",
    "LogSource",
    "LogSplit",
    "NumberSequenceSource",
    "OutputFileConfig",
    "PrintSink",
    "RedisSink",
    "RedisSource",
    "RollingPolicy",
    "Semantic",
    "Sink",
    "SinkContext",
    "SinkWriter",
    "Source",
    "SourceSwitch",
    "SparkSource",
    "SplitSource",
    "StreamFormat",
    "StreamingFileSink",
]

__getattr__ = find_connector
