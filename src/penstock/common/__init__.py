"""The names of `pyflink.common`: change the import, keep the program."""

from penstock.api.environment.config_options import ConfigOptions
from penstock.api.environment.execution_config import ExecutionConfig
from penstock.api.environment.job import (
    CompletableFuture,
    JobClient,
    JobExecutionResult,
    JobID,
    JobStatus,
)
from penstock.api.environment.restart_strategies import (
    RestartStrategies,
    RestartStrategyConfiguration,
)
from penstock.api.functions.watermark import (
    TimestampAssigner,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from penstock.config.configuration import Configuration
from penstock.config.option import ConfigOption
from penstock.config.options import RuntimeExecutionMode
from penstock.connectors.rows.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from penstock.types import Duration, Instant, Row, RowKind, Time, TypeInformation, Types
from penstock.types.value_serializer import TypeSerializer

__all__ = [
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeserializationSchema",
    "Duration",
    "Encoder",
    "ExecutionConfig",
    "Instant",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "RuntimeExecutionMode",
    "SerializationSchema",
    "SimpleStringSchema",
    "Time",
    "TimestampAssigner",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]
