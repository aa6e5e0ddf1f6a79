"""Records on their way to Kafka: made, staged in chunks with the job, given to a producer; too large ones are refused first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from penstock.connectors.client_library import OfThisProcess
from penstock.connectors.epoch_marks import own_directory
from penstock.connectors.kafka.client import CLIENT_ID_PREFIX, KafkaProperties, library
from penstock.connectors.kafka.record_serialization import (
    KafkaRecordSerializationSchema,
    OutgoingRecord,
    RecordFunction,
)
from penstock.connectors.staged import ChunkWriter
from penstock.errors import PenstockError, SinkError
from penstock.graph.endpoints import SinkContext
from penstock.user_failure import refusal_of, short

RecordSerializer = KafkaRecordSerializationSchema | RecordFunction

EPOCH_HEADER = "penstock-epoch"
"""Header with the number of the epoch, e.g. `1-17`: run and micro-batch."""

_CHUNK_RECORDS = 2048


def staging_of(context: SinkContext) -> Path:
    """Return the directory of the staged records of a sink."""
    return own_directory("kafka", context) / "staged"


def with_epoch(records: list[OutgoingRecord], context: SinkContext) -> list[OutgoingRecord]:
    """Return records with the header `EPOCH_HEADER`, in place of one that they have."""
    header: tuple[str, bytes | None] = (EPOCH_HEADER, str(context.epoch).encode())
    alone = [header]
    return [
        (
            topic,
            value,
            key,
            partition,
            [*(pair for pair in headers if pair[0] != EPOCH_HEADER), header] if headers else alone,
            timestamp,
        )
        for topic, value, key, partition, headers, timestamp in records
    ]


def outgoing(
    values: list[Any], serializer: RecordSerializer, context: SinkContext
) -> list[OutgoingRecord]:
    """Return the outgoing form of records."""
    make = serializer.outgoing
    records: list[OutgoingRecord] = []
    for value in values:
        try:
            records.append(make(value))
        except PenstockError as cause:
            raise SinkError(
                f"sink {context.name!r} cannot write {short(value)}: {cause.problem}",
                hint=cause.hint,
                origin=cause.origin or context.origin,
            ).permanent(cause.is_permanent) from cause
        except BaseException as cause:
            failed = f"sink {context.name!r} cannot write {short(value)}"
            hint = "Correct the record serializer, or map the records to what it writes."
            raise refusal_of(SinkError, failed, cause, context.origin, hint=hint) from cause
    return records


class StagedRecordWriter(ChunkWriter):
    """Serializes and stages records."""

    doing = "stage records"
    file_kind = "staged"
    refusal = "records of sink {} cannot be staged"

    def __init__(
        self, serializer: RecordSerializer, properties: KafkaProperties, context: SinkContext
    ) -> None:
        """Write what a serializer makes, in the task of `context`."""
        super().__init__(staging_of(context), context)
        self._serializer = serializer
        self._properties = properties

    def write(self, values: list[Any]) -> None:
        """Append records."""
        for start in range(0, len(values), _CHUNK_RECORDS):
            chunk = values[start : start + _CHUNK_RECORDS]
            records = outgoing(chunk, self._serializer, self._context)
            records = with_epoch(records, self._context)
            check_sizes(chunk, records, self._properties, self._context)
            self._append_values(records)


_CLIENT_LIMIT = "message.max.bytes"
_DEFAULT_CLIENT_BYTES = 1_000_000
_TOPIC_LIMIT = "max.message.bytes"
_BATCH_BYTES = 61
"""Head of a batch of Kafka's format 2."""

_RECORD_BYTES = 36
"""Lengths, time and offset of a record, at most."""

_LIMIT_SECONDS = 60.0
_ANSWER_SECONDS = 5.0
_limits: OfThisProcess = OfThisProcess()


def limit_of(properties: KafkaProperties, topic: str) -> int:
    """Return the most bytes of a batch of a topic; the client's limit if the brokers return none."""
    key, now = (properties, topic), time.monotonic()
    until: float
    limit: int
    until, limit = _limits.get(key, (0.0, 0))
    if now >= until:
        limit = properties.milliseconds(_CLIENT_LIMIT, _DEFAULT_CLIENT_BYTES)
        of_topic = _limit_of_topic(properties, topic)
        limit = limit if of_topic is None else min(limit, of_topic)
        _limits[key] = now + _LIMIT_SECONDS, limit
    return limit


def check_sizes(
    values: Sequence[Any],
    records: Sequence[OutgoingRecord],
    properties: KafkaProperties,
    context: SinkContext,
) -> None:
    """Refuse a record that brokers would refuse."""
    limits: dict[str, int] = {}
    for value, record in zip(values, records, strict=True):
        topic, size = record[0], size_of(record)
        if topic not in limits:
            limits[topic] = limit_of(properties, topic)
        if size > limits[topic]:
            raise SinkError(
                f"sink {context.name!r} cannot write {short(value)}: it has {size} bytes, and a batch of topic {topic!r} "
                f"at most {limits[topic]}",
                hint=f"Map the record to a smaller one, or raise {_TOPIC_LIMIT} of the topic (message.max.bytes of the brokers) "
                f"and set_property('{_CLIENT_LIMIT}', …).",
                origin=context.origin,
            ).permanent()


def size_of(record: OutgoingRecord) -> int:
    """Return the most bytes of a batch of one record."""
    _, value, key, _, headers, _ = record
    size = _BATCH_BYTES + _RECORD_BYTES + len(value or b"") + len(key or b"")
    return size + sum(len(name.encode()) + len(text or b"") + 10 for name, text in headers or ())


def _limit_of_topic(properties: KafkaProperties, topic: str) -> int | None:
    """Return the limit of a topic; None if it is not there, or the user may not see it."""
    library()
    admin: Any = import_module("confluent_kafka.admin")
    resource = admin.ConfigResource(admin.ConfigResource.Type.TOPIC, topic)
    try:
        client = admin.AdminClient(properties.of_client({}, {}))
        (future,) = client.describe_configs([resource], request_timeout=_ANSWER_SECONDS).values()
        entry = future.result(_ANSWER_SECONDS + 1).get(_TOPIC_LIMIT)
    except (library().KafkaException, TimeoutError, ValueError):
        return None
    return None if entry is None or entry.value is None else int(entry.value)


_POLL_SECONDS = 0.05
_SERVED_AFTER = 1_000

_DEFAULTS: dict[str, object] = {
    "linger.ms": 5,
    # As Java's client does, so that records of one key are in one partition with either client.
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
    """Give records to a producer; wait while it has too many."""
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
