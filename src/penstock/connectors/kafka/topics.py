"""Partitions of a source and their bounds, read in the driver with one consumer that is kept."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.client_library import OfThisProcess
from penstock.connectors.kafka.client import DISCOVERY_MS, KafkaProperties, library, patiently
from penstock.connectors.kafka.readers import new_consumer
from penstock.connectors.kafka.values import KafkaTopicPartition
from penstock.errors import SourceError, did_you_mean

_DISCOVERY_MS = 300_000
"""As in Flink."""

_REQUEST_SECONDS = 10.0
_EARLIEST = -2
_LATEST = -1
"""Argument of `offsets_for_times` for the ends of a partition, in one request per broker."""

_views: OfThisProcess = OfThisProcess()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class KafkaTopics:
    """Topics of a source: exactly one of these attributes is set.

    Attributes:
        pattern: Regular expression of whole names of topics.
    """

    names: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[KafkaTopicPartition, ...] = ()

    @property
    def shown_names(self) -> tuple[str, ...]:
        """The names of its topics, each once; a pattern is one name."""
        if self.pattern is not None:
            return (self.pattern,)
        return self.names or tuple(dict.fromkeys(partition.topic for partition in self.partitions))

    def describe(self) -> str:
        """Return it in words."""
        if self.pattern is not None:
            return f"topics like {self.pattern!r}"
        if self.partitions:
            return f"partitions {', '.join(map(str, self.partitions))}"
        return f"topic{'s' * (len(self.names) > 1)} {', '.join(self.names)}"

    def chosen(self, there: Mapping[str, int]) -> list[KafkaTopicPartition]:
        """Return the partitions to be read."""
        if self.partitions:
            for partition in self.partitions:
                if partition.partition >= there.get(partition.topic, 0):
                    raise _missing(f"partition {partition}", partition.topic, there)
            return list(self.partitions)
        names: Iterable[str] = self.names
        if self.pattern is not None:
            names = sorted(name for name in there if re.fullmatch(self.pattern, name))
        for name in names:
            if name not in there:
                raise _missing(f"topic {name!r}", name, there)
        return [KafkaTopicPartition(name, n) for name in names for n in range(there[name])]


class ClusterView:
    """State of the cluster in the view of one consumer."""

    def __init__(self, properties: KafkaProperties, topics: KafkaTopics) -> None:
        self._topics = topics
        self._patience_seconds = properties.patience_seconds
        self._interval_ms = properties.milliseconds(DISCOVERY_MS, _DISCOVERY_MS)
        self._consumer = new_consumer(properties, "driver")
        self._partitions: list[KafkaTopicPartition] | None = None
        self._looked = 0.0

    def partitions(self, *, anew: bool) -> list[KafkaTopicPartition]:
        """Return the partitions of the source; they are looked up if that is due."""
        due = self._looked + self._interval_ms / 1000
        is_due = self._interval_ms > 0 and time.monotonic() >= due
        if self._partitions is None or anew or is_due:
            self._partitions = self._topics.chosen(patiently(self._there, self._patience_seconds))
            self._looked = time.monotonic()
        return self._partitions

    def earliest(self, partitions: Sequence[KafkaTopicPartition]) -> list[int]:
        """Return the first offset of each partition."""
        return self._offsets([(partition, _EARLIEST) for partition in partitions])

    def heads(self, partitions: Sequence[KafkaTopicPartition]) -> list[int]:
        """Return the offset behind the last record of each partition that a reader may see."""
        return self._offsets([(partition, _LATEST) for partition in partitions])

    def at_time(self, partition: KafkaTopicPartition, timestamp_ms: int) -> int | None:
        """Return the first offset whose record is not before a time, None if there is none."""
        (offset,) = self._offsets([(partition, timestamp_ms)])
        return None if offset < 0 else offset

    def committed(self, partition: KafkaTopicPartition) -> int | None:
        """Return the offset that the group has committed, None if it has none."""
        place = library().TopicPartition(partition.topic, partition.partition)
        (answer,) = patiently(
            lambda: self._consumer.committed([place], timeout=_REQUEST_SECONDS),
            self._patience_seconds,
        )
        return _checked(answer) if answer.offset >= 0 else None

    def commit(self, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        """Commit offsets of the group."""
        make = library().TopicPartition
        places = [make(place.topic, place.partition, offset) for place, offset in offsets.items()]
        for answer in self._consumer.commit(offsets=places, asynchronous=False):
            _checked(answer)

    def _offsets(self, places_at: list[tuple[KafkaTopicPartition, int]]) -> list[int]:
        if not places_at:
            return []
        make = library().TopicPartition
        places = [make(place.topic, place.partition, what) for place, what in places_at]

        def offsets() -> list[int]:
            answers = self._consumer.offsets_for_times(places, timeout=_REQUEST_SECONDS)
            checked = {(place.topic, place.partition): _checked(place) for place in answers}
            return [checked[place.topic, place.partition] for place, _ in places_at]

        return patiently(offsets, self._patience_seconds)

    def _there(self) -> dict[str, int]:
        """Return the topics of the cluster, with the numbers of their partitions."""
        metadata = self._consumer.list_topics(timeout=min(_REQUEST_SECONDS, self._patience_seconds))
        counts = {}
        for name, topic in metadata.topics.items():
            if topic.error is None:
                counts[name] = len(topic.partitions)
            elif name in self._topics.names:
                raise library().KafkaException(topic.error)
        return counts


def view_of(properties: KafkaProperties, topics: KafkaTopics) -> ClusterView:
    """Return the view of this process; a call makes the first one."""
    with _lock:
        view: ClusterView | None = _views.get((properties, topics))
        if view is None:
            view = _views[properties, topics] = ClusterView(properties, topics)
        return view


def _checked(answer: Any) -> int:
    """Return the offset of an answer."""
    if answer.error is not None:
        raise library().KafkaException(answer.error)
    offset: int = answer.offset
    return offset


def _missing(what: str, name: str, there: Mapping[str, int]) -> SourceError:
    return SourceError(
        f"{what} is not there{did_you_mean(name, tuple(sorted(there)))}",
        hint="Create the topic before the job starts, or correct its name.",
    )
