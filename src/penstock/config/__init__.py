"""Typed options under Flink's keys, and the `Configuration` that holds their values."""

from __future__ import annotations

from penstock.config.configuration import Configuration, process_overrides, set_process_overrides
from penstock.config.option import ConfigOption
from penstock.config.options import RuntimeExecutionMode

__all__ = [
    "ConfigOption",
    "Configuration",
    "RuntimeExecutionMode",
    "process_overrides",
    "set_process_overrides",
]
