"""The ranges of positions that the tasks of a batch run read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

_LEAST_COST = 10_000
"""A range that is cheaper is not worth a task of its own."""


@dataclass(frozen=True, slots=True)
class SplitRange:
    """Positions of one split of a source.

    Attributes:
        source: Id of the source.
        split: Number of the split.
        first: First position.
        last: Position behind the last.
        finished: Whether the split ends there.
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


def cut_ranges(ranges: list[SplitRange], wanted: int) -> list[SplitRange]:
    """Return the ranges, some of them cut, so that there are about as many as wanted.

    Ranges that may be cut are cut into parts of equal numbers of positions, more of them if the range
    costs more. The order stays.
    """
    costs = [0 if each.cost is None else each.cost(each.first, each.last) for each in ranges]
    left = wanted - sum(not cost for cost in costs)
    each_cost = max(-(-sum(costs) // max(left, 1)), _LEAST_COST)
    return [
        part
        for each, cost in zip(ranges, costs, strict=True)
        for part in _parts(each, -(-cost // each_cost))
    ]


def _parts(whole: SplitRange, count: int) -> list[SplitRange]:
    """Return a range in `count` parts, at least in one."""
    size = whole.last - whole.first
    count = max(min(count, size), 1)
    bounds = [whole.first + size * number // count for number in range(count + 1)]
    return [
        SplitRange(
            whole.source,
            whole.split,
            first,
            last,
            whole.finished and last == whole.last,
            whole.name,
        )
        for first, last in pairwise(bounds)
    ]
