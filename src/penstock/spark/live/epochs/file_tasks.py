"""Stage 0 of an epoch for rows of files: Arrow batches of Spark's reader go through level 0."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pyarrow as pa

from penstock.metrics.task_clock import WAIT
from penstock.runtime.task.garbage_collection import rare_for_records
from penstock.spark.failures.translation import carrying
from penstock.spark.live.epochs.epoch_job import Stage
from penstock.spark.live.epochs.epoch_tasks import Row, to_next
from penstock.spark.worker.level_zero_tasks import ColumnsTask, task_id


@dataclass(frozen=True, slots=True)
class FilesTask:
    """Runs level 0 over rows of files.

    Attributes:
        columns: Feeds them to level 0.
        schema: Schema of the Arrow batches, each of which arrives as a message without it.
        subtask_of_route: Route to subtask.
    """

    columns: ColumnsTask
    schema: pa.Schema
    subtask_of_route: Mapping[int, int]

    def __call__(self, index: int, batches: Iterable[bytes]) -> Iterator[bytes]:
        """Run one task whose output is read by level 1."""
        with carrying(), self.memory():
            yield from to_next(0, index, self.run(index, batches), self.subtask_of_route)

    def memory(self) -> AbstractContextManager[None]:
        """Return the context with the settings of the garbage collector."""
        return rare_for_records()

    def run(self, index: int, batches: Iterable[bytes]) -> Generator[Row, None, None]:
        """Run one task.

        Raises:
            PenstockError: A user function failed.
        """
        del index
        cached = self.columns.take()
        clock = cached.level.clock
        decoded = (pa.ipc.read_record_batch(pa.py_buffer(each), self.schema) for each in batches)
        for frames in self.columns.run(cached, decoded):
            before = clock.switch(WAIT)
            yield from frames
            clock.switch(before)


@dataclass(frozen=True, slots=True)
class AtPartition:
    """Gives a task its index in the stage.

    Tasks of positions and of files are one stage, and Spark counts each kind from 0 when it calls them.

    Attributes:
        task: The task.
    """

    task: Stage

    def __call__(self, index: int, inputs: Iterator[bytes]) -> Iterable[bytes]:
        """Run it."""
        del index
        return self.task(task_id(), inputs)
