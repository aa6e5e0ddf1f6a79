"""A level above 0 of a batch run in a worker: alone, or in one process with the sink stage, and perhaps with level 0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.accumulators import Accumulator

from penstock.failpoint import failpoint
from penstock.metrics.task_clock import START, WAIT, TaskClock
from penstock.program.channel import SINK_LEVEL
from penstock.program.routing import task_of_negative
from penstock.runtime.task.batch_level import BatchLevel
from penstock.runtime.task.garbage_collection import rare_for_records
from penstock.runtime.task.output_frames import Row
from penstock.spark.failures.translation import carrying
from penstock.spark.worker.frames import from_batches, to_batches
from penstock.spark.worker.level_zero_tasks import task_id
from penstock.spark.worker.local_state import spill_directory
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.sink_task import LastLevel
from penstock.wire.frame import read_header


@dataclass(frozen=True, slots=True)
class BatchLevelTask:
    """Runs one level over the sorted frames of one task.

    Attributes:
        payload: Payload of the level's program.
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
        """Run the level, for the sinks in the same process.

        Raises:
            PenstockError: See `BatchLevel.run`.
        """
        yield from self.run(batches, self.clock())

    def run(self, batches: Iterable[pa.RecordBatch], clock: TaskClock) -> Iterator[list[Row]]:
        """Run the level.

        Raises:
            PenstockError: See `BatchLevel.run`.
        """
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
        first: Level 0.
        second: The level behind it.
        tasks: Number of tasks of the run.
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
