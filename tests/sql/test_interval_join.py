"""An interval join of SQL is that of columns: the same operator, at most twice its cost, and DuckDB's rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from penstock.common import Configuration, Row, Types
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import CollectionSource
from penstock.program.operators import KEYED_INTERVAL_JOIN, KEYED_REGULAR_JOIN
from penstock.sql.streams import StreamTable
from penstock.testing import Schedule, collect
from tests.sql.harness import at
from tests.sql.test_group_parts import calls_of
from tests.sql.test_timed_law import check, check_late
from tests.sql.test_window_parts import BY_COLUMN, table_of
from tests.sql.timed import TimedMaker

T = Types.ROW_NAMED(["k", "n", "ts"], [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()])
NEAR = "r.ts BETWEEN l.ts - INTERVAL '1' SECOND AND l.ts + INTERVAL '2' SECOND"
HOW = ["inner", "left", "right", "full"]
EXISTS = "SELECT l.k, l.n FROM l WHERE {} (SELECT 1 FROM r WHERE l.k = r.k AND " + NEAR + ")"
KINDS = [
    *(f"SELECT l.n, r.n AS m FROM l {how} JOIN r ON l.k = r.k AND {NEAR}" for how in HOW),
    *map(EXISTS.format, ("EXISTS", "NOT EXISTS")),
]


def joined(rows: list[list[Row]], mode: str, how: str, *, is_sql: bool) -> Any:
    options = Configuration.from_dict({"execution.runtime-mode": mode, "parallelism.default": "2"})
    env = StreamExecutionEnvironment.get_execution_environment(options)
    left, right = (
        env.from_source(CollectionSource.of(side, T), BY_COLUMN, name)
        for side, name in zip(rows, "lr", strict=True)
    )
    if is_sql:
        query = f"SELECT l.k, l.n, l.ts, r.n AS m, r.ts AS u FROM l {how} JOIN r ON l.k = r.k AND {NEAR}"
        return env.sql(
            query, {"l": StreamTable(left, time="ts"), "r": StreamTable(right, time="ts")}
        )
    renamed = right.select(col.k, m=col.n, u=col.ts)
    return left.join(renamed, on=col.k, how=how, between=(-1000, 2000))


def rows_of(count: int, *, of_key: Any = lambda n: "pq"[n % 2]) -> list[list[Row]]:
    return [
        [Row(of_key(n + side), n, at(n * 60 / count + side / 4)) for n in range(count)]
        for side in (0, 1)
    ]


def kinds_of(stream: Any) -> list[Any]:
    nodes = stream.get_execution_environment().graph.nodes()
    return [
        each.kind for each in nodes if each.kind.name.endswith("_JOIN") or "CO_" in each.kind.name
    ]


@pytest.mark.parametrize("how", HOW)
def test_sql_and_columns_have_one_operator(how: str) -> None:
    for is_sql in (True, False):
        assert kinds_of(joined([[], []], "STREAMING", how, is_sql=is_sql)) == [KEYED_INTERVAL_JOIN]


@pytest.mark.parametrize("query", KINDS)
def test_every_kind_of_join_has_the_operator_of_its_kind(query: str) -> None:
    for found, kind in (
        (query, KEYED_INTERVAL_JOIN),
        (query.replace(f" AND {NEAR}", ""), KEYED_REGULAR_JOIN),
    ):
        left, _ = table_of([], "streaming")
        env = left.get_execution_environment()
        sides = {
            name: StreamTable(
                env.from_source(CollectionSource.of([], T), BY_COLUMN, name), time="ts"
            )
            for name in "lr"
        }
        assert kinds_of(env.sql(found, sides)) == [kind]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_sql_and_columns_have_the_same_rows(how: str, mode: str) -> None:
    """A row without a key matches nothing; that of a side is in the key of columns, which have one."""
    rows = rows_of(60, of_key=lambda n: (None, "p", "q")[n % 3])
    schedule = Schedule(batch_sizes=(1, 3, 7), restart_every=3)
    sql, columns = (
        [tuple(each) for each in collect(joined(rows, mode, how, is_sql=is_sql), schedule)]
        for is_sql in (True, False)
    )
    of_left = [(row[0] if row[2] is not None else None, *row[1:]) for row in columns]
    assert Counter(sql) == Counter(of_left)
    assert len(sql) > 20


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_a_record_costs_at_most_twice_as_much_either_way(mode: str) -> None:
    """Calls are counted for many records and for few: the difference is that of records."""

    def calls(count: int, *, is_sql: bool) -> int:
        rows = [[Row(str(n), n, at(n * 60 / count)) for n in range(count)] for _ in "lr"]
        made = joined(rows, mode, "inner", is_sql=is_sql)
        return calls_of(lambda: collect(made, Schedule(batch_sizes=(500,))))

    sql, columns = (calls(1500, is_sql=each) - calls(500, is_sql=each) for each in (True, False))
    assert sql <= 2 * columns, (sql / 2000, columns / 2000)
    assert columns <= 2 * sql, (sql / 2000, columns / 2000)


@pytest.mark.parametrize("seed", range(12))
def test_rows_are_those_of_duckdb_in_every_mode(seed: int) -> None:
    modes = ("batch", ("streaming", "restart", "mixed")[seed % 3])
    check(seed, modes, TimedMaker._timed_interval)
    check_late(seed, TimedMaker._timed_interval)
