"""The splits and positions that a run reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.errors import SourceError
from penstock.graph.source import PositionedSource
from penstock.plan.phases.task_groups import tasks_reading
from penstock.plan.physical import PhysicalPlan, RunPlan
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
            part = source.parts[number].as_split
            if part is None:
                raise SourceError(
                    f"source {source.name!r} reads {source.parts[number].describe()}, which cannot be read in "
                    "process",
                    hint="Replace it by from_collection or another SplitSource in the test.",
                    origin=source.origin,
                )
            found = part.exact_start(plan.options.parallelism)
            is_live = run.kind is RunKind.LIVE
            ends = part.exact_ends_now(found) if is_live else [end for _, end in found.ranges]
            tasks = tasks_reading(plan, source.id)
            for split, ((start, _), end) in enumerate(zip(found.ranges, ends, strict=True)):
                name = None if found.names is None else found.names[split]
                yield Piece(
                    source.id, part, split, start, end, tasks=tasks, part_number=number, name=name
                )


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
