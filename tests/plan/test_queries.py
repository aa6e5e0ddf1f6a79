"""Whole queries: which go to Spark SQL, and why others do not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.datastream import ProcessFunction, StreamExecutionEnvironment, col
from penstock.datastream.connectors import DiscardingSink, FileSource
from penstock.plan.physical import PhysicalPlan
from penstock.plan.placement.queries import place_queries
from penstock.program.operators import SINK, SOURCE
from penstock.types import TypeInformation

GROUPED = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"


@pytest.fixture
def env(tmp_path: Path):
    rows = pa.table({"k": ["a"], "n": pa.array([1], pa.int64()), "x": [0.5]})
    for name in ("t", "u"):
        (tmp_path / name).mkdir()
        pq.write_table(rows, tmp_path / name / "0.parquet")

    def make(mode: str = "BATCH", **settings: str) -> StreamExecutionEnvironment:
        made = StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict({"execution.runtime-mode": mode, **settings})
        )
        for name in ("t", "u"):
            made.execute_sql(f"""
                CREATE TABLE {name} (k STRING, n BIGINT, x DOUBLE)
                WITH ('connector' = 'filesystem', 'format' = 'parquet', 'path' = '{tmp_path}/{name}');
            """)
        return made

    return make


def planned(made: StreamExecutionEnvironment, query: str, **tables) -> PhysicalPlan:
    made.sql(query, tables).sink_to(DiscardingSink())
    return made.plan()


def whole(plan: PhysicalPlan) -> list[str]:
    return [source.name for source in plan.sources if source.is_query]


def reasons(plan: PhysicalPlan) -> list[str]:
    return [each.reason for each in plan.decisions if each.choice == "operators compute the query"]


def test_a_query_of_columns_is_one_source(env) -> None:
    plan = planned(env(), "SELECT t.k, u.n FROM t LEFT JOIN u ON t.k = u.k WHERE t.n > 1")
    assert whole(plan) == ["query of t, u"]
    assert [node.kind for node in plan.graph.nodes] == [SOURCE, SINK]
    assert len(plan.sources[0].parts) == 2
    assert (reasons(plan), place_queries(plan)) == ([], plan)
    assert "Spark SQL computes the whole query" in {each.choice for each in plan.decisions}


@pytest.mark.parametrize("mode", ["BATCH", "AUTOMATIC"])
def test_a_job_whose_sources_end_is_a_batch_in_both_modes(env, mode: str) -> None:
    assert whole(planned(env(mode), GROUPED)) == ["query of t"]


def test_other_modes_compute_queries_by_operators(env) -> None:
    for settings in ({}, {"execution.checkpointing.interval-during-backlog": "0"}):
        assert whole(planned(env("STREAMING", **settings), GROUPED)) == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM t WHERE LOWER(k) IN ('a', 'b')",
        "SELECT LOWER(k) = 'a' AS a FROM t",
        "SELECT REGEXP_EXTRACT(k, 'a(b)', 1) AS b FROM t",
        "SELECT k FROM t WHERE REGEXP_EXTRACT(k, 'a') IS NULL",
    ],
)
def test_texts_that_mean_the_same_are_whole_queries(env, query: str) -> None:
    assert whole(planned(env(), query)) == ["query of t"]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT k, SUM(x) AS s FROM t GROUP BY k", "SUM of DOUBLE"),
        ("SELECT k, LISTAGG(k) AS s FROM t GROUP BY k", "LISTAGG"),
        ("SELECT x, COUNT(*) AS n FROM t GROUP BY x", "the group 'x' is DOUBLE"),
        ("SELECT DISTINCT LOWER(k) AS k FROM t", "lower may be something else"),
        ("SELECT DISTINCT LOWER(k) = 'é' AS k FROM t", "lower may be something else"),
        ("SELECT DISTINCT REGEXP_EXTRACT(k, '.*') AS k FROM t", "regexp_extract may be"),
        ("SELECT DISTINCT REGEXP_EXTRACT(k, 'a', 1) AS k FROM t", "regexp_extract may be"),
        ("SELECT DISTINCT REGEXP_EXTRACT(k, k) AS k FROM t", "regexp_extract may be"),
        ("SELECT t.k FROM t JOIN u ON t.k = u.k WHERE t.n / u.n > 1", "may fail"),
        ("SELECT k, LAG(n) OVER (PARTITION BY k ORDER BY n) AS m FROM t", "LAG"),
    ],
)
def test_what_may_be_something_else_is_named(env, query: str, why: str) -> None:
    plan = planned(env(), query)
    assert whole(plan) == []
    assert why in " ".join(reasons(plan))


@pytest.mark.parametrize(
    "query",
    [
        (
            "SELECT a.k FROM (SELECT t.k, t.n * t.n AS q FROM t JOIN u ON t.k = u.k) AS a "
            "JOIN u AS b ON a.k = b.k WHERE a.q > 1"
        ),
        (
            "SELECT b.q FROM u AS a JOIN (SELECT t.k, t.n * t.n AS q FROM t JOIN u ON t.k = u.k "
            "UNION ALL SELECT k, n FROM t) AS b ON a.k = b.k WHERE b.q > 1"
        ),
        (
            "SELECT q FROM (SELECT q, COUNT(*) AS c FROM (SELECT t.n * t.n AS q FROM t JOIN u "
            "ON t.k = u.k) AS j GROUP BY q) AS g WHERE q > 1"
        ),
    ],
)
def test_a_condition_that_would_fail_for_rows_that_a_join_below_drops_stays(
    env, query: str
) -> None:
    plan = planned(env(), query)
    assert [node.kind for node in plan.graph.nodes] != [SOURCE, SINK]
    assert "may fail" in " ".join(reasons(plan))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.k FROM (SELECT k, n * n AS q FROM t) AS a JOIN u ON a.k = u.k WHERE a.q > 1",
        (
            "SELECT k FROM (SELECT k, MAX(n) AS m FROM (SELECT t.k, t.n FROM t JOIN u ON t.k = u.k) "
            "AS j GROUP BY k) AS g WHERE k > 'a'"
        ),
    ],
)
def test_a_condition_that_operators_compute_for_all_rows_is_legal(env, query: str) -> None:
    assert len(whole(planned(env(), query))) == 1


def test_an_option_keeps_operators(env) -> None:
    plan = planned(env(**{"execution.batch.queries": "false"}), GROUPED)
    assert (whole(plan), set(reasons(plan))) == ([], {"execution.batch.queries is false"})


def test_state_that_is_forgotten_keeps_operators(env) -> None:
    plan = planned(env(**{"table.exec.state.ttl": "1 d"}), GROUPED)
    assert (whole(plan), "forgotten" in " ".join(reasons(plan))) == ([], True)


def test_the_rows_of_a_program_are_no_columns(env) -> None:
    made = env()
    kind = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
    rows = made.from_collection([Row(k="a", n=1)], kind)
    plan = planned(made, "SELECT v.k, COUNT(*) AS n FROM v GROUP BY v.k", v=rows)
    assert whole(plan) == []
    assert "Spark does not read it as columns" in " ".join(reasons(plan))


@pytest.mark.parametrize(
    ("outer", "why", "behind"),
    [
        ("SELECT LISTAGG(k) AS ks FROM j GROUP BY k", "LISTAGG", "arguments, parts of aggregates"),
        ("SELECT SUM(x) AS s FROM j GROUP BY k", "SUM", "arguments, parts of aggregates"),
        ("SELECT k FROM j WHERE n * m > 1", "may fail", "where, select"),
        ("SELECT k, q FROM (SELECT k, n * n AS q FROM j) WHERE q > 1", "may fail", "where, select"),
    ],
)
def test_the_inner_query_goes_if_the_outer_one_cannot(
    env, outer: str, why: str, behind: str
) -> None:
    joined = "WITH j AS (SELECT t.k, t.n, u.n AS m, u.x FROM t LEFT JOIN u ON t.k = u.k)"
    plan = planned(env(), f"{joined} {outer}")
    assert whole(plan) == ["query of t, u"]
    assert why in " ".join(reasons(plan))
    first, *_ = (node for node in plan.graph.nodes if node.kind is not SOURCE)
    assert first.name == behind
    assert place_queries(plan) == plan


def test_a_query_that_two_operators_read_is_one_source(env) -> None:
    made = env()
    joined = made.sql("SELECT t.k, u.x FROM t JOIN u ON t.k = u.k")
    made.sql("SELECT k, SUM(x) AS s FROM v GROUP BY k", {"v": joined}).sink_to(DiscardingSink())
    made.sql("SELECT k, LISTAGG(k) AS s FROM v GROUP BY k", {"v": joined}).sink_to(DiscardingSink())
    assert whole(made.plan()) == ["query of t, u"]


def test_a_reader_of_timestamps_keeps_operators(env) -> None:
    made = env()
    counted = made.sql(GROUPED)

    class Reads(ProcessFunction):
        def process_element(self, value, ctx):
            yield ctx.timestamp()

    counted.process(Reads()).sink_to(DiscardingSink())
    plan = made.plan()
    assert whole(plan) == []
    assert "may look at timestamps" in " ".join(reasons(plan))


def test_conditions_and_columns_alone_are_left_to_projections(env) -> None:
    plan = planned(env(), "SELECT k, n + 1 AS m FROM t WHERE n > 1")
    assert whole(plan) == []
    assert len(plan.projections) == 1


@pytest.mark.parametrize(
    ("make", "kind", "why"),
    [
        (FileSource.json, Types.LONG(), None),
        (FileSource.csv, Types.SQL_TIMESTAMP(), None),
        (partial(FileSource.csv, options={"mode": "PERMISSIVE"}), Types.LONG(), "columns that are"),
    ],
)
def test_lines_of_a_declared_type_are_columns(
    env, tmp_path: Path, make: Callable[..., FileSource], kind: TypeInformation, why: str | None
) -> None:
    made, row = env(), Types.ROW_NAMED(["k", "n"], [Types.STRING(), kind])
    lines = made.from_source(make(tmp_path, row), WatermarkStrategy.no_watermarks(), "lines")
    plan = planned(made, "SELECT v.k, COUNT(*) AS c FROM v GROUP BY v.k", v=lines)
    assert whole(plan) == (["query of lines"] if why is None else [])
    assert (why or "") in " ".join(reasons(plan))


TYPE = Types.ROW_NAMED(["k", "n", "x"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])
TIMED = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col.n)
UNTIMED = WatermarkStrategy.no_watermarks()


def columns_of(made: StreamExecutionEnvironment, name: str, strategy=UNTIMED):
    return made.from_source(FileSource.parquet(name, TYPE), strategy, name)


def pairs(made: StreamExecutionEnvironment, how: str = "inner", strategy=UNTIMED):
    left = columns_of(made, "t", strategy).where(col.n > 1).with_columns(m=col.n + 1)
    right = columns_of(made, "u").select(col.k, y=col.x)
    return left.join(right, on=col.k, how=how)


def plan_of(stream: Any) -> Any:
    stream.sink_to(DiscardingSink())
    return stream.get_execution_environment().plan()


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
@pytest.mark.parametrize("strategy", [UNTIMED, TIMED], ids=["untimed", "timed"])
def test_a_join_of_columns_is_one_source(env, how: str, strategy) -> None:
    plan = plan_of(pairs(env(), how, strategy))
    assert whole(plan) == ["query of t, u"]
    assert [node.kind for node in plan.graph.nodes] == [SOURCE, SINK]
    assert place_queries(plan) == plan


def test_joins_of_columns_are_one_source(env) -> None:
    made = env()
    both = pairs(made).where(col.m > 3).join(columns_of(made, "v").select(col.k, z=col.n), on=col.k)
    plan = plan_of(both)
    assert whole(plan) == ["query of t, u, v"]
    assert len(plan.graph.nodes) == 2


def test_columns_that_are_united_are_read_by_one_source(env) -> None:
    made = env()
    united = columns_of(made, "t").union(columns_of(made, "v"))
    plan = plan_of(united.join(columns_of(made, "u").select(col.k, y=col.x), on=col.k))
    assert whole(plan) == ["query of t, v, u"]


def test_sql_reads_a_join_of_columns_as_a_query(env) -> None:
    made = env()
    plan = planned(made, "SELECT m, COUNT(*) AS c FROM v GROUP BY m", v=pairs(made))
    assert whole(plan) == ["query of t, u"]
    assert len(plan.graph.nodes) == 2


def test_other_modes_compute_joins_of_columns_by_operators(env) -> None:
    for settings in ({}, {"execution.checkpointing.interval-during-backlog": "0"}):
        assert whole(plan_of(pairs(env("STREAMING", **settings)))) == []


def test_a_join_of_columns_that_may_be_something_else_is_named(env) -> None:
    made = env()
    floats = columns_of(made, "t").join(columns_of(made, "u").select(col.x, m=col.n), on=col.x)
    called = columns_of(made, "t").map(lambda row: row, TYPE)
    mapped = called.join(columns_of(made, "u").select(col.k, m=col.n), on=col.k)
    floats.sink_to(DiscardingSink())
    plan = plan_of(mapped)
    assert whole(plan) == []
    assert "the key x is DOUBLE" in " ".join(reasons(plan))
    assert "table 'map' is made by 'map'" in " ".join(reasons(plan))


def test_expressions_behind_a_query_are_a_projection_of_its_rows(env) -> None:
    plan = plan_of(pairs(env()).select(total=col.m + col.n))
    assert (whole(plan), len(plan.projections)) == (["query of t, u"], 1)
    totals = pairs(env()).where(col.y > 0).key_by(col.k).aggregate(total=col.n.sum())
    (placed,) = plan_of(totals).projections
    assert placed.is_finished


def test_a_condition_that_may_fail_is_not_computed_before_a_join(env) -> None:
    divided = pairs(env()).with_columns(z=col.n / col.m)
    assert len(plan_of(divided).projections) == 1
    plan = plan_of(pairs(env()).with_columns(z=col.n / col.m).where(col.z > 1))
    assert (whole(plan), plan.projections) == (["query of t, u"], ())
    assert "may fail" in " ".join(each.reason for each in plan.decisions)
