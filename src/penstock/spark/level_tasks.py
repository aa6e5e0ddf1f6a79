"""Worker side of level n in a batch run. Functions for `mapInArrow`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.accumulators import Accumulator

from penstock.failpoint import failpoint
from penstock.metrics.task_clock import START, TaskClock
from penstock.runtime.batch_level import BatchLevel
from penstock.runtime.collector import rare_for_records
from penstock.spark.failures import carrying
from penstock.spark.frames import from_batches, to_batches
from penstock.spark.level_zero_tasks import task_id
from penstock.spark.local_state import spill_directory
from penstock.spark.payload import Payload


@dataclass(frozen=True, slots=True)
class BatchLevelTask:
    """Runs one level over the sorted frames of one task.

    Attributes:
        payload: Packs the level's program.
        times: Where times go, see `batch_costs`.
    """

    payload: Payload
    times: Accumulator[dict[str, int]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the level."""
        with carrying(), rare_for_records():
            task = task_id()
            clock = TaskClock(START, self.times.add)
            level = BatchLevel(self.payload.unpack_anew(), task, spill_directory(task), clock)
            yield from to_batches(level.run(from_batches(batches, clock)), clock)
            failpoint("batch.worker.level")
