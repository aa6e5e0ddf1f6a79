"""Reads sources by positions: tasks get ranges of positions, and make the records.

The splits of a log have ids, and the positions of its epochs are in their records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from penstock.errors import PenstockError
from penstock.graph.log_source import LogSource
from penstock.graph.source import PositionedSource
from penstock.graph.split_source import SplitSource
from penstock.spark.sources.source_row import (
    PartReading,
    PinnedPart,
    Pinning,
    Position,
    ResumedPart,
)

_LEAST_COST = 10_000
"""A range that is cheaper is not worth a task of its own."""


@dataclass(frozen=True, slots=True)
class SplitRange:
    """Positions of one split of a source.

    Attributes:
        finished: True if the split has ended when the run has; of every part of a range that is cut.
        name: Id of the split; None if it is known by its number.
        cost: Returns what positions cost; None if the range may not be cut.
    """

    source: int
    split: int
    first: int
    last: int
    finished: bool = True
    name: str | None = None
    cost: Callable[[int, int], int] | None = None

    def row(self) -> tuple[str, int, int, int, int, bool, str | None]:
        """Return the row of `RANGES_DDL`."""
        return (
            "range",
            self.source,
            self.split,
            self.first,
            self.last,
            self.finished,
            self.name,
        )


def cut_ranges(ranges: list[SplitRange], count: int) -> list[SplitRange]:
    """Return the ranges, some of them cut, so that there are about as many as requested.

    Ranges that may be cut are cut into parts of equal numbers of positions, more of them if the range
    costs more. The order stays.
    """
    costs = [
        0 if split_range.cost is None else split_range.cost(split_range.first, split_range.last)
        for split_range in ranges
    ]
    left = count - sum(not cost for cost in costs)
    each_cost = max(-(-sum(costs) // max(left, 1)), _LEAST_COST)
    return [
        part
        for split_range, cost in zip(ranges, costs, strict=True)
        for part in _parts(split_range, -(-cost // each_cost))
    ]


def _parts(whole: SplitRange, count: int) -> list[SplitRange]:
    """Return a range in `count` parts, at least in one."""
    size = whole.last - whole.first
    count = max(min(count, size), 1)
    bounds = [whole.first + size * number // count for number in range(count + 1)]
    return [
        SplitRange(whole.source, whole.split, first, last, whole.finished, whole.name)
        for first, last in pairwise(bounds)
    ]


NAMES = "names"
"""Key of the ids of splits in a position of a savepoint."""

LATER = "later"
"""Key of the positions at which later parts begin, in a position of a savepoint."""

SNAPSHOT = "snapshot"
"""Key of the record of a snapshot that is not read to its end, in a position of a savepoint."""


def pin_splits(pinning: Pinning, part: SplitSource) -> PinnedPart:
    """Return the splits of a source."""
    with PenstockError.at(pinning.origin):
        return PinnedPart(splits=part.exact_splits(pinning.parallelism))


def has_values(_part: PositionedSource) -> bool:
    """Return True: the source returns records, not rows."""
    return True


def position_of_splits(reading: PartReading) -> Position:
    """Return position and end of every split."""
    splits = reading.pinned.splits[reading.source, reading.part]
    positions = [start for start, _ in splits] if reading.positions is None else reading.positions
    return {
        "splits": [[position, end] for position, (_, end) in zip(positions, splits, strict=True)]
    }, {}


def resume_splits(position: Mapping[str, Any]) -> ResumedPart:
    """Return the splits from their positions on."""
    return ResumedPart(splits=[(begin, end) for begin, end in position["splits"]])


def pin_log(pinning: Pinning, part: LogSource) -> PinnedPart:
    """Return the current splits of a log."""
    with PenstockError.at(pinning.origin):
        start = pinning.patiently(lambda: part.exact_start(pinning.parallelism))
    return PinnedPart(splits=list(start.ranges), names=start.names)


def position_of_log(reading: PartReading) -> Position:
    """Return id, position and end of every split."""
    key = reading.source, reading.part
    splits = reading.pinned.splits[key]
    positions = [start for start, _ in splits] if reading.positions is None else reading.positions
    names = list(reading.pinned.names[key] if reading.names is None else reading.names)
    ends = [end for _, end in splits] + [None] * (len(positions) - len(splits))
    return {"splits": [list(pair) for pair in zip(positions, ends, strict=True)], NAMES: names}, {}


def resume_log(position: Mapping[str, Any]) -> ResumedPart:
    """Return the splits from their positions on."""
    splits = [(begin, end) for begin, end in position["splits"]]
    return ResumedPart(splits=splits, names=tuple(position[NAMES]))
