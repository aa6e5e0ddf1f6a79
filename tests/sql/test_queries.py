"""Queries over streams: SELECT, WHERE and scalar expressions."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSource
from penstock.errors import SqlError
from penstock.relation.ordered import unique_by
from penstock.sql.catalogue import FunctionKind, SqlFunction
from penstock.sql.grammar import parse_query
from penstock.sql.lowering.lower import Lowering
from penstock.sql.queries import relation_of
from penstock.sql.query_binding.select import QueryTranslator
from penstock.sql.streams import StreamCatalogue, StreamTable
from penstock.testing import Schedule, collect
from penstock.types.sql_types import BIGINT, INT
from tests.sql.generated import materialized

ORDERS = Types.ROW_NAMED(["who", "n"], [Types.STRING(), Types.INT()])


def rows_of(query, rows=(("ann", 5), ("bob", 3), ("ann", None)), kind=ORDERS):
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = env.sql(query, {"o": env.from_collection([Row(*row) for row in rows], kind)})
    return [tuple(row) for row in collect(stream)]


def test_conditions_and_columns():
    assert rows_of("SELECT n * 2 AS twice, who FROM o WHERE n > 3") == [(10, "ann")]


def test_null_is_not_true():
    assert rows_of("SELECT n FROM o WHERE NOT n > 3") == [(3,)]
    assert rows_of("SELECT n > 3 OR n IS NULL, n > 3 AND FALSE FROM o") == [
        (True, False),
        (False, False),
        (True, False),
    ]


def test_whole_numbers_are_divided_as_by_flink():
    assert rows_of("SELECT -n / 2, MOD(-n, 3), n % -3 FROM o WHERE n IS NOT NULL") == [
        (-2, -2, 2),
        (-1, 0, 0),
    ]


def test_a_changelog_takes_back_what_it_has_said():
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    rows = env.from_collection([Row("ann", 5), Row("bob", 3), Row("ann", 7)], ORDERS)
    totals = env.sql("SELECT who, SUM(n) AS total FROM o GROUP BY who", {"o": rows})
    changes = [
        (str(row.get_row_kind()), *row) for row in collect(totals, Schedule(batch_sizes=(1,)))
    ]
    assert changes == [
        ("+I", "ann", 5),
        ("+I", "bob", 3),
        ("-U", "ann", 5),
        ("+U", "ann", 12),
    ]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT x FROM o", "there is no column 'x': x (line 1, column 8)"),
        ("SELECT n\nFROM p", "there is no table 'p': p (line 2, column 6)"),
        ("SELECT who + 1 FROM o", "add got STRING, no number: who + 1 (line 1, column 8)"),
        ("SELECT n FROM o WHERE n", "the condition of WHERE is INT, no BOOLEAN: n"),
        ("SELECT FOO(n) FROM o", "there is no function FOO"),
        ("SELECT NOW() FROM o", "whose value depends on when it is computed"),
        ("SELECT FROM", "Expected table name, before or at 'FROM' (line 1, column 8)"),
        ("SELECT n FROM o; SELECT n FROM o", "2 statements are no query"),
    ],
)
def test_errors_name_the_place(query, problem):
    with pytest.raises(SqlError) as refused:
        rows_of(query)
    assert problem in refused.value.problem


def joined_with(hint):
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"table.exec.state.ttl": "1 d"})
    )
    rows = env.from_collection([], ORDERS)
    query = f"SELECT {hint} a.who, COUNT(*) AS n FROM o AS a JOIN o AS b ON a.who = b.who GROUP BY a.who"
    env.sql(query, {"o": rows}).print()
    nodes = [node for node in env.graph.nodes() if node.join or node.name == "group by"]
    (join,) = [node.join for node in nodes if node.join]
    (function,) = [node.function for node in nodes if not node.join]
    return join.side_ttls_ms, function.changes.ttl_ms


def test_state_is_kept_as_long_as_hints_say():
    day = 24 * 3_600_000
    assert joined_with("") == ((None, None), day)
    assert joined_with("/*+ STATE_TTL('a' = '2 d') */") == ((2 * day, None), 2 * day)
    assert joined_with("/*+ STATE_TTL('a' = '1 h', 'b' = '2 h') */") == (
        (day // 24, day // 12),
        day // 12,
    )


@pytest.mark.parametrize(
    ("hint", "problem"),
    [
        ("/*+ BROADCAST(a) */", "the hint BROADCAST (line 1, column 8) is not supported"),
        ("/*+ STATE_TTL('c' = '1 d') */", "is about 'c', which FROM does not have"),
        ("/*+ STATE_TTL('a' = 'long') */", "the hint STATE_TTL has 'long' for 'a'"),
    ],
)
def test_hints_that_cannot_be_followed_are_errors(hint, problem):
    with pytest.raises(SqlError) as refused:
        joined_with(hint)
    assert problem in refused.value.problem


def test_null_is_less_than_any_value():
    assert rows_of("SELECT n FROM o ORDER BY n LIMIT 1") == [(None,)]
    assert rows_of("SELECT n FROM o ORDER BY n DESC LIMIT 1") == [(5,)]


def test_rows_that_meet_at_a_primary_key_are_one():
    """A removal that comes behind what replaced it would remove that from a table that keeps a row per key."""
    env = StreamExecutionEnvironment.get_execution_environment()
    table = StreamTable(env.from_collection([], ORDERS))
    totals = relation_of(
        "SELECT MAX(who) AS who, n FROM o GROUP BY n", StreamCatalogue({"o": table}, {})
    )
    assert unique_by(totals, (1,)) is totals
    assert unique_by(totals, (0, 1)) is totals
    assert unique_by(totals, ()) is totals
    ranked = unique_by(totals, (0,))
    assert str(ranked) == "Rank 1 to 1 by who"
    assert ranked.keys == {frozenset({0})}
    written = Lowering(env).stream(ranked)
    assert written.get_type() == Lowering(env).stream(totals).get_type()


def test_history_of_files_is_filtered_and_merged_by_spark_sql(tmp_path):
    pq.write_table(
        pa.table({"who": ["ann"], "n": pa.array([1], pa.int32())}), tmp_path / "a.parquet"
    )
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {"execution.runtime-mode": "BATCH", "execution.batch.queries": "false"}
        )
    )
    no_time = WatermarkStrategy.no_watermarks()
    files = env.from_source(FileSource.parquet(tmp_path, ORDERS), no_time, "files")
    query = "SELECT who, COUNT(*) AS c, SUM(n) FILTER (WHERE n > 2) AS s FROM o WHERE n > 0 GROUP BY who"
    env.sql(query, {"o": files}).print()
    assert "one projection of Spark SQL, merged by key" in env.explain()


class TimesFactor:
    """An aggregate function of the user: the sum of its values times a factor, which can be taken back."""

    def __init__(self, factor):
        self.factor = factor

    def create_accumulator(self):
        return [0]

    def accumulate(self, accumulator, value):
        accumulator[0] += value or 0

    def retract(self, accumulator, value):
        accumulator[0] -= value or 0

    def get_value(self, accumulator):
        return accumulator[0] * self.factor


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_functions_of_the_user_are_told_apart(mode):
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": mode})
    )
    functions = {
        "twice": SqlFunction("twice", FunctionKind.AGGREGATE, TimesFactor(2), BIGINT),
        "thrice": SqlFunction("thrice", FunctionKind.AGGREGATE, TimesFactor(3), BIGINT),
        "parts": SqlFunction("parts", FunctionKind.TABLE, lambda n: range(n or 0), INT),
        "half": SqlFunction(
            "half", FunctionKind.SCALAR, lambda n: None if n is None else n // 2, INT
        ),
    }
    rows = [Row("ann", 5), Row("bob", 3), Row("ann", 2)]
    table = StreamTable(env.from_collection(rows, ORDERS))
    catalogue = StreamCatalogue({"o": table}, functions)
    inside = "SELECT who, MAX(half(n)) AS n FROM o GROUP BY who"
    query = f"SELECT twice(n), thrice(n) FROM (SELECT n FROM ({inside}), LATERAL TABLE(parts(n)) AS t (p))"
    stream = Lowering(env).stream(relation_of(query, catalogue))
    assert materialized(collect(stream, Schedule(batch_sizes=(1,)))) == [(10, 15)]


def test_a_wrong_query_leaves_nothing_behind():
    env = StreamExecutionEnvironment.get_execution_environment()
    table = StreamTable(env.from_collection([], ORDERS))
    translator = QueryTranslator(StreamCatalogue({"o": table}, {}))
    with pytest.raises(SqlError, match="there is no column 'm'"):
        translator.relation(
            parse_query("WITH a AS (SELECT n FROM o), b AS (SELECT m FROM a) SELECT * FROM b")
        )
    with pytest.raises(SqlError, match="there is no table 'a'"):
        translator.relation(parse_query("SELECT n FROM a"))


GROUPED = [
    (
        "SELECT who, n, COUNT(*) AS c FROM o GROUP BY ROLLUP (who, n)",
        [
            (None, None, 3),
            ("ann", None, 2),
            ("ann", 1, 1),
            ("ann", 2, 1),
            ("bob", None, 1),
            ("bob", 2, 1),
        ],
    ),
    (
        "SELECT GROUPING_ID(who, n) AS g, SUM(n) AS s FROM o GROUP BY CUBE (who, n) HAVING GROUPING(who) = 1",
        [(2, 1), (2, 4), (3, 5)],
    ),
    (
        "SELECT who, n FROM o GROUP BY GROUPING SETS (who, (who, n), who) HAVING who = 'bob'",
        [("bob", None), ("bob", None), ("bob", 2)],
    ),
    ("SELECT n FROM o EXCEPT ALL SELECT 2", [(1,), (2,)]),
    ("SELECT n FROM o INTERSECT ALL VALUES (2), (2), (2), (7)", [(2,), (2,)]),
    (
        "SELECT n, (SELECT COUNT(*) + 1 FROM o WHERE o.n = p.n + 1) AS c FROM o AS p",
        [(1, 3), (2, 1), (2, 1)],
    ),
    (
        "SELECT who FROM o AS p WHERE n < (SELECT MAX(n) FROM o WHERE o.who = p.who AND n <> 7)",
        [("ann",)],
    ),
    (
        "SELECT who FROM o AS p GROUP BY who HAVING SUM(n) > (SELECT MAX(n) FROM o WHERE o.who = p.who)",
        [("ann",)],
    ),
    ("SELECT COUNT(*) AS c FROM o GROUP BY ()", [(3,)]),
    ("SELECT MAP[who, n, 'x', 7]['bob'] AS m FROM o WHERE n = 2", [(2,), (None,)]),
]


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
@pytest.mark.parametrize(("query", "wanted"), GROUPED)
def test_groups_of_several_sets_and_subqueries_per_row(query, wanted, mode):
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": mode})
    )
    rows = [Row(who=who, n=n) for who, n in (("ann", 1), ("ann", 2), ("bob", 2))]
    kind = Types.ROW_NAMED(["who", "n"], [Types.STRING(), Types.INT()])
    found = materialized(collect(env.sql(query, {"o": env.from_collection(rows, kind)})))
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
