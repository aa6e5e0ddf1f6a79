"""A level above 0 of a batch run in a worker: alone, or in one process with the sink stage, and perhaps with level 0.

Sends the times of the tasks of a batch run to the driver in an accumulator.

Reports are sent through the exchanges to the sinks. If they contained times, the output of a task would
differ from that of its second attempt. Spark compares both, and would repeat the whole job after the
loss of a shuffle file (see `lost_output`). Therefore an accumulator of Spark sums the times. It counts
each successful task, a repeated one twice, because both attempts took time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import SparkContext
from pyspark.accumulators import Accumulator, AccumulatorParam

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
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.sink_task import LastLevel
from penstock.spark.worker.worker_memory import spill_directory
from penstock.wire.frame import read_header

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
