"""The names of `pyflink.common.execution_config`."""

from penstock.api.environment.execution_config import ExecutionConfig

__all__ = ["ExecutionConfig"]
