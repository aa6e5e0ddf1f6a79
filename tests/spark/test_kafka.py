"""Kafka on Spark: history, live and both, and on from where a job was stopped.

Every test compares with what one uninterrupted run would have written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import failpoint
from penstock.api.environment.job import JobClient
from penstock.common import Row, SimpleStringSchema, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, FileSource, HybridSource, SourceSwitch
from penstock.datastream.connectors.kafka import (
    DeliveryGuarantee,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaSink,
    KafkaSource,
)
from penstock.errors import SourceError
from penstock.graph.source import Source
from tests.kafka_broker import Broker
from tests.spark.conftest import Environment
from tests.spark.test_clients import written
from tests.spark.waiting import wait_for

ROW = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
AT = Types.ROW_NAMED(["key", "at"], [Types.STRING(), Types.LONG()])
NO_TIME = WatermarkStrategy.no_watermarks()
SECRET = "s3cr3t-and-long"  # noqa: S105 - of nobody


def source(kafka: Broker, topic: str, *, bounded: bool = False) -> KafkaSource:
    """Return a source; its secret is one that the broker does not ask for."""
    made = KafkaSource.builder().set_bootstrap_servers(kafka.servers).set_topics(topic)
    made.set_property("partition.discovery.interval.ms", "100").set_group_id(topic)
    made.set_property("sasl.password", SECRET)
    if bounded:
        made.set_bounded(KafkaOffsetsInitializer.latest())
    return made.set_value_only_deserializer(SimpleStringSchema()).build()


def keys(first: int, last: int) -> list[bytes]:
    return [b"k%d" % (n % 5) for n in range(first, last)]


def counts(count: int) -> Counter[Any]:
    return Counter((f"k{n % 5}", n // 5 + 1) for n in range(count))


def start(
    env: StreamExecutionEnvironment, read: Source, out: Path, key_of: Callable[[Any], str] = str
) -> JobClient:
    """Start a job that counts the records of every key."""
    records = env.from_source(read, NO_TIME, "orders").uid("orders")
    ones = records.map(lambda record: (key_of(record), 1)).key_by(lambda one: one[0])
    ones.sum(1).uid("counts").map(lambda r: r, ROW).sink_to(FileSink.parquet(out)).uid("out")
    return env.execute_async("orders")


def stop(client: JobClient) -> None:
    client.cancel().result()
    with pytest.raises(Exception, match="cancelled"):
        client.get_job_execution_result().result()


def final(rows: Counter[Any]) -> dict[str, int]:
    return {key: max(n for k, n in rows if k == key) for key, _ in rows}


def files_with_the_secret(directory: Path) -> list[Path]:
    """Return them, of the files that there are, however deep."""
    kept = [path for path in directory.rglob("*") if path.is_file()]
    assert kept
    return [path for path in kept if SECRET.encode() in path.read_bytes()]


def test_a_batch_run_reads_a_topic_up_to_its_head(
    environment: Environment, tmp_path: Path, kafka: Broker
) -> None:
    topic = kafka.topic()
    kafka.add(topic, *keys(0, 25_000))
    client = start(environment("batch"), source(kafka, topic, bounded=True), tmp_path / "out")
    client.get_job_execution_result().result()
    assert final(written(tmp_path / "out")) == {f"k{n}": 5_000 for n in range(5)}
    assert kafka.committed(topic, topic) == [25_000]


@pytest.mark.parametrize("mode", ["streaming", "mixed"])
def test_a_topic_is_read_once_over_a_restart_with_partitions_that_are_added(
    environment: Environment, tmp_path: Path, kafka: Broker, mode: str
) -> None:
    topic, out = kafka.topic(), tmp_path / "out"
    kafka.add(topic, *keys(0, 50))

    def read() -> Source:
        made = source(kafka, topic)
        return HybridSource.until_head(made) if mode == "mixed" else made

    client = start(environment(mode), read(), out)
    wait_for(client, lambda: final(written(out)) == final(counts(50)))
    kafka.add(topic, *keys(50, 60))
    kafka.add_partitions(topic, 2)
    kafka.add(topic, *keys(60, 70), partition=1)
    wait_for(client, lambda: final(written(out)) == final(counts(70)))
    wait_for(client, lambda: kafka.committed(topic, topic, 2) == [60, 10])
    stop(client)
    kafka.add(topic, *keys(70, 90), partition=1)
    client = start(environment(mode), read(), out)
    wait_for(client, lambda: written(out) == counts(90))
    stop(client)
    assert files_with_the_secret(tmp_path / "job") == []


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_a_topic_follows_files_from_where_they_end(
    environment: Environment, tmp_path: Path, kafka: Broker, mode: str
) -> None:
    topic, out = kafka.topic(), tmp_path / "out"
    files = tmp_path / "files"
    files.mkdir()
    kafka.add(topic, *keys(30, 50))
    since = kafka.messages(topic)[9].timestamp()[1]
    rows = [{"key": key.decode(), "at": since} for key in keys(0, 40)]
    (files / "a.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def record(found: KafkaRecord) -> Row:
        assert found.value is not None
        return Row(key=found.value.decode(), at=found.timestamp)

    def live(switch: SourceSwitch) -> KafkaSource:
        made = KafkaSource.builder().set_bootstrap_servers(kafka.servers).set_topics(topic)
        made.set_starting_offsets(KafkaOffsetsInitializer.timestamp(switch.next_timestamp))
        if mode == "batch":
            made.set_bounded(KafkaOffsetsInitializer.latest())
        return made.set_property("sasl.password", SECRET).set_deserializer(record, AT).build()

    def begin() -> JobClient:
        builder = HybridSource.builder(FileSource.json(str(files), type_info=AT))
        both = builder.add_source(live, timestamp="at", is_bounded=mode == "batch").build()
        return start(environment(mode), both, out, lambda row: row.key)

    client = begin()
    wait_for(client, lambda: final(written(out)) == final(counts(50)))
    if mode != "batch":
        stop(client)
        kafka.add(topic, *keys(50, 60), after_ms=30_000)
        client = begin()
        wait_for(client, lambda: final(written(out)) == final(counts(60)))
        stop(client)
    assert files_with_the_secret(tmp_path / "job") == []


STEPS = [f"kafka.{step}:2:raise" for step in ("decided", "produced", "marked", "committed")]
RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": len(STEPS),
    "restart-strategy.fixed-delay.delay": "10 ms",
    "execution.live.max-records-per-batch": 10,
}


def to_kafka(env: StreamExecutionEnvironment, read: Source, kafka: Broker, to: str) -> JobClient:
    """Start a job that writes how often each key was seen, exactly once."""

    def record(seen: tuple[str, int]) -> KafkaRecord:
        return KafkaRecord(seen[0].encode(), b"%d" % seen[1], to)

    sink = KafkaSink.builder().set_bootstrap_servers(kafka.servers).set_record_serializer(record)
    sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    sink.set_property("sasl.password", SECRET)
    records = env.from_source(read, NO_TIME, "orders").uid("orders")
    ones = records.map(lambda key: (key, 1)).key_by(lambda one: one[0])
    ones.sum(1).uid("counts").sink_to(sink.build()).uid("out")
    return env.execute_async("orders")


def seen_in(kafka: Broker, topic: str) -> Counter[Any]:
    return Counter((m.key().decode(), int(m.value())) for m in kafka.messages(topic))


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_counts_are_in_kafka_once_whatever_fails(
    environment: Environment,
    tmp_path: Path,
    kafka: Broker,
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic, to = kafka.topic(), kafka.topic(2)
    kafka.add(topic, *keys(0, 50))
    steps = [each.replace(":2:", ":1:") for each in STEPS] if mode == "batch" else STEPS
    markers = tmp_path / "markers"
    markers.mkdir()
    failpoint.count_anew()
    monkeypatch.setenv("PENSTOCK_FAILPOINT", ",".join(steps))
    monkeypatch.setenv("PENSTOCK_FAILPOINT_MARKER", str(markers))
    read = source(kafka, topic, bounded=mode == "batch")
    whole: Source = HybridSource.until_head(read) if mode == "mixed" else read
    client = to_kafka(environment(mode, **RESTARTS), whole, kafka, to)
    if mode == "batch":
        client.get_job_execution_result().result()
    else:
        wait_for(client, lambda: final(seen_in(kafka, to)) == final(counts(50)))
        for first in range(50, 90, 10):
            kafka.add(topic, *keys(first, first + 10))
            wait_for(client, lambda: final(seen_in(kafka, to)) == final(counts(first + 10)))  # noqa: B023
        stop(client)
    assert {path.name for path in markers.iterdir()} == set(steps)
    assert files_with_the_secret(tmp_path / "job") == []
    last = Counter({(f"k{n}", 10): 1 for n in range(5)})
    assert seen_in(kafka, to) == (last if mode == "batch" else counts(90))


def test_records_that_are_gone_before_they_were_read_stop_the_job(
    environment: Environment, tmp_path: Path, kafka: Broker
) -> None:
    topic, out = kafka.topic(), tmp_path / "out"
    kafka.add(topic, *keys(0, 10))
    client = start(environment("streaming"), source(kafka, topic), out)
    wait_for(client, lambda: written(out) == counts(10))
    stop(client)
    kafka.add(topic, *keys(10, 30))
    kafka.delete_before(topic, 0, 20)
    client = start(environment("streaming"), source(kafka, topic), out)
    with pytest.raises(
        SourceError, match="begins at position 20, and the job has read up to 10"
    ) as lost:
        client.get_job_execution_result().result()
    assert lost.value.origin is not None
    assert lost.value.origin.filename == __file__
