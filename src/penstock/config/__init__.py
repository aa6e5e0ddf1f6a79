"""Typed options under Flink's keys, and the `Configuration` that holds their values."""

from __future__ import annotations

from penstock.config.configuration import Configuration
from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.config.option import ConfigOption
from penstock.config.overrides import process_overrides, set_process_overrides

__all__ = [
    "ConfigOption",
    "Configuration",
    "RuntimeExecutionMode",
    "process_overrides",
    "set_process_overrides",
]
