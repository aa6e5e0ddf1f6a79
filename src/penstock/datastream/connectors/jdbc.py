"""The names of `pyflink.datastream.connectors.jdbc`, for PostgreSQL."""

from penstock.connectors.postgres.jdbc_sink import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]
