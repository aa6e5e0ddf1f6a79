"""Plans the next epoch of a live run: which positions it reads, and which control events it delivers.

An epoch that was not recorded never happened. So nothing is written before it runs, and after a failure
the planner may plan another one. Control events go with the records they follow:

    end of a source     in the epoch of its last records
    end of a part       in the epoch of its last records; the next part is read from the next epoch on
    hand-over           in the epoch of the last records of the run; after a savepoint in progress
    savepoint           with the records of its epoch; a drain ends all sources in it
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.spark.live.epochs.epoch_work import EpochWork
from penstock.spark.sources.listing.file_readings import FileReading
from penstock.spark.sources.split_advance import Budgets, SplitReading

HANDOVER = "handover"

Row = dict[str, Any]
"""A row with names of `RANGES_DDL`."""


@dataclass(frozen=True, slots=True)
class EpochPositions:
    """The positions of a live run at the end of an epoch.

    Attributes:
        at: Source id to the next position of every split of the part that it reads. Files are one split, and
            positions their numbers.
        ended: Sources whose end was delivered.
        is_handed_over: Whether the state was handed over.
        names: Source id to the ids of its splits, of sources that name them; in order of discovery.
        parts: Source id to the index of the part that it reads, of sources that have left their first.
    """

    at: Mapping[int, tuple[int, ...]]
    ended: frozenset[int] = frozenset()
    is_handed_over: bool = False
    names: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    parts: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def before(
        cls, readings: Sequence[SplitReading], files: Sequence[FileReading] = ()
    ) -> EpochPositions:
        """Return the positions before the first epoch, given the first part of each source."""
        at = {each.source: each.begin for each in readings}
        at |= {each.source: (0,) for each in files}
        names = {each.source: each.names for each in readings if each.names is not None}
        return cls(at, names=names)

    def to_json(self) -> dict[str, Any]:
        """Return the form to record."""
        names = {str(source): list(names) for source, names in self.names.items()}
        parts = {str(source): part for source, part in self.parts.items()}
        return {
            "at": {str(source): list(at) for source, at in self.at.items()},
            "ended": sorted(self.ended),
            "handed_over": self.is_handed_over,
            **({"names": names} if names else {}),
            **({"parts": parts} if parts else {}),
        }

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any]) -> EpochPositions:
        """Return the object that `to_json` encoded."""
        at, names = (
            {int(source): tuple(each) for source, each in recorded.get(name, {}).items()}
            for name in ("at", "names")
        )
        parts = {int(source): part for source, part in recorded.get("parts", {}).items()}
        return cls(at, frozenset(recorded["ended"]), recorded["handed_over"], names, parts)


@dataclass(frozen=True, slots=True)
class PlannedEpoch:
    """The input of one epoch.

    Attributes:
        tasks: The rows of each task of level 0; there is at least one task.
        after: The positions at its end.
        event: The hand-over or savepoint in it; None if it has none.
        is_single_task: Whether one task runs all its stages; then `tasks` is one.
        files: Source id to the position of the first of its files, and that behind the last.
    """

    tasks: tuple[tuple[Row, ...], ...]
    after: EpochPositions
    event: str | None
    is_single_task: bool = False
    files: Mapping[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Step:
    """What an epoch reads of one source.

    Attributes:
        reading: The source.
        begin: Next position of every split before the epoch.
        end: The same after it.
        names: Ids of the splits, None if they have none.
        records: Number of records; an estimate if positions have holes.
    """

    reading: SplitReading
    begin: Sequence[int]
    end: Sequence[int]
    names: Sequence[str] | None
    records: int


@dataclass(slots=True)
class EpochPlanner:
    """Plans the epochs of one live run.

    Attributes:
        readings: What the run reads, but files: of each source its parts, in order.
        hands_over: Whether a next run takes over the state.
        budgets: Limits of the records of an epoch.
        max_tasks: Greatest number of tasks of level 0.
        first_records: Limit of each source in the first epoch; 0 is the usual one.
        work: How much work the epochs are.
        files: The sources whose rows are in files.
        now_seconds: A monotonic clock.
    """

    readings: tuple[SplitReading, ...]
    hands_over: bool
    budgets: Budgets
    max_tasks: int
    first_records: int = 0
    work: EpochWork = field(default_factory=EpochWork)
    files: tuple[FileReading, ...] = ()
    now_seconds: Callable[[], float] = time.monotonic
    _parts: dict[int, list[SplitReading]] = field(init=False)
    _last_call: float = field(init=False)
    _steps: list[_Step] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Start the clock of the rates."""
        self._last_call = self.now_seconds()
        self._parts = {}
        for reading in self.readings:
            self._parts.setdefault(reading.source, []).append(reading)

    def begin(self) -> EpochPositions:
        """Return the positions before the first epoch."""
        return EpochPositions.before([first for first, *_ in self._parts.values()], self.files)

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
        steps = self._steps = self._take(at, is_first=is_first)
        read = self._take_files(at)
        for step in steps:
            rows += self._ranges(step)
        records = sum(step.records for step in steps)
        if self.work.has_one_reader(records):
            rows = [(0, row) for _, row in rows]
        at_end = [step.reading for step in steps if step.reading.is_at_end(step.end)]
        begun = [each for each in map(self._behind, at_end) if each is not None]
        rows += [(0, _control("next", each.source)) for each in begun]
        complete = {each.source for each in at_end} - {each.source for each in begun}
        complete |= {each.source for each in self.files if each.is_at_end(read[each.source][1])}
        sources = self._sources
        ending = {each.source for each in sources if drains or each.ends}
        ends = ending - at.ended if drains else (ending & complete) - at.ended
        rows += [(0, _control("end", source)) for source in sorted(ends)]
        is_complete = len(complete) == len({each.source for each in sources})
        hands_over = self.hands_over and is_complete and savepoint is None
        event = HANDOVER if hands_over and not at.is_handed_over else savepoint
        if event is not None:
            rows.append((0, _control(event)))
        if is_first or is_due:
            rows.append((0, _control("start" if is_first else "tick")))
        files = {source: span for source, span in read.items() if span[0] < span[1]}
        if not rows and not files:
            return None
        made = _after(at, steps, begun)
        positions = {**made.at, **{source: (last,) for source, (_, last) in read.items()}}
        made = replace(made, at=positions, ended=at.ended | ends, is_handed_over=hands_over)
        # Snapshots and the first epoch, which seeds logs, are work that no earlier epoch tells.
        is_usual = event is None and not is_first and not files
        is_single_task = is_usual and self.work.is_single_task(records)
        return PlannedEpoch(self._tasks(rows), made, event, is_single_task, files)

    def _now(self, at: EpochPositions) -> list[SplitReading]:
        """Return the part that each source reads."""
        return [
            next(each for each in parts if each.part == at.parts.get(source, parts[0].part))
            for source, parts in self._parts.items()
        ]

    def _behind(self, reading: SplitReading) -> SplitReading | None:
        """Return the part of a source behind another one, None if that is the last of the run."""
        later = (each for each in self._parts[reading.source] if each.part > reading.part)
        return next(later, None)

    @property
    def may_block(self) -> bool:
        """Whether planning asks a source that may take long to answer."""
        return bool(self.files) or any(each.tail is not None for each in self.readings)

    def open(self, at: EpochPositions) -> None:
        """Begin behind the last recorded epoch.

        Raises:
            StateError: A file log is damaged.
            OSError: It cannot be read.
        """
        for each in self.files:
            each.open(*at.at[each.source])

    def note_recorded(self, at: EpochPositions) -> None:
        """Learn that an epoch was recorded, and its positions."""
        for each in self.files:
            each.forget_before(*at.at[each.source])

    def is_complete(self, at: EpochPositions) -> bool:
        """Return whether the run has ended at these positions."""
        if self.hands_over:
            return at.is_handed_over
        return at.ended >= {each.source for each in self._sources}

    def is_in_backlog(self, at: EpochPositions) -> bool:
        """Return whether a source has further parts behind the one that it reads; files are not known to."""
        return any(each.is_history for each in self._now(at))

    def by_name(self, at: EpochPositions) -> dict[tuple[int, int], dict[str, int]]:
        """Return the next position of every split by its id, of parts that have been begun.

        Args:
            at: Positions of this run.

        Returns:
            (source id, part) to id to position, of parts whose splits have ids.
        """
        found = {}
        for now in self._now(at):
            for each in self._parts[now.source]:
                if each.names is None or each.part > now.part:
                    continue
                names, reached = each.names, tuple(stop or 0 for _, stop in each.splits)
                if each is now:
                    names, reached = at.names[now.source], at.at[now.source]
                found[now.source, each.part] = dict(zip(names, reached, strict=True))
        return found

    def seconds_to_next(self, at: EpochPositions) -> float | None:
        """Return the time until a source has records; None if nobody knows, or none will have any."""
        waits = [
            max(look, self.budgets.seconds_to_next(each))
            for each in self._now(at)
            for look in [each.seconds_to_look(at.at[each.source])]
            if look is not None
        ]
        looks = (each.seconds_to_look(*at.at[each.source]) for each in self.files)
        waits += [look for look in looks if look is not None]
        return min(waits, default=None)

    def records_left(self, at: EpochPositions) -> int | None:
        """Return the pending records of all sources that know them, None if there is none."""
        now = {each.source: each.part for each in self._now(at)}
        left = (each for each in self.readings if each.part >= now[each.source])
        known = [
            each.records_left(at.at[each.source] if each.part == now[each.source] else each.begin)
            for each in left
        ]
        found = [records for records in known if records is not None]
        return sum(found) if found else None

    def files_left(self, at: EpochPositions) -> int | None:
        """Return the pending files of all sources, None if no source has files."""
        if not self.files:
            return None
        return sum(each.files_left(*at.at[each.source]) for each in self.files)

    def note_read(self, records: Mapping[int, int]) -> None:
        """Note how many records the epoch had that was planned last.

        Args:
            records: Source id to number of records.
        """
        for step in self._steps:
            if step.reading.tail is not None:
                read = records.get(step.reading.source, 0)
                step.reading.tail.note_read(read)
                self.budgets.spend(step.reading, read - step.records)

    def _take(self, at: EpochPositions, *, is_first: bool) -> list[_Step]:
        now = self.now_seconds()
        elapsed, self._last_call = now - self._last_call, now
        steps = []
        readings = self._now(at)
        shares = self.budgets.shares(
            [each for each in readings if each.source not in at.ended],
            beside_files=any(each.source not in at.ended for each in self.files),
        )
        for reading in readings:
            seen = reading.readable(at.at[reading.source], at.names.get(reading.source))
            budget = self.budgets.of(reading, seen.at, elapsed, shares.get(reading.source))
            if is_first and self.first_records:
                budget = min(budget, self.first_records)
            end, records = reading.advance(seen, budget)
            self.budgets.spend(reading, records)
            steps.append(_Step(reading, seen.at, end, seen.names, records))
        return steps

    @property
    def _sources(self) -> tuple[SplitReading | FileReading, ...]:
        return (*self.readings, *self.files)

    def _take_files(self, at: EpochPositions) -> dict[int, tuple[int, int]]:
        """Return source id to the position of the first file of the next epoch, and that behind the last."""
        spans = {}
        for each in self.files:
            (first,) = at.at[each.source]
            spans[each.source] = first, each.advance(first)
        return spans

    def _ranges(self, step: _Step) -> list[tuple[int, Row]]:
        """Return the ranges of a source, each with the number of its task."""
        tasks = step.reading.tasks or self.max_tasks
        several = len(self._parts[step.reading.source]) > 1
        part = {"part": step.reading.part} if several else {}
        return [
            (split % tasks, _range(step, split, first, last) | part)
            for split, (first, last) in enumerate(zip(step.begin, step.end, strict=True))
            if last > first
        ]

    def _tasks(self, rows: Sequence[tuple[int, Row]]) -> tuple[tuple[Row, ...], ...]:
        tasks: dict[int, list[Row]] = {}
        for task, row in rows:
            tasks.setdefault(task, []).append(row)
        count = max(tasks, default=0) + 1  # a task keeps its number, and with it its functions
        return tuple(tuple(tasks.get(task, ())) for task in range(count))


def _after(
    at: EpochPositions, steps: Sequence[_Step], begun: Sequence[SplitReading]
) -> EpochPositions:
    """Return the positions at the end of an epoch.

    Args:
        at: Those before it.
        steps: What it reads.
        begun: The parts that are read from the next epoch on.
    """
    after = {step.reading.source: tuple(step.end) for step in steps}
    named = {step.reading.source: tuple(step.names) for step in steps if step.names is not None}
    names = {**at.names, **named}
    for each in begun:
        after[each.source] = each.begin
        names.pop(each.source, None)
        if each.names is not None:
            names[each.source] = each.names
    parts = {**at.parts, **{each.source: each.part for each in begun}}
    return EpochPositions(after, names=names, parts=parts)


def _range(step: _Step, split: int, first: int, last: int) -> Row:
    finished = last == step.reading.stop(split)
    source = step.reading.source
    row = {"event": "range", "source": source, "split": split, "first": first, "last": last}
    named = {} if step.names is None else {"name": step.names[split]}
    return row | {"finished": finished} | named


def _control(event: str, source: int = -1) -> Row:
    row = {"event": event, "source": source, "split": 0, "first": 0, "last": 0}
    return row | {"finished": False}
