"""The logs of a run in this process: what was added to them since, and what they are told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from penstock.graph.log_source import LogSource
from penstock.graph.log_values import LogSplit
from penstock.plan.phases.task_groups import tasks_reading
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.testing.readings import Piece

_MOST_CUTS = 1000
"""Ranges of a record into which a log without costs is cut at most, however sparse it is."""


@dataclass(slots=True)
class _ReadLog:
    """One log.

    Attributes:
        source_id: Id of the source in the plan.
        part_number: Index of the part.
        source: The log.
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
        found = self.source.exact_discover(self.positions(left), is_again=True)
        pieces = {piece.name: piece for piece in left if self.owns(piece)}
        for number, split in enumerate(found):
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
        """Return the pieces that are left, with what was added to unbounded logs since.

        Raises:
            SourceError: A log failed, or what is to be read next is gone.
        """
        for log in self._logs:
            if not log.source.is_bounded and log.source_id not in ended:
                others = [piece for piece in left if not log.owns(piece)]
                left = others + log.grown(left)
        return left

    def confirm(self, left: Sequence[Piece], reached: Mapping[int, int]) -> None:
        """Tell the logs what was read and committed. A failure fails the run, unlike on Spark.

        Raises:
            SourceError: A log failed.
        """
        for log in self._logs:
            if log.part_number <= reached[log.source_id]:
                log.source.exact_confirm(log.positions(left))
