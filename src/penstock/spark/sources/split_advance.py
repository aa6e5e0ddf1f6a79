"""Advances the positions of split sources, within limits per micro-batch and per second."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penstock.errors import CallSite, PenstockError

Bounds = Sequence[tuple[int, int | None]]
"""Start and end of every split; the end of an unbounded split is None."""


@dataclass(frozen=True, slots=True)
class Readable:
    """Readable records of a source now.

    Attributes:
        positions: Next position of every split; of splits that are new, their start.
        bounds: Start of every split, and the position before which records can be read.
        names: Id of every split; None if splits are known by their numbers.
    """

    positions: tuple[int, ...]
    bounds: Bounds
    names: tuple[str, ...] | None = None


class PartNow(Protocol):
    """The part of a source that is read now, by positions or files."""

    @property
    def source(self) -> int:
        """Id of the source."""

    @property
    def is_history(self) -> bool:
        """True if further parts follow."""


class Tail(Protocol):
    """Tail of a source whose splits and heads the driver looks up, and whose positions have holes."""

    @property
    def is_endless(self) -> bool:
        """True if splits may be added, also where there is none."""

    @property
    def is_counted(self) -> bool:
        """True if `records_left` and `records_waiting` are about records; until then they are bytes."""

    def readable(self, positions: Sequence[int], names: Sequence[str]) -> Readable:
        """Return the readable ranges, new splits behind the others; see `SplitReading.readable`."""

    def advance(self, readable: Readable, budget: int) -> tuple[list[int], int]:
        """Return the result of `SplitReading.advance`."""

    def records_left(self, positions: Sequence[int]) -> int:
        """Return the estimated records between positions and the heads found last."""

    def records_waiting(self, positions: Sequence[int]) -> Mapping[str, int]:
        """Return split to its estimated pending records, of splits that have some."""

    def note_read(self, records: int) -> None:
        """Note how many records the ranges had that `advance` returned last."""


@dataclass(frozen=True, slots=True)
class SplitReading:
    """Reading of one split source in a live run.

    Attributes:
        records_per_second: Limit of its rate, None if there is none.
        ends: True if the source ends with this run.
        tasks: Greatest number of tasks that may read it; None if the program sets none.
        head: Split and next position to the position behind the last record there is now, None if
            all records are there; None for sources that do not report it.
        names: Ids of `splits`; None if splits have numbers only.
        tail: Facts about a source whose splits and heads are looked up; None for others.
        is_history: True if further parts follow.
        open_splits: Numbers of the splits that a later run goes on with, behind their ends in this one.
    """

    source: int
    splits: tuple[tuple[int, int | None], ...]
    records_per_second: float | None = None
    ends: bool = False
    tasks: int | None = None
    head: Callable[[int, int], int | None] | None = field(default=None, compare=False)
    names: tuple[str, ...] | None = None
    tail: Tail | None = field(default=None, compare=False)
    part: int = 0
    is_history: bool = False
    origin: CallSite | None = field(default=None, compare=False)
    open_splits: tuple[int, ...] = ()

    @property
    def begin(self) -> tuple[int, ...]:
        """The first position of every split."""
        return tuple(start for start, _ in self.splits)

    def readable(self, positions: Sequence[int], names: Sequence[str] | None = None) -> Readable:
        """Return the readable ranges."""
        with PenstockError.at(self.origin):
            if self.tail is not None:
                return self.tail.readable(positions, names or ())
            if self.head is None:
                return Readable(tuple(positions), self.splits)
            heads = [self.head(split, position) for split, position in enumerate(positions)]
        bounds = tuple(
            (start, stop if head is None else head if stop is None else min(head, stop))
            for (start, stop), head in zip(self.splits, heads, strict=True)
        )
        return Readable(tuple(positions), bounds)

    def advance(self, readable: Readable, budget: int) -> tuple[list[int], int]:
        """Return the positions at the end of the next micro-batch, and how many records it then has."""
        if self.tail is not None:
            return self.tail.advance(readable, budget)
        ends = advance(readable.positions, readable.bounds, budget)
        return ends, sum(ends) - sum(readable.positions)

    def records_left(self, positions: Sequence[int]) -> int | None:
        """Return the pending records; None if they are unknown."""
        if self.tail is not None:
            return self.tail.records_left(positions)
        ends = [stop for _, stop in self.splits if stop is not None]
        return sum(ends) - sum(positions) if len(ends) == len(self.splits) else None

    def is_counted(self, positions: Sequence[int]) -> bool:
        """Return whether `records_left` is about records, as far as it is known."""
        return self.tail is None or self.tail.is_counted or not self.has_more(positions)

    def stop(self, split: int) -> int | None:
        """Return the end of a split; splits that were found later have none."""
        return self.splits[split][1] if split < len(self.splits) else None

    def is_at_end(self, positions: Sequence[int]) -> bool:
        """Return whether every split is read to its end."""
        if self.tail is not None and self.tail.is_endless:
            return False
        return all(position == self.stop(split) for split, position in enumerate(positions))

    def has_more(self, positions: Sequence[int]) -> bool:
        """Return whether it is known that there is more to read."""
        if self.tail is not None:
            return self.tail.records_left(positions) > 0
        return self.head is None and not self.is_at_end(positions)


def taken_at_once(waiting: int, usual: int, factor: int) -> int:
    """Return the size of a micro-batch for the pending input: above the usual size if much is pending.

    It is a fraction of the pending input, so that it returns to the usual size:

        waiting   up to usual * factor      usual
                  up to usual * factor**2   waiting / factor
                  more                      usual * factor
    """
    return max(usual, min(waiting // factor, usual * factor))


def advance(positions: Sequence[int], splits: Bounds, budget: int) -> list[int]:
    """Divide a budget of records evenly among the splits that have not ended; return the positions at the end of the micro-batch."""
    open_splits = [i for i, (_, stop) in enumerate(splits) if stop is None or positions[i] < stop]
    result = list(positions)
    left = budget
    for rank, i in enumerate(open_splits):
        share = -(-left // (len(open_splits) - rank))
        stop = splits[i][1]
        result[i] = positions[i] + share if stop is None else min(positions[i] + share, stop)
        left -= result[i] - positions[i]
    return result


@dataclass(slots=True)
class Budgets:
    """The number of records that each source may contribute to the next micro-batch.

    A source with a rate saves an allowance while time passes, up to one micro-batch.

    While history of one source is read beside live input of others, a micro-batch has the usual number of
    records per source, and history has a share of all. None of them takes more, however much is pending, and
    what live input leaves of its part stays free: the next live record waits for all that is read before it.

    Attributes:
        max_records: Usual number of records of a source and micro-batch.
        catch_up_factor: Multiple of the usual number that one takes while much input is pending.
        history_share: The share of history beside live input, in (0, 1).
    """

    max_records: int
    catch_up_factor: int = 1
    history_share: float = 0.5
    _allowance: dict[int, float] = field(default_factory=dict)

    def shares(self, readings: Sequence[PartNow]) -> dict[int, int]:
        """Return source id to the most records beside each other; empty unless history is beside live input."""
        history = [reading for reading in readings if reading.is_history]
        live = [reading for reading in readings if not reading.is_history]
        if not history or not live:
            return {}
        all_records = len(readings) * self.max_records
        of_history = round(all_records * self.history_share)
        return {
            part.source: max(records // len(group), 1)
            for group, records in ((history, of_history), (live, all_records - of_history))
            for part in group
        }

    def of(
        self,
        reading: SplitReading,
        positions: Sequence[int],
        elapsed_seconds: float,
        share: int | None = None,
    ) -> int:
        """Return the budget of a source."""
        rate = reading.records_per_second
        if rate is None:
            left = reading.records_left(positions)
            usual = taken_at_once(left or 0, self.max_records, self.catch_up_factor)
            return usual if share is None else share
        saved = self._allowance.get(reading.source, 0.0) + elapsed_seconds * rate
        self._allowance[reading.source] = min(saved, float(max(self.max_records, 1)))
        allowed = int(self._allowance[reading.source])
        return allowed if share is None else min(allowed, share)

    def spend(self, reading: SplitReading, records: int) -> None:
        """Take records that a micro-batch reads off the allowance of a source."""
        if reading.records_per_second is not None:
            self._allowance[reading.source] -= records

    def seconds_to_next(self, reading: SplitReading) -> float:
        """Return the time until a source with a rate may contribute a record; else 0."""
        rate = reading.records_per_second
        if rate is None:
            return 0.0
        return max(1.0 - self._allowance.get(reading.source, 0.0), 0.0) / rate
