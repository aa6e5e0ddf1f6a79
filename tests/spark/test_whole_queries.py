"""Whole queries in Spark SQL: the rows are those of the operators that they replace.

Each query is computed twice over the same rows: by its operators in this process, and by Spark SQL as the planner may choose. The two share
the translation of SQL to relations and nothing else; DuckDB judges that elsewhere (`tests/sql`).
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.nexmark.events import nexmark_events
from benchmarks.nexmark.queries import QUERIES
from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment, col
from penstock.datastream.connectors import CollectionSource, DiscardingSink
from penstock.errors import PenstockError
from penstock.graph.query_source import WholeQuery
from penstock.plan.placement.legality import is_projection, other_rows
from penstock.relation.groups import GroupBy
from penstock.relation.joins import Join
from penstock.relation.ordered import Rank
from penstock.relation.tree import Filter, Scan
from penstock.spark.driver import batch_run
from penstock.spark.expressions.queries import rows_of_query
from penstock.spark.session.job_settings import plan_with_partitions
from penstock.sql.streams import StreamTable
from penstock.testing import collect
from tests.sql.generated import TABLES, QueryMaker, changing_table, for_penstock, materialized

EVENTS = nexmark_events(1_500)
RANDOM = 60
MOMENT = Types.SQL_TIMESTAMP()
KINDS = {pa.int64(): Types.LONG(), pa.string(): Types.STRING(), pa.timestamp("us"): MOMENT}
DDL = {
    "VARCHAR": "string",
    "INTEGER": "int",
    "BIGINT": "bigint",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
}


@pytest.fixture(autouse=True)
def few_partitions(session):
    before = session.conf.get("spark.sql.shuffle.partitions")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield
    session.conf.set("spark.sql.shuffle.partitions", before)


def batch(**settings: str) -> StreamExecutionEnvironment:
    options = {"execution.runtime-mode": "BATCH", "parallelism.default": "2", **settings}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))


def noted(stream) -> WholeQuery:
    """Return what the translation says that Spark SQL may compute of a stream."""
    whole = stream.get_execution_environment().graph.node(stream.node_id).query
    assert isinstance(whole, WholeQuery)
    return whole


def by_spark_sql(whole: WholeQuery, frames) -> list[tuple[object, ...]]:
    """Return the rows that Spark SQL computes, as comparable ones."""
    read = [frames[each.name] for each in whole.sources]
    found = rows_of_query(whole, read, None).collect()
    return materialized([Row(*row) for row in found])


@pytest.fixture(scope="module")
def nexmark_frames(session):
    return {name: session.createDataFrame(rows) for name, rows in EVENTS.tables().items()}


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_of_nexmark_has_the_rows_of_its_operators(name, nexmark_frames) -> None:
    whole = noted(of_nexmark(name, WatermarkStrategy.no_watermarks()))
    assert other_rows(whole) is None
    found = by_spark_sql(whole, nexmark_frames)
    assert found
    in_order = WatermarkStrategy.for_monotonous_timestamps()
    made = of_nexmark(name, in_order.with_timestamp_assigner(col.dateTime))
    assert Counter(found) == Counter(materialized(collect(made)))


def of_nexmark(name, strategy):
    """Return the rows of a query. Windows of operators need the timestamps that the strategy assigns."""
    env, query = batch(), QUERIES[name]
    tables = {}
    for table in query.tables:
        rows = EVENTS.tables()[table]
        is_timed = "dateTime" in rows.column_names
        kind = Types.ROW_NAMED(rows.column_names, [KINDS[field.type] for field in rows.schema])
        source = CollectionSource.of([Row(**row) for row in rows.to_pylist()], kind)
        timed = strategy if is_timed else WatermarkStrategy.no_watermarks()
        stream = env.from_source(source, timed, table)
        tables[table] = StreamTable(stream, time="dateTime" if is_timed else None)
    return env.sql(query.text, tables)


def places(made) -> Iterator[tuple[WholeQuery, DataStream]]:
    """Yield the queries that Spark SQL may compute of a program, the outermost first, and the rows of their operators."""
    env = made.get_execution_environment()
    for node in reversed(env.graph.nodes()):
        whole = node.query
        if whole is not None and other_rows(whole) is None and not is_projection(whole):
            yield whole, DataStream(env, node.id)


def test_each_legal_part_of_random_queries_has_the_rows_of_its_operators(session) -> None:
    kinds, inner = Counter[type](), 0
    for seed in range(400):
        rng = random.Random(seed)  # noqa: S311 - examples, not secrets
        tables = [changing_table(rng, name, is_changing=False) for name in TABLES]
        query = QueryMaker(rng).query()
        env = batch()
        given = {
            each.name: env.from_source(
                CollectionSource.of(list(each.changes), each.type_info),
                WatermarkStrategy.no_watermarks(),
                each.name,
            )
            for each in tables
        }
        made = env.sql(for_penstock(query), given)
        frames = {
            each.name: session.createDataFrame(
                [tuple(row) for row in each.changes],
                ", ".join(f"`{name}` {DDL[kind]}" for name, kind, _ in TABLES[each.name]),
            )
            for each in tables
        }
        for whole, stream in places(made):
            try:
                wanted = Counter(materialized(collect(stream)))
            except PenstockError:
                continue  # a value that its type does not have, which is an error of Spark SQL, too
            assert Counter(by_spark_sql(whole, frames)) == wanted, (seed, query, whole.relation)
            kinds.update({type(part) for part, _ in whole.relations()})
            inner += stream.node_id != made.node_id
        if kinds[Scan] >= RANDOM:
            break
    assert kinds[Scan] >= RANDOM
    assert inner > RANDOM // 4
    assert min(kinds[each] for each in (Join, Filter, GroupBy, Rank)) > RANDOM // 8


EDGES = """
    SELECT k, COUNT(*) AS n, SUM(b) AS total, AVG(b) AS mean, MIN(b) AS least, AVG(i) AS small, COUNT(DISTINCT i) AS different
    FROM t GROUP BY k
"""


def test_sums_that_leave_64_bits_on_their_way_are_right(session) -> None:
    most = (1 << 63) - 1
    values: list[tuple[str | None, int | None, int | None]]
    values = [("a", most, 7), ("a", most, -7), ("a", -most, None), ("b", -1, 1), ("b", 0, -2)]
    values += [("c", None, None), (None, -most - 1, 3), (None, 1, 3), ("b", -2, None)]
    kind = Types.ROW_NAMED(["k", "b", "i"], [Types.STRING(), Types.LONG(), Types.INT()])
    env = batch()
    rows = [Row(k=k, b=b, i=i) for k, b, i in values]
    made = env.sql(EDGES, {"t": env.from_collection(rows, kind)})
    frame = session.createDataFrame(values, "k string, b bigint, i int")
    whole = noted(made)
    frames = {whole.sources[0].name: frame}
    assert Counter(by_spark_sql(whole, frames)) == Counter(materialized(collect(made)))


TEXTS = [
    None, "", "&", "APPLE", "apple", "Facebook", "FACEBOO\N{KELVIN SIGN}", "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}", "I",
    "a=1&b=22&c", "b=&b=3", "ab=7", "x\nb=5", "b=\r\n6&", "\U0001f600b=\U0001f600x&", "é-1.5é", "...", "[a]", "a-b", "aab", "baaa", "\u2028b=1",
]  # fmt: skip
PATTERNS = [
    ("(&|^)b=([^&]*)", 2), ("(&|^)b=([^&]*)", 1), ("b=([^&]*)", 0), ("([a-z]+)=([0-9]*)", 2), ("^([^&]?)", 1), ("(a|ab)(b|=)", 1),
    ("[^a]a*", 0), ("-?[0-9]+\\.[0-9]", 0), ("[.]", 0), ("^b", 0),
]  # fmt: skip


def test_a_session_may_leave_out_keys_of_groups(session) -> None:
    session.conf.set("spark.sql.retainGroupColumns", "false")
    try:
        kind = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
        rows = [("a", 1), ("b", 2), ("a", 3)]
        env = batch()
        source = CollectionSource.of([Row(k=k, n=n) for k, n in rows], kind)
        table = env.from_source(source, WatermarkStrategy.no_watermarks(), "t")
        whole = noted(env.sql("SELECT k, SUM(n) AS s FROM t GROUP BY k", {"t": table}))
        frames = {"t": session.createDataFrame(rows, "k string, n bigint")}
        assert sorted(by_spark_sql(whole, frames)) == [("a", 4), ("b", 2)]
    finally:
        session.conf.unset("spark.sql.retainGroupColumns")


def test_texts_are_those_of_python(session) -> None:
    cased = [chr(at) for at in range(sys.maxunicode + 1) if chr(at).lower() != chr(at)]
    texts = [*TEXTS, *cased, *(f"a{each}b=1" for each in cased[:50])]
    made = [
        f"REGEXP_EXTRACT(k, '{pattern}', {at}) AS g{number}"
        for number, (pattern, at) in enumerate(PATTERNS)
    ]
    query = f"""
        SELECT k, {", ".join(made)}, LOWER(k) = 'k' AS a, LOWER(k) <> 'i' AS b,
          CASE LOWER(k) WHEN 'apple' THEN 1 WHEN 'facebook' THEN 2 WHEN 'é' THEN 3 ELSE 0 END AS c
        FROM t WHERE LOWER(k) IN ('apple', 'facebook', 'k', 'i') OR REGEXP_EXTRACT(k, '(a)') IS NULL OR k <> 'a'
    """
    env = batch()
    rows = [Row(k=each) for each in texts]
    made_of = {"t": env.from_collection(rows, Types.ROW_NAMED(["k"], [Types.STRING()]))}
    assert other_rows(noted(env.sql(query, made_of))) is not None  # because of 'é'
    stream = env.sql(query.replace("WHEN 'é' THEN 3 ", ""), made_of)
    whole = noted(stream)
    frames = {
        whole.sources[0].name: session.createDataFrame([(each,) for each in texts], "k string")
    }
    found = by_spark_sql(whole, frames)
    assert Counter(found) == Counter(materialized(collect(stream)))
    assert len(found) > len(cased)


def test_a_job_has_the_same_rows_by_either_road_and_few_partitions(
    session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        batch_run, "plan_with_partitions", planned := Mock(wraps=plan_with_partitions)
    )
    session.conf.set("spark.sql.shuffle.partitions", "200")
    for name in ("person", "auction"):
        directory = tmp_path / name
        directory.mkdir()
        pq.write_table(EVENTS.tables()[name], directory / "0.parquet")
    script = f"""
        CREATE TABLE person (id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,
          dateTime TIMESTAMP(3), extra STRING, WATERMARK FOR dateTime AS dateTime - INTERVAL '4' SECOND
        ) WITH ('connector' = 'filesystem', 'format' = 'parquet', 'path' = '{tmp_path}/person');
        CREATE TABLE auction (id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
          dateTime TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra STRING
        ) WITH ('connector' = 'filesystem', 'format' = 'parquet', 'path' = '{tmp_path}/auction');
    """
    query = """
        SELECT p.state, a.category, COUNT(*) AS n, MAX(a.dateTime) AS latest, SUM(0.5 * a.reserve) AS half
        FROM auction AS a LEFT JOIN person AS p ON a.seller = p.id GROUP BY p.state, a.category
    """
    answers = []
    for queries in ("true", "false"):
        env = batch(**{"execution.batch.queries": queries, "parallelism.default": "2"})
        env.execute_sql(script)
        stream = env.sql(query)
        whole = [each for each in env_plan(stream).decisions if each.choice.startswith("Spark SQL")]
        assert bool(whole) == (queries == "true")
        answers.append(Counter(materialized(stream.execute_and_collect())))
    assert answers[0] == answers[1]
    assert len(answers[0]) > 5
    (((_, partitions), options),) = planned.call_args_list
    assert (partitions, options) == (2, {"adapts": True})
    assert session.conf.get("spark.sql.shuffle.partitions") == "200"

    env = batch()
    env.execute_sql(script)
    env.sql(query).sink_to(DiscardingSink())
    (run,) = env.execute("what was read").runs
    assert run.records == sum(EVENTS.tables()[name].num_rows for name in ("person", "auction"))


@pytest.mark.parametrize(
    "outer",
    [
        "SELECT k, LISTAGG(s) AS a, SUM(x) AS b, COUNT(DISTINCT m) AS c FROM j GROUP BY k",
        "SELECT k, n + 1 AS n FROM j WHERE n * m > 4",
        "SELECT SUM(CAST(n AS DECIMAL(9, 2)) * 1.5) AS a FROM j",
    ],
)
def test_expressions_behind_a_query_read_its_rows(session, tmp_path: Path, outer: str) -> None:
    rows = [(each % 5, each, f"s{each % 3}", each / 7) for each in range(40)]
    columns = dict(zip("knsx", map(list, zip(*rows, strict=True)), strict=True))
    script = ""
    for name in ("t", "u"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table(columns), tmp_path / name / "0.parquet")
        script += f"""CREATE TABLE {name} (k BIGINT, n BIGINT, s STRING, x DOUBLE)
            WITH ('connector' = 'filesystem', 'format' = 'parquet', 'path' = '{tmp_path}/{name}');"""
    joined = "WITH j AS (SELECT t.k, t.n, t.s, u.n AS m, u.x FROM t LEFT JOIN u ON t.k = u.n)"
    answers = []
    for queries in ("true", "false"):
        env = batch(**{"execution.batch.queries": queries})
        env.execute_sql(script)
        stream = env.sql(f"{joined} {outer}")
        whole = [each.name for each in env_plan(stream).sources if each.is_query]
        assert whole == (["query of t, u"] if queries == "true" else [])
        answers.append(Counter(materialized(stream.execute_and_collect())))
    assert answers[0] == answers[1]
    assert answers[0]


def env_plan(stream):
    env = stream.get_execution_environment()
    sink = stream.sink_to(DiscardingSink()).node_id
    plan = env.plan()
    env.graph.remove(sink)
    return plan


def test_a_time_that_is_null_is_an_error(session, tmp_path: Path) -> None:
    times = pa.table({"at": pa.array([0, None], pa.timestamp("us")), "n": pa.array([1, 2])})
    (tmp_path / "t").mkdir()
    pq.write_table(times, tmp_path / "t" / "0.parquet")
    env = batch()
    env.execute_sql(f"""
        CREATE TABLE t (at TIMESTAMP(3), n BIGINT, WATERMARK FOR at AS at)
        WITH ('connector' = 'filesystem', 'format' = 'parquet', 'path' = '{tmp_path}/t');
    """)
    with pytest.raises(PenstockError, match="has no time"):
        list(env.sql("SELECT n, COUNT(*) AS c FROM t GROUP BY n").execute_and_collect())
