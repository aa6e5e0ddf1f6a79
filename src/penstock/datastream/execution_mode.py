"""The names of `pyflink.datastream.execution_mode`."""

from penstock.config.execution_mode import RuntimeExecutionMode

__all__ = ["RuntimeExecutionMode"]
