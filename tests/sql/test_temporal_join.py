"""FOR SYSTEM_TIME AS OF is the as-of join of columns: the same function, at most twice its cost, and DuckDB's rows."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.streams.columns.as_of_join import AsOfJoinFunction
from penstock.common import Configuration, Row, Types
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import CollectionSource
from penstock.relation.tree import Changelog
from penstock.sql.streams import StreamTable
from penstock.testing import Schedule, collect
from tests.sql.harness import at
from tests.sql.test_group_parts import calls_of
from tests.sql.test_timed_law import check
from tests.sql.test_window_parts import BY_COLUMN
from tests.sql.timed import TimedMaker

T = Types.ROW_NAMED(["k", "n", "ts"], [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()])
QUERY = "SELECT l.k, l.n, v.n AS m FROM l LEFT JOIN v FOR SYSTEM_TIME AS OF l.ts AS v ON l.k = v.k"


def joined(count: int, mode: str, *, is_sql: bool) -> Any:
    options = Configuration.from_dict({"execution.runtime-mode": mode})
    env = StreamExecutionEnvironment.get_execution_environment(options)
    rows = [Row("pq"[n % 2], n, at(n * 60 / count)) for n in range(count)]
    left, right = (
        env.from_source(CollectionSource.of(rows, T), BY_COLUMN, name) for name in ("l", "v")
    )
    if not is_sql:
        return left.as_of_join(right.with_columns(m=col.n).select(col.k, col.m), by=col.k)
    versions = StreamTable(right, time="ts", primary_key=("k",), changelog=Changelog.UPSERT)
    return env.sql(QUERY, {"l": StreamTable(left, time="ts"), "v": versions})


def test_sql_and_columns_have_one_function() -> None:
    for is_sql in (True, False):
        nodes = joined(1, "STREAMING", is_sql=is_sql).get_execution_environment().graph.nodes()
        assert sum(type(each.function) is AsOfJoinFunction for each in nodes) == 1


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_a_record_costs_at_most_twice_as_much_either_way(mode: str) -> None:
    """Calls are counted for many records and for few: the difference is that of records."""

    def calls(count: int, *, is_sql: bool) -> int:
        made = joined(count, mode, is_sql=is_sql)
        return calls_of(lambda: collect(made, Schedule(batch_sizes=(500,))))

    sql, columns = (calls(1500, is_sql=each) - calls(500, is_sql=each) for each in (True, False))
    assert sql <= 2 * columns, (sql / 1000, columns / 1000)
    assert columns <= 2 * sql, (sql / 1000, columns / 1000)


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_those_of_duckdb_in_every_mode(seed: int) -> None:
    modes = ("batch", ("streaming", "restart", "mixed")[seed % 3])
    check(seed, modes, TimedMaker._timed_temporal)
