"""Values of Kafka: records, partitions, and what is done about records that cannot be read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from penstock.errors import ArgumentError

Headers = tuple[tuple[str, bytes | None], ...]
"""Names and values, in order; a name may be there several times."""


class KafkaRecord(NamedTuple):
    """A record of Kafka, read or to be written.

    Attributes:
        key: Its key; None if it has none.
        value: Its value; None is a tombstone.
        topic: Its topic. None when it is written: the topic of the sink.
        partition: Its partition. None when it is written: the partitioner chooses.
        offset: Where it was read.
        timestamp: In epoch milliseconds. None when it is written: the time at which it is.
        headers: Its headers.

    Example:
        >>> KafkaRecord(b"7", b"seven", "numbers").topic
        'numbers'
    """

    key: bytes | None
    value: bytes | None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None
    headers: Headers = ()


@dataclass(frozen=True, slots=True, order=True)
class KafkaTopicPartition:
    """A partition of a topic.

    Attributes:
        topic: Name of the topic.
        partition: Number of the partition, from 0.

    Example:
        >>> str(KafkaTopicPartition("orders", 2))
        'orders-2'
        >>> KafkaTopicPartition.of_text("orders-2")
        KafkaTopicPartition(topic='orders', partition=2)
    """

    topic: str
    partition: int

    def __post_init__(self) -> None:
        """Check both.

        Raises:
            ArgumentError: The topic is no name, or the partition no number from 0.
        """
        is_number = type(self.partition) is int and self.partition >= 0
        if not isinstance(self.topic, str) or not self.topic or not is_number:
            raise ArgumentError.here(
                f"partition {self.partition!r} of topic {self.topic!r} cannot be",
                hint="Pass the name of a topic, and a number from 0.",
            )

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @classmethod
    def of_text(cls, text: str) -> KafkaTopicPartition:
        """Return the partition whose text it is.

        Args:
            text: As `orders-2`.
        """
        topic, _, partition = text.rpartition("-")
        return cls(topic, int(partition))


class KafkaMalformedRecords(Enum):
    """Treatment of records that the deserializer of a source refuses.

    Example:
        >>> KafkaMalformedRecords("skip").name
        'SKIP'
    """

    FAIL = "fail"
    """The job fails, and names topic, partition and offset."""

    SKIP = "skip"
    """The record is left out."""
