"""Scripts of SQL between real servers: changes of PostgreSQL to tables of PostgreSQL and Delta and to a topic, exactly once; ORC files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deltalake
import psycopg
import pytest
from pyspark.sql import SparkSession

from penstock.connectors.postgres.client import close_sessions
from tests.kafka_broker import Broker
from tests.postgres_server import Database
from tests.spark.conftest import Environment, Failures
from tests.spark.test_logs import stop
from tests.spark.waiting import wait_for

SCRIPT = """
CREATE TABLE orders (id INT, price DECIMAL(8, 2), name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'postgres-cdc', 'hostname' = '{host}', 'port' = '{port}', 'database-name' = '{database}',
  'table-name' = 'orders', 'slot.name' = '{slot}', 'username' = '{user}', 'password' = '{password}');
CREATE TABLE totals (name STRING, n BIGINT, total DECIMAL(38, 2), PRIMARY KEY (name) NOT ENFORCED) WITH (
  'connector' = 'jdbc', 'url' = 'jdbc:postgresql://{host}:{port}/{database}', 'table-name' = 'totals',
  'username' = '{user}', 'password' = '{password}');
CREATE TABLE in_delta (name STRING, n BIGINT, total DECIMAL(38, 2), PRIMARY KEY (name) NOT ENFORCED) WITH (
  'connector' = 'delta', 'table-path' = '{path}');
CREATE TABLE in_topic (name STRING, n BIGINT, total DECIMAL(38, 2)) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}',
  'format' = 'debezium-json', 'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = '{topic}');
CREATE VIEW by_name AS SELECT name, COUNT(*) AS n, SUM(price) AS total FROM orders GROUP BY name;
INSERT INTO totals SELECT * FROM by_name;
INSERT INTO in_delta SELECT * FROM by_name;
INSERT INTO in_topic SELECT * FROM by_name;
"""
WANTED = "select name, count(*), sum(price)::text from orders group by name"


@pytest.fixture
def orders(postgres: Database) -> Iterator[Database]:
    postgres.run(
        "create table orders (id int primary key, price numeric(8, 2), name text)",
        "create table totals (name text primary key, n bigint, total numeric(38, 2))",
        "alter table orders replica identity full",
        "insert into orders select n, n / 4.0, 'k' || n % 3 from generate_series(1, 20) n",
    )
    yield postgres
    close_sessions()


def in_delta(path: Path) -> set[tuple[Any, ...]]:
    rows = deltalake.DeltaTable(path).to_pyarrow_table().to_pylist()
    return {(row["name"], row["n"], f"{row['total']:.2f}") for row in rows}


def in_topic(broker: Broker, topic: str) -> Counter[tuple[Any, ...]]:
    """Return the rows that the changes of a topic leave."""
    left: Counter[tuple[Any, ...]] = Counter()
    for value in broker.values(topic):
        assert value is not None
        change = json.loads(value, parse_float=str)
        for side, sign in (("before", -1), ("after", 1)):
            row = change.get(side)
            if row is not None:
                left[row["name"], row["n"], f"{float(row['total']):.2f}"] += sign
    return +left


def test_changes_of_a_table_are_in_three_others_whatever_fails(
    environment: Environment, tmp_path: Path, orders: Database, kafka: Broker, failures: Failures
) -> None:
    parts = psycopg.conninfo.conninfo_to_dict(orders.dsn)
    topic, slot = kafka.topic(), orders.slot()
    script = SCRIPT.format(
        host=parts.get("host", "localhost"),
        port=parts.get("port", 5432),
        database=parts["dbname"],
        user=parts["user"],
        password=parts.get("password", ""),
        slot=slot,
        path=tmp_path / "delta",
        topic=topic,
        servers=kafka.servers,
    )
    settings = failures.at("postgres.committed:2:raise", "delta.read:2:raise")
    env = environment("streaming", **settings)
    env.sql_session.add(script)
    client = env.execute_async("totals")

    def is_written() -> bool:
        wanted = orders.run(WANTED)
        return sorted(orders.run("select name, n, total::text from totals")) == sorted(wanted)

    wait_for(client, is_written)
    for statement in (
        "update orders set price = price + 1 where id <= 5",
        "update orders set name = 'new' where id = 6",
        "delete from orders where name = 'k1'",
        "insert into orders values (100, 7.5, 'k1'), (101, null, 'k2')",
    ):
        orders.run(statement)
        wait_for(client, is_written)
    stop(client)
    failures.check_all_happened()
    wanted = set(orders.run(WANTED))
    assert in_delta(tmp_path / "delta") == wanted
    assert in_topic(kafka, topic) == Counter(wanted)


def test_orc_files_are_read(
    environment: Environment, tmp_path: Path, session: SparkSession
) -> None:
    columns = [
        "CAST(id AS INT) AS n",
        "CAST(id / 4 AS DECIMAL(8, 2)) AS price",
        "STRING(id) AS name",
        "TIMESTAMP_NTZ'2024-01-01 00:00:00' AS at",
    ]
    session.range(5).selectExpr(*columns).write.orc(str(tmp_path / "in"))
    env = environment("batch")
    env.execute_sql(
        f"""CREATE TABLE t (n INT, price DECIMAL(8, 2), name STRING, at TIMESTAMP(3)) WITH ('connector' = 'filesystem',
        'path' = '{tmp_path / "in"}', 'format' = 'orc')"""
    )
    query = "SELECT COUNT(*) AS c, SUM(n) AS n, MAX(price) AS p, LISTAGG(name) AS l FROM t WHERE YEAR(at) = 2024"
    (row,) = env.execute_sql(query).collect()
    assert (row.c, row.n, str(row.p), row.l) == (5, 10, "1.00", "0,1,2,3,4")
