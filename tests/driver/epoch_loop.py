"""The epochs of a live run in this process: the stages of the job, and a shuffle that does what Spark's does."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import cloudpickle
import pytest
from pyspark import TaskContext

from penstock.connectors.python.function_sink import NothingCommitter
from penstock.graph.endpoints import Committer, EpochNumber, Sink, SinkContext, SinkWriter
from penstock.plan.physical import HandOver, PhysicalPlan, RunPlan
from penstock.plan.programs import programs_of
from penstock.program.routing import live_routes
from penstock.runtime.task.report import Report
from penstock.runtime.task.subtask_memory import SubtaskMemory
from penstock.spark.driver.sink_stage import SinkStage
from penstock.spark.job.state_layout import channel_outlines
from penstock.spark.live.epochs.epoch_stages import SingleTask
from penstock.spark.live.epochs.epoch_tasks import (
    EarlySinks,
    EndTask,
    EpochMessage,
    LevelTask,
    StageInput,
    StartTask,
    early_channels,
)
from penstock.spark.live.epochs.log_frames import view_frame
from penstock.spark.live.run_bounds import FirstState
from penstock.spark.worker import level_tasks, live_subtasks, sink_task
from penstock.spark.worker.live_subtasks import LevelDescription
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.sink_task import SinkTask
from penstock.spark.worker.worker_memory import LiveAttempt, LocalCopies, WorkerMemory
from penstock.state.log.subtask_log import LogView
from penstock.testing.logs import splits_of
from penstock.wire.fence import Fence

Rows = tuple[dict[str, Any], ...]
Task = Callable[[int, Iterator[bytes]], Iterable[bytes]]

SPLIT = "range"


def event(name: str, source: int = -1) -> dict[str, Any]:
    """Return the row of a control event."""
    return {
        "event": name,
        "source": source,
        "split": 0,
        "first": 0,
        "last": 0,
        "finished": False,
    }


def planned(plan: PhysicalPlan, run: RunPlan, size: int, tasks: int = 2) -> Iterator[list[Rows]]:
    """Yield the rows of each task for the epochs of a run, as the driver plans them."""
    left = list(splits_of(plan, run))
    epoch = 0
    while left or not epoch:
        of_task: list[list[dict[str, Any]]] = [[] for _ in range(tasks)]
        rest = []
        for number, piece in enumerate(left):
            assert piece.end is not None
            until = min(piece.start + size, piece.end)
            of_task[number % tasks].append(
                {
                    "event": SPLIT,
                    "source": piece.source_id,
                    "split": piece.split,
                    "first": piece.start,
                    "last": until,
                    "finished": until == piece.end,
                }
            )
            if until < piece.end:
                rest.append(replace(piece, start=until))
        left = rest
        if not epoch:
            of_task[0].append(event("start"))
        if not left:
            of_task[0] += [event("end", each.source) for each in run.readings if each.ends]
            of_task[0] += [event("handover")] * run.hands_over
        epoch += 1
        yield [tuple(rows) for rows in of_task]


@dataclass(slots=True)
class Workers:
    """Worker processes, of which one at a time executes tasks.

    Attributes:
        epoch: What the tasks are of.
        memories: The memory of each.
        attempts: Spark's ids of attempts.
    """

    monkeypatch: pytest.MonkeyPatch
    epoch: EpochNumber = EpochNumber()  # noqa: RUF009 - a frozen value
    memories: dict[int, WorkerMemory] = field(default_factory=dict)
    attempts: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.monkeypatch.setattr(TaskContext, "get", lambda: self)
        self.use(0)

    def taskAttemptId(self) -> int:  # noqa: N802 - Spark's name
        return next(self.attempts)

    def getLocalProperty(self, key: str) -> str | None:  # noqa: N802 - Spark's name
        return sink_task.text_of(self.epoch) if key == sink_task.PROPERTY else None

    def use(self, worker: int) -> None:
        """Let another worker execute the next tasks."""
        memory = self.memories.setdefault(worker, WorkerMemory())
        self.monkeypatch.setattr(live_subtasks, "memory", memory)
        self.monkeypatch.setattr(level_tasks, "memory", memory)

    def lose(self) -> None:
        """Let new workers take the place of all."""
        self.memories.clear()
        self.use(0)


@dataclass(frozen=True, slots=True)
class ReturningSink(Sink):
    """Its committables are the records."""

    kind: ClassVar[str] = "returning"
    failures: ClassVar[list[Exception]] = []
    """What the next `prepare_commit` calls raise."""

    def create_writer(self, context: SinkContext) -> SinkWriter:
        return _ReturningWriter()

    def create_committer(self, context: SinkContext) -> Committer:
        return NothingCommitter()


class _ReturningWriter(SinkWriter):
    def __init__(self) -> None:
        self._values: list[Any] = []

    def write(self, values: list[Any]) -> None:
        self._values += values

    def prepare_commit(self) -> list[Any]:
        if ReturningSink.failures:
            raise ReturningSink.failures.pop()
        return self._values

    def abort(self) -> None:
        self._values = []


class LiveLoop:
    """The epochs of one live run.

    Attributes:
        stages: The tasks, as they arrive in a worker.
        views: The logs as of the newest record.
        records: What sink 0 got.
        report: The merged report.
        state_files: Files of snapshots.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        run: RunPlan,
        directory: Path,
        *,
        handed: HandOver | None = None,
        state_files: Sequence[Path] | None = None,
        backend: str = "hashmap",
        stages_early: bool = True,
        is_single_task: bool = False,
        stored_groups: int | None = None,
        memory: SubtaskMemory | None = None,
    ) -> None:
        self.plan = plan
        self.parallelism = plan.options.parallelism
        self.is_single_task = is_single_task
        self._routes = live_routes(self.parallelism)
        self._subtasks = {route: subtask for subtask, route in enumerate(self._routes)}
        attempt = LiveAttempt(f"job-{run.index}", (1, 0))
        snapshot, epochs = directory / f"run-{run.index}/snapshot", directory / "epochs"
        self.epochs = epochs
        for made in (snapshot, epochs / "records", epochs / "segments"):
            made.mkdir(parents=True, exist_ok=True)
        fence = Fence(directory / "owner.json", 1, "")
        sinks = SinkStage(plan, "job", directory, fence)
        sink = SinkTask(sinks._payload, sinks._sink_of_channel, snapshot, self.parallelism)
        first, *later = programs = programs_of(
            plan,
            run,
            tasks=1,
            max_frame_records=3,
            handed=handed or HandOver(),
            job_parameters={},
        )
        early = {
            level: EarlySinks(sink, channels)
            for level, channels in early_channels(programs).items()
            if stages_early
        }
        parts = {each.source_id: each.part for each in splits_of(plan, run)}
        start = Payload.of((first, parts, 1 + len(later)))
        tasks: list[Any] = [StartTask(start, attempt, self._subtasks, early.get(0))]
        for program in later:
            payload = Payload.of(program)
            copies = LocalCopies(backend, attempt.run, payload.digest)
            described = LevelDescription(payload, attempt, copies, program.level, self._subtasks)
            seeds = None
            if state_files is not None:
                moved = {}
                if memory is not None:
                    moved[program.level] = memory.moved(program, channel_outlines(plan))
                unused: Any = None
                seeds = FirstState(unused, (), state_files, stored_groups, moved).of_level(program)
            tasks.append(LevelTask(described, epochs, seeds, early.get(program.level)))
        tasks.append(EndTask(tasks.pop(), sink))
        self._snapshot = snapshot
        self.stages: list[Task] = [cloudpickle.loads(cloudpickle.dumps(task)) for task in tasks]
        self.views = {
            (program.level, subtask): LogView()
            for program in later
            for subtask in range(self.parallelism)
        }
        self.records: list[Any] = []
        self.report = Report()
        self.state_files: list[Path] = []

    def epoch(self, rows: Sequence[Rows]) -> None:
        """Run an epoch, and record it."""
        self.record(self.job(rows))

    def job(self, rows: Sequence[Rows]) -> list[EpochMessage]:
        """Run the stages of an epoch that is not recorded; a single task needs a single reader."""
        arriving = self.inputs(rows)
        if self.is_single_task and len(arriving) == 1:
            whole = SingleTask(tuple(self.stages), self.parallelism)
            return [pickle.loads(message) for message in whole(0, iter(arriving[0]))]
        for stage in self.stages[:-1]:
            arriving = self.shuffle(
                list(stage(index, iter(some))) for index, some in enumerate(arriving)
            )
        return self.end(arriving)

    def end(self, arriving: Sequence[list[bytes]]) -> list[EpochMessage]:
        """Run the last stage."""
        messages = []
        for index, some in enumerate(arriving):
            (message,) = self.stages[-1](index, iter(some))
            messages.append(pickle.loads(message))
        return messages

    def inputs(self, rows: Sequence[Rows]) -> list[list[bytes]]:
        """Return the input of each task of stage 0; the first one forwards the views."""
        views = tuple(
            (self._routes[subtask], view_frame(level, view))
            for (level, subtask), view in self.views.items()
        )
        return [
            [pickle.dumps(StageInput(some, () if index else views))]
            for index, some in enumerate(rows)
        ]

    def shuffle(self, outputs: Iterable[list[bytes]]) -> list[list[bytes]]:
        """Return the input of each task of the next stage."""
        arriving: list[list[bytes]] = [[] for _ in range(self.parallelism)]
        for output in outputs:
            for partition, frame in zip(output[::2], output[1::2], strict=True):
                arriving[int.from_bytes(partition, "big")].append(frame)
        return arriving

    def record(self, messages: Iterable[EpochMessage]) -> None:
        """Commit an epoch."""
        for message in messages:
            self.records += message.committables.get(0, [])
            self.report.merge(message.report)
            self.state_files += [self._snapshot / name for name in message.state_files]
            for change in message.changes:
                known = self.views[change.level, change.subtask]
                self.views[change.level, change.subtask] = LogView(
                    change.head,
                    (*known.extents, *change.extents),
                    (*known.recent, *enumerate(change.entries, change.first)),
                )

    def hand_over(self) -> HandOver:
        """Return what the next run gets besides the state files."""
        return HandOver(self.report.watermarks, self.report.memory)
