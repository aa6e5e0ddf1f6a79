"""The names of `pyflink.common.execution_config`."""

from __future__ import annotations

from penstock.api.environment.execution_config import ExecutionConfig

__all__ = ["ExecutionConfig"]
