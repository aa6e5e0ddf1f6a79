"""The names of `pyflink.datastream.execution_mode`."""

from penstock.config.options import RuntimeExecutionMode

__all__ = ["RuntimeExecutionMode"]
