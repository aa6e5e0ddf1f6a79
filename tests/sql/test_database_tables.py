"""Tables of Delta and PostgreSQL: what they read, and what they are written as."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import psycopg
import pyarrow as pa
import pytest

from penstock.common import Row, RowKind
from penstock.connectors.delta.delta_sink import DeltaSink
from penstock.connectors.postgres.client import close_sessions
from penstock.connectors.postgres.postgres_sink import PostgresSink
from penstock.connectors.postgres.postgres_source import PostgresSource
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.relation.tree import Changelog
from penstock.testing import collect
from tests.postgres_server import Database


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = str(tmp_path / "table")
    deltalake.write_deltalake(path, pa.table({"n": [1, 2], "name": ["tea", "cup"]}))
    deltalake.write_deltalake(path, pa.table({"n": [3], "name": ["pot"]}), mode="append")
    return path


def delta(path: str, columns: str = "n BIGINT, name STRING", **options: object) -> str:
    shown = "".join(f", '{key}' = '{text}'" for key, text in options.items())
    return (
        f"CREATE TABLE t ({columns}) WITH ('connector' = 'delta', 'table-path' = '{path}'{shown});"
    )


def sink_of(env: StreamExecutionEnvironment, script: str) -> Any:
    env.sql_session.add(script)
    (sink,) = env.plan().sinks
    return sink.sink


SOURCE = (
    "CREATE TABLE s (n BIGINT, name STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1');"
)


def test_a_delta_table_is_read(env, table):
    env.execute_sql(delta(table))
    rows = collect(env.sql("SELECT name, n FROM t WHERE n > 1"))
    assert sorted(rows, key=str) == [Row(name="cup", n=2), Row(name="pot", n=3)]


@pytest.mark.parametrize(
    ("options", "numbers"), [({"versionAsOf": 0}, {1, 2}), ({"startingVersion": 1}, {3})]
)
def test_versions_of_a_delta_table(env, table, options, numbers):
    env.execute_sql(delta(table, "n BIGINT", **options))
    assert {row.n for row in collect(env.sql("SELECT * FROM t"))} == numbers


@pytest.mark.parametrize(
    ("columns", "options", "says"),
    [
        ("m BIGINT", {}, "has the column 'm', which is not in"),
        ("n INT", {}, "has columns of the types"),
        ("n BIGINT", {"versionAsOf": 0, "startingVersion": 1}, "has both"),
    ],
)
def test_what_a_delta_table_is_not(env, table, columns, options, says):
    env.execute_sql(delta(table, columns, **options))
    with pytest.raises(SqlError, match=says):
        env.sql("SELECT * FROM t")


def test_a_delta_table_is_written(env, tmp_path):
    sink = sink_of(env, SOURCE + delta(str(tmp_path / "a")) + "INSERT INTO t SELECT * FROM s")
    assert isinstance(sink, DeltaSink)
    assert sink.form.keys == ()
    keyed = delta(str(tmp_path / "b"), "n BIGINT, name STRING, PRIMARY KEY (n) NOT ENFORCED")
    other = StreamExecutionEnvironment.get_execution_environment()
    assert sink_of(other, SOURCE + keyed + "INSERT INTO t SELECT * FROM s").form.keys == ("n",)


JDBC = """CREATE TABLE t (id INT, price DECIMAL(8, 2), name STRING{key}) WITH ('connector' = 'jdbc',
    'url' = 'jdbc:postgresql://db.example:5432/shop', 'table-name' = 'orders', 'username' = 'etl', 'password' = 'x');"""


def test_a_table_of_postgresql_is_written(env):
    values = (
        "CREATE TABLE s (id INT, price DECIMAL(8, 2), name STRING) WITH ('connector' = 'datagen');"
    )
    insert = "INSERT INTO t SELECT * FROM s"
    plain = sink_of(env, values + JDBC.format(key="") + insert)
    assert isinstance(plain, PostgresSink)
    assert plain.writes.columns == ("id", "price", "name")
    assert plain.writes.keys == ()
    parts = psycopg.conninfo.conninfo_to_dict(plain.address.dsn)
    assert (parts["host"], parts["user"], parts["dbname"]) == ("db.example", "etl", "shop")
    other = StreamExecutionEnvironment.get_execution_environment()
    keyed = sink_of(other, values + JDBC.format(key=", PRIMARY KEY (id) NOT ENFORCED") + insert)
    assert keyed.writes.keys == ("id",)


def test_a_table_of_postgresql_with_its_changes(env):
    cdc = """CREATE TABLE t (id INT, name STRING{key}) WITH ('connector' = 'postgres-cdc', 'hostname' = 'db.example',
        'database-name' = 'shop', 'table-name' = 'orders', 'slot.name' = 'shop_orders', 'username' = 'etl');"""
    env.execute_sql(cdc.format(key=", PRIMARY KEY (id) NOT ENFORCED"))
    assert env.sql_session.find(("t",)).schema.changelog is Changelog.UPSERT
    env.sql("SELECT * FROM t")
    (source,) = [node.source for node in env.graph.nodes() if node.source is not None]
    assert isinstance(source, PostgresSource)
    assert source.slot == "shop_orders"
    assert [str(each) for each in source.tables] == ["public.orders"]
    other = StreamExecutionEnvironment.get_execution_environment()
    other.execute_sql(cdc.format(key=""))
    with pytest.raises(SqlError, match="has no key"):
        other.sql("SELECT * FROM t")


COUNTS = "CREATE VIEW counts AS SELECT name, COUNT(*) AS n FROM s GROUP BY name;"


def test_changes_need_a_key(env):
    jdbc = """CREATE TABLE t (name STRING, n BIGINT{key}) WITH ('connector' = 'jdbc',
        'url' = 'jdbc:postgresql://db.example/shop', 'table-name' = 'counts');"""
    script = SOURCE + COUNTS + jdbc + "INSERT INTO t SELECT * FROM counts"
    with pytest.raises(SqlError, match="with a PRIMARY KEY rows that change"):
        env.sql_session.add(script.format(key=""))
    for key, operator in (
        ("name", "rows of the sink"),
        ("n", "rank"),
        ("name, n", "newest row by name, n"),
    ):
        other = StreamExecutionEnvironment.get_execution_environment()
        other.sql_session.add(script.format(key=f", PRIMARY KEY ({key}) NOT ENFORCED"))
        assert operator in other.explain()


@pytest.fixture
def orders(postgres: Database) -> Iterator[Database]:
    postgres.run(
        "create table orders (id int primary key, price numeric(8, 2), name text)",
        "insert into orders select n, n / 4.0, 'k' || n from generate_series(1, 3) n",
    )
    yield postgres
    close_sessions()


def test_a_table_of_postgresql_is_read(env, orders: Database):
    parts = psycopg.conninfo.conninfo_to_dict(orders.dsn)
    url = f"jdbc:postgresql://{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts['dbname']}"
    env.execute_sql(
        f"""CREATE TABLE t (id INT, price DECIMAL(8, 2), name STRING) WITH ('connector' = 'jdbc', 'url' = '{url}',
        'table-name' = 'orders', 'username' = '{parts["user"]}', 'password' = '{parts.get("password", "")}')"""
    )
    rows = collect(env.sql("SELECT id, price * 2 AS p FROM t"))
    assert sorted(rows, key=str) == [Row(id=n, p=Decimal(n) / 2) for n in (1, 2, 3)]
    assert {row.get_row_kind() for row in rows} == {RowKind.INSERT}


def test_decimals_of_columns_have_the_digits_of_their_type(env, tmp_path):
    path = str(tmp_path / "prices")
    price = pa.array([Decimal("1.50"), None], pa.decimal128(8, 2))
    deltalake.write_deltalake(path, pa.table({"n": [1, 2], "price": price}))
    env.execute_sql(delta(path, "n BIGINT, price DECIMAL(8, 2)"))
    rows = collect(env.sql("SELECT CAST(price AS STRING) AS text, price FROM t"))
    found = sorted((row.text, str(row.price)) for row in rows if row.price is not None)
    assert found == [("1.50", "1.50")]
