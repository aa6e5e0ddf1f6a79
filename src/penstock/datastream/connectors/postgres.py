"""Tables of PostgreSQL, and their changes. PyFlink has no such module."""

from penstock.connectors.postgres.postgres_sink import PostgresSink, PostgresSinkBuilder
from penstock.connectors.postgres.postgres_source import PostgresSource
from penstock.connectors.postgres.postgres_source_builder import PostgresSourceBuilder
from penstock.connectors.postgres.values import Change

__all__ = [
    "Change",
    "PostgresSink",
    "PostgresSinkBuilder",
    "PostgresSource",
    "PostgresSourceBuilder",
]
