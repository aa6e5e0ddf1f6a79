"""A level above 0 of a batch run in a worker: alone, or in one process with the sink stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.accumulators import Accumulator

from penstock.failpoint import failpoint
from penstock.metrics.task_clock import START, WAIT, TaskClock
from penstock.runtime.task.batch_level import BatchLevel
from penstock.runtime.task.garbage_collection import rare_for_records
from penstock.runtime.task.output_frames import Row
from penstock.spark.failures.translation import carrying
from penstock.spark.worker.frames import from_batches, to_batches
from penstock.spark.worker.level_zero_tasks import task_id
from penstock.spark.worker.local_state import spill_directory
from penstock.spark.worker.payload import Payload


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

    def run(self, batches: Iterable[pa.RecordBatch], clock: TaskClock) -> Iterator[list[Row]]:
        """Run the level, for a reader of its output in the same process.

        Args:
            batches: Input frames of the level.
            clock: Clock of the level.

        Raises:
            PenstockError: See `BatchLevel.run`.
        """
        task = task_id()
        level = BatchLevel(self.payload.unpack_anew(), task, spill_directory(task), clock)
        for rows in level.run(from_batches(batches, clock)):
            before = clock.switch(WAIT)
            yield rows
            clock.switch(before)
        failpoint("batch.worker.level")
