"""An epoch with little work as one task: its stages follow each other in one Python process.

    StartTask ─▶ frames of each subtask ─▶ LevelTask per subtask ─▶ … ─▶ EndTask per subtask ─▶ messages

Spark needs longer to run a stage with two tasks that do nothing than these tasks need for a hundred
records. The stages are called as Spark calls them, with the same subtasks and frames, so the answer is
the same; only the shuffle is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.runtime.task.garbage_collection import paused_for_micro_batch
from penstock.spark.live.epochs.epoch_job import Stage


@dataclass(frozen=True, slots=True)
class SingleTask:
    """Runs all stages of an epoch, with all their subtasks.

    Attributes:
        stages: The functions of the stages; the first one has one task.
        subtasks: Number of tasks of every other stage.
    """

    stages: tuple[Stage, ...]
    subtasks: int

    def __call__(self, index: int, inputs: Iterable[bytes]) -> Iterator[bytes]:
        """Run the epoch; yield the output of every task of the last stage.

        Frames between the stages are in memory, which is why the epoch must be small.

        Raises:
            PenstockError: A task failed; later ones have not run.
        """
        arriving: Mapping[int, Iterable[bytes]] = {index: inputs}
        *first, last = self.stages
        with paused_for_micro_batch():
            for stage in first:
                arriving = self._sent(stage, arriving)
            for task, frames in arriving.items():
                yield from last(task, iter(frames))

    def _sent(
        self, stage: Stage, arriving: Mapping[int, Iterable[bytes]]
    ) -> dict[int, list[bytes]]:
        """Run the tasks of a stage; return what arrives at each task of the next one."""
        sent: dict[int, list[bytes]] = {task: [] for task in range(self.subtasks)}
        for task, frames in arriving.items():
            output = iter(stage(task, iter(frames)))
            for partition, frame in zip(output, output, strict=True):
                sent[int.from_bytes(partition, "big")].append(frame)
        return sent
