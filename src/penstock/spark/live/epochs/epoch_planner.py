"""Plans the next epoch of a live run: which positions it reads, and which control events it delivers.

An epoch that was not recorded never happened. So nothing is written before it runs, and after a failure
the planner may plan another one. Control events go with the records they follow:

    end of a source     in the epoch of its last records
    end of a part       in the epoch of its last records, or files; the next part is read from the next epoch on
    hand-over           in the epoch of the last records of the run; after a savepoint in progress
    savepoint           with the records of its epoch; a drain ends all sources in it

The loop calls the planner once between two epochs, and sources may block in each part of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from penstock.spark.live.epochs.epoch_journal import HANDOVER, EpochPositions, PlannedEpoch, Row
from penstock.spark.live.epochs.epoch_pace import EpochWork
from penstock.spark.sources.listing.file_readings import FileReading
from penstock.spark.sources.split_advance import Budgets, SplitReading

Part = SplitReading | FileReading
"""Part of a source that the run reads."""

P = TypeVar("P", SplitReading, FileReading)


@dataclass(frozen=True, slots=True)
class _Step:
    """Records of one source by positions that an epoch reads.

    Attributes:
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


@dataclass(frozen=True, slots=True)
class _Span:
    """The files that an epoch reads of one source."""

    reading: FileReading
    first: int
    last: int


_WAITING_SECONDS = 1.0
"""Time between two looks at what waits in each split."""


@dataclass(slots=True)
class EpochPlanner:
    """Plans the epochs of one live run.

    Attributes:
        readings: Readings of the run except files: the parts of each source, in order.
        hands_over: True if a next run takes over the state.
        first_records: Limit of each source in the first epoch; 0 is the usual one.
        work: Amount of work of the epochs.
        files: Readings of sources whose rows are in files.
    """

    readings: tuple[SplitReading, ...]
    hands_over: bool
    budgets: Budgets
    max_tasks: int
    first_records: int = 0
    work: EpochWork = field(default_factory=EpochWork)
    files: tuple[FileReading, ...] = ()
    now_seconds: Callable[[], float] = time.monotonic
    _parts: dict[int, list[Part]] = field(init=False)
    _last_call: float = field(init=False)
    _steps: list[_Step] = field(init=False, default_factory=list)
    _spans: list[_Span] = field(init=False, default_factory=list)
    _open: set[FileReading] = field(init=False, default_factory=set)
    _waiting: Mapping[int, Mapping[str, int]] = field(init=False, default_factory=dict)
    _next_waiting: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        """Start the clock of the rates."""
        self._last_call = self.now_seconds()
        self._parts = {}
        for reading in sorted(self._all, key=lambda part: part.part):
            self._parts.setdefault(reading.source, []).append(reading)

    def begin(self) -> EpochPositions:
        """Return the positions before the first epoch."""
        return EpochPositions.before([first for first, *_ in self._parts.values()])

    def next(
        self,
        positions: EpochPositions,
        *,
        is_first: bool = False,
        is_due: bool = False,
        savepoint: str | None = None,
        drains: bool = False,
    ) -> PlannedEpoch | None:
        """Return the next epoch, None if there is nothing to do."""
        rows: list[tuple[int, Row]] = []
        self._take(positions, is_first=is_first)
        steps, spans = self._steps, self._spans
        for step in steps:
            rows += self._ranges(step)
        records = sum(step.records for step in steps)
        if self.work.has_one_reader(records):
            rows = [(0, row) for _, row in rows]
        at_end: list[Part] = [step.reading for step in steps if step.reading.is_at_end(step.end)]
        at_end += [span.reading for span in spans if span.reading.is_at_end(span.last)]
        begun = [part for part in map(self._behind, at_end) if part is not None]
        rows += [(0, _control("next", part.source)) for part in begun]
        complete = {part.source for part in at_end} - {part.source for part in begun}
        ending = {reading.source for reading in self._all if drains or reading.ends}
        ends = ending - positions.ended if drains else (ending & complete) - positions.ended
        rows += [(0, _control("end", source)) for source in sorted(ends)]
        is_complete = len(complete) == len(self._parts)
        hands_over = self.hands_over and is_complete and savepoint is None
        event = HANDOVER if hands_over and not positions.is_handed_over else savepoint
        if event is not None:
            rows.append((0, _control(event)))
        if is_first or is_due:
            rows.append((0, _control("start" if is_first else "tick")))
        files = {
            (span.reading.source, span.reading.part): (span.first, span.last)
            for span in spans
            if span.first < span.last
        }
        if not rows and not files:
            return None
        after = _after(positions, steps, spans, begun)
        after = replace(after, ended=positions.ended | ends, is_handed_over=hands_over)
        # Snapshots and the first epoch, which seeds logs, are work that no earlier epoch can predict.
        is_usual = event is None and not is_first and not files
        is_single_task = is_usual and self.work.is_single_task(records)
        return PlannedEpoch(self._tasks(rows), after, event, is_single_task, files)

    def _now(self, positions: EpochPositions) -> list[Part]:
        """Return the part that each source reads."""
        return [
            next(part for part in parts if part.part == positions.parts.get(source, parts[0].part))
            for source, parts in self._parts.items()
        ]

    def _files_now(self, positions: EpochPositions) -> list[FileReading]:
        return [reading for reading in self._now(positions) if isinstance(reading, FileReading)]

    def _behind(self, reading: Part) -> Part | None:
        """Return the part of a source behind another one, None if that is the last of the run."""
        later = (part for part in self._parts[reading.source] if part.part > reading.part)
        return next(later, None)

    @property
    def may_block(self) -> bool:
        """True if planning calls a source that may take long to answer."""
        return bool(self.files) or any(reading.tail is not None for reading in self.readings)

    def open(self, positions: EpochPositions) -> None:
        """Begin behind the last recorded epoch."""
        self._open = set(self._files_now(positions))
        for reading in self._open:
            reading.open(*positions.of_splits[reading.source])

    def close(self) -> None:
        """End what reading files has begun."""
        for file_reading in self.files:
            file_reading.close()

    def note_recorded(self, positions: EpochPositions) -> None:
        """Note that an epoch was recorded, and its positions; a source may go on with files behind it."""
        for reading in self._files_now(positions):
            if reading in self._open:
                reading.forget_before(*positions.of_splits[reading.source])
            else:
                reading.open(*positions.of_splits[reading.source])
                self._open.add(reading)

    def is_complete(self, positions: EpochPositions) -> bool:
        """Return whether the run has ended at these positions."""
        if self.hands_over:
            return positions.is_handed_over
        return positions.ended >= self._parts.keys()

    def is_in_backlog(self, positions: EpochPositions) -> bool:
        """Return whether a source has further parts behind the one that it reads."""
        return any(reading.is_history for reading in self._now(positions))

    def by_name(self, positions: EpochPositions) -> dict[tuple[int, int], dict[str, int]]:
        """Return the next position of every split by its id, by (source id, part), of parts that have been begun and have ids."""
        names_of_parts = {}
        for now in self._now(positions):
            for part in self._parts[now.source]:
                if isinstance(part, FileReading) or part.names is None or part.part > now.part:
                    continue
                names, reached = part.names, tuple(stop or 0 for _, stop in part.splits)
                if part is now:
                    names, reached = positions.names[now.source], positions.of_splits[now.source]
                names_of_parts[now.source, part.part] = dict(zip(names, reached, strict=True))
        return names_of_parts

    def seconds_to_next(self, positions: EpochPositions) -> float | None:
        """Return the time until a source has records; None if it is unknown, or none will have any.

        The next look-up of logs and directories does not count: a cheap look-up is due some hundred times a
        second, and an idle job would do nothing else.
        """
        waits = [
            self.budgets.seconds_to_next(reading)
            for reading in self._now(positions)
            if isinstance(reading, SplitReading)
            and reading.has_more(positions.of_splits[reading.source])
        ]
        if any(
            reading.files_left(*positions.of_splits[reading.source])
            for reading in self._files_now(positions)
        ):
            waits.append(0.0)
        return min(waits, default=None)

    def records_left(self, positions: EpochPositions) -> int | None:
        """Return the pending records of all sources that count them; None without such a source, or if one counts bytes."""
        left = [
            (reading, positions.of_splits[reading.source] if now else reading.begin)
            for reading, now in self._left(positions, self.readings)
        ]
        if not all(reading.is_counted(reached) for reading, reached in left):
            return None
        counts = [reading.records_left(reached) for reading, reached in left]
        record_counts = [records for records in counts if records is not None]
        return sum(record_counts) if record_counts else None

    def records_waiting(self, positions: EpochPositions) -> Mapping[int, Mapping[str, int]]:
        """Return source id to split to pending records, of logs that have some; looked up once a second.

        It is for people, and would double the cost of a look at a topic with thousands of partitions.
        """
        now = self.now_seconds()
        if now >= self._next_waiting:
            self._next_waiting = now + _WAITING_SECONDS
            self._waiting = {
                reading.source: waiting
                for reading, is_now in self._left(positions, self.readings)
                if is_now
                and reading.tail is not None
                and reading.tail.is_counted
                and (waiting := reading.tail.records_waiting(positions.of_splits[reading.source]))
            }
        return self._waiting

    def files_left(self, positions: EpochPositions) -> int | None:
        """Return the pending files of all sources, None if no source measures them, or one was not listed yet."""
        files = [reading for reading in self.files if reading.measures_input]
        left = self._left(positions, files)
        if not files or not all(reading.is_counted for reading, now in left if now):
            return None
        return sum(
            reading.files_left(*(positions.of_splits[reading.source] if now else reading.begin))
            for reading, now in left
        )

    def _left(self, positions: EpochPositions, parts: Sequence[P]) -> list[tuple[P, bool]]:
        """Return the parts that are not behind a source, and whether it reads them now."""
        now = {reading.source: reading.part for reading in self._now(positions)}
        return [
            (part, part.part == now[part.source]) for part in parts if part.part >= now[part.source]
        ]

    def note_read(self, records: Mapping[int, int]) -> None:
        """Note how many records the epoch had that was planned last."""
        for step in self._steps:
            if step.reading.tail is not None:
                read = records.get(step.reading.source, 0)
                step.reading.tail.note_read(read)
                self.budgets.spend(step.reading, read - step.records)
        for span in self._spans:
            span.reading.note_read(records.get(span.reading.source, 0))

    def _take(self, positions: EpochPositions, *, is_first: bool) -> None:
        """Choose what the next epoch reads of each source."""
        now = self.now_seconds()
        elapsed, self._last_call = now - self._last_call, now
        self._steps, self._spans = [], []
        readings = self._now(positions)
        reads = [
            reading
            for reading in readings
            if reading.source not in positions.ended and not _awaits(reading)
        ]
        shares = self.budgets.shares(reads)
        for reading in readings:
            share = shares.get(reading.source)
            if isinstance(reading, FileReading):
                (first,) = positions.of_splits[reading.source]
                self._spans.append(_Span(reading, first, reading.advance(first, share)))
                continue
            readable = reading.readable(
                positions.of_splits[reading.source], positions.names.get(reading.source)
            )
            budget = self.budgets.of(reading, readable.positions, elapsed, share)
            if is_first and self.first_records:
                budget = min(budget, self.first_records)
            end, records = reading.advance(readable, budget)
            self.budgets.spend(reading, records)
            self._steps.append(_Step(reading, readable.positions, end, readable.names, records))

    @property
    def _all(self) -> tuple[Part, ...]:
        return (*self.readings, *self.files)

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


def _awaits(reading: Part) -> bool:
    return isinstance(reading, FileReading) and reading.awaits_files


def _after(
    positions: EpochPositions, steps: Sequence[_Step], spans: Sequence[_Span], begun: Sequence[Part]
) -> EpochPositions:
    """Return the positions at the end of an epoch."""
    after = {step.reading.source: tuple(step.end) for step in steps}
    after |= {span.reading.source: (span.last,) for span in spans}
    named = {step.reading.source: tuple(step.names) for step in steps if step.names is not None}
    names = {**positions.names, **named}
    for part in begun:
        after[part.source] = part.begin
        names.pop(part.source, None)
        if part.names is not None:
            names[part.source] = part.names
    parts = {**positions.parts, **{part.source: part.part for part in begun}}
    return EpochPositions(after, names=names, parts=parts)


def _range(step: _Step, split: int, first: int, last: int) -> Row:
    finished = last == step.reading.stop(split) and split not in step.reading.open_splits
    source = step.reading.source
    row = {"event": "range", "source": source, "split": split, "first": first, "last": last}
    named = {} if step.names is None else {"name": step.names[split]}
    return row | {"finished": finished} | named


def _control(event: str, source: int = -1) -> Row:
    row = {"event": event, "source": source, "split": 0, "first": 0, "last": 0}
    return row | {"finished": False}


@dataclass(frozen=True, slots=True)
class PlannerAnswer:
    """Next action of the loop.

    Attributes:
        planned: The next epoch; None if there is nothing to do.
        records_left: Pending records after it, None if no source counts them.
        files_left: Pending files after it, None if no source has files.
        waiting: Source id to split to pending records, as of the last second.
        seconds_to_next: If there is nothing to do: the time until a source has records, None if unknown.
    """

    planned: PlannedEpoch | None
    records_left: int | None
    files_left: int | None
    waiting: Mapping[int, Mapping[str, int]]
    seconds_to_next: float | None


def answer_of(planner: EpochPlanner, positions: EpochPositions, **options: Any) -> PlannerAnswer:
    """Return the next epoch, and what is left behind it."""
    planned = planner.next(positions, **options)
    after = positions if planned is None else planned.after
    waits = planner.seconds_to_next(positions) if planned is None else None
    records, files = planner.records_left(after), planner.files_left(after)
    waiting = planner.records_waiting(after) if records else {}
    return PlannerAnswer(planned, records, files, waiting, waits)
