"""Topics of Kafka as input and output of benchmarks.

`PENSTOCK_BENCH_KAFKA=host:port` names a broker. Without it the runner starts one of its own, on 127.0.0.1, and ends it with
itself; the processes of systems inherit the variable.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.inputs.waiting_broker import WaitingBroker
from benchmarks.model.digest_parts import added_up, digest_rows
from benchmarks.model.program import Outputs
from examples.kafka.broker import BrokerProcess

SERVERS = "PENSTOCK_BENCH_KAFKA"
PARTITIONS = 2

_QUIET = {"log_level": 0}
_BATCH = 10_000
_SECONDS = 120.0


def servers() -> str:
    """Return the brokers of this process."""
    return os.environ[SERVERS]


def ensure_broker() -> None:
    """Start a broker that ends with this process, unless one is named or started."""
    if SERVERS in os.environ:
        return
    os.environ[SERVERS] = _own_broker()


def waiting_servers() -> str:
    """Return brokers that wait for records if a fetch finds none: those that are named, or ours behind a `WaitingBroker`."""
    named = os.environ.get(SERVERS)
    has_own = _own_broker.cache_info().currsize > 0
    if named is None or (has_own and named == _own_broker()):
        return _waiting_broker().servers
    return named


def let_consumers_wait() -> None:
    """Have the systems that are started next read from brokers that wait for records.

    Without it a consumer that has read all, and is kept for the next job, takes a core of the next round: 2,000,000 records took 3.2 to 10.6 s.
    """
    os.environ[SERVERS] = waiting_servers()


@cache
def _waiting_broker() -> WaitingBroker:
    return WaitingBroker(_own_broker())


@cache
def _own_broker() -> str:
    """Start a broker that ends with this process; return its address."""
    directory = tempfile.mkdtemp(prefix="penstock-broker-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    broker = BrokerProcess(Path(directory))
    broker.start()
    atexit.register(broker.stop)
    return broker.servers


def make_topic(name: str) -> bool:
    """Make a topic; return whether it was not there."""
    admin = AdminClient({"bootstrap.servers": servers(), **_QUIET})
    if name in admin.list_topics(timeout=10).topics:
        return False
    for future in admin.create_topics([NewTopic(name, PARTITIONS, 1)]).values():
        future.result(10)
    while name not in admin.list_topics(timeout=10).topics:
        time.sleep(0.05)
    return True


def new_producer(linger_ms: int = 20) -> Any:
    """Return a producer for many small records, which waits so long for more of them."""
    how = {
        "linger.ms": linger_ms,
        "batch.num.messages": _BATCH,
        "queue.buffering.max.messages": 1 << 20,
    }
    return Producer({"bootstrap.servers": servers(), **how, **_QUIET})


def fill(name: str, records: Iterable[tuple[bytes, int]]) -> None:
    """Write (value, timestamp) pairs to a topic, to its partitions in turn.

    Raises:
        TimeoutError: The broker does not take them.
    """
    producer = new_producer()
    for number, (value, at) in enumerate(records):
        while True:
            try:
                producer.produce(name, value, partition=number % PARTITIONS, timestamp=at)
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(_SECONDS):
        raise TimeoutError(f"the broker does not take the records of {name}")


def new_reader(name: str) -> Any:
    """Return a consumer of what is committed to a topic, from its beginning, soon after it is."""
    how = {"isolation.level": "read_committed", "fetch.wait.max.ms": 10, **_QUIET}
    settings = {"group.id": "reader", "enable.auto.commit": False, **how}
    consumer = Consumer({"bootstrap.servers": servers(), **settings})
    consumer.assign([TopicPartition(name, number, 0) for number in range(PARTITIONS)])
    return consumer


def values_of(name: str) -> Iterator[bytes]:
    """Yield the committed values of a topic, partition by partition, up to its ends.

    Raises:
        TimeoutError: It does not end.
    """
    how = {"isolation.level": "read_committed", "enable.partition.eof": True}
    settings = {"group.id": "benchmark", "enable.auto.commit": False, **how, **_QUIET}
    consumer = Consumer({"bootstrap.servers": servers(), **settings})
    consumer.assign([TopicPartition(name, number, 0) for number in range(PARTITIONS)])
    ended, until = 0, time.monotonic() + _SECONDS
    while ended < PARTITIONS:
        if time.monotonic() > until:
            raise TimeoutError(f"the topic {name} does not end")
        for message in consumer.consume(_BATCH, 0.2):
            error = message.error()
            if error is None:
                yield message.value() or b""
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name there
                ended += 1
            else:
                raise RuntimeError(error.str())
    consumer.close()


def outputs_of(name: str, row: Callable[[bytes], Any]) -> Outputs:
    """Return count and digest of what a reader of committed records sees.

    Args:
        name: The topic.
        row: Value to a row of integers.
    """
    return added_up(digest_rows(map(row, values_of(name))))
