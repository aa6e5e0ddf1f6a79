"""The logs of a run in this process: their splits, the positions that are read, and what was added since."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from penstock.errors import SourceError
from penstock.graph.log_source import LogSource
from penstock.graph.log_values import LogSplit
from penstock.graph.source import PositionedSource, Source
from penstock.graph.source_switch import as_switched, batches_of, switch_after
from penstock.plan.phases.pipelines import tasks_reading
from penstock.plan.physical import PhysicalPlan, RunPlan, SourcePlan
from penstock.program.run_settings import RunKind
from penstock.runtime.task.level_zero import LevelZero
from penstock.testing.law.samples import SampleSource


@dataclass(frozen=True, slots=True)
class Piece:
    """Positions `[start, end)` of one split.

    Attributes:
        end: Position after the last; None is unbounded.
        finished: True if the split has ended when the run has read up to `end`.
        tasks: Greatest number of tasks that read the source; None is any number.
        name: Id of the split; None if it is known by its number.
        unit: Positions per record, about.
    """

    source_id: int
    part: PositionedSource
    split: int
    start: int
    end: int | None
    finished: bool = True
    tasks: int | None = None
    part_number: int = 0
    name: str | None = None
    unit: int = 1

    def feed(self, level: LevelZero, chunk: int) -> None:
        """Read all records and feed them to level 0, `chunk` records at a time."""
        assert self.end is not None
        level.start_split(self.source_id, self.split)
        key = self.split if self.name is None else self.name
        columns = None
        if isinstance(self.part, SampleSource):
            columns = self.part.columns(self.split, self.start, self.end)
        if columns is not None:
            level.collect_columns(self.source_id, columns)
        else:
            for batch in self.part.exact_batches(key, self.start, self.end, chunk):
                level.collect(self.source_id, *batch)
        level.finish_split(self.source_id, self.split, finished=self.finished)


def splits_of(plan: PhysicalPlan, run: RunPlan) -> Iterator[Piece]:
    """Yield the splits that a run reads, in order of source, part and split.

    For a source with heads, a live run reads what is there when it begins; `logs` has what is
    added to logs later.
    """
    for reading in run.readings:
        source = plan.source(reading.source)
        for number in reading.parts:
            part = _positioned(source, number)
            starts = part.exact_start(plan.options.parallelism)
            is_live = run.kind is RunKind.LIVE
            ends = part.exact_ends_now(starts) if is_live else [end for _, end in starts.ranges]
            tasks = tasks_reading(plan, source.id)
            for split, ((start, _), end) in enumerate(zip(starts.ranges, ends, strict=True)):
                name = None if starts.names is None else starts.names[split]
                yield Piece(
                    source.id, part, split, start, end, tasks=tasks, part_number=number, name=name
                )


def with_sources_made(plan: PhysicalPlan) -> PhysicalPlan:
    """Return the plan with the sources that are made at the switch of a hybrid source."""
    for source_id in [source.id for source in plan.sources]:
        for number in range(1, len(plan.source(source_id).parts)):
            source = plan.source(source_id)
            later = as_switched(source.parts[number])
            if later is not None:
                before = _positioned(source, number - 1)
                start = before.exact_start(plan.options.parallelism)
                records = batches_of(before, start.ranges, start.names)
                switch = switch_after(
                    records, later.switch_columns, before.describe(), later.origin
                )
                switched = later.made(switch)
                plan = plan.with_parts(partial(_replaced, later, switched))
    return plan


def _replaced(old: Source, new: Source, part: Source) -> Source:
    return new if part is old else part


def _positioned(source: SourcePlan, number: int) -> PositionedSource:
    part = source.parts[number].as_split
    if part is None:
        raise SourceError(
            f"source {source.name!r} reads {source.parts[number].describe()}, which cannot be read in "
            "process",
            hint="Replace it by from_collection or another SplitSource in the test.",
            origin=source.origin,
        )
    return part


def cut_evenly(pieces: list[Piece], tasks: int) -> list[list[Piece]]:
    """Return the pieces of each task: an even share of all positions, in order.

    The task whose share begins at an empty split gets that split.
    """
    sizes = [(piece.end or 0) - piece.start for piece in pieces]
    bounds = [sum(sizes) * (i + 1) // tasks for i in range(tasks)]
    shares: list[list[Piece]] = [[] for _ in range(tasks)]
    task, done = 0, 0
    for piece, size in zip(pieces, sizes, strict=True):
        start = piece.start
        end = start + size
        while True:
            while task < tasks - 1 and done >= bounds[task]:
                task += 1
            until = min(end, start + bounds[task] - done)
            shares[task].append(replace(piece, start=start, end=until))
            done += until - start
            start = until
            if start == end:
                break
    return shares


_MOST_CUTS = 1000
"""Ranges of a record into which a log without costs is cut at most, however sparse it is."""


@dataclass(slots=True)
class _ReadLog:
    """One log.

    Attributes:
        tasks: Greatest number of tasks that read it; None is any number.
        until: Id of every split, in order of discovery, and the position before which all is in pieces.
    """

    source_id: int
    part_number: int
    source: LogSource
    tasks: int | None
    until: dict[str, int]

    def owns(self, piece: Piece) -> bool:
        """Return whether a piece is of this log."""
        return (piece.source_id, piece.part_number) == (self.source_id, self.part_number)

    def positions(self, left: Sequence[Piece]) -> dict[str, int]:
        """Return the position of every split that has been read to, given what is left."""
        starts = {piece.name: piece.start for piece in left if self.owns(piece)}
        return {name: starts.get(name, until) for name, until in self.until.items()}

    def grown(self, left: Sequence[Piece]) -> list[Piece]:
        """Return the pieces of this log that are left, with what was added to it since."""
        splits = self.source.exact_discover(self.positions(left), is_again=True)
        pieces = {piece.name: piece for piece in left if self.owns(piece)}
        for number, split in enumerate(splits):
            start = split.earliest if split.start is None else split.start
            until = self.until.get(split.id, start)
            piece = pieces.get(split.id, self._piece(number, split, until))
            pieces[split.id] = self.measured(replace(piece, end=max(split.head, until)))
            self.until[split.id] = max(split.head, until)
        return [piece for piece in pieces.values() if piece.end is None or piece.start < piece.end]

    def _piece(self, number: int, split: LogSplit, start: int) -> Piece:
        return Piece(
            self.source_id,
            self.source,
            number,
            start,
            start,
            finished=False,
            tasks=self.tasks,
            part_number=self.part_number,
            name=split.id,
        )

    def measured(self, piece: Piece) -> Piece:
        """Return a piece with about the number of positions that a record has."""
        assert piece.end is not None, "it ends at the head"
        assert piece.name is not None, "it is of a log"
        size = piece.end - piece.start
        records = self.source.exact_cost(piece.name, piece.start, piece.end)
        if not self.source.knows_costs and not self.source.is_dense:
            records = min(records, _MOST_CUTS)
        return replace(piece, unit=max(size // max(records, 1), 1))


class Logs:
    """The logs of one run."""

    def __init__(self, plan: PhysicalPlan, run: RunPlan, pieces: Sequence[Piece]) -> None:
        """Begin with the pieces that were there when the run began."""
        self._logs = [
            _ReadLog(
                reading.source,
                number,
                cast("LogSource", part),
                tasks_reading(plan, reading.source),
                {},
            )
            for reading in run.readings
            for number in reading.parts
            for part in [plan.source(reading.source).parts[number]]
            if part.as_split is not None and part.as_split.is_log
        ]
        for log in self._logs:
            log.until = {
                piece.name: piece.start if piece.end is None else piece.end
                for piece in pieces
                if log.owns(piece) and piece.name is not None
            }

    @property
    def unbounded(self) -> set[int]:
        """Ids of the sources that are logs without an end."""
        return {log.source_id for log in self._logs if not log.source.is_bounded}

    def begin(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Return the pieces with which a live run begins: those of unbounded logs are found anew."""
        for log in self._logs:
            if not log.source.is_bounded:
                log.until |= {
                    piece.name: piece.start
                    for piece in pieces
                    if log.owns(piece) and piece.name is not None
                }
        return [
            next((log.measured(piece) for log in self._logs if log.owns(piece)), piece)
            for piece in pieces
            if not any(log.owns(piece) for log in self._logs if not log.source.is_bounded)
        ]

    def grown(self, left: list[Piece], ended: Collection[int]) -> list[Piece]:
        """Return the pieces that are left, with what was added to unbounded logs since."""
        for log in self._logs:
            if not log.source.is_bounded and log.source_id not in ended:
                others = [piece for piece in left if not log.owns(piece)]
                left = others + log.grown(left)
        return left

    def confirm(self, left: Sequence[Piece], reached: Mapping[int, int]) -> None:
        """Confirm read and committed positions to the logs. A failure fails the run, unlike on Spark."""
        for log in self._logs:
            if log.part_number <= reached[log.source_id]:
                log.source.exact_confirm(log.positions(left))
