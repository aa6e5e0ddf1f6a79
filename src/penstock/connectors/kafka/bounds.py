"""Bounds of the partitions of a source, when a job starts and later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    OffsetsKind,
)
from penstock.connectors.kafka.topics import ClusterView
from penstock.connectors.kafka.values import KafkaTopicPartition
from penstock.errors import SourceError
from penstock.graph.log_values import LogSplit


@dataclass(frozen=True, slots=True)
class _Partition:
    """A partition as it is now.

    Attributes:
        place: Which it is.
        earliest: Its first offset.
        head: The offset behind its last record.
    """

    place: KafkaTopicPartition
    earliest: int
    head: int


def splits_now(view: ClusterView, *, anew: bool) -> list[LogSplit]:
    """Return the partitions of a source that is being read.

    Args:
        view: What is known of the cluster.
        anew: Whether to look for partitions in any case.
    """
    return [
        LogSplit(str(each.place), each.earliest, each.head) for each in _partitions(view, anew=anew)
    ]


def splits_at_start(
    view: ClusterView,
    starting: KafkaOffsetsInitializer,
    stopping: KafkaOffsetsInitializer | None,
    described: str,
) -> list[LogSplit]:
    """Return the partitions of a source that begins to be read.

    Args:
        view: What is known of the cluster.
        starting: Where each begins.
        stopping: Where each ends, which is its head then; None never ends.
        described: The source, for messages.

    Raises:
        SourceError: A partition begins or ends nowhere.
    """
    made = []
    for each in _partitions(view, anew=True):
        start = _start(starting, view, each, described)
        end = each.head if stopping is None else _end(stopping, view, each, described)
        made.append(LogSplit(str(each.place), each.earliest, end, min(start, end)))
    return made


def _partitions(view: ClusterView, *, anew: bool) -> list[_Partition]:
    found = view.partitions(anew=anew)
    # The heads last: what is removed meanwhile is not behind a head.
    bounds = zip(found, view.earliest(found), view.heads(found), strict=True)
    # An open transaction may be older than what is kept.
    return [_Partition(place, earliest, max(earliest, head)) for place, earliest, head in bounds]


def _start(
    starting: KafkaOffsetsInitializer, view: ClusterView, partition: _Partition, described: str
) -> int:
    found = _FOUND[starting.kind](starting, view, partition)
    if found is not None and partition.earliest <= found <= partition.head:
        return found
    if starting.strategy is not KafkaOffsetResetStrategy.NONE:
        is_earliest = starting.strategy is KafkaOffsetResetStrategy.EARLIEST
        return partition.earliest if is_earliest else partition.head
    what = "has no committed offset" if found is None else f"is to be read from offset {found} on"
    raise SourceError(
        f"partition {partition.place} of {described} {what}, and has the offsets "
        f"[{partition.earliest}, {partition.head})",
        hint="Name a KafkaOffsetResetStrategy to begin with there, such as EARLIEST.",
    )


def _end(
    stopping: KafkaOffsetsInitializer, view: ClusterView, partition: _Partition, described: str
) -> int:
    found = _FOUND[stopping.kind](stopping, view, partition)
    if found is not None and found <= partition.head:
        return max(found, partition.earliest)
    what = "no offset" if found is None else f"offset {found}"
    raise SourceError(
        f"partition {partition.place} of {described} is to be read up to {what}, and ends at offset "
        f"{partition.head}",
        hint="Start the job when the records are there, or end it at "
        "KafkaOffsetsInitializer.latest().",
    )


def _at_time(
    asked: KafkaOffsetsInitializer, view: ClusterView, partition: _Partition
) -> int | None:
    found = view.at_time(partition.place, asked.timestamp_ms)
    # Records that came meanwhile may be behind the head.
    return partition.head if found is None else min(found, partition.head)


_Find = Callable[[KafkaOffsetsInitializer, ClusterView, _Partition], int | None]
_FOUND: dict[OffsetsKind, _Find] = {
    OffsetsKind.EARLIEST: lambda _, __, partition: partition.earliest,
    OffsetsKind.LATEST: lambda _, __, partition: partition.head,
    OffsetsKind.TIMESTAMP: _at_time,
    OffsetsKind.OFFSETS: lambda asked, _, partition: dict(asked.offsets_of).get(partition.place),
    OffsetsKind.COMMITTED: lambda _, view, partition: view.committed(partition.place),
}
"""Requests of an initializer for the offset of a partition; None without one."""
