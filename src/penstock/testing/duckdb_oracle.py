"""DuckDB as an oracle of SQL. A connection costs more than most queries of tests, so those of a process share one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pyarrow as pa

from penstock.extras import EXTRAS


@cache
def connection() -> Any:
    """Return the connection of this process."""
    return EXTRAS["duckdb"].load().connect(config={"threads": 1})


def rows_of(query: str, tables: Mapping[str, pa.Table]) -> list[tuple[Any, ...]]:
    """Return the rows of a query, in the dialect of DuckDB, over tables."""
    there = connection()
    for name, table in tables.items():
        there.register(name, table)
    try:
        found: list[tuple[Any, ...]] = there.execute(query).fetchall()
        return found
    finally:
        for name in tables:
            there.unregister(name)
