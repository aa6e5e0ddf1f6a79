"""Scripts of SQL on Spark: files of every format, and history before a topic."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common import Row
from tests.kafka_broker import HOUR_AGO_MS, Broker
from tests.spark.conftest import Environment

ROWS = 20
SOURCE = f"""
CREATE TABLE numbers (id BIGINT, name STRING, price DECIMAL(10, 2), at TIMESTAMP(3), day STRING) WITH (
  'connector' = 'datagen', 'number-of-rows' = '{ROWS}', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1',
  'fields.id.end' = '{ROWS}', 'fields.name.length' = '3', 'fields.price.min' = '1', 'fields.price.max' = '9',
  'fields.day.length' = '1');
"""


def files(name: str, file_format: str, path: Path, more: str = "") -> str:
    return f"""CREATE TABLE {name} (id BIGINT, name STRING, price DECIMAL(10, 2), at TIMESTAMP(3), day STRING) {more}
    WITH ('connector' = 'filesystem', 'path' = '{path / name}', 'format' = '{file_format}');"""


def test_files_are_written_and_read(environment: Environment, tmp_path: Path):
    env = environment("batch")
    env.execute_sql(
        SOURCE
        + files("as_json", "json", tmp_path)
        + files("as_csv", "csv", tmp_path)
        + files("as_parquet", "parquet", tmp_path, "PARTITIONED BY (day)")
        + """
        INSERT INTO as_json SELECT * FROM numbers;
        INSERT INTO as_csv SELECT * FROM numbers;
        INSERT INTO as_parquet SELECT * FROM numbers;
        """
    )
    env.execute_sql(
        "RESET 'execution.checkpointing.dir'"
    )  # it is that of the job of the insertions
    found = {
        name: sorted(
            env.execute_sql(f"SELECT id, price * 2 AS p, at, day FROM {name}").collect(), key=str
        )
        for name in ("numbers", "as_json", "as_csv", "as_parquet")
    }
    assert len(found["numbers"]) == ROWS
    assert all(rows == found["numbers"] for rows in found.values())
    days = {path.name for path in (tmp_path / "as_parquet").glob("day=*")}
    assert days == {f"day={row.day}" for row in found["numbers"]}
    (total,) = env.execute_sql("SELECT COUNT(*) AS n, SUM(price) AS total FROM as_json").collect()
    assert total == Row(n=ROWS, total=sum((row.p for row in found["numbers"]), Decimal(0)) / 2)


def test_history_comes_before_the_topic(environment: Environment, tmp_path: Path, kafka: Broker):
    moments = [HOUR_AGO_MS + 1_000 * n for n in range(4)]  # as the broker gives them
    history = pa.table({"n": pa.array([0, 1], pa.int64()), "ms": pa.array(moments[:2], pa.int64())})
    (tmp_path / "history").mkdir()
    pq.write_table(history, tmp_path / "history" / "0.parquet")
    topic = kafka.topic()
    kafka.add(topic, *(json.dumps({"n": n, "ms": ms}).encode() for n, ms in enumerate(moments)))
    env = environment("mixed")
    env.execute_sql(
        f"""CREATE TABLE t (n BIGINT, ms BIGINT) WITH ('connector' = 'kafka', 'topic' = '{topic}', 'format' = 'json',
        'properties.bootstrap.servers' = '{kafka.servers}', 'scan.startup.mode' = 'earliest-offset',
        'scan.bounded.mode' = 'latest-offset', 'history.path' = '{tmp_path / "history"}',
        'history.timestamp-column' = 'ms')"""
    )
    # Two rows are in the files and in the topic; each is read once.
    with env.sql("SELECT n FROM t").execute_and_collect() as rows:
        assert sorted(row.n for row in rows) == [0, 1, 2, 3]


def test_a_directory_is_read_as_it_grows(environment: Environment, tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.json").write_text('{"n": 1}\n{"n": 2}\n')
    env = environment("streaming")
    env.execute_sql(
        f"""CREATE TABLE t (n INT) WITH ('connector' = 'filesystem', 'path' = '{tmp_path / "in"}', 'format' = 'json',
        'source.monitor-interval' = '100 ms')"""
    )
    with env.sql("SELECT n FROM t").execute_and_collect() as rows:
        assert {next(rows).n, next(rows).n} == {1, 2}
        (tmp_path / "in" / ".1").write_text('{"n": 3}\n')
        (tmp_path / "in" / ".1").rename(tmp_path / "in" / "1.json")
        assert next(rows).n == 3
