"""The input of a live run in this process, micro-batch by micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.errors import SourceError
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.testing.logs import Logs
from penstock.testing.readings import Piece
from penstock.testing.schedule import Schedule


@dataclass(frozen=True, slots=True)
class TakenInput:
    """The input of a micro-batch.

    Attributes:
        pieces: The positions to read.
        next_parts: Sources that go on with their next part behind it.
        ending: Sources that end with it.
    """

    pieces: tuple[Piece, ...]
    next_parts: tuple[int, ...]
    ending: tuple[int, ...]


class LiveInput:
    """The remaining input, the parts that sources read, and the sources that have ended."""

    def __init__(
        self, plan: PhysicalPlan, run: RunPlan, pieces: Sequence[Piece], schedule: Schedule
    ) -> None:
        """Begin.

        Raises:
            SourceError: A source never ends, and the schedule does not stop the run.
        """
        self._logs = Logs(plan, run, pieces)
        self._left = self._logs.begin(pieces)
        self._waits = schedule.stop_after is not None and bool(self._logs.unbounded)
        self._ends = {reading.source for reading in run.readings if reading.ends}
        if self._waits:
            self._ends -= self._logs.unbounded
        self._ended: set[int] = set()
        self._parts = {reading.source: list(reading.parts) for reading in run.readings}
        self._has_looked = not self._logs.unbounded
        if schedule.stop_after is None and any(piece.end is None for piece in self._left):
            raise SourceError(
                "a source of the program never ends",
                hint="Say with Schedule(stop_after=…) after how many micro-batches to stop.",
            )

    @property
    def are_done(self) -> bool:
        """True if all input is read, and all ends are sent."""
        is_read = self._has_looked and not self._left and self._ended == self._ends
        in_last_part = all(len(parts) == 1 for parts in self._parts.values())
        return is_read and in_last_part and not self._waits

    def take(self, size: int) -> TakenInput:
        """Return up to `size` positions of every split of the current parts.

        A source ends in the micro-batch after its last record.
        """
        self._left = self._logs.grown(self._left, self._ended)
        self._has_looked = not self._left or not self._logs.unbounded
        open_sources = {piece.source_id for piece in self._left}
        open_sources |= {source for source, parts in self._parts.items() if len(parts) > 1}
        ending = sorted(self._ends - self._ended - open_sources)
        self._ended.update(ending)
        taken, left = [], []
        for piece in self._left:
            if piece.part_number != self._parts[piece.source_id][0]:
                left.append(piece)
                continue
            until = piece.start + size * piece.unit
            if piece.end is not None and until >= piece.end:
                taken.append(piece)
                continue
            left.append(replace(piece, start=until))
            if size:
                taken.append(replace(piece, end=until, finished=False))
        self._left = left
        return TakenInput(tuple(taken), tuple(self._begin_next_parts()), tuple(ending))

    def _begin_next_parts(self) -> list[int]:
        """Leave the parts of which nothing is left, and return their sources."""
        left = {(piece.source_id, piece.part_number) for piece in self._left}
        found = [
            source
            for source, parts in self._parts.items()
            if len(parts) > 1 and (source, parts[0]) not in left
        ]
        for source in found:
            self._parts[source].pop(0)
        return found

    def confirm(self) -> None:
        """Tell logs what was committed."""
        self._logs.confirm(self._left, {source: parts[0] for source, parts in self._parts.items()})
