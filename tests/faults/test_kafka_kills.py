"""Exactly once into Kafka, tested by SIGKILL of the driver at every step of a commit.

One checkpoint directory, one driver after the other: each commits what the one before had recorded, and is
killed a step further. A reader of committed records must see the counts of one uninterrupted run.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.faults.drivers import Drivers
from tests.kafka_broker import Broker

PLACES = [
    "kafka.decided:2",
    "kafka.produced:1",  # in the recovery, which commits it once more
    "kafka.marked:2",
    "kafka.committed:1",
    "kafka.committed:3",
]
RECORDS = 120
KEYS = 5


def test_counts_are_written_once_over_a_chain_of_killed_drivers(
    tmp_path: Path, kafka: Broker
) -> None:
    topic, to = kafka.topic(2), kafka.topic(2)
    for partition in (0, 1):
        mine = range(partition, RECORDS, 2)
        kafka.add(topic, *(b"k%d" % (n % KEYS) for n in mine), partition=partition)
    drivers = Drivers(
        Path(__file__).parent / "jobs" / "kafka_counts.py",
        (kafka.servers, topic, to),
        tmp_path / "job",
        tmp_path / "markers",
        {"execution.runtime-mode": "STREAMING", "execution.live.max-records-per-batch": "10"},
    )
    for place in PLACES:
        drivers.is_killed_at(place)
        assert len(kafka.values(to)) < RECORDS
    drivers.succeeds()
    seen = Counter((message.key(), message.value()) for message in kafka.messages(to))
    every = Counter((b"k%d" % (n % KEYS), b"%d" % (n // KEYS + 1)) for n in range(RECORDS))
    assert seen == every
