"""The splits and positions that a run reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from penstock.errors import SourceError
from penstock.graph.source import PositionedSource, Source
from penstock.graph.source_switch import as_switched, batches_of, switch_after
from penstock.plan.phases.task_groups import tasks_reading
from penstock.plan.physical import PhysicalPlan, RunPlan, SourcePlan
from penstock.program.run_settings import RunKind
from penstock.runtime.task.level_zero import LevelZero


@dataclass(frozen=True, slots=True)
class Piece:
    """Positions `[start, end)` of one split.

    Attributes:
        source_id: Id of the source in the plan.
        part: The part of the source.
        split: Index of the split.
        start: First position.
        end: Position after the last; None is unbounded.
        finished: Whether the split ends at `end`.
        tasks: Greatest number of tasks that read the source; None is any number.
        part_number: Index of the part.
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
        for batch in self.part.exact_batches(key, self.start, self.end, chunk):
            level.collect(self.source_id, *batch)
        level.finish_split(self.source_id, self.split, finished=self.finished)


def splits_of(plan: PhysicalPlan, run: RunPlan) -> Iterator[Piece]:
    """Yield the splits that a run reads, in order of source, part and split.

    Of a source with heads, a live run reads what is there when it begins; `logs` has what is
    added to logs later.

    Raises:
        SourceError: A source is not read by splits.
    """
    for reading in run.readings:
        source = plan.source(reading.source)
        for number in reading.parts:
            part = _positioned(source, number)
            found = part.exact_start(plan.options.parallelism)
            is_live = run.kind is RunKind.LIVE
            ends = part.exact_ends_now(found) if is_live else [end for _, end in found.ranges]
            tasks = tasks_reading(plan, source.id)
            for split, ((start, _), end) in enumerate(zip(found.ranges, ends, strict=True)):
                name = None if found.names is None else found.names[split]
                yield Piece(
                    source.id, part, split, start, end, tasks=tasks, part_number=number, name=name
                )


def with_sources_made(plan: PhysicalPlan) -> PhysicalPlan:
    """Return the plan with the sources that are made at the switch of a hybrid source.

    Raises:
        SourceError: A source before a switch is not read by splits, or a factory failed.
    """
    for source_id in [source.id for source in plan.sources]:
        for number in range(1, len(plan.source(source_id).parts)):
            source = plan.source(source_id)
            later = as_switched(source.parts[number])
            if later is not None:
                before = _positioned(source, number - 1)
                start = before.exact_start(plan.options.parallelism)
                records = batches_of(before, start.ranges, start.names)
                switch = switch_after(records, later.asks, before.describe(), later.origin)
                made = later.made(switch)
                plan = plan.with_parts(partial(_replaced, later, made))
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
            share = replace(piece, start=start, end=until, finished=until == end)
            shares[task].append(share)
            done += until - start
            start = until
            if start == end:
                break
    return shares
