"""The levels of a batch run in a worker: level 0 from source rows to frames, and those above, alone or with the sink stage.

The times of tasks go to the driver in an accumulator. Reports are sent through the exchanges to the sinks. If
they contained times, the output of a task would differ from that of its second attempt. Spark compares both,
and would repeat the whole job after the loss of a shuffle file (see `lost_output`). An accumulator counts
each successful task, a repeated one twice, because both attempts took time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark import SparkContext
from pyspark.accumulators import Accumulator, AccumulatorParam

from penstock.connectors.files.lines.decoder import LineDecoder
from penstock.failpoint import failpoint
from penstock.graph.source import PositionedSource
from penstock.metrics.task_clock import ARROW, OTHER, READ, START, WAIT, TaskClock
from penstock.program.channel import SINK_LEVEL
from penstock.program.routing import task_of_negative
from penstock.runtime.task.batch_level import BatchLevel
from penstock.runtime.task.garbage_collection import rare_for_records
from penstock.runtime.task.level_zero import LevelZero
from penstock.runtime.task.output_frames import Row
from penstock.spark.failures.translation import carrying
from penstock.spark.worker.frames import from_batches, task_id, to_batches, waited_for
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.sink_task import LastLevel
from penstock.spark.worker.worker_memory import LiveAttempt, memory, spill_directory
from penstock.types.arrow import columns_to_lists
from penstock.wire.frame import read_header

_READ_RECORDS = 8192


@dataclass(frozen=True, slots=True)
class CachedLevel:
    """Level 0 of one task, cached in this process.

    Attributes:
        unpacked: The unpacked payload; its first element is the program.
        attempt: Attempt of a live run; None in a batch run.
    """

    key: tuple[str, str, int]
    unpacked: tuple[Any, ...]
    level: LevelZero
    attempt: LiveAttempt | None

    def finish(self) -> None:
        """End the task. In a live run the functions stay open for the next micro-batch."""
        if self.attempt is None:
            failpoint("batch.worker.read")
            self.level.close()
            return
        failpoint("live.worker.read")
        self.level.end_batch()
        memory.of(self.attempt)[self.key] = self

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Close the functions if the block fails: a failed task leaves nothing."""
        try:
            yield
        except BaseException as error:
            self.level.abandon(error)
            raise

    def close(self) -> None:
        """Close the user's functions."""
        self.level.close()


def _take(
    payload: Payload,
    parts: Callable[[Any], tuple[Any, ...]],
    times: Accumulator[dict[str, int]] | None,
    attempt: LiveAttempt | None,
    task: int,
) -> CachedLevel:
    """Return level 0 for a task: cached from the previous micro-batch, or new.

    A task removes the cached level and puts it back when it has succeeded, so a failed task leaves
    none.
    """
    key = ("level 0", payload.digest, task)
    cached = None if attempt is None else memory.of(attempt).pop(key, None)
    if cached is not None:
        assert isinstance(cached, CachedLevel)
        payload.enter()
        cached.level.clock.resume(OTHER)
        return cached
    clock = TaskClock(START, None if times is None else times.add)
    unpacked = parts(payload.unpack_anew())
    level = LevelZero(unpacked[0], task, clock)
    clock.switch(OTHER)
    return CachedLevel(key, unpacked, level, attempt)


def _waiting(batches: Iterable[list[Row]], clock: TaskClock) -> Iterator[list[Row]]:
    """Yield the records of level 0; the time until its reader requests more belongs to `WAIT`."""
    for rows in batches:
        before = clock.switch(WAIT)
        yield rows
        clock.switch(before)


def _ranges(batches: Iterable[pa.RecordBatch], clock: TaskClock) -> Iterator[Mapping[str, Any]]:
    """Yield the ranges and events of one task."""
    for batch in waited_for(batches, clock):
        yield from batch.to_pylist()


@dataclass(frozen=True, slots=True)
class ColumnsTask:
    """Feeds the rows of one columnar source (files, a DataFrame).

    Attributes:
        unwrap: True if records are the values of the only column, not rows (text files).
        times: Accumulator of times in a batch run, see `batch_costs`; None in a live run.
        names: Original names of the columns, which are named by position; None does not rename.
        attempt: Attempt of a live run; None in a batch run.
        lines: Makes records of the rows, which are lines; None if the rows are records.
    """

    payload: Payload
    source: int
    unwrap: bool
    times: Accumulator[dict[str, int]] | None = None
    names: tuple[str, ...] | None = None
    attempt: LiveAttempt | None = None
    lines: LineDecoder | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run level 0 over the rows of one task."""
        with carrying(), rare_for_records():
            cached = self.take()
            yield from to_batches(self.run(cached, batches), cached.level.clock)

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[Row]]:
        """Run level 0 over the rows of one task, for the sinks in the same process."""
        cached = self.take()
        yield from _waiting(self.run(cached, batches), cached.level.clock)

    def take(self) -> CachedLevel:
        """Return level 0 for this task, see `run`."""
        return _take(self.payload, lambda program: (program,), self.times, self.attempt, task_id())

    def run(self, cached: CachedLevel, batches: Iterable[pa.RecordBatch]) -> Iterator[list[Row]]:
        """Run level 0 over the rows of one task, and yield (route, frame) pairs."""
        level, clock = cached.level, cached.level.clock
        lines = None if self.lines is None else replace(self.lines)  # it counts those of one task
        with cached.reading():
            for batch in waited_for(batches, clock):
                if batch.num_rows == 0:
                    continue
                if lines is None:
                    self._feed(level, batch)
                else:
                    self._feed_lines(level, lines, batch)
                yield level.take_output()
            level.finish_split(self.source, task_id(), finished=True)
        cached.finish()
        yield level.take_output()

    def _feed_lines(self, level: LevelZero, lines: LineDecoder, batch: pa.RecordBatch) -> None:
        decoded = lines.decoded(batch)
        while True:
            before = level.clock.switch(READ)
            records = next(decoded, None)
            level.clock.switch(before)
            if records is None:
                return
            if isinstance(records, pa.RecordBatch):
                level.collect_columns(self.source, records)
            else:
                level.collect(self.source, records, None)

    def _feed(self, level: LevelZero, batch: pa.RecordBatch) -> None:
        if not self.unwrap:
            if self.names is not None:
                batch = pa.RecordBatch.from_arrays(batch.columns, names=self.names)
            level.collect_columns(self.source, batch)
            return
        before = level.clock.switch(ARROW)
        (values,) = columns_to_lists(batch)
        level.clock.switch(before)
        level.collect(self.source, values, None)


@dataclass(frozen=True, slots=True)
class PositionsTask:
    """Feeds sources that are read by positions, and sends control events to every subtask.

    Attributes:
        payload: Payload of (level-0 program, parts, number of levels). Parts have the source id as their key; in
            a run that reads several of a source, source id and index.
        times: See `ColumnsTask`.
        attempt: See `ColumnsTask`.
    """

    payload: Payload
    times: Accumulator[dict[str, int]] | None = None
    attempt: LiveAttempt | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run level 0 over the ranges and events of one task."""
        with carrying(), rare_for_records():
            cached = self.take(task_id())
            clock = cached.level.clock
            yield from to_batches(self.run(cached, _ranges(batches, clock)), clock)

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[Row]]:
        """Run level 0 over the ranges of one task, for the sinks in the same process."""
        cached = self.take(task_id())
        clock = cached.level.clock
        yield from _waiting(self.run(cached, _ranges(batches, clock)), clock)

    def take(self, task: int) -> CachedLevel:
        """Return level 0 for a task, see `run`."""
        return _take(self.payload, tuple, self.times, self.attempt, task)

    def run(self, cached: CachedLevel, rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Row]]:
        """Run level 0 over the ranges and events of one task, and yield (route, frame) pairs."""
        level, (_, parts, levels) = cached.level, cached.unpacked
        with cached.reading():
            for row in rows:
                if row["event"] == "range":
                    part = row.get("part")
                    key = row["source"] if part is None else (row["source"], part)
                    yield from self._read(level, parts[key], row)
                elif row["event"] == "end":
                    level.end_source(row["source"])
                elif row["event"] == "next":
                    level.begin_next_part(row["source"])
                else:
                    level.signal(levels, row["event"].encode())
                yield level.take_output()
        cached.finish()
        yield level.take_output()

    def _read(
        self, level: LevelZero, part: PositionedSource, row: Mapping[str, Any]
    ) -> Iterator[list[Row]]:
        source, split = row["source"], row["split"]
        level.start_split(source, split)
        name = row.get("name")
        key = split if name is None else name
        batches = part.exact_batches(key, row["first"], row["last"], _READ_RECORDS)
        while True:
            before = level.clock.switch(READ)
            batch = next(batches, None)
            level.clock.switch(before)
            if batch is None:
                break
            level.collect(source, *batch)
            yield level.take_output()
        level.finish_split(source, split, finished=row["finished"])


Times = dict[str, int]
"""`<place>.<section>` to nanoseconds, see `penstock.metrics.task_clock`."""


class _Sums(AccumulatorParam[Times]):
    """Adds times by name."""

    def zero(self, value: Times) -> Times:
        return {}

    def addInPlace(self, value1: Times, value2: Times) -> Times:  # noqa: N802
        for name, spent in value2.items():
            value1[name] = value1.get(name, 0) + spent
        return value1


def make_batch_costs(context: SparkContext) -> Accumulator[Times]:
    """Return an accumulator for one attempt of a batch run."""
    return context.accumulator({}, _Sums())


@dataclass(frozen=True, slots=True)
class BatchLevelTask:
    """Runs one level over the sorted frames of one task.

    Attributes:
        times: Accumulator of times, see `batch_costs`.
    """

    payload: Payload
    times: Accumulator[dict[str, int]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the level, for `mapInArrow`."""
        with carrying(), rare_for_records():
            clock = self.clock()
            yield from to_batches(self.run(batches, clock), clock)

    def clock(self) -> TaskClock:
        """Return a clock that reports to `times`."""
        return TaskClock(START, self.times.add)

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[Row]]:
        """Run the level, for the sinks in the same process."""
        yield from self.run(batches, self.clock())

    def run(self, batches: Iterable[pa.RecordBatch], clock: TaskClock) -> Iterator[list[Row]]:
        """Run the level."""
        yield from self.of_frames(from_batches(batches, clock), clock)

    def of_frames(self, frames: Iterable[Row], clock: TaskClock) -> Iterator[list[Row]]:
        """Run the level over (route, frame) pairs; see `run`."""
        task = task_id()
        level = BatchLevel(self.payload.unpack_anew(), task, spill_directory(task), clock)
        for rows in level.run(frames):
            before = clock.switch(WAIT)
            yield rows
            clock.switch(before)
        failpoint("batch.worker.level")


@dataclass(frozen=True, slots=True)
class LocalLevels:
    """Level 0 and the level behind it in one task, without an exchange, for the sinks in the same process.

    It is for a level that is local (`LevelProgram.is_local`), and for input whose frames fit in memory.

    Attributes:
        second: The level behind it.
    """

    first: LastLevel
    second: BatchLevelTask
    tasks: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run both levels, for `mapInArrow`."""
        with carrying(), rare_for_records():
            yield from to_batches(self.rows(batches), TaskClock(START))

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[Row]]:
        """Run both levels; frames of level 0 are in the order in which Spark would sort them."""
        own = task_id()
        waiting: list[Row] = []
        for rows in self.first.rows(batches):
            passing: list[Row] = []
            for row in rows:
                if read_header(row[1]).target_level == SINK_LEVEL:
                    passing.append(row)
                elif row[0] >= 0 or task_of_negative(row[0], self.tasks) == own:
                    waiting.append(row)
            yield passing
        waiting.sort()
        yield from self.second.of_frames(waiting, self.second.clock())
