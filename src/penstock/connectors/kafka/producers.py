"""Producers, and how records are given to one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.connectors.kafka.client import library
from penstock.connectors.kafka.properties import CLIENT_ID_PREFIX, KafkaProperties
from penstock.connectors.kafka.record_serialization import OutgoingRecord

_POLL_SECONDS = 0.05
_SERVED_AFTER = 1_000

_DEFAULTS: dict[str, object] = {
    "linger.ms": 5,
    # As Java's client does, so that records of one key are in one partition whoever writes them.
    "partitioner": "murmur2_random",
    "enable.idempotence": True,
    "queue.buffering.max.messages": 200_000,
}


def new_producer(properties: KafkaProperties, role: str, fixed: dict[str, object]) -> Any:
    """Return a producer."""
    prefix = properties.get(CLIENT_ID_PREFIX)
    named = {} if prefix is None else {"client.id": f"{prefix}-{role}"}
    return library().Producer(properties.of_client({**_DEFAULTS, **named}, fixed))


def give(
    producer: Any, records: Iterable[OutgoingRecord], check: Callable[[], None] | None = None
) -> None:
    """Give records to a producer; wait while it has too many.

    Raises:
        KafkaException: It refuses one.
    """
    produce = producer.produce
    for count, (topic, value, key, partition, headers, timestamp) in enumerate(records, 1):
        while True:
            try:
                produce(
                    topic, value, key, partition, timestamp=timestamp, headers=headers
                ) if headers is not None else produce(
                    topic, value, key, partition, timestamp=timestamp
                )
            except BufferError:  # its queue is full
                producer.poll(_POLL_SECONDS)
                if check is not None:
                    check()
                continue
            break
        if count % _SERVED_AFTER == 0:
            producer.poll(0)
