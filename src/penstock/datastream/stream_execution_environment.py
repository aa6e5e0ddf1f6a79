"""The names of `pyflink.datastream.stream_execution_environment`."""

from penstock.api.environment.environment import StreamExecutionEnvironment

__all__ = ["StreamExecutionEnvironment"]
