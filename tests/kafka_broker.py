"""A broker for tests: one of this process, or the one that `PENSTOCK_TEST_KAFKA=host:port` names.

Ours is `noida-db`, a program of one file. It listens on 127.0.0.1 only and ends with the tests. It knows transactions,
the last stable offset, fencing and groups. It does not enforce time-outs of transactions, compact, or keep what
it has acknowledged when it is killed, and retention goes by the timestamps of records: tests of these need another broker.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from examples.kafka.broker import BrokerProcess

try:
    from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewPartitions, NewTopic
except ImportError:  # `unavailable` says so
    pass

OTHER = "PENSTOCK_TEST_KAFKA"
HOUR_AGO_MS = (int(time.time()) // 60 - 60) * 60_000
"""Time of the first record of a topic, a whole minute. Records of 1970 would be removed by retention."""


class Broker:
    """A broker, and what tests do with it."""

    def __init__(self, servers: str) -> None:
        self.servers = servers

    def servers_here(self) -> str:
        """Return its address, for a proxy; skip the test if the broker is on another machine.

        A proxy puts its own port where answers say 127.0.0.1 and the broker's.
        """
        if not self.servers.startswith("127.0.0.1:"):
            pytest.skip(
                f"a proxy stands in front of brokers at 127.0.0.1, and {self.servers} is none"
            )
        return self.servers

    @property
    def client(self) -> dict[str, Any]:
        """Settings of a client of the library."""
        return {"bootstrap.servers": self.servers, "log_level": 0}

    def topic(self, partitions: int = 1, name: str = "t") -> str:
        """Make a topic with a name of its own."""
        made = f"{name}-{uuid.uuid4().hex[:8]}"
        admin = AdminClient(self.client)
        for future in admin.create_topics([NewTopic(made, partitions, 1)]).values():
            future.result(10)
        self._await(lambda: self.partitions(made) == partitions)
        return made

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Make a topic have more partitions."""
        admin = AdminClient(self.client)
        for future in admin.create_partitions([NewPartitions(topic, partitions)]).values():
            future.result(10)
        self._await(lambda: self.partitions(topic) == partitions)

    def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has."""
        found = AdminClient(self.client).list_topics(timeout=10).topics.get(topic)
        return 0 if found is None else len(found.partitions)

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Remove the first records of a partition, as retention does."""
        admin = AdminClient(self.client)
        for future in admin.delete_records([TopicPartition(topic, partition, offset)]).values():
            future.result(10)

    def add(
        self, topic: str, *values: bytes | None, partition: int = 0, after_ms: int = 0, **how: Any
    ) -> None:
        """Append records, a second apart, the first one some time after `HOUR_AGO_MS`."""
        producer = Producer(self.client)
        for number, value in enumerate(values):
            producer.produce(
                topic,
                value,
                partition=partition,
                timestamp=HOUR_AGO_MS + after_ms + 1_000 * number,
                **how,
            )
        assert producer.flush(20) == 0

    def transactional(self, name: str = "") -> Any:
        """Return a producer of transactions."""
        made = Producer({**self.client, "transactional.id": name or uuid.uuid4().hex})
        made.init_transactions(20)
        return made

    def committed(self, group: str, topic: str, partitions: int = 1) -> list[int]:
        """Return the offsets that a group has committed; -1001 where it has none."""
        consumer = Consumer({**self.client, "group.id": group, "enable.auto.commit": False})
        places = [TopicPartition(topic, number) for number in range(partitions)]
        found = consumer.committed(places, timeout=10)
        consumer.close()
        return [each.offset for each in found]

    def messages(self, topic: str, isolation: str = "read_committed") -> list[Any]:
        """Return the messages of a topic that a reader sees, up to its ends."""
        settings = {"group.id": "test", "enable.auto.commit": False, "enable.partition.eof": True}
        how = {"isolation.level": isolation, "auto.offset.reset": "earliest"}
        consumer = Consumer({**self.client, **settings, **how})
        count = self.partitions(topic)
        consumer.assign([TopicPartition(topic, number, 0) for number in range(count)])
        found: list[Any] = []
        ended: set[int] = set()
        until = time.monotonic() + 30
        while len(ended) < count:
            assert time.monotonic() < until, "the topic does not end"
            message = consumer.poll(1)
            if message is None:
                continue
            error, partition = message.error(), message.partition()
            if error is None:
                found.append(message)
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                assert partition is not None
                ended.add(partition)
        consumer.close()
        return found

    def values(self, topic: str, isolation: str = "read_committed") -> list[bytes | None]:
        """Return the values of the messages that a reader sees."""
        return [message.value() for message in self.messages(topic, isolation)]

    def _await(self, condition: Any) -> None:
        until = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < until, "the broker does not do what it was told"
            time.sleep(0.02)


def unavailable() -> str | None:
    """Return why there is no broker, None if there is one."""
    if find_spec("confluent_kafka") is None:
        return "confluent-kafka is not installed"
    if OTHER not in os.environ and find_spec("noida_db") is None:
        return f"noida-db is not installed, and {OTHER} names no broker"
    return None


@contextmanager
def broker(directory: Path) -> Iterator[Broker]:
    """Yield a broker."""
    reason = unavailable()
    if reason is not None:
        pytest.skip(reason)
    other = os.environ.get(OTHER)
    if other is not None:
        yield Broker(other)
        return
    process = BrokerProcess(directory)
    process.start()
    try:
        yield Broker(process.servers)
    finally:
        process.stop()
