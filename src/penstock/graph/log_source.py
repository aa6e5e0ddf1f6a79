"""A source that is tailed: splits whose records are added while the job runs, and a log that is read as another one.

    earliest           position            head
    ───┬───────────────────┬─────────────────┬───
    gone │  read and committed │  to be read now  │  not there yet
    ───┴───────────────────┴─────────────────┴───

A position is an integer: an offset, a byte, a version of a table, a time with a counter. A record belongs
to one position, and a position has one record or none (`is_single`). The engine may cut a split at any integer: a record
belongs to the range that has its position, wherever the range begins and ends.

The position of a timestamp is found by reading the log.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import index
from pathlib import Path
from typing import Any, ClassVar, cast, final

from penstock.errors import CallSite, SourceError
from penstock.graph.dataset import Dataset
from penstock.graph.log_values import (
    KeptOutside,
    LogBatch,
    LogSnapshot,
    LogSplit,
    Wrong,
    exact_batch,
    exact_snapshot,
    exact_splits,
    known_first,
    lost_records,
)
from penstock.graph.source import Batch, PositionedSource, SplitKey, StartSplits

Batches = Callable[[int, int], Iterator[tuple[int, LogBatch]]]
"""Start and end of a range to its batches, each with its first position."""


class NoTimestamps(Exception):  # noqa: N818 - its catcher makes an error of ours of it
    """The records have none."""


def first_position_at(batches: Batches, timestamp_ms: int, start: int, end: int) -> int:
    """Return the first position of a range whose record is not before a timestamp, else its end.

    A batch has no position per record: the ranges of its beginning are read, half as long each time.
    """
    for position, batch in batches(start, end):
        if _has(batch, timestamp_ms):
            return _least(batches, timestamp_ms, position, batch.next_position) - 1
    return end


def _has(batch: LogBatch, timestamp_ms: int) -> bool:
    if batch.timestamps is None and batch.records:
        raise NoTimestamps
    return any(stamp >= timestamp_ms for stamp in batch.timestamps or ())


def _least(batches: Batches, timestamp_ms: int, start: int, end: int) -> int:
    """Return the least end of a range from `start` that has such a record; that up to `end` has one."""
    low, high = start + 1, end
    while low < high:
        middle = (low + high) // 2
        if any(_has(batch, timestamp_ms) for _, batch in batches(start, middle)):
            high = middle
        else:
            low = middle + 1
    return low


_MOST_RECORDS = 8192
_PAUSE_SECONDS = 0.005
_LONGEST_PAUSE_SECONDS = 0.5


class LogSource(PositionedSource):
    """A source that is tailed; positions may have holes, and splits may be added.

    `discover`, `position_at`, `cost` and `confirm` are called in the driver, `read` in the workers. The
    driver records what it decides to read, so `read` must return the same records whenever it is called for
    a range that was once below the head.

    Derive from this class for a system that numbers its records with holes, or whose splits are not known
    at the start. `SplitSource` is simpler where a position is a record.
    """

    is_log: ClassVar[bool] = True

    is_dense: ClassVar[bool] = False
    """True if every position has a record, so that positions are counts of records."""

    is_single: ClassVar[bool] = True
    """True if a position has at most one record. If not, records of one position, such as those of a
    transaction, are read together."""

    counts_records: ClassVar[bool] = True
    """False if positions, or results of `cost`, are bytes: then the number of pending records is unknown
    before some were read. After that it is an estimate."""

    read_timeout_seconds: ClassVar[float] = 60.0
    """Time for which `read` may answer that records below the head are not there yet."""

    confirm_timeout_seconds: ClassVar[float] = 60.0
    """Time for which the end of a run waits for the last call of `confirm`; then the run ends without it."""

    discovery_seconds: ClassVar[float] = 0.0
    """Least time between two calls of `discover`. The engine also keeps their share of the time small."""

    @property
    def is_bounded(self) -> bool:
        """True if the source ends: at the heads that the splits have when the job starts.

        Override it; the default never ends.
        """
        return False

    @property
    def gives_timestamps(self) -> bool:
        """True if records may have timestamps before any strategy assigns them.

        Override it if batches never have them: then operators need not carry time.
        """
        return True

    @property
    def is_divisible(self) -> bool:
        """True if tasks of a batch run may read ranges of one split at the same time.

        It is if the cost of a range depends only on its own records. Override it if a range is only found by
        reading the records before it. By default a source is divisible if it is dense or has costs.
        """
        return self.is_dense or self.knows_costs

    @property
    def knows_costs(self) -> bool:
        """True if the class has a `cost` of its own."""
        return type(self).cost is not LogSource.cost

    @property
    def is_confirmed(self) -> bool:
        """True if the class has a `confirm` of its own."""
        return type(self).confirm is not LogSource.confirm

    @property
    def takes_snapshot(self) -> bool:
        """True if the job begins with a snapshot; by default whether the class has a `snapshot` of its own."""
        return type(self).snapshot is not LogSource.snapshot

    @property
    def asks_driver(self) -> str | None:
        """Request to the source before every epoch, in words."""
        return "is a log with heads"

    @abstractmethod
    def discover(self, known: Mapping[str, int]) -> Sequence[LogSplit]:
        """Return all splits that there are now, with their heads; new ones may have appeared.

        Called in the driver when the job begins to read the source, and then before epochs of a live run,
        some times per second while there are no new records: it must be cheap. Every known split must be
        returned again. A head must not fall.

        Args:
            known: Id of every split that was returned before, and the position that the job has read to. Empty at
                the first call, and as long as no split was found.
        """

    @abstractmethod
    def read(self, split: str, start: int, end: int) -> LogBatch:
        """Return the records whose positions are in `[start, end)`, or the first ones of them.

        Called in a worker, with an end that is not behind the head. It may return after some
        thousand records, with a `next_position` before `end`: the engine calls again from there. Without
        records and with `next_position == start` it reports that they are not there yet; the engine
        calls again a little later. `start` and `end` may be between two records.

        Args:
            split: Id of the split.
            start: First position.
            end: Position behind the last.
        """

    def position_at(self, split: str, timestamp_ms: int, start: int, end: int) -> int:
        """Return the first position in `[start, end)` whose record is not before a timestamp, else `end`.

        Called in the driver, once per split of a source whose backlog ends at a timestamp. The
        default reads from the start. Override it if the system has an index of timestamps.

        Args:
            split: Id of the split.
            timestamp_ms: In epoch milliseconds.
            start: First position.
            end: Position behind the last.
        """
        try:
            return first_position_at(partial(self.batches, split), timestamp_ms, start, end)
        except NoTimestamps as cause:
            raise SourceError(
                f"no position of split {split!r} of {self.describe()} can be found for timestamp "
                f"{timestamp_ms}: its records have no timestamps when they are read",
                hint="Name a position, return timestamps from read(), or override position_at().",
                origin=CallSite.of_definition(self.read),
            ) from cause

    def cost(self, split: str, start: int, end: int) -> int | None:
        """Return how much there is to read in `[start, end)`: records, or bytes, but always the same unit.

        Called in the driver some times per epoch, so it must be cheap; an estimate will do. The size of
        epochs, the pending input and the tasks of a batch run follow it. None, the default, is the number
        of positions. The engine measures how many records there are per unit.

        Args:
            split: Id of the split.
            start: First position.
            end: Position behind the last.
        """
        del split, start, end
        return None

    def confirm(self, positions: Mapping[str, int]) -> None:
        """Note that the job will not read the records before these positions again.

        Called in the driver, in a thread of its own, after the commit of a batch run or epoch, and again
        after a restart. Positions of several epochs may be confirmed at once. It must be idempotent. If it
        raises, the job goes on, notifies its listeners, and calls it again at the next epoch. A job that
        starts from an older savepoint confirms lower positions.

        Args:
            positions: Id of every split, and the position that the job has read to.
        """

    def snapshot(self, directory: Path) -> LogSnapshot | None:
        """Capture the current records in files, and return the positions from which the splits are read behind them.

        Called in the driver, once per job, before anything else. The captured records are the history of the
        source: they are read before the tail, at batch speed where the mode allows it, and again after a
        restart, but they are not captured again. If the driver ends before the snapshot is complete, the next
        one calls again, with the same directory: remove the leftovers of the earlier call, there and in
        your system. A job that starts from a savepoint does not call.

        Args:
            directory: Where to write the files. It is there, and every worker sees it.

        Returns:
            The files and positions; None if there is no history, so that splits are read from their start.
        """
        del directory
        return None

    def read_snapshot(self, file: Path, start: int, end: int) -> LogBatch:
        """Return the records `[start, end)` of a file of the snapshot, or the first ones of them.

        Called in a worker. A record has a number in its file, from 0 on; all else is as with `read`.

        Args:
            file: The file.
            start: Number of the first record.
            end: Number behind the last.
        """
        raise NotImplementedError(f"{type(self).__name__} takes snapshots and cannot read them")

    def sample_snapshot(self, directory: Path, records: int) -> LogSnapshot | None:
        """Capture the first records as `snapshot` would, outside a job and without a change of the system.

        `penstock sample` calls it, and reads the files with `read_snapshot`. The positions of the result are not read.

        Args:
            directory: Where to write the files; it is empty.
            records: Most records that are needed.

        Returns:
            The files; None, the default, if the source has no way to do so.

        Example:
            >>> class Letters(LogSource):
            ...     def sample_snapshot(self, directory, records):
            ...         letters = "penstock"[:records]
            ...         (directory / "letters").write_text(letters)
            ...         return LogSnapshot({"letters": len(letters)}, {})
            >>> from tempfile import mkdtemp
            >>> Letters.sample_snapshot(None, Path(mkdtemp()), 3).files
            {'letters': 3}
        """
        del directory, records
        return None

    def kept_outside(self) -> Sequence[KeptOutside]:
        """Return the objects that the source keeps for its job in another system, and that are there now.

        `penstock drop` calls it outside a job, if the job has begun a snapshot of the source or has started from a
        savepoint. The default is empty.

        Raises:
            SourceError: The system does not answer.
        """
        return ()

    @final
    def exact_take_snapshot(self, directory: Path) -> LogSnapshot | None:
        """Return `snapshot(directory)`, checked; the engine calls this method.

        Raises:
            SourceError: It failed, or did not return a snapshot whose files are there.
        """
        return self._exact_snapshot_of("snapshot", directory)

    @final
    def exact_sample_snapshot(self, directory: Path, records: int) -> LogSnapshot | None:
        """Return `sample_snapshot(directory, records)`, checked; a check of a program calls this method.

        Raises:
            SourceError: It failed, or did not return a snapshot whose files are there.
        """
        return self._exact_snapshot_of("sample_snapshot", directory, records)

    def _exact_snapshot_of(
        self, method: str, directory: Path, *arguments: Any
    ) -> LogSnapshot | None:
        """Return the snapshot that a method captures, checked."""
        with self._failing(method):
            snapshot = getattr(self, method)(directory, *arguments)
            if snapshot is None:
                return None
            try:
                return exact_snapshot(snapshot, directory)
            except Wrong as wrong:
                raise self._wrong(method, wrong) from wrong

    @final
    def exact_discover(
        self, known: Mapping[str, int], *, is_again: bool = False
    ) -> tuple[LogSplit, ...]:
        """Return `discover(known)`, the known splits first, in their order; the engine calls this method.

        Args:
            known: As for `discover`.
            is_again: Whether the job has called before; see `known_first`.

        Raises:
            SourceError: It failed, or did not return splits; or records that are to be read next are
                gone, because a split or its head fell, or its earliest position rose.
        """
        with self._failing("discover"):
            answer = list(self.discover(dict(known)))
            try:
                splits = exact_splits(answer)
            except Wrong as wrong:
                raise self._wrong("discover", wrong) from wrong
        for name, position in known.items():
            lost = lost_records(
                f"split {name!r} of {self._described()}", position, splits.get(name)
            )
            if lost is not None:
                origin = CallSite.of_definition(self.discover)
                raise SourceError(lost.problem, hint=lost.hint, origin=origin).permanent()
        return known_first(splits, known, is_again=is_again)

    @final
    def exact_start(self, parallelism: int) -> StartSplits:
        """Return the splits at the start of a job; the engine calls this method."""
        del parallelism
        splits = self._at_start()
        begins = [split.earliest if split.start is None else split.start for split in splits]
        heads = tuple(split.head for split in splits)
        ends: Sequence[int | None] = heads if self.is_bounded else [None] * len(splits)
        names = tuple(split.id for split in splits)
        return StartSplits(tuple(zip(begins, ends, strict=True)), names, heads)

    def _at_start(self) -> tuple[LogSplit, ...]:
        """Return the splits at the start of a job."""
        return self.exact_discover({})

    @final
    def exact_ends_now(self, start: StartSplits) -> tuple[int | None, ...]:
        """Return the heads at the start."""
        assert start.heads is not None, "a log has heads"
        return start.heads

    @final
    def exact_position_at(
        self, split: SplitKey, timestamp_ms: int, start: int, end: int | None
    ) -> int:
        """Return `position_at(…)` as Python's integer; the engine calls this method.

        Raises:
            SourceError: It failed, or did not return a position of the range.
        """
        assert isinstance(split, str), "its splits have ids"
        assert end is not None, "it has a head"
        with self._failing(f"position_at of split {split!r}"):
            position = index(self.position_at(split, timestamp_ms, start, end))
        if not start <= position <= end:
            wrong = Wrong(f"returned {position}", "Return a position of the range, or its end.")
            call = f", called for positions [{start}, {end}) of split {split!r}"
            raise self._wrong("position_at", wrong, call)
        return position

    @final
    def exact_cost(self, split: str, start: int, end: int) -> int:
        """Return `cost(…)`, or else the number of positions; the engine calls this method.

        Raises:
            SourceError: It failed, or did not return a count.
        """
        if start >= end:
            return 0
        with self._failing(f"cost of split {split!r}"):
            answer = self.cost(split, start, end)
            cost = end - start if answer is None else index(answer)
        if cost < 0:
            wrong = Wrong(f"returned {cost}", "Return a count from 0, or None.")
            call = f", called for positions [{start}, {end}) of split {split!r}"
            raise self._wrong("cost", wrong, call)
        return cost

    @final
    def exact_confirm(self, positions: Mapping[str, int]) -> None:
        """Call `confirm(positions)`; the engine calls this method.

        Raises:
            SourceError: It failed.
        """
        with self._failing("confirm"):
            self.confirm(dict(positions))

    @final
    def exact_batches(self, split: SplitKey, start: int, end: int, most: int) -> Iterator[Batch]:
        """Yield all records of a range, as `read` returns them; the engine calls this method.

        Raises:
            SourceError: It failed, did not return a batch of the range, or has nothing for too long.
        """
        assert isinstance(split, str), "its splits have ids"
        for _, batch in self.batches(split, start, end, most):
            if batch.records:
                yield cast("Batch", (batch.records, batch.timestamps))  # `exact_batch` made lists

    @final
    def batches(
        self, split: str, start: int, end: int, most: int = _MOST_RECORDS
    ) -> Iterator[tuple[int, LogBatch]]:
        """Yield the batches of a range, each with its first position; see `exact_batches`."""
        position, waited, pause = start, 0.0, _PAUSE_SECONDS
        while position < end:
            until = min(position + most, end) if self.is_dense else end
            batch = self._batch(split, position, until)
            if batch.next_position > position:
                yield position, batch
                position, waited, pause = batch.next_position, 0.0, _PAUSE_SECONDS
                continue
            if waited >= self.read_timeout_seconds:
                raise SourceError(
                    f"{self._described()} has returned no records of positions [{position}, {end}) of split "
                    f"{split!r} for {waited:.0f} seconds, though its head was behind them",
                    hint="Check why the system returns none, or let read() return a next "
                    "position behind positions that have no record.",
                    origin=CallSite.of_definition(self.read),
                )
            time.sleep(pause)
            waited += pause
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _batch(self, split: str, start: int, end: int) -> LogBatch:
        """Return `read(split, start, end)`, checked."""
        positions = f"positions [{start}, {end}) of split {split!r}"
        with self._failing(positions):
            answer = self.read(split, start, end)
            try:
                return exact_batch(answer, start, end, is_single=self.is_single)
            except Wrong as wrong:
                raise self._wrong("read", wrong, f", called for {positions}") from wrong

    def _wrong(self, method: str, wrong: Wrong, call: str = "") -> SourceError:
        """Return the error about the result of a method of the user's."""
        return SourceError(
            f"{method}() of {self._described()} {wrong.problem}{call}",
            hint=wrong.hint,
            origin=CallSite.of_definition(getattr(self, method)),
        )


class WrappedLog(LogSource):
    """A log that delegates all methods to `source`; a subclass overrides some."""

    __slots__ = ()

    source: LogSource

    @property
    def makes_records_anew(self) -> bool:  # type: ignore[override]
        """True if records are new every time. A subclass with a `read` of its own does not inherit it."""
        return self.source.makes_records_anew

    @property
    def is_dense(self) -> bool:  # type: ignore[override]
        """True if every position has a record."""
        return self.source.is_dense

    @property
    def is_single(self) -> bool:  # type: ignore[override]
        """True if a position has at most one record."""
        return self.source.is_single

    @property
    def read_timeout_seconds(self) -> float:  # type: ignore[override]
        """Time for which reading may wait for records below the head."""
        return self.source.read_timeout_seconds

    @property
    def confirm_timeout_seconds(self) -> float:  # type: ignore[override]
        """Time for which the end of a run waits for the last call of `confirm`."""
        return self.source.confirm_timeout_seconds

    @property
    def discovery_seconds(self) -> float:  # type: ignore[override]
        """Least time between two calls of `discover`."""
        return self.source.discovery_seconds

    @property
    def counts_records(self) -> bool:  # type: ignore[override]
        """True if the wrapped log counts records by positions."""
        return self.source.counts_records

    @property
    def records_per_second(self) -> int | None:  # type: ignore[override]
        """The rate limit of the source in live runs."""
        return self.source.records_per_second

    @property
    def gives_timestamps(self) -> bool:
        """True if records may have timestamps before any strategy assigns them."""
        return self.source.gives_timestamps

    @property
    def is_divisible(self) -> bool:
        """True if tasks may read ranges of one split at the same time."""
        return self.source.is_divisible

    @property
    def knows_costs(self) -> bool:
        """True if the source has costs."""
        return self.source.knows_costs

    @property
    def is_confirmed(self) -> bool:
        """True if the source is notified of commits."""
        return self.source.is_confirmed

    def datasets(self) -> Sequence[Dataset]:
        """Return what the source reads."""
        return self.source.datasets()

    def discover(self, known: Mapping[str, int]) -> Sequence[LogSplit]:
        """Return the splits of the source."""
        return self.source.discover(known)

    def read(self, split: str, start: int, end: int) -> LogBatch:
        """Return records of a range."""
        return self.source.read(split, start, end)

    def cost(self, split: str, start: int, end: int) -> int | None:
        """Return how much there is to read in a range."""
        return self.source.cost(split, start, end)

    def confirm(self, positions: Mapping[str, int]) -> None:
        """Pass the positions on to the source."""
        self.source.confirm(positions)
