"""The event time of the records of a sample, and their order by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from itertools import pairwise
from typing import Any

from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operators import TIMESTAMPS
from penstock.program.traverse import reachable
from penstock.testing.law.samples import Sample, SampleRecord
from penstock.wire.elements import MIN_TIMESTAMP


@dataclass(frozen=True, slots=True)
class EventTime:
    """The event time of the records of a source.

    Attributes:
        of: Returns the event time of a record.
        out_of_orderness: Milliseconds by which a record may be older than one before it, and is not late.
    """

    of: Callable[[SampleRecord], int]
    out_of_orderness: int = 0

    def in_order(self, sample: Sample) -> Sample:
        """Return the records in order of time; the sample itself if they are."""
        times = list(map(self.of, sample))
        if all(one <= other for one, other in pairwise(times)):
            return sample
        return tuple(sorted(sample, key=self.of))


def event_time(graph: LogicalGraph, source: Node) -> EventTime | None:
    """Return the event time of the records of a source; None if it is that of results of functions."""
    readers = [
        node
        for node in graph.of_kind(TIMESTAMPS)
        if source.id in reachable(node.inputs, lambda key: graph.node(key).inputs)
    ]
    if not readers:
        return EventTime(_stamp)
    settings = [node.watermarking for node in readers if source.id in node.inputs]
    direct = [setting for setting in settings if setting is not None]
    if not direct:
        return None
    assigner = next((setting.assigner for setting in direct if setting.assigner is not None), None)
    bound = min(setting.out_of_orderness_ms or 0 for setting in direct)
    return EventTime(_stamp if assigner is None else _assigned(assigner), bound)


def _stamp(element: SampleRecord) -> int:
    return MIN_TIMESTAMP if element.timestamp is None else element.timestamp


def _assigned(assigner: Callable[[Any, int], int]) -> Callable[[SampleRecord], int]:
    def time_of(element: SampleRecord) -> int:
        stamp = _stamp(element)
        try:
            return int(assigner(element.value, stamp))
        except Exception:  # noqa: BLE001 - the job reports the failure of the user's function
            return stamp

    return time_of


def in_order_of_time(
    graph: LogicalGraph, source: Node, splits: Sequence[Sequence[tuple[Any, int | None]]]
) -> Sample:
    """Return the sample of a source, whose splits are merged by event time.

    So a prefix of it is what a job has read when it has read all splits up to one time. Without event
    times it is one split after the other.
    """
    time = event_time(graph, source)
    samples = [
        [SampleRecord(number, value, stamp) for value, stamp in split]
        for number, split in enumerate(splits)
    ]
    if time is None or len(samples) == 1:
        return tuple(element for split in samples for element in split)
    heap = [(time.of(split[0]), number, 0) for number, split in enumerate(samples) if split]
    heapify(heap)
    merged: list[SampleRecord] = []
    while heap:
        latest, number, index = heap[0]
        merged.append(samples[number][index])
        if index + 1 == len(samples[number]):
            heappop(heap)
            continue
        heapreplace(heap, (max(latest, time.of(samples[number][index + 1])), number, index + 1))
    return tuple(merged)
