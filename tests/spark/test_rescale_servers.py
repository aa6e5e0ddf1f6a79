"""A running job that reads Kafka and writes to a server changes its parallelism: every record is counted once."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import command_line
from penstock.common import Types
from penstock.datastream.connectors.kafka import KafkaRecord, KafkaSource
from tests.kafka_broker import Broker
from tests.sink_systems import SINKS, new_target
from tests.spark.conftest import Environment, Failures
from tests.spark.jobs import weighed
from tests.spark.jobs.weighed import KEYS, LIGHT, totals
from tests.spark.waiting import wait_for

PARTITIONS = 3


def add(kafka: Broker, topic: str, first: int, last: int) -> None:
    """Add records, whose keys are in all partitions."""
    for partition in range(PARTITIONS):
        mine = (n for n in range(first, last) if n % PARTITIONS == partition)
        kafka.add(topic, *(b"k%d" % (n % KEYS) for n in mine), partition=partition)


def key_of(record: KafkaRecord) -> tuple[str]:
    assert record.value is not None
    return (record.value.decode(),)


@pytest.mark.parametrize("system", ["kafka", "postgres"])
def test_a_job_of_servers_is_rescaled_while_it_runs_and_fails(
    environment: Environment,
    failures: Failures,
    tmp_path: Path,
    kafka: Broker,
    system: str,
    request: pytest.FixtureRequest,
) -> None:
    topic, target = kafka.topic(PARTITIONS), new_target(system, request)
    read = KafkaSource.builder().set_bootstrap_servers(kafka.servers).set_topics(topic)
    read.set_deserializer(key_of, Types.TUPLE([Types.STRING()]))
    add(kafka, topic, 0, 240)
    places = ("rescale.written:1:raise", f"{SINKS[system].steps[1]}:8:raise")
    settings = {"execution.live.max-records-per-batch": 6, **failures.at(*places)}
    env = environment("streaming", **settings)
    weighed.build(env, read.build(), LIGHT, target)
    client = env.execute_async("weighed")
    for parallelism in (3, 1):
        seen = target.rows().total()
        wait_for(client, lambda: target.rows().total() > seen)  # noqa: B023
        arguments = ["rescale", str(tmp_path / "job"), "--parallelism", str(parallelism)]
        result = CliRunner().invoke(command_line(), arguments)
        assert result.exit_code == 0, result.output
    add(kafka, topic, 240, 300)
    wait_for(client, lambda: target.rows().total() >= 300)
    client.cancel().result()
    assert target.rows() == totals((300, LIGHT))
    failures.check_all_happened()
