"""A job from Kafka to Kafka whose network is cut, whose broker is stopped and started, and that stands still.

Counts of keys are written exactly once; a reader of committed records must see those of one uninterrupted run. The broker is
stopped in order: the one of the tests forgets what it has acknowledged when it is killed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.kafka.broker import BrokerProcess
from tests.faults.conftest import environment, session
from tests.kafka_broker import Broker, unavailable
from tests.kafka_proxy import Proxy
from tests.spark.conftest import Environment
from tests.spark.test_kafka import counts, final, keys, seen_in, source, stop, to_kafka
from tests.spark.waiting import wait_for

__all__ = ["environment", "session"]

RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": 20,
    "restart-strategy.fixed-delay.delay": "200 ms",
    "execution.live.max-records-per-batch": 10,
}


def grow(
    environment: Environment, through: Broker, broker: Broker, disturb: Callable[[int], None]
) -> None:
    """Add records in rounds while a job counts them, with a disturbance in each round.

    Args:
        environment: Makes the environment of the job.
        through: The broker as the job sees it.
        broker: The broker as the test sees it.
        disturb: Called with the number of the round, behind its records.
    """
    topic, to = broker.topic(), broker.topic(2)
    broker.add(topic, *keys(0, 20))
    client = to_kafka(environment("streaming", **RESTARTS), source(through, topic), through, to)
    wait_for(client, lambda: final(seen_in(broker, to)) == final(counts(20)))
    for number in range(4):
        first = 20 + 20 * number
        broker.add(topic, *keys(first, first + 20))
        disturb(number)
        wait_for(client, lambda: final(seen_in(broker, to)) == final(counts(first + 20)), 120)  # noqa: B023
    stop(client)
    assert seen_in(broker, to) == counts(100)


def test_a_network_that_is_cut_again_and_again_neither_loses_nor_doubles(
    environment: Environment, kafka: Broker
) -> None:
    with Proxy(kafka.servers_here()) as proxy:

        def cut(number: int) -> None:
            time.sleep(0.05 * number)  # before, in and behind an epoch
            proxy.cut()
            time.sleep(0.3 + number)
            proxy.mend()

        grow(environment, Broker(proxy.servers), kafka, cut)
        assert proxy.connections > 4


def test_a_broker_that_is_stopped_and_started_neither_loses_nor_doubles(
    environment: Environment, tmp_path: Path
) -> None:
    reason = unavailable()
    if reason is not None or "PENSTOCK_TEST_KAFKA" in os.environ:
        pytest.skip(reason or "the other broker cannot be stopped")
    directory = tmp_path / "broker"
    directory.mkdir()
    process = BrokerProcess(directory)
    process.start()

    def restart(number: int) -> None:
        del number
        # Until what was added is written: the broker forgets who has a transaction open.
        time.sleep(3)
        process.stop()
        time.sleep(1)
        process.start()

    try:
        broker = Broker(process.servers)
        grow(environment, broker, broker, restart)
    finally:
        process.stop()


def test_a_job_that_stands_still_has_nothing_open_and_goes_on_with_a_time_out_long_past(
    environment: Environment, kafka: Broker
) -> None:
    topic, to = kafka.topic(), kafka.topic(2)
    kafka.add(topic, *keys(0, 30))
    client = to_kafka(environment("streaming", **RESTARTS), source(kafka, topic), kafka, to)
    wait_for(client, lambda: final(seen_in(kafka, to)) == final(counts(30)))
    stop(client)
    # What is open hides what comes behind it from readers of committed records, as long as its time-out.
    kafka.add(to, b"visible", key=b"k0")
    assert b"visible" in kafka.values(to)
    kafka.add(topic, *keys(30, 50))
    begun = time.monotonic()
    client = to_kafka(environment("streaming", **RESTARTS), source(kafka, topic), kafka, to)
    found = lambda: [m for m in kafka.messages(to) if m.value() != b"visible"]  # noqa: E731
    wait_for(client, lambda: len(found()) == 50)
    stop(client)
    assert time.monotonic() - begun < 100, "no time-out of a transaction was waited for"
    assert {(m.key().decode(), int(m.value())) for m in found()} == set(counts(50))
