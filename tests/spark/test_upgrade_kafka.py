"""A changed program that reads the partitions of a Kafka topic again, one of which is behind the others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from penstock.api.environment.job import JobClient
from penstock.common import Row, SimpleStringSchema, Time, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.datastream.window import TumblingEventTimeWindows
from tests.kafka_broker import HOUR_AGO_MS, Broker
from tests.spark.conftest import Environment
from tests.spark.test_clients import written
from tests.spark.waiting import wait_for

ROW = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
WINDOW_MS = 10_000


def start(
    env: StreamExecutionEnvironment, servers: str, topic: str, base: Path, *, has_new: bool = False
) -> JobClient:
    """Start the job: counts of a key, and with `has_new` those in each window."""
    read = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(topic)
    orders = env.from_source(
        read.set_value_only_deserializer(SimpleStringSchema()).build(),
        WatermarkStrategy.for_monotonous_timestamps(),
        "orders",
    ).uid("orders")
    ones = orders.map(lambda key: (key, 1)).uid("ones").key_by(lambda one: one[0])
    counts = ones.sum(1).uid("counts")
    counts.map(lambda r: Row(*r), ROW).uid("rows").sink_to(FileSink.parquet(base / "out")).uid(
        "out"
    )
    if has_new:
        windows = ones.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
        sums = windows.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sums")
        rows = sums.map(lambda r: Row(*r), ROW).uid("rows of sums")
        rows.sink_to(FileSink.parquet(base / "new")).uid("new")
    return env.execute_async("orders")


def keys(first: int, last: int) -> list[bytes]:
    return [b"k%d" % (n % 3) for n in range(first, last)]


def sums(slow: int, fast: int) -> Counter[Any]:
    """Return the counts of windows that end up to the last record of the slow partition."""
    counts: Counter[tuple[str, int]] = Counter()
    for n in [*range(slow), *range(fast)]:
        counts[f"k{n % 3}", (HOUR_AGO_MS + n * 1_000) // WINDOW_MS] += 1
    reached = (HOUR_AGO_MS + (slow - 1) * 1_000) // WINDOW_MS
    return Counter((key, count) for (key, window), count in counts.items() if window < reached)


def test_a_partition_that_is_behind_holds_the_watermark_of_the_history(
    environment: Environment, tmp_path: Path, kafka: Broker
) -> None:
    topic, at = kafka.topic(partitions=2), (kafka.servers,)
    kafka.add(topic, *keys(0, 4))
    kafka.add(topic, *keys(0, 60), partition=1)
    client = start(environment("streaming"), *at, topic, tmp_path)
    wait_for(client, lambda: written(tmp_path / "out").total() == 64)
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()
    client.get_job_execution_result().result()
    changed = {
        "execution.checkpointing.dir": str(tmp_path / "second"),
        "execution.state-recovery.path": savepoint,
        "execution.evolution": "allow",
    }
    client = start(environment("streaming", **changed), *at, topic, tmp_path, has_new=True)
    assert not written(tmp_path / "new"), "no window has ended in both partitions"
    kafka.add(topic, *keys(4, 35), after_ms=4_000)
    kafka.add(topic, *keys(60, 61), partition=1, after_ms=60_000)
    expected = sums(35, 61)
    wait_for(client, lambda: written(tmp_path / "new").total() >= expected.total())
    client.cancel()
    assert written(tmp_path / "new") == expected
    assert written(tmp_path / "out").total() == 96
