"""Reading of the sources of a live run: logs and files, whose positions the driver decides."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import ceil
from typing import cast

from penstock.config.options import MAX_FILES_PER_BATCH, MAX_RECORDS_PER_BATCH
from penstock.graph.log_source import LogSource
from penstock.graph.log_values import LogSplit
from penstock.graph.split_source import SplitSource
from penstock.plan.compat.bootstrap import CATCH_UP_RUN
from penstock.plan.phases.backlog import catch_up_factor, checkpoint_interval
from penstock.plan.phases.pipelines import most_written_tasks, tasks_reading
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.sources.listing.file_readings import FileCaps, FileReading
from penstock.spark.sources.listing.frame_writer import WriteLimits
from penstock.spark.sources.listing.stream_writer import StreamLimits
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.source_row import LoopContext
from penstock.spark.sources.split_advance import Readable, SplitReading
from penstock.spark.sources.table import row_of

_SHARE = 10
"""Time between two looks, as a multiple of the time that one takes."""

_MOST_GROWTH = 64
_MOST_CUTS = 4
_ENOUGH = 5
"""Records of the last ranges from which the pending records of a source that counts bytes are estimated."""


class LogTail:
    """The tail of one log."""

    def __init__(
        self,
        source: LogSource,
        splits: Sequence[tuple[int, int | None]],
        now_seconds: Callable[[], float] = time.monotonic,
        *,
        is_bounded: bool = False,
    ) -> None:
        """Begin without a look; `is_bounded` is that of the run, which then reads no more splits than these."""
        self._source = source
        self._is_bounded = is_bounded or source.is_bounded
        self._stops = [stop for _, stop in splits]
        self._now_seconds = now_seconds
        self._splits: tuple[LogSplit, ...] = ()
        self._next_look = now_seconds()
        self._records = self._units = 0.0
        self._planned_units = 0
        self._density = 1.0
        self._is_counted = source.counts_records

    @property
    def is_endless(self) -> bool:
        """True if splits may be added."""
        return not self._is_bounded

    @property
    def is_counted(self) -> bool:
        """True if pending input is known in records."""
        return self._is_counted

    def readable(self, positions: Sequence[int], names: Sequence[str]) -> Readable:
        """Return the readable ranges; look up splits and heads if that is due."""
        known = tuple(names)
        if self._now_seconds() >= self._next_look or self._ids()[: len(known)] != known:
            self._look(positions, known)
        new = self._splits[len(known) :]
        begins = (
            *positions,
            *(split.earliest if split.start is None else split.start for split in new),
        )
        bounds = [(split.earliest, self._head(number)) for number, split in enumerate(self._splits)]
        return Readable(begins, bounds, self._ids())

    def advance(self, readable: Readable, budget: int) -> tuple[list[int], int]:
        """Divide a budget of records among the splits that have more; return positions and records."""
        ends, left = list(readable.positions), budget
        heads = [self._head(number) for number in range(len(ends))]
        behind = [number for number, end in enumerate(ends) if end < heads[number]]
        self._planned_units = 0
        for rank, number in enumerate(behind):
            share = -(-left // (len(behind) - rank))
            if share <= 0:
                break
            ends[number], units = self._forward(number, ends[number], heads[number], share)
            self._planned_units += units
            left -= ceil(units * self._density)
        return ends, budget - left

    def records_left(self, positions: Sequence[int]) -> int:
        """Return the estimated records between positions and the heads found last."""
        units = sum(
            self._source.exact_cost(split.id, position, self._head(number))
            for number, (split, position) in enumerate(zip(self._splits, positions, strict=False))
        )
        return ceil(units * self._density)

    def records_waiting(self, positions: Sequence[int]) -> dict[str, int]:
        """Return split to its estimated pending records, of splits that have some."""
        units = {
            split.id: self._source.exact_cost(split.id, position, self._head(number))
            for number, (split, position) in enumerate(zip(self._splits, positions, strict=False))
        }
        return {split: ceil(cost * self._density) for split, cost in units.items() if cost}

    def note_read(self, records: int) -> None:
        """Note how many records the ranges had that `advance` returned last."""
        if self._source.is_dense or not self._planned_units:
            return
        self._records = self._records / 2 + records
        self._units = self._units / 2 + self._planned_units
        measured = (self._records + 1) / (self._units + 1)
        self._density = max(measured, self._density / _MOST_GROWTH)
        self._is_counted = self._is_counted or self._records >= _ENOUGH

    def _ids(self) -> tuple[str, ...]:
        return tuple(split.id for split in self._splits)

    def _head(self, number: int) -> int:
        """Return the position before which records of a split can be read now."""
        head = self._splits[number].head
        stop = self._stops[number] if number < len(self._stops) else None
        return head if stop is None else min(head, stop)

    def _look(self, positions: Sequence[int], names: tuple[str, ...]) -> None:
        begun = self._now_seconds()
        known = dict(zip(names, positions, strict=True))
        splits = self._source.exact_discover(known, is_again=True)
        self._splits = splits[: len(names)] if self._is_bounded else splits
        now = self._now_seconds()
        pause = max(self._source.discovery_seconds, _SHARE * (now - begun))
        self._next_look = now + pause

    def _forward(self, number: int, position: int, head: int, records: int) -> tuple[int, int]:
        """Return a position up to the head with about so many records before it, and the cost up to it."""
        split, budget = self._splits[number].id, max(int(records / self._density), 1)
        until, units = head, self._source.exact_cost(split, position, head)
        for _ in range(_MOST_CUTS):
            if units <= budget:
                break
            until = position + max((until - position) * budget // units, 1)
            units = self._source.exact_cost(split, position, until)
            if units <= 2 * budget:
                break
        return until, units


def history_read(plan: PhysicalPlan, run: RunPlan) -> frozenset[tuple[int, int]]:
    """Return (source id, part) of what a run reads of backlog: all parts but the last, unless it is the only one."""
    return frozenset(
        (source, part)
        for source in plan.backlog_sources(run)
        for part in range(max(len(plan.source(source).parts) - 1, 1))
    )


def split_readings(plan: PhysicalPlan, run: RunPlan, pinned: Pinned) -> tuple[SplitReading, ...]:
    """Return the readings of all pinned splits, of each source in order of its parts."""
    by_source = {reading.source: reading for reading in run.readings}
    readings = []
    history = history_read(plan, run)
    for (source, part), splits in pinned.splits.items():
        described = plan.source(source).parts[part].as_split
        assert described is not None, "it has splits"
        names = pinned.names.get((source, part))
        head = tail = None
        if names is not None:
            tail = LogTail(cast("LogSource", described), splits, is_bounded=run.hands_over)
        elif described.asks_driver is not None:
            head = cast("SplitSource", described).exact_head
        readings.append(
            SplitReading(
                source,
                tuple(splits),
                None if run.name == CATCH_UP_RUN else described.records_per_second,
                by_source[source].ends,
                tasks_reading(plan, source),
                head,
                names,
                tail,
                part,
                (source, part) in history,
                plan.source(source).origin,
                tuple(n for n in range(len(splits)) if by_source[source].is_open(part, n)),
            )
        )
    return tuple(readings)


_FILES_PER_EPOCH = 4
"""Files of a DataFrame that have as many records as a source gives to an epoch."""


def file_readings(job: JobContext, run: RunPlan, pinned: Pinned) -> tuple[FileReading, ...]:
    """Return the readings of all parts of sources of a run whose rows are in files. They are not open."""
    usual = job.configuration.get(MAX_FILES_PER_BATCH)
    caps = FileCaps(usual, catch_up_factor(job.configuration, MAX_FILES_PER_BATCH))
    writes = WriteLimits(
        # Several files per epoch: its share of records is kept by whole files.
        max(job.configuration.get(MAX_RECORDS_PER_BATCH) // _FILES_PER_EPOCH, 1),
        most_written_tasks(job.plan, run, job.session.sparkContext.defaultParallelism),
    )
    interval = checkpoint_interval(job.configuration, backlog=False).total_seconds()
    streams = StreamLimits(interval, job.plan.options.parallelism)
    history = history_read(job.plan, run)
    readings = []
    parts = ((reading, part) for reading in run.readings for part in reading.parts)
    for reading, part in parts:
        described = job.plan.source(reading.source).parts[part]
        how = row_of(described).in_loop
        if how is None:
            continue
        context = LoopContext(
            session=job.session,
            source=reading.source,
            part=part,
            pinned=pinned,
            earlier=job.earlier,
            is_read=_is_read(job, reading.source, part),
            directory=job.directory.run_directory(run.index, "files").parent,
            fence=job.directory.fence,
            caps=caps,
            writes=writes,
            streams=streams,
            ends=reading.ends,
            is_history=(reading.source, part) in history,
        )
        readings.append(how.reading(context, described))
    return tuple(readings)


def _is_read(job: JobContext, source: int, part: int) -> bool:
    """Return whether a batch DataFrame was read before the savepoint from which the job started."""
    restored = job.restored
    if restored is None:
        return False
    is_now = restored.parts.get(source, part) == part
    return restored.has_passed(source, part) or (is_now and source in restored.read_frames)
