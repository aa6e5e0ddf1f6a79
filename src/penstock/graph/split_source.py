"""A source whose records are numbered within splits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from operator import index
from typing import Any, final

from penstock.errors import CallSite, SourceError
from penstock.graph.source import Batch, PositionedSource, SplitKey, StartSplits
from penstock.user_failure import short

_SEARCH_RECORDS = 8192


class SplitSource(PositionedSource):
    """A source whose records are numbered within splits, and made in the worker.

    Each split is a range of positions; a position is one record. The driver decides which
    positions a batch covers, so a batch can be read again exactly.
    """

    @property
    def gives_timestamps(self) -> bool:
        """True if records may have timestamps before any strategy assigns them."""
        return type(self).read_timestamped is not SplitSource.read_timestamped

    @property
    def has_head(self) -> bool:
        """True if the source returns the current number of records, so that reading never waits."""
        return type(self).head is not SplitSource.head

    @property
    def asks_driver(self) -> str | None:
        """Request to the source before every epoch, in words; None without one."""
        return "has a head" if self.has_head else None

    @abstractmethod
    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return `[start, end)` positions per split; `end` None is unbounded.

        Called once per job, in the driver. The job records the result, so it may depend on
        `parallelism` but not on the time of the call.
        """

    @abstractmethod
    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return the records at positions `[start, end)` of `split`, in order.

        Called in a worker with a few thousand positions at a time. Must return exactly
        `end - start` records, the same ones at every call.
        """

    def read_timestamped(
        self, split: int, start: int, end: int
    ) -> tuple[Sequence[Any], Sequence[int] | None]:
        """Return the records at `[start, end)` and, if the source has them, their timestamps.

        The engine calls this method. Override it to attach event time (epoch milliseconds,
        one per record); `read` may then return only the records. A timestamp assigner
        gets the timestamp as `record_timestamp` and may replace it.
        """
        return self.read(split, start, end), None

    def head(self, split: int) -> int | None:
        """Return the position behind the last record that there is now; None if all are there.

        Called in the driver before every epoch of a live run, so it must be cheap. Override it if
        records arise while the job runs: positions at and behind the head are read later. It never
        falls.

        Example:
            >>> lines = ["first", "second"]  # a list that grows
            >>> class Lines(SplitSource):
            ...     def head(self, split):
            ...         return len(lines)
            >>> Lines.head(None, 0)
            2
        """
        del split
        return None

    @final
    def exact_head(self, split: int, at: int) -> int | None:
        """Return `head(split)` as Python's integer; the engine calls this method.

        Args:
            split: The split.
            at: The position that was read to.

        Raises:
            SourceError: It failed, did not return a position, or fell below what was read.
        """
        with self._failing(f"head of split {split}"):
            head = self.head(split)
            head = None if head is None else index(head)
        if head is not None and head < at:
            raise SourceError(
                f"split {split} of {self._described()} has records up to position {head}, "
                f"and the job has read up to {at}",
                hint="A head must not fall. Restore the records, or start in a new checkpoint "
                "directory.",
                origin=CallSite.of_definition(self.head),
            )
        return head

    def position_at(self, split: int, timestamp_ms: int, start: int, end: int | None) -> int:
        """Return the first position in `[start, end)` whose record is not before a timestamp.

        Called in the driver, once per split of a source whose backlog ends at a timestamp. The
        default reads records from the start until it finds one. It never returns if an unbounded
        split has none. Override it if the source has an index of timestamps.

        Raises:
            SourceError: Records have no timestamps.
        """
        position = start
        while end is None or position < end:
            until = (
                position + _SEARCH_RECORDS if end is None else min(position + _SEARCH_RECORDS, end)
            )
            _, stamps = self.read_exactly(split, position, until)
            if stamps is None:
                raise SourceError(
                    f"the backlog of {self.describe()} cannot end at timestamp {timestamp_ms}: its "
                    "records have no timestamps when they are read",
                    hint="End it at a position, or return timestamps from read_timestamped().",
                )
            offset = next((n for n, stamp in enumerate(stamps) if stamp >= timestamp_ms), None)
            if offset is not None:
                return position + offset
            position = until
        return position

    @final
    def exact_splits(self, parallelism: int) -> list[tuple[int, int | None]]:
        """Return `splits(parallelism)` as Python's integers; the engine calls this method.

        Raises:
            SourceError: It failed, or did not return pairs of positions.
        """
        with self._failing("splits"):
            splits = list(self.splits(parallelism))
        return [self._exact_split(number, split) for number, split in enumerate(splits)]

    @final
    def exact_start(self, parallelism: int) -> StartSplits:
        """Return `exact_splits(parallelism)`; the engine calls this method."""
        return StartSplits(tuple(self.exact_splits(parallelism)))

    @final
    def exact_ends_now(self, start: StartSplits) -> tuple[int | None, ...]:
        """Return the head of every split, or its end if that comes first."""
        if not self.has_head:
            return tuple(end for _, end in start.ranges)
        heads = [self.exact_head(split, first) for split, (first, _) in enumerate(start.ranges)]
        return tuple(
            end if head is None else head if end is None else min(head, end)
            for head, (_, end) in zip(heads, start.ranges, strict=True)
        )

    @final
    def exact_position_at(
        self, split: SplitKey, timestamp_ms: int, start: int, end: int | None
    ) -> int:
        """Return `position_at(…)` as Python's integer; the engine calls this method.

        Raises:
            SourceError: It failed, or did not return a position.
        """
        assert isinstance(split, int), "its splits have numbers"
        with self._failing(f"position_at of split {split}"):
            return index(self.position_at(split, timestamp_ms, start, end))

    @final
    def exact_batches(self, split: SplitKey, start: int, end: int, most: int) -> Iterator[Batch]:
        """Yield what `read_exactly` returns, `most` positions at a time."""
        assert isinstance(split, int), "its splits have numbers"
        for position in range(start, end, most):
            yield self.read_exactly(split, position, min(position + most, end))

    def _exact_split(self, number: int, split: Any) -> tuple[int, int | None]:
        try:
            first, last = split
            start, end = index(first), None if last is None else index(last)
        except (TypeError, ValueError) as cause:
            raise self._wrong_split(number, split, f": {cause}") from cause
        if end is not None and end < start:
            raise self._wrong_split(number, split, ", which ends before it starts")
        return start, end

    def _wrong_split(self, number: int, split: Any, why: str) -> SourceError:
        return SourceError(
            f"splits() of {self._described()} gave {short(split)} as split {number}{why}",
            hint="Return a pair of ints per split, [start, end); end may be None.",
            origin=CallSite.of_definition(self.splits),
        )

    @final
    def read_exactly(self, split: int, start: int, end: int) -> tuple[list[Any], list[int] | None]:
        """Return `read_timestamped(split, start, end)`, checked; the engine calls this method.

        Raises:
            SourceError: There are more or fewer records than positions: the job records positions
                as read, so records would silently be lost or doubled. Or the timestamps are not
                one integer per record.
        """
        with self._failing(f"positions [{start}, {end}) of split {split}"):
            records, stamps = self.read_timestamped(split, start, end)
            values = list(records)
            times = None if stamps is None else list(stamps)
        if len(values) != end - start:
            raise SourceError(
                f"{self._described()} gave {len(values)} records for the {end - start} positions "
                f"[{start}, {end}) of split {split}",
                hint="Return exactly one record per position from read().",
            )
        if times is None:
            return values, None
        if len(times) != len(values) or set(map(type, times)) - {int}:
            raise SourceError(
                f"{self._described()} gave {len(times)} timestamps for {len(values)} records of "
                f"split {split}, of types {sorted({type(time).__name__ for time in times})}",
                hint="Return one int, in epoch milliseconds, per record from read_timestamped().",
            )
        return values, times
