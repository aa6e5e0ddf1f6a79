"""Values of Kafka: records, partitions, where reading begins and ends, and the choice about unreadable records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from penstock.errors import ArgumentError


class KafkaOffsetResetStrategy(Enum):
    """Beginning of reading without an offset, or if records at it are gone.

    Example:
        >>> KafkaOffsetResetStrategy("earliest").name
        'EARLIEST'
    """

    LATEST = "latest"
    """Behind the last record that there is when the job starts."""

    EARLIEST = "earliest"
    """At the first record that there is."""

    NONE = "none"
    """Nowhere: the job fails."""


class OffsetsKind(Enum):
    """Kind of offset that an initializer requests."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"
    COMMITTED = "committed"


@dataclass(frozen=True, slots=True)
class KafkaOffsetsInitializer:
    """The offset of each partition at which reading begins or ends, decided when the job starts.

    Partitions that appear later are read from their first record. A job that is started again, or from a
    savepoint, goes on where it was.

    Attributes:
        kind: Kind of offset.
        timestamp_ms: Time in epoch milliseconds, for the kind that needs one.
        offsets_of: Partitions and their offsets, for the kind that has some.
        strategy: Strategy for partitions without offset.

    Example:
        >>> KafkaOffsetsInitializer.offsets({KafkaTopicPartition("orders", 0): 7}).strategy.name
        'EARLIEST'
        >>> reset = KafkaOffsetResetStrategy.LATEST
        >>> KafkaOffsetsInitializer.committed_offsets(reset).strategy.name
        'LATEST'
        >>> KafkaOffsetsInitializer.latest().kind.name
        'LATEST'
    """

    kind: OffsetsKind
    timestamp_ms: int = 0
    offsets_of: tuple[tuple[KafkaTopicPartition, int], ...] = ()
    strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Return the offsets that the consumer group has committed.

        Args:
            offset_reset_strategy: Where to begin in a partition without one.

        Raises:
            ArgumentError: It is no strategy.
        """
        strategy = _checked(offset_reset_strategy)
        return KafkaOffsetsInitializer(OffsetsKind.COMMITTED, strategy=strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """Return the first offset whose record is not before a time, else the end of the partition.

        Args:
            timestamp: In epoch milliseconds.

        Raises:
            ArgumentError: It is no int from 0.
        """
        if type(timestamp) is not int or timestamp < 0:
            raise ArgumentError.here(
                f"the timestamp of the offsets is {timestamp!r}",
                hint="Pass epoch milliseconds as an int.",
            )
        return KafkaOffsetsInitializer(OffsetsKind.TIMESTAMP, timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """Return the first offset of each partition."""
        return KafkaOffsetsInitializer(OffsetsKind.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Return the offset behind the last record of each partition."""
        return KafkaOffsetsInitializer(OffsetsKind.LATEST)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """Return given offsets.

        Args:
            offsets: Partition to offset.
            offset_reset_strategy: Where to begin in other partitions, and where an offset is gone.

        Raises:
            ArgumentError: A partition or an offset is none, or the strategy is no strategy.
        """
        pairs = list(offsets.items())
        wrong = [
            (partition, offset)
            for partition, offset in pairs
            if not isinstance(partition, KafkaTopicPartition)
            or type(offset) is not int
            or offset < 0
        ]
        if wrong:
            raise ArgumentError.here(
                f"these are no partitions with offsets: {wrong}",
                hint="Pass {KafkaTopicPartition(topic, number): offset}, with offsets from 0.",
            )
        return KafkaOffsetsInitializer(
            OffsetsKind.OFFSETS,
            offsets_of=tuple(sorted(pairs)),
            strategy=_checked(offset_reset_strategy),
        )


def checked_initializer(value: object, method: str) -> KafkaOffsetsInitializer:
    """Return an initializer."""
    if isinstance(value, KafkaOffsetsInitializer):
        return value
    raise ArgumentError.here(
        f"{method} got {value!r}", hint="Pass what a method of KafkaOffsetsInitializer returns."
    )


def _checked(strategy: KafkaOffsetResetStrategy) -> KafkaOffsetResetStrategy:
    if isinstance(strategy, KafkaOffsetResetStrategy):
        return strategy
    raise ArgumentError.here(
        f"the strategy is {strategy!r}", hint="Pass a KafkaOffsetResetStrategy, such as EARLIEST."
    )


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
        """Check both."""
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
