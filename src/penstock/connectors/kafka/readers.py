"""Readers of ranges of partitions. They keep their consumers: to continue one costs 0.3 ms, a new one 10.

A consumer fetches ahead. Records that it has fetched behind the end of a range stay for the next range. It never
seeks: a seek waits for the fetch that is under way, up to `fetch.wait.max.ms`.

    ── taken ──┬── ahead ──┬── not fetched yet ──
               at          known: there is no record before it that is not ahead

Offsets have holes, where markers of transactions and aborted or compacted records were. So a range does not end
after a number of records, but where a record is at or behind its end, or where the broker reports that the
partition ends there.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from typing import Any

from penstock.connectors.client_library import OfThisProcess
from penstock.connectors.kafka.client import (
    CLIENT_ID_PREFIX,
    GROUP,
    KafkaProperties,
    error_code,
    is_transient,
    library,
    words_of_kafka,
)
from penstock.connectors.kafka.values import KafkaTopicPartition
from penstock.errors import SourceError

_MOST_RECORDS = 8192
_WAIT_SECONDS = 0.25
_KEPT = 8
_IDLE_SECONDS = 10.0
"""After which a consumer is closed: each keeps asking its broker, also when its job has ended."""

_DEFAULTS: dict[str, object] = {
    "check.crcs": True,
    "isolation.level": "read_committed",
    "queued.max.messages.kbytes": 16_384,
    "allow.auto.create.topics": False,
    GROUP: "penstock",
}
_FIXED: dict[str, object] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # A missing offset is an error, never a seek.
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
}

_readers: OfThisProcess = OfThisProcess()
_timer: OfThisProcess = OfThisProcess()
"""The one that closes idle readers, if there are readers."""
_lock = threading.Lock()


def new_consumer(properties: KafkaProperties, role: str) -> Any:
    """Return a consumer."""
    prefix = properties.get(CLIENT_ID_PREFIX)
    named = {} if prefix is None else {"client.id": f"{prefix}-{role}"}
    return library().Consumer(properties.of_client({**_DEFAULTS, **named}, _FIXED))


class PartitionReader:
    """A consumer that reads one partition on from an offset.

    Attributes:
        next_offset: The next offset.
        used_seconds: When it was used last.
    """

    def __init__(
        self, properties: KafkaProperties, partition: KafkaTopicPartition, start: int
    ) -> None:
        self.properties = properties
        self.partition = partition
        self.next_offset = start
        self.used_seconds = 0.0
        self.is_open = True
        self._consumer = new_consumer(properties, "reader")
        place = library().TopicPartition(partition.topic, partition.partition, start)
        self._consumer.assign([place])
        self._eof = error_code("_PARTITION_EOF")
        self._ahead: list[Any] = []
        self._offsets: list[int] = []
        self._known = start

    def stands_at(self, partition: KafkaTopicPartition, start: int) -> bool:
        """Return whether it reads a partition, and an offset is the next one."""
        return (self.partition, self.next_offset) == (partition, start)

    def take(self, end: int) -> list[Any]:
        """Return the next messages before an offset, and stand behind them.

        They may be some of them, or none if the broker has not answered yet.
        """
        if not self._ahead and self._known < end:
            self._fetch()
        count = min(bisect_left(self._offsets, end), _MOST_RECORDS)
        taken = self._ahead[:count]
        if count < len(self._ahead):
            self.next_offset = min(end, self._offsets[count])
        else:
            behind = self._offsets[-1] + 1 if count else self.next_offset
            self.next_offset = min(end, max(behind, self._known))
        self._keep(self._ahead[count:])
        return taken

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()
        self.is_open = False

    def _keep(self, messages: list[Any]) -> None:
        self._ahead = messages
        self._offsets = [message.offset() for message in messages]

    def _fetch(self) -> None:
        """Take over what was fetched; wait a little if that is nothing."""
        messages = self._consumer.consume(_MOST_RECORDS, 0)
        if not messages:
            # `consume` with a timeout waits for the full number of messages.
            first = self._consumer.poll(_WAIT_SECONDS)
            if first is None:
                return
            messages = [first, *self._consumer.consume(_MOST_RECORDS, 0)]
        failed = [message for message in messages if message.error() is not None]
        for message in failed:
            self._note(message)
        if failed:
            messages = [message for message in messages if message.error() is None]
        self._keep(messages)

    def _note(self, message: Any) -> None:
        """Take note of the end of the partition, or raise what the broker refuses."""
        error = message.error()
        if error.code() == self._eof:
            self._known = max(self._known, message.offset())
        elif error.code() == error_code("_AUTO_OFFSET_RESET"):
            raise SourceError(
                f"records of partition {self.partition} from offset {self.next_offset} on are gone: "
                f"{self.properties.masked(error.str())}",
                hint="Keep records for longer than the job may stand still (retention.ms of the topic). "
                "To go on without them, start in a new checkpoint directory.",
            )
        elif not is_transient(error):
            raise SourceError(
                f"partition {self.partition} cannot be read: "
                f"{self.properties.masked(words_of_kafka(error))}",
                hint="Check that the topic exists, and that the user of the job may read it.",
            )


def take_range(
    properties: KafkaProperties, partition: KafkaTopicPartition, start: int, end: int
) -> tuple[list[Any], int]:
    """Return messages of `[start, end)`, and the offset behind the last position that was read."""
    reader = _borrowed(properties, partition, start)
    try:
        taken = reader.take(end)
    except BaseException:
        reader.close()
        raise
    _give_back(reader)
    return taken, reader.next_offset


def close_readers() -> None:
    """Close the consumers that no range uses now."""
    with _lock:
        readers = [reader for kept in _readers.values() for reader in kept]
        _readers.clear()
    for reader in readers:
        reader.close()


def _borrowed(
    properties: KafkaProperties, partition: KafkaTopicPartition, start: int
) -> PartitionReader:
    """Return a free reader: one at this position, or a new one."""
    with _lock:
        kept: list[PartitionReader] = _readers.pop(properties, [])
        borrowed = next((reader for reader in kept if reader.stands_at(partition, start)), None)
        # Another one that reads the partition was left by a task that is repeated or went elsewhere.
        rest = sorted(
            (reader for reader in kept if reader.partition != partition),
            key=_last_use,
            reverse=True,
        )
        stays = rest[: _KEPT - 1]
        if stays:
            _readers[properties] = stays
    for reader in kept:
        if reader is not borrowed and reader not in stays:
            reader.close()
    return PartitionReader(properties, partition, start) if borrowed is None else borrowed


def _close_later() -> None:
    """Schedule the closing of idle readers, also if no task reads any more; the caller has the lock."""
    if not _timer:
        timer = _timer["idle"] = threading.Timer(_IDLE_SECONDS, _close_idle)
        timer.name, timer.daemon = "penstock-kafka-idle", True
        timer.start()


def _close_idle() -> None:
    with _lock:
        _timer.clear()
        idle = _idle_readers(time.monotonic())
        if _readers:
            _close_later()
    for reader in idle:
        reader.close()


def _idle_readers(now_seconds: float) -> list[PartitionReader]:
    """Remove and return readers that were idle for long."""
    idle = []
    for properties, kept in list(_readers.items()):
        used = [reader for reader in kept if now_seconds - reader.used_seconds < _IDLE_SECONDS]
        idle += [reader for reader in kept if reader not in used]
        if used:
            _readers[properties] = used
        else:
            del _readers[properties]
    return idle


def _last_use(reader: PartitionReader) -> float:
    return reader.used_seconds


def _give_back(reader: PartitionReader) -> None:
    reader.used_seconds = time.monotonic()
    with _lock:
        _readers.setdefault(reader.properties, []).append(reader)
        _close_later()
