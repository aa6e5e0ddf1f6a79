"""Plans the next epoch of a live run: which positions it reads, and which control events it delivers.

An epoch that was not recorded never happened. So nothing is written before it runs, and after a failure
the planner may plan another one. Control events go with the records they follow:

    end of a source     in the epoch of its last records
    hand-over           in the epoch of the last records of the run; after a savepoint in progress
    savepoint           with the records of its epoch; a drain ends all sources in it
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.spark.sources.split_advance import Budgets, SplitReading, advance, is_at_end

HANDOVER = "handover"

_TASK_SECONDS = 0.01
"""Work that is not worth a task of its own: Spark and Python need as much CPU to run an empty one."""

Row = dict[str, Any]
"""A row with the names of `POSITIONS_DDL`."""


@dataclass(frozen=True, slots=True)
class EpochPositions:
    """The positions of a live run at the end of an epoch.

    Attributes:
        at: Source id to the next position of every split.
        ended: Sources whose end was delivered.
        is_handed_over: Whether the state was handed over.
    """

    at: Mapping[int, tuple[int, ...]]
    ended: frozenset[int] = frozenset()
    is_handed_over: bool = False

    @classmethod
    def before(cls, readings: Sequence[SplitReading]) -> EpochPositions:
        """Return the positions before the first epoch."""
        return cls({each.source: tuple(start for start, _ in each.splits) for each in readings})

    def to_json(self) -> dict[str, Any]:
        """Return the form to record."""
        return {
            "at": {str(source): list(at) for source, at in self.at.items()},
            "ended": sorted(self.ended),
            "handed_over": self.is_handed_over,
        }

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any]) -> EpochPositions:
        """Return the object that `to_json` encoded."""
        at = {int(source): tuple(positions) for source, positions in recorded["at"].items()}
        return cls(at, frozenset(recorded["ended"]), recorded["handed_over"])


@dataclass(frozen=True, slots=True)
class PlannedEpoch:
    """The input of one epoch.

    Attributes:
        tasks: The rows of each task of level 0; there is at least one task.
        after: The positions at its end.
        event: The hand-over or savepoint in it; None if it has none.
    """

    tasks: tuple[tuple[Row, ...], ...]
    after: EpochPositions
    event: str | None


@dataclass(slots=True)
class EpochPlanner:
    """Plans the epochs of one live run.

    Attributes:
        readings: The sources that the run reads.
        hands_over: Whether a next run takes over the state.
        budgets: Limits of the records of an epoch.
        max_tasks: Greatest number of tasks of level 0.
        first_records: Limit of each source in the first epoch; 0 is the usual one.
        record_seconds: Time that level 0 took for a record lately; None before it is known.
        now_seconds: A monotonic clock.
    """

    readings: tuple[SplitReading, ...]
    hands_over: bool
    budgets: Budgets
    max_tasks: int
    first_records: int = 0
    record_seconds: float | None = None
    now_seconds: Callable[[], float] = time.monotonic
    _last_call: float = field(init=False)

    def __post_init__(self) -> None:
        """Start the clock of the rates."""
        self._last_call = self.now_seconds()

    def next(
        self,
        at: EpochPositions,
        *,
        is_first: bool = False,
        is_due: bool = False,
        savepoint: str | None = None,
        drains: bool = False,
    ) -> PlannedEpoch | None:
        """Return the next epoch, None if there is nothing to do.

        Args:
            at: The positions at the end of the last recorded epoch.
            is_first: Whether the run has no record; the first epoch calls every subtask.
            is_due: Whether the subtasks must be called, for a timer.
            savepoint: Control event of a requested savepoint.
            drains: Whether the savepoint ends all sources.
        """
        rows: list[tuple[int, Row]] = []
        after = self._positions(at, is_first=is_first)
        for reading in self.readings:
            rows += self._ranges(reading, at.at[reading.source], after[reading.source])
        if self._is_small(rows):
            rows = [(0, row) for _, row in rows]
        complete = frozenset(
            each.source for each in self.readings if is_at_end(after[each.source], each.splits)
        )
        ending = {each.source for each in self.readings if drains or each.ends}
        ends = ending - at.ended if drains else (ending & complete) - at.ended
        rows += [(0, _control("end", source)) for source in sorted(ends)]
        is_complete = len(complete) == len(self.readings)
        hands_over = self.hands_over and is_complete and savepoint is None
        event = HANDOVER if hands_over and not at.is_handed_over else savepoint
        if event is not None:
            rows.append((0, _control(event)))
        if is_first or is_due:
            rows.append((0, _control("start" if is_first else "tick")))
        if not rows:
            return None
        made = EpochPositions(after, at.ended | ends, hands_over)
        return PlannedEpoch(self._tasks(rows), made, event)

    def is_complete(self, at: EpochPositions) -> bool:
        """Return whether the run has ended at these positions."""
        if self.hands_over:
            return at.is_handed_over
        return at.ended >= {each.source for each in self.readings}

    def seconds_to_next(self, at: EpochPositions) -> float | None:
        """Return the time until a source has records; None if nobody knows, or none will have any."""
        waits = [
            self.budgets.seconds_to_next(each)
            for each in self.readings
            if each.head is None and not is_at_end(at.at[each.source], each.splits)
        ]
        return min(waits, default=None)

    def records_left(self, at: EpochPositions) -> int | None:
        """Return the pending records of all bounded sources, None if there is none."""
        bounded = [
            sum(stop - position for position, stop in zip(at.at[each.source], stops, strict=True))
            for each in self.readings
            for stops in [[stop for _, stop in each.splits if stop is not None]]
            if len(stops) == len(each.splits)
        ]
        return sum(bounded) if bounded else None

    def _positions(self, at: EpochPositions, *, is_first: bool) -> dict[int, tuple[int, ...]]:
        now = self.now_seconds()
        elapsed, self._last_call = now - self._last_call, now
        after = {}
        for reading in self.readings:
            begin = at.at[reading.source]
            budget = self.budgets.of(reading, begin, elapsed)
            if is_first and self.first_records:
                budget = min(budget, self.first_records)
            end = advance(begin, reading.readable(begin), budget)
            self.budgets.spend(reading, sum(end) - sum(begin))
            after[reading.source] = tuple(end)
        return after

    def _is_small(self, rows: Sequence[tuple[int, Row]]) -> bool:
        """Return whether one task reads all ranges sooner than several tasks are started."""
        if self.record_seconds is None:
            return False
        records: int = sum(row["last"] - row["first"] for _, row in rows)
        return records * self.record_seconds <= _TASK_SECONDS

    def _ranges(
        self, reading: SplitReading, begin: Sequence[int], end: Sequence[int]
    ) -> list[tuple[int, Row]]:
        """Return the ranges of a source, each with the number of its task."""
        tasks = reading.tasks or self.max_tasks
        return [
            (split % tasks, _range(reading, split, first, last))
            for split, (first, last) in enumerate(zip(begin, end, strict=True))
            if last > first
        ]

    def _tasks(self, rows: Sequence[tuple[int, Row]]) -> tuple[tuple[Row, ...], ...]:
        tasks: dict[int, list[Row]] = {}
        for task, row in rows:
            tasks.setdefault(task, []).append(row)
        count = max(tasks, default=0) + 1  # a task keeps its number, and with it its functions
        return tuple(tuple(tasks.get(task, ())) for task in range(count))


def _range(reading: SplitReading, split: int, first: int, last: int) -> Row:
    finished = last == reading.splits[split][1]
    row = {"event": "range", "source": reading.source, "split": split, "first": first, "last": last}
    return row | {"finished": finished}


def _control(event: str, source: int = -1) -> Row:
    row = {"event": event, "source": source, "split": 0, "first": 0, "last": 0}
    return row | {"finished": False}
