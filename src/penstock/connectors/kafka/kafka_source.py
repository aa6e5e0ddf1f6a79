"""The Kafka source: a log whose splits are partitions with bounds, and whose positions are offsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import ClassVar

from penstock.connectors.kafka.client import COMMITS_OFFSETS, GROUP, KafkaProperties, kafka_errors
from penstock.connectors.kafka.kafka_source_builder import KafkaSourceBuilder
from penstock.connectors.kafka.readers import take_range
from penstock.connectors.kafka.record_serialization import MessageDeserializer, deserialized
from penstock.connectors.kafka.topics import ClusterView, KafkaTopics, view_of
from penstock.connectors.kafka.values import (
    KafkaMalformedRecords,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
    OffsetsKind,
)
from penstock.errors import SourceError
from penstock.graph.dataset import Dataset
from penstock.graph.log_source import LogSource
from penstock.graph.log_values import LogBatch, LogSplit
from penstock.types import TypeInformation


@dataclass(frozen=True, slots=True)
class _Partition:
    """A partition as it is now.

    Attributes:
        head: The offset behind its last record.
    """

    place: KafkaTopicPartition
    earliest: int
    head: int


def splits_now(view: ClusterView, *, anew: bool) -> list[LogSplit]:
    """Return the partitions of a source that is being read."""
    return [
        LogSplit(str(partition.place), partition.earliest, partition.head)
        for partition in _partitions(view, anew=anew)
    ]


def splits_at_start(
    view: ClusterView,
    starting: KafkaOffsetsInitializer,
    stopping: KafkaOffsetsInitializer | None,
    described: str,
) -> list[LogSplit]:
    """Return the partitions of a source that begins to be read."""
    splits = []
    for partition in _partitions(view, anew=True):
        start = _start(starting, view, partition, described)
        end = partition.head if stopping is None else _end(stopping, view, partition, described)
        splits.append(LogSplit(str(partition.place), partition.earliest, end, min(start, end)))
    return splits


def _partitions(view: ClusterView, *, anew: bool) -> list[_Partition]:
    places = view.partitions(anew=anew)
    # The heads last: what is removed meanwhile is not behind a head.
    bounds = zip(places, view.earliest(places), view.heads(places), strict=True)
    # An open transaction may be older than what is kept.
    return [_Partition(place, earliest, max(earliest, head)) for place, earliest, head in bounds]


def _start(
    starting: KafkaOffsetsInitializer, view: ClusterView, partition: _Partition, described: str
) -> int:
    offset = _FOUND[starting.kind](starting, view, partition)
    if offset is not None and partition.earliest <= offset <= partition.head:
        return offset
    if starting.strategy is not KafkaOffsetResetStrategy.NONE:
        is_earliest = starting.strategy is KafkaOffsetResetStrategy.EARLIEST
        return partition.earliest if is_earliest else partition.head
    what = "has no committed offset" if offset is None else f"is to be read from offset {offset} on"
    raise SourceError(
        f"partition {partition.place} of {described} {what}, and has the offsets "
        f"[{partition.earliest}, {partition.head})",
        hint="Name a KafkaOffsetResetStrategy to begin with there, such as EARLIEST.",
    )


def _end(
    stopping: KafkaOffsetsInitializer, view: ClusterView, partition: _Partition, described: str
) -> int:
    offset = _FOUND[stopping.kind](stopping, view, partition)
    if offset is not None and offset <= partition.head:
        return max(offset, partition.earliest)
    what = "no offset" if offset is None else f"offset {offset}"
    raise SourceError(
        f"partition {partition.place} of {described} is to be read up to {what}, and ends at offset "
        f"{partition.head}",
        hint="Start the job when the records are there, or end it at "
        "KafkaOffsetsInitializer.latest().",
    )


def _at_time(
    initializer: KafkaOffsetsInitializer, view: ClusterView, partition: _Partition
) -> int | None:
    offset = view.at_time(partition.place, initializer.timestamp_ms)
    # Records that came meanwhile may be behind the head.
    return partition.head if offset is None else min(offset, partition.head)


_Find = Callable[[KafkaOffsetsInitializer, ClusterView, _Partition], int | None]
_FOUND: dict[OffsetsKind, _Find] = {
    OffsetsKind.EARLIEST: lambda _, __, partition: partition.earliest,
    OffsetsKind.LATEST: lambda _, __, partition: partition.head,
    OffsetsKind.TIMESTAMP: _at_time,
    OffsetsKind.OFFSETS: lambda initializer, _, partition: dict(initializer.offsets_of).get(
        partition.place
    ),
    OffsetsKind.COMMITTED: lambda _, view, partition: view.committed(partition.place),
}
"""Requests of an initializer for the offset of a partition; None without one."""


@dataclass(frozen=True, slots=True)
class KafkaSource(LogSource):
    """Reads topics of Apache Kafka; records have Kafka's timestamps.

    Build one with `KafkaSource.builder()`. The running job finds added partitions and new topics of a pattern. It
    reads each record once, in history and live. It reads committed records only, unless the property
    `isolation.level` is set otherwise.

    Attributes:
        topics: The topics, or a pattern.
        properties: Properties of the clients.
        starting: Where each partition begins.
        stopping: Where each partition ends; None never ends.
        deserializer: Makes values of messages.
        malformed: Policy for records that it refuses.
        records_per_second: Limit of the rate of a live run; None reads as fast as it can.

    Example:
        >>> from penstock.connectors.rows.serialization import SimpleStringSchema
        >>> source = (
        ...     KafkaSource.builder()
        ...     .set_bootstrap_servers("localhost:9092")
        ...     .set_topics("orders")
        ...     .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .build()
        ... )
        >>> source.describe()
        'kafka topic orders'
    """

    topics: KafkaTopics
    properties: KafkaProperties
    deserializer: MessageDeserializer
    starting: KafkaOffsetsInitializer = field(default_factory=KafkaOffsetsInitializer.earliest)
    stopping: KafkaOffsetsInitializer | None = None
    malformed: KafkaMalformedRecords = KafkaMalformedRecords.FAIL
    records_per_second: int | None = None

    kind: ClassVar[str] = "kafka"

    @staticmethod
    def builder() -> KafkaSourceBuilder[KafkaSource]:
        """Return a builder."""
        return KafkaSourceBuilder(KafkaSource)

    @property
    def is_bounded(self) -> bool:
        """True if it ends."""
        return self.stopping is not None

    @property
    def is_divisible(self) -> bool:
        """True if tasks may read ranges of one partition at the same time."""
        return True

    @property
    def is_confirmed(self) -> bool:
        """True if offsets are committed for the consumer group."""
        commits = self.properties.get(COMMITS_OFFSETS, "true") == "true"
        return commits and self.properties.get(GROUP) is not None

    @property
    def has_declared_form(self) -> bool:  # type: ignore[override]
        """True if values have the declared form already."""
        return self.deserializer.is_ours

    @property
    def makes_records_anew(self) -> bool:  # type: ignore[override]
        """True if values are new every time."""
        return self.deserializer.is_ours

    def get_produced_type(self) -> TypeInformation:
        """Return that of the deserializer."""
        return self.deserializer.get_produced_type()

    def discover(self, known: Mapping[str, int]) -> Sequence[LogSplit]:
        """Return the partitions with their offsets; see `LogSource.discover`."""
        with self._errors(f"find the partitions of {self.describe()}"):
            view = view_of(self.properties, self.topics)
            if known:
                return splits_now(view, anew=False)
            return splits_at_start(view, self.starting, self.stopping, self.describe())

    def read(self, split: str, start: int, end: int) -> LogBatch:
        """Return records of a range; see `LogSource.read`."""
        partition = KafkaTopicPartition.of_text(split)
        with self._errors(f"read partition {split}"):
            messages, following = take_range(self.properties, partition, start, end)
        values, times = deserialized(messages, self.deserializer, self.malformed)
        return LogBatch(values, following, times)

    def position_at(self, split: str, timestamp_ms: int, start: int, end: int) -> int:
        """Return the first offset of a range whose record is not before a time, else its end.

        Args:
            split: The partition.
            timestamp_ms: In epoch milliseconds.
            start: First offset.
            end: Offset behind the last.
        """
        with self._errors(f"find offsets of partition {split}"):
            view = view_of(self.properties, self.topics)
            offset = view.at_time(KafkaTopicPartition.of_text(split), max(timestamp_ms, 0))
        return end if offset is None else min(max(offset, start), end)

    def confirm(self, positions: Mapping[str, int]) -> None:
        """Commit offsets for the consumer group, for tools that show its lag.

        They are never read back, except by `KafkaOffsetsInitializer.committed_offsets()` when a job starts
        for the first time.

        Args:
            positions: Partition to offset.
        """
        with self._errors(f"commit offsets of group {self.properties.get(GROUP)!r}"):
            offsets = {
                KafkaTopicPartition.of_text(name): offset for name, offset in positions.items()
            }
            if offsets:
                view_of(self.properties, self.topics).commit(offsets)

    def datasets(self) -> Sequence[Dataset]:
        """Return its topics; a pattern is the name of all topics that match it."""
        return self.properties.datasets(self.topics.shown_names)

    def describe(self) -> str:
        """Return e.g. `kafka topic orders`."""
        return f"kafka {self.topics.describe()}"

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        return kafka_errors(SourceError, self.properties, doing)
