"""Scripts of SQL on Spark: a directory that grows, and history before a topic."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.kafka_broker import HOUR_AGO_MS, Broker
from tests.spark.conftest import Environment


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
