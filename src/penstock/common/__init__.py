"""The names of `pyflink.common`: change the import, keep the program."""

from __future__ import annotations

from penstock.api.job import JobClient, JobExecutionResult, JobStatus
from penstock.api.watermark import TimestampAssigner, WatermarkStrategy
from penstock.config.configuration import Configuration
from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.types import Duration, Instant, Row, RowKind, Time, TypeInformation, Types

__all__ = [
    "Configuration",
    "Duration",
    "Instant",
    "JobClient",
    "JobExecutionResult",
    "JobStatus",
    "Row",
    "RowKind",
    "RuntimeExecutionMode",
    "Time",
    "TimestampAssigner",
    "TypeInformation",
    "Types",
    "WatermarkStrategy",
]
