"""Scripts: tables, views, functions, settings and insertions of a program, run in process."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Configuration, Row, RowKind, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import ArgumentError, EmptyGraphError, SqlError
from penstock.sql.tables.registry import connectors
from penstock.sql.udf import (
    AggregateFunction,
    ScalarFunction,
    TableFunction,
    UserDefinedFunction,
    udaf,
    udf,
    udtf,
)
from penstock.testing import collect, run_in_process

SOURCE = """
CREATE TABLE numbers (
  id BIGINT, name STRING, price DECIMAL(10, 2), cost AS price * 2, at TIMESTAMP(3),
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (
  'connector' = 'datagen', 'number-of-rows' = '5', 'rows-per-second' = '1',
  'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '100',
  'fields.name.length' = '3', 'fields.price.min' = '1', 'fields.price.max' = '9'
);
"""


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def texts(env, script: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in env.execute_sql(script).collect()]


def test_insertions_become_sinks_of_one_job(env):
    env.sql_session.add(
        SOURCE
        + """
        CREATE VIEW large AS SELECT id, cost FROM numbers WHERE id > 2;
        CREATE TABLE shown (id BIGINT, cost DECIMAL(12, 1)) WITH ('connector' = 'print');
        CREATE TABLE gone (at TIMESTAMP(3), id BIGINT, none STRING) WITH ('connector' = 'blackhole');
        EXECUTE STATEMENT SET BEGIN
          INSERT INTO shown SELECT * FROM large;
          INSERT INTO gone (id, at) SELECT id, at FROM numbers WHERE id < 3;
        END;
        """
    )
    results = run_in_process(env)
    shown = results.of("shown")
    assert [row.id for row in shown] == [3, 4, 5]
    assert all(row.cost == row.cost.quantize(Decimal("0.1")) for row in shown)
    moments = [dt.datetime(2026, 1, 1, 0, 0, second) for second in (0, 1)]  # noqa: DTZ001
    assert results.of("gone") == [
        Row(at=moment, id=n, none=None) for n, moment in enumerate(moments, 1)
    ]
    sources = [node for node in env.plan().graph.nodes if node.source is not None]
    assert len(sources) == 1  # both insertions read it


def test_datagen_makes_the_same_rows_whenever_it_is_asked(env):
    env.sql_session.add(SOURCE)
    rows = collect(env.sql("SELECT * FROM numbers"))
    other = StreamExecutionEnvironment.get_execution_environment()
    other.sql_session.add(SOURCE)
    assert collect(other.sql("SELECT * FROM numbers")) == rows
    assert len(rows) == 5
    assert all(len(row.name) == 3 and 1 <= row.price <= 9 for row in rows)


def test_datagen_of_every_type(env):
    env.sql_session.add(
        """
        CREATE TABLE all_types (
          b BOOLEAN, t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, m DECIMAL(5, 1), x STRING, y BYTES,
          e DATE, z TIMESTAMP_LTZ(3), a ARRAY<INT>, r ROW<n INT, o STRING>
        ) WITH ('connector' = 'datagen', 'number-of-rows' = '50', 'fields.i.null-rate' = '0.5',
          'fields.z.max-past' = '10 s', 'fields.a.length' = '2', 'start-time' = '2026-02-01 00:00:00');
        """
    )
    rows = collect(env.sql("SELECT * FROM all_types"))
    assert len(rows) == 50
    assert 5 < sum(row.i is None for row in rows) < 45
    assert all(len(row.a) == 2 and isinstance(row.r, Row) for row in rows)
    assert {row.z.tzinfo for row in rows} == {dt.UTC}


def test_names_and_settings(env):
    script = SOURCE + "CREATE VIEW v AS SELECT id AS n FROM numbers; SHOW TABLES"
    assert texts(env, script) == [("numbers",), ("v",)]
    assert texts(env, "SHOW VIEWS") == [("v",)]
    assert texts(env, "DESCRIBE v") == [("n", "BIGINT", "", "")]
    assert texts(env, "DESC numbers")[3:] == [
        ("cost", "DECIMAL(20, 2)", "", ""),
        ("at", "TIMESTAMP", "", "event time"),
    ]
    assert texts(env, "SET 'parallelism.default' = '3'; SET") == [("parallelism.default", "3")]
    assert env.get_parallelism() == 3
    env.execute_sql("RESET 'parallelism.default'")
    assert texts(env, "SET") == []
    made = env.execute_sql("SHOW CREATE TABLE numbers").text
    assert made == SOURCE.strip().rstrip(";")
    assert "SELECT id AS n" in env.execute_sql("SHOW CREATE VIEW v").text
    env.execute_sql("DROP VIEW v; DROP TABLE numbers; DROP TABLE IF EXISTS numbers")
    assert texts(env, "SHOW TABLES") == []


def test_passwords_are_not_shown(env):
    env.execute_sql(
        """CREATE TABLE t (a INT) WITH ('connector' = 'jdbc', 'table-name' = 't', 'password' = 'swordfish',
        'url' = 'jdbc:postgresql://host/db')"""
    )
    assert "swordfish" not in env.execute_sql("SHOW CREATE TABLE t").text


def test_secrets_are_hidden_and_nothing_else(env):
    """Values that are in other places too, empty ones, doubled quotes, and logins of addresses."""
    text = (
        "CREATE TABLE t (a INT, b INT) WITH ('connector' = 'kafka', 'topic' = 'b', 'format' = 'json', "
        "'properties.bootstrap.servers' = 'b:1', 'properties.sasl.password'='{}', "
        "'properties.ssl.key.password' = '{}', 'properties.x' = 'http://{}@b/?password={}')"
    )
    env.execute_sql(text.format("b", "", "me:it", "sw''ord"))
    hidden = text.format(*["******"] * 4).replace("password=******", "password=******''ord")
    assert env.execute_sql("SHOW CREATE TABLE t").text == hidden
    assert env.execute_sql("SET 's3.secret-key' = 'swordfish'").text == "s3.secret-key = ******"


SELF = {
    "itself": "CREATE OR REPLACE VIEW v AS SELECT id FROM v",
    "by another": "CREATE VIEW w AS SELECT id FROM v; CREATE OR REPLACE VIEW v AS SELECT id FROM w",
}


@pytest.mark.parametrize("script", SELF)
def test_a_view_that_would_read_itself_is_refused_and_the_former_stays(env, script: str):
    env.execute_sql(SOURCE + "CREATE VIEW v AS SELECT id FROM numbers;")
    with pytest.raises(SqlError, match="there is no table 'v'"):
        env.execute_sql(SELF[script])
    assert "Scan numbers" in env.execute_sql("EXPLAIN SELECT * FROM v").text


def test_a_view_does_not_replace_a_table(env):
    env.execute_sql(SOURCE)
    with pytest.raises(SqlError, match="there is a table 'numbers' already"):
        env.execute_sql("CREATE OR REPLACE VIEW numbers AS SELECT 1 AS x")
    assert "BIGINT" in env.execute_sql("SHOW CREATE TABLE numbers").text


DEEP = {
    "brackets": "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    "conditions": "SELECT id FROM numbers WHERE " + " OR ".join(f"id = {n}" for n in range(3000)),
    "explanations": "EXPLAIN " * 3000 + "SELECT 1",
}


@pytest.mark.parametrize("script", DEEP)
@pytest.mark.parametrize("call", ["execute", "add", "explained"])
def test_a_statement_for_which_the_stack_has_no_room_is_refused(env, script: str, call: str):
    env.execute_sql(SOURCE)
    with pytest.raises(SqlError, match=r"nested too deeply|rows go nowhere"):
        getattr(env.sql_session, call)(DEEP[script])


def test_explain_has_changelog_modes(env):
    script = SOURCE + "CREATE TABLE s (id BIGINT) WITH ('connector' = 'print');"
    text = env.execute_sql(
        script + "EXPLAIN INSERT INTO s SELECT id FROM numbers WHERE id > 1"
    ).text
    assert text.startswith("Sink s\n")
    assert "Scan numbers [insert-only]" in text


def explained(script, **options):
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    text = env.execute_sql(script).text
    assert not env.graph.nodes()  # it adds nothing to the program
    return text.split("\n\n", 1)


PAIR = """CREATE TABLE l (k STRING, n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1');
CREATE TABLE r (k STRING, n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1');
EXPLAIN """


@pytest.mark.parametrize(
    ("query", "ttl", "says"),
    [
        ("SELECT k, COUNT(*) FROM l GROUP BY k", "0 ms", "an accumulator per group, for ever]"),
        ("SELECT k, COUNT(*) FROM l GROUP BY k", "90 s", "per group, for 90 seconds]"),
        (
            "SELECT /*+ STATE_TTL('l' = '1 d') */ k, COUNT(*) FROM l GROUP BY k",
            "90 s",
            "for 1 day]",
        ),
        ("SELECT l.n FROM l JOIN r ON l.k = r.k", "2 h", "all rows of both sides, for 2 hours]"),
        (
            "SELECT /*+ STATE_TTL('l' = '1 d') */ l.n FROM l JOIN r ON l.k = r.k",
            "0 ms",
            "all rows of both sides, for 1 day (left) or for ever (right)]",
        ),
        ("SELECT n FROM l ORDER BY n LIMIT 3", "1500 ms", "partition, for 1500 milliseconds]"),
    ],
)
def test_explain_says_what_is_kept_and_how_long(query, ttl, says):
    relations, plan = explained(PAIR + query, **{"table.exec.state.ttl": ttl})
    assert says in relations
    assert plan.startswith("mode STREAMING")
    assert "\ndecisions\n" in plan


def test_what_was_explained_runs_afterwards(env):
    """Tables remember their streams: those of the draft are none of the program."""
    env.execute_sql(PAIR + "SELECT k FROM l")
    before = env.sql("SELECT n FROM r", {})
    explained_text = env.execute_sql("EXPLAIN SELECT l.n FROM l JOIN r ON l.k = r.k").text
    assert explained_text.startswith("Project n")
    names = [node.name for node in env.graph.nodes()]
    assert names.count("r") == 1
    found = env.sql("SELECT l.n FROM l JOIN r ON l.k = r.k", {})
    again = [node.name for node in env.graph.nodes()]
    assert again.count("r") == again.count("l") == 1  # they are read once
    assert len(collect(before)) == 1
    assert isinstance(collect(found), list)


def test_explain_says_what_spark_sql_computes(tmp_path):
    pq.write_table(pa.table({"k": ["a"], "n": pa.array([1], pa.int32())}), tmp_path / "a.parquet")
    script = f"""
    CREATE TABLE t (k STRING, n INT) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'parquet');
    CREATE TABLE s (k STRING, n BIGINT) WITH ('connector' = 'print');
    EXPLAIN INSERT INTO s SELECT UPPER(k), n FROM (SELECT k, SUM(n) AS n FROM t GROUP BY k)"""
    relations, plan = explained(script, **{"execution.runtime-mode": "BATCH"})
    assert relations == (
        "Sink s\n"
        "  Project k=EXPR$0, n [insert-only]\n"
        "    Project EXPR$0=upper(k), n=AGG$0 [insert-only]\n"
        "      Group by k: AGG$0=SUM(#1) [insert-only, computed by Spark SQL]\n"
        "        Project k, n [insert-only, computed by Spark SQL]\n"
        "          Scan t [insert-only, computed by Spark SQL]"
    )
    assert "'query of t': Spark SQL computes the whole query" in plan
    kept, _ = explained(
        script, **{"execution.runtime-mode": "BATCH", "execution.batch.queries": "false"}
    )
    assert "Spark SQL" not in kept
    assert "state: an accumulator per group, for ever" in kept


def test_a_table_like_another(env):
    env.execute_sql(
        SOURCE + "CREATE TABLE fewer (more INT) WITH ('number-of-rows' = '2') LIKE numbers;"
    )
    rows = collect(env.sql("SELECT * FROM fewer"))
    assert len(rows) == 2
    assert rows[0].get_fields_by_names(["id"]) == [1]
    assert [row[0] for row in texts(env, "DESCRIBE fewer")][-1] == "more"


def test_options_of_a_hint_win(env):
    env.sql_session.add(
        SOURCE
        + "CREATE TABLE s (id BIGINT) WITH ('connector' = 'print');"
        + "INSERT INTO s /*+ OPTIONS('print-identifier' = 'x') */ SELECT id FROM numbers"
    )
    (sink,) = env.plan().sinks
    assert sink.sink.identifier == "x"


def test_parallelism_of_tables(env):
    env.sql_session.add(
        SOURCE.replace("'fields.name", "'scan.parallelism' = '1', 'fields.name")
        + "CREATE TABLE s (id BIGINT) WITH ('connector' = 'blackhole', 'sink.parallelism' = '3');"
        + "INSERT INTO s SELECT id FROM numbers"
    )
    source, sink = (
        next(node for node in env.graph.nodes() if getattr(node, kind) is not None)
        for kind in ("source", "sink")
    )
    assert (source.parallelism, sink.parallelism) == (1, 3)


def test_streams_are_tables(env):
    kind = Types.ROW_NAMED(["a", "n"], [Types.STRING(), Types.INT()])
    env.create_view("o", env.from_collection([Row(a="x", n=1), Row(a="y", n=5)], kind))
    assert collect(env.sql("SELECT a FROM o WHERE n > 2")) == [Row(a="y")]
    env.sql_session.add(
        "CREATE TABLE s (a STRING) WITH ('connector' = 'print'); INSERT INTO s SELECT a FROM o"
    )
    assert run_in_process(env).of("s") == [Row(a="x"), Row(a="y")]
    with pytest.raises(ArgumentError, match="already"):
        env.create_view("o", env.from_collection([Row(a="x", n=1)], kind))
    with pytest.raises(ArgumentError, match="create_view got int"):
        env.create_view("p", 1)


def test_streams_of_upserts_are_tables(env):
    kind = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()])
    rows = [Row(k="a", n=1), Row(k="b", n=5), Row(k="a", n=2), Row(k="b", n=None)]
    rows[-1].set_row_kind(RowKind.DELETE)
    env.get_configuration().set_string("execution.runtime-mode", "BATCH")
    env.create_view("o", env.from_collection(rows, kind), primary_key=["k"])
    assert collect(env.sql("SELECT SUM(n) AS n, COUNT(*) AS c FROM o")) == [Row(n=2, c=1)]


@udf(result_type="BIGINT")
def plus_one(n):
    return None if n is None else n + 1


class Half(ScalarFunction):
    def open(self, function_context):
        self.divisor = 2

    def eval(self, n):
        return n / self.divisor


half = udf(Half, result_type="DOUBLE")


@udf(result_type="BIGINT", func_type="arrow")
def arrow_twice(column):
    import pyarrow.compute as pc  # noqa: PLC0415 - a function of a user

    return pc.multiply(column, 2)


@udf(result_type=Types.LONG(), func_type="pandas")
def pandas_twice(column):
    return column * 2


def test_scalar_functions(env):
    env.sql_session.add(SOURCE)
    for name, function in (
        ("plus_one", plus_one),
        ("half", half),
        ("arrow_twice", arrow_twice),
        ("pandas_twice", pandas_twice),
    ):
        env.create_function(name, function)
    query = "SELECT PLUS_ONE(id) AS p, half(id) AS h, arrow_twice(id) AS a, pandas_twice(id) AS b FROM numbers"
    rows = collect(env.sql(query))
    assert rows == [Row(p=n + 1, h=n / 2, a=2 * n, b=2 * n) for n in range(1, 6)]
    assert texts(env, "SHOW FUNCTIONS") == [
        ("arrow_twice",),
        ("half",),
        ("pandas_twice",),
        ("plus_one",),
    ]


def test_a_function_of_a_module(env, tmp_path: Path, monkeypatch):
    (tmp_path / "my_functions.py").write_text(
        "from penstock.sql.udf import udf\n\n@udf(result_type='STRING')\ndef shout(text):\n    return text.upper()\n\nnothing = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    env.sql_session.add(SOURCE + "CREATE FUNCTION shout AS 'my_functions.shout' LANGUAGE PYTHON;")
    rows = collect(env.sql("SELECT shout(name) AS s FROM numbers"))
    assert all(row.s == row.s.upper() for row in rows)
    for target, says in (
        ("no_module_at_all.f", "cannot be imported"),
        ("my_functions.shot", "did you mean 'shout'"),
        ("my_functions.nothing", "is 1"),
    ):
        with pytest.raises(SqlError, match=says):
            env.execute_sql(f"CREATE FUNCTION f AS '{target}'")


def test_kinds_of_functions():
    class Words(TableFunction):
        def eval(self, text):
            yield from text.split()

    class Last(AggregateFunction):
        def create_accumulator(self):
            return []

        def accumulate(self, accumulator, value):
            accumulator[:] = [value]

        def get_value(self, accumulator):
            return accumulator[0]

    words = udtf(Words(), result_types="STRING")
    assert words.result_type.fields == ("f0",)
    assert list(words.called("a b")) == [Row(f0="a"), Row(f0="b")]
    pairs = udtf(lambda n: [(n, "x")], result_types=["INT", "STRING"])
    assert list(pairs.called(1)) == [Row(f0=1, f1="x")]
    last = udaf(Last(), result_type="INT")
    assert isinstance(last, UserDefinedFunction)
    with pytest.raises(ArgumentError, match="cannot take rows back"):
        last.called.retract([], 1)
    no_function: Any = 1
    for wrong in (
        lambda: udf(no_function, result_type="INT"),
        lambda: udf(len),
        lambda: udf(len, result_type="INT", func_type="spark"),
        lambda: udtf(len),
        lambda: udaf(no_function, result_type="INT"),
    ):
        with pytest.raises(ArgumentError):
            wrong()
    with pytest.raises(SqlError, match="expected a type"):
        udf(len, result_type="FOO")


def test_rows_of_a_sink_by_key(env):
    kind = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()])
    changes = [
        (RowKind.INSERT, "a", 1),
        (RowKind.INSERT, "b", 1),
        (RowKind.INSERT, "a", 2),
        (RowKind.UPDATE_BEFORE, "a", 2),
        (RowKind.UPDATE_AFTER, "a", 3),
        (RowKind.DELETE, "a", 3),
        (RowKind.DELETE, "b", 1),
        (RowKind.DELETE, "b", 7),
    ]
    from penstock.sql.tables.table import latest_by_key  # noqa: PLC0415 - of this test only

    rows = []
    for change, k, n in changes:
        rows.append(Row(k=k, n=n))
        rows[-1].set_row_kind(change)
    found = collect(latest_by_key(env.from_collection(rows, kind), ["k"]))
    assert [(row.get_row_kind().short_string, row.k, row.n) for row in found if row.k == "a"] == [
        ("+U", "a", 1),
        ("+U", "a", 2),
        ("+U", "a", 1),
        ("+U", "a", 3),
        ("+U", "a", 1),
    ]
    assert [row.get_row_kind().short_string for row in found if row.k == "b"] == ["+U", "-D"]


BEFORE = SOURCE + "CREATE TABLE s (id BIGINT, name STRING) WITH ('connector' = 'print');"


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("CREATE TABLE t (a INT) WITH ('connector' = 'kafak')", "did you mean 'kafka'"),
        ("CREATE TABLE t (a INT)", "lacks the option 'connector'"),
        (
            "CREATE TABLE t (a INT) WITH ('connector' = 'print', 'x' = 'y')",
            "option 'x', which there is not",
        ),
        (
            "CREATE TABLE t (a INT) WITH ('connector' = 'print', 'print-identifer' = 'y')",
            "did you mean 'print-identifier'",
        ),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'filesystem')", "lacks the option 'path'"),
        (
            "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 'p', 'format' = 'avro')",
            "has 'format' = 'avro'",
        ),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'print', 'connector' = 'print')", "twice"),
        ("CREATE TABLE t (a INT, a INT) WITH ('connector' = 'print')", "has the column 'a' twice"),
        ("CREATE TABLE t (a INT METADATA) WITH ('connector' = 'print')", "metadata 'a'"),
        (
            "CREATE TABLE t (a STRING METADATA FROM 'offset', b INT) WITH ('connector' = 'kafka')",
            "lacks the option 'properties.bootstrap.servers'",
        ),
        (
            """CREATE TABLE t (a STRING METADATA FROM 'offset', b INT) WITH ('connector' = 'kafka',
            'properties.bootstrap.servers' = 'x', 'topic' = 't', 'format' = 'json')""",
            "has the metadata 'offset' as STRING",
        ),
        (
            "CREATE TABLE t (a INT) PARTITIONED BY (a) WITH ('connector' = 'print')",
            "has PARTITIONED BY, and print has no partitions",
        ),
        ("CREATE VIEW v (a) AS SELECT id, name FROM numbers", "1 names for 2 columns of the view"),
        ("CREATE TABLE t (b AS 1) WITH ('connector' = 'print')", "has no columns"),
        (
            "CREATE TABLE t (a INT, b AS c + 1) WITH ('connector' = 'print')",
            "there is no column 'c'",
        ),
        (
            "CREATE TABLE t (a INT, PRIMARY KEY (b) NOT ENFORCED) WITH ('connector' = 'print')",
            "PRIMARY KEY of 'b'",
        ),
        ("CREATE TABLE t (a INT, WATERMARK FOR a AS a) WITH ('connector' = 'print')", "is of INT"),
        (
            "CREATE TABLE t (a INT, WATERMARK FOR b AS b) WITH ('connector' = 'print')",
            "is of no column",
        ),
        (
            "CREATE TABLE t (a TIMESTAMP(3), WATERMARK FOR a AS a + INTERVAL '1' SECOND) WITH ('connector' = 'print')",
            "WATERMARK FOR of another expression",
        ),
        (
            "CREATE TABLE s (a INT) WITH ('connector' = 'print')",
            "there is a table or view 's' already",
        ),
        ("CREATE VIEW v AS SELECT x FROM numbers", "there is no column 'x'"),
        ("CREATE TABLE t LIKE nothing", "there is no table 'nothing'"),
        (
            "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'fields.b.kind' = 'random'); SELECT a FROM t",
            "no column 'b'",
        ),
        (
            "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'fields.a.size' = '1'); SELECT a FROM t",
            "fields.a.size",
        ),
        (
            "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'fields.a.kind' = 'sequence'); SELECT a FROM t",
            "without a start and an end",
        ),
        ("DROP TABLE n", "there is no table 'n'"),
        ("DROP VIEW numbers", "'numbers' is a table (line"),
        ("DROP FUNCTION f", "there is no function 'f'"),
        ("DESCRIBE nothing", "there is no table 'nothing' (line"),
        ("SHOW CREATE TABLE nothing", "there is no table 'nothing'"),
        ("SET 'parallelism.default' = 'many'", "an integer is written in decimal digits"),
        ("INSERT INTO n SELECT id FROM numbers", "there is no table 'n' (line 10"),
        ("INSERT INTO s SELECT id FROM numbers", "the query has 1 columns, and the table takes 2"),
        (
            "INSERT INTO s SELECT name, id FROM numbers",
            "the column 'id' is BIGINT, and the query has STRING",
        ),
        ("INSERT INTO s (x) SELECT id FROM numbers", "there is no column 'x' to write"),
        ("INSERT INTO numbers (id) SELECT id FROM numbers", "only reads"),
        ("INSERT INTO s SELECT id, name FROM s", "which cannot be read"),
        ("CREATE VIEW v AS SELECT id FROM numbers; INSERT INTO v SELECT 1", "'v' is a view"),
    ],
)
def test_errors_name_table_and_place(env, statement, says):
    with pytest.raises(SqlError) as caught:
        env.execute_sql(BEFORE + statement)
    error = caught.value
    assert says in f"{error.problem} {error.hint}"
    assert error.origin is not None
    assert Path(error.origin.filename).name == Path(__file__).name


def test_a_script_that_fails_starts_no_job(env):
    wrong = (
        BEFORE
        + "INSERT INTO s SELECT id, name FROM numbers; INSERT INTO nothing SELECT id FROM numbers"
    )
    with pytest.raises(SqlError):
        env.execute_sql(wrong)
    with pytest.raises(EmptyGraphError):
        env.plan()


def test_every_connector_says_what_it_is():
    for name, connector in connectors().items():
        assert connector.summary, name
        assert connector.source is not None or connector.sink is not None
        keys = [option.key for option in connector.options]
        assert len(keys) == len(set(keys))
        assert all(option.description.endswith(".") for option in connector.options)
