"""DuckDB as an oracle. Making a connection costs more than most queries of tests, so those of a process share one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """Return the connection of this process; its tables are those of the last test."""
    return duckdb.connect(config={"threads": 1})


def rows_of(query: str, tables: Mapping[str, pa.Table]) -> list[tuple[Any, ...]]:
    """Return the rows of a query.

    Args:
        query: In the dialect of DuckDB.
        tables: What it reads, by name.
    """
    there = connection()
    for name, table in tables.items():
        there.register(name, table)
    try:
        return there.execute(query).fetchall()
    finally:
        for name in tables:
            there.unregister(name)
