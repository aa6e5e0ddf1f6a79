"""The stages of the Spark jobs of one live run, also as one task, and the input of each epoch.

    StartTask ─▶ frames of each subtask ─▶ LevelTask per subtask ─▶ … ─▶ EndTask per subtask ─▶ messages

Spark needs longer to run a stage with two tasks that do nothing than these tasks need for a hundred
records. The stages are called as Spark calls them, with the same subtasks and frames, so the answer is
the same; only the shuffle is missing.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.config.options import STATE_BACKEND
from penstock.filesystem.stored_path import JobPath
from penstock.graph.source import PositionedSource
from penstock.program.level import LevelProgram
from penstock.program.routing import live_routes
from penstock.runtime.task.garbage_collection import paused_for_micro_batch
from penstock.spark.driver.run_context import JobContext
from penstock.spark.live.epochs.epoch_job import Stage, Stages
from penstock.spark.live.epochs.epoch_journal import PlannedEpoch
from penstock.spark.live.epochs.epoch_tasks import (
    AtPartition,
    EarlySinks,
    EndTask,
    FilesTask,
    LevelTask,
    StageInput,
    StartTask,
    early_channels,
)
from penstock.spark.live.epochs.log_frames import view_frame
from penstock.spark.live.run_bounds import FirstState
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.worker.level_tasks import ColumnsTask
from penstock.spark.worker.live_subtasks import LevelDescription
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.worker_memory import LocalCopies
from penstock.state.log.epoch_record import EPOCHS
from penstock.state.log.subtask_log import LogName, LogView


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


class EpochStages:
    """The stages of one live run.

    Attributes:
        all: The functions of the stages, and the one of an epoch that is a single task.
        subtasks: Number of subtasks of a level, and of partitions of its stage.
    """

    def __init__(
        self,
        job: JobContext,
        reads: ReadContext,
        programs: Sequence[LevelProgram],
        snapshot: JobPath,
        first_state: FirstState,
    ) -> None:
        """Pack the programs."""
        options = job.plan.options
        self.subtasks = options.parallelism
        self._routes = live_routes(options.parallelism)
        self._levels = [program.level for program in programs[1:]]
        assert reads.attempt is not None, "it is a live run"
        subtask_of_route = {route: subtask for subtask, route in enumerate(self._routes)}
        parts: dict[int | tuple[int, int], PositionedSource | None] = {}
        for source, number, part in reads.parts():
            parts[source, number] = parts[source] = part.as_split
        payload = Payload.of((programs[0], parts, len(programs)), job.workers)
        self._sink = job.sinks.task(snapshot)
        early = {
            level: EarlySinks(self._sink, channels)
            for level, channels in early_channels(programs).items()
        }
        stages: list[StartTask | LevelTask] = [
            StartTask(payload, reads.attempt, subtask_of_route, early.get(0))
        ]
        backend = job.configuration.get(STATE_BACKEND)
        for program in programs[1:]:
            payload = Payload.of(program, job.workers)
            copies = LocalCopies(backend, reads.attempt.run, payload.digest)
            described = LevelDescription(
                payload, reads.attempt, copies, program.level, subtask_of_route
            )
            seeds = first_state.of_level(program)
            directory = reads.directory / EPOCHS
            stages.append(LevelTask(described, directory, seeds, early.get(program.level)))
        *first, last = stages
        self._subtask_of_route = subtask_of_route
        functions: tuple[Stage, ...] = (*first, EndTask(last, self._sink))
        self.all = Stages(functions, SingleTask(functions, self.subtasks), self.subtasks)

    def file_stage(self, columns: ColumnsTask, schema: pa.Schema) -> Stage:
        """Return the function of stage 0 for the rows of files."""
        # It stages no sinks: Spark reads files in more tasks than there are subtasks, and each of them would
        # write files of its own.
        task = FilesTask(columns, schema, self._subtask_of_route)
        return AtPartition(task if self._levels else EndTask(task, self._sink))

    def inputs(self, planned: PlannedEpoch, view_of: Callable[[LogName], LogView]) -> list[bytes]:
        """Return the input of each task of level 0."""
        views = tuple(
            (route, view_frame(level, view_of((level, subtask))))
            for level in self._levels
            for subtask, route in enumerate(self._routes)
        )
        first, *others = planned.tasks
        inputs = [StageInput(first, views), *map(StageInput, others)]
        return [pickle.dumps(stage_input, 5) for stage_input in inputs]
