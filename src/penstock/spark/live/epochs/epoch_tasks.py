"""The stages of the Spark job of an epoch, as functions of a partition; output for sinks is staged where it is made.

    stage 0            StartTask            rows of positions ─▶ level 0 ─▶ frames
    stage k            LevelTask            frames of a subtask ─▶ level k ─▶ frames
    the last stage     EndTask(one of them) … and the sinks consume the frames ─▶ one message

The driver makes them once per run. Spark calls them with the partition and its input as byte strings: in
stage 0 each is a pickled `StageInput`, later each is a frame. All but the last yield the partition for a
frame (8 bytes, big-endian) and the frame in turn, as Spark's `PairwiseRDD` expects. The partition of a
frame is the subtask of its route, and the partition of a stage k is a subtask of level k.

In stage 0 of an epoch with rows of files, Arrow batches of Spark's reader go through level 0. Output for sinks
does not travel through later stages: each exchange would write and read these records once more.

    stage 0 ─▶ records of level 1 ─▶ stage 1 ─▶ … ─▶ the last stage
         └──▶ a sink's records: staged here; what the driver needs of them goes on, a few bytes
"""

from __future__ import annotations

import pickle
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
from pyspark import TaskContext

from penstock.errors import StateError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath
from penstock.metrics.task_clock import OTHER, START, STATE, WAIT, TaskClock
from penstock.program.channel import SINK_LEVEL, StreamPartitioner
from penstock.program.level import LevelProgram
from penstock.runtime.task.garbage_collection import paused_for_micro_batch, rare_for_records
from penstock.runtime.task.live_subtask import LiveSubtask
from penstock.spark.failures.translation import carrying
from penstock.spark.live.epochs.epoch_job import Stage
from penstock.spark.live.epochs.log_frames import (
    Outcome,
    arrived_logs,
    is_log,
    message_of,
    outcome_frame,
    sender_frame,
    staged_frame,
)
from penstock.spark.live.epochs.seed_files import SeedFiles
from penstock.spark.worker.frames import task_id, waited_for
from penstock.spark.worker.level_tasks import ColumnsTask, PositionsTask
from penstock.spark.worker.live_subtasks import ArrivedFrames, LevelDescription, Seed, live_subtask
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.sink_task import SinkMessage, SinkStaging, SinkTask
from penstock.spark.worker.worker_memory import LiveAttempt
from penstock.state.log.subtask_log import LogChange, SubtaskLog
from penstock.wire.frame import FrameKind, read_header

Row = tuple[int, bytes]
"""(route, frame)."""


@dataclass(frozen=True, slots=True)
class EarlySinks:
    """Stages what one stage makes for some sinks.

    Attributes:
        channels: The channels of its level that lead to them.
    """

    sink: SinkTask
    channels: frozenset[int]

    def staged(self, rows: Iterable[Row], task: int) -> Iterator[Row]:
        """Yield the output of a task that later stages need."""
        message, route = SinkMessage(), 0
        staging: SinkStaging | None = None
        clock = TaskClock(START)
        with ExitStack() as opened:
            for row in rows:
                route = row[0]
                if not self._is_own(row[1]):
                    yield row
                    continue
                clock.switch(OTHER)
                if staging is None:
                    clock.switch(START)
                    sink_staging = SinkStaging(self.sink, message, task, clock)
                    staging = opened.enter_context(sink_staging)
                staging.take(row[1])
                clock.switch(WAIT)
            if staging is None:
                return
            staging.finish()
        yield route, staged_frame(task, message)

    def _is_own(self, frame: bytes) -> bool:
        header = read_header(frame)
        is_record = header.kind is FrameKind.RECORDS and header.target_level == SINK_LEVEL
        return is_record and header.channel in self.channels


def early_channels(programs: Sequence[LevelProgram]) -> dict[int, frozenset[int]]:
    """Return level to the channels whose records are staged there.

    They are those of sinks that only this level feeds. A sink that several levels feed is written in the
    last stage, as is one that gets every record in every subtask: then its writers are as many as before.
    """
    specs = [
        spec for program in programs for spec in program.outputs if spec.target_level == SINK_LEVEL
    ]
    last = programs[-1].level
    by_level: dict[int, set[int]] = {}
    for spec in specs:
        of_sink = [other for other in specs if other.target_operator == spec.target_operator]
        levels = {other.source_level for other in of_sink}
        copies = any(other.partitioner is StreamPartitioner.BROADCAST for other in of_sink)
        if len(levels) == 1 and spec.source_level < last and not copies:
            by_level.setdefault(spec.source_level, set()).add(spec.id)
    return {level: frozenset(channels) for level, channels in by_level.items()}


@dataclass(frozen=True, slots=True)
class StageInput:
    """The input of a task of stage 0.

    Attributes:
        rows: Rows with the names of `RANGES_DDL`.
        forward: (route, frame) pairs to send on unchanged, such as views of logs.
    """

    rows: tuple[Mapping[str, Any], ...]
    forward: tuple[Row, ...] = ()


@dataclass(slots=True)
class EpochMessage(SinkMessage):
    """The result of one task of the last stage.

    Attributes:
        changes: Writes of subtasks to their logs.
        read: Level and digest of the attempts whose output a subtask of the next level read.
    """

    changes: list[LogChange] = field(default_factory=list)
    read: set[tuple[int, bytes]] = field(default_factory=set)

    def add(self, message: Outcome | SinkMessage) -> None:
        """Add the outcome of a subtask, or what a task of an earlier stage has staged."""
        if isinstance(message, Outcome):
            self.read.add(message.read)
            if message.change is not None:
                self.changes.append(message.change)
            return
        for sink, committables in message.committables.items():
            self.committables.setdefault(sink, []).extend(committables)
        self.report.merge(message.report)


def has_lost_output(messages: Iterable[EpochMessage]) -> bool:
    """Return whether subtasks read different attempts of a task, so that the epoch must be repeated."""
    read = set().union(*(message.read for message in messages))
    return len({level for level, _ in read}) < len(read)


@dataclass(frozen=True, slots=True)
class StartTask:
    """Runs level 0.

    Attributes:
        payload: That of a `PositionsTask`.
        early: The sinks whose output it stages; None if there are none.
    """

    payload: Payload
    attempt: LiveAttempt
    subtask_of_route: dict[int, int]
    early: EarlySinks | None = None

    def __call__(self, index: int, inputs: Iterable[bytes]) -> Iterator[bytes]:
        """Run one task whose output is read by level 1."""
        with carrying(), self.memory():
            rows = staged_early(self.early, self.run(index, inputs), index)
            yield from to_next(0, index, rows, self.subtask_of_route)

    def memory(self) -> AbstractContextManager[None]:
        """Return the context with the settings of the garbage collector."""
        return rare_for_records()

    def run(self, index: int, inputs: Iterable[bytes]) -> Generator[Row, None, None]:
        """Run one task."""
        task = PositionsTask(self.payload, attempt=self.attempt)
        cached = task.take(index)
        clock = cached.level.clock
        forward: list[Row] = []

        def rows() -> Iterator[Mapping[str, Any]]:
            for data in waited_for(inputs, clock):
                given = pickle.loads(data)
                forward.extend(given.forward)
                yield from given.rows

        for frames in task.run(cached, rows()):
            leaving = [*forward, *frames]
            forward.clear()
            before = clock.switch(WAIT)
            yield from leaving
            clock.switch(before)


@dataclass(frozen=True, slots=True)
class LevelTask:
    """Runs the subtasks of a level.

    Attributes:
        directory: Directory of the epochs, with the files of logs.
        seeds: State of the previous run, which a new log begins with; None if there is none.
        early: The sinks whose output it stages, unless it is the last level; None if there are none.
    """

    described: LevelDescription
    directory: JobPath
    seeds: SeedFiles | None = None
    early: EarlySinks | None = None

    def __call__(self, index: int, frames: Iterable[bytes]) -> Iterator[bytes]:
        """Run one subtask whose output is read by the next level."""
        described = self.described
        with carrying(), self.memory():
            rows = staged_early(self.early, self.run(index, frames), index)
            yield from to_next(described.level, index, rows, described.subtask_of_route)

    def memory(self) -> AbstractContextManager[None]:
        """Return the context with the settings of the garbage collector."""
        return paused_for_micro_batch()

    def run(self, index: int, frames: Iterable[bytes]) -> Generator[Row, None, None]:
        """Run one subtask.

        It is processed if any frame but those of logs arrived, or if its log is seeded.
        """
        described = self.described
        subtask = live_subtask(described, index)
        clock = subtask.clock
        clock.resume(WAIT)
        arrived = ArrivedFrames(described.level)
        for frame in frames:
            arrived.add(frame)
        clock.switch(OTHER)
        own_route = {to: route for route, to in described.subtask_of_route.items()}[index]
        for frame in arrived.passing:
            yield own_route, frame
        logs = arrived_logs(arrived.logs)
        log = SubtaskLog(self.directory, logs.view)
        with closing(log), self._written():
            is_seeded = logs.view.head is None and self._seed(log, index, clock)
            if is_seeded or arrived.processed or arrived.signals:
                for row in subtask.process(arrived.processed, log, arrived.snapshots()):
                    before = clock.switch(WAIT)
                    yield row
                    clock.switch(before)
                failpoint("live.worker.logged")
            change = log.change(described.level, index)
        outcome = Outcome(change, (described.level - 1, logs.attempts))
        yield own_route, outcome_frame(index, outcome)

    def _seed(self, log: SubtaskLog, index: int, clock: TaskClock) -> bool:
        """Write the state of the previous run into a new log; return whether there may be any."""
        if self.seeds is None:
            return False
        before = clock.switch(STATE)
        Seed(log).add_all(self.seeds.blobs(index))
        if self.seeds.memory:
            LiveSubtask.seed_memory(log, self.seeds.memory)
        clock.switch(before)
        failpoint("live.worker.adopted")
        return True

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as cause:  # functions, sources and backends have errors of ours
            raise StateError(
                f"a change log cannot be written to {self.directory}: {cause}",
                hint="Make room, or make the checkpoint directory writable, and start again.",
            ) from cause


class LastTask(Protocol):
    """A task of the last level."""

    def memory(self) -> AbstractContextManager[None]:
        """Return the context with the settings of the garbage collector."""

    def run(self, index: int, inputs: Iterable[bytes], /) -> Generator[Row, None, None]:
        """Run one task."""


@dataclass(frozen=True, slots=True)
class EndTask:
    """Runs the last level, and stages its output."""

    last: LastTask
    sink: SinkTask

    def __call__(self, index: int, arriving: Iterable[bytes]) -> Iterator[bytes]:
        """Run one task; it yields one pickled `EpochMessage`."""
        with carrying(), self.last.memory():
            clock, message = TaskClock(START), EpochMessage()
            with closing(self.last.run(index, arriving)) as rows:
                staged = _without_outcomes(waited_for(rows, clock), message)
                self.sink.consume(staged, message, index, clock)
            yield pickle.dumps(message, 5)


def staged_early(early: EarlySinks | None, rows: Iterable[Row], task: int) -> Iterable[Row]:
    """Return the output of a task that later stages need."""
    return rows if early is None else early.staged(rows, task)


def _without_outcomes(rows: Iterable[Row], message: EpochMessage) -> Iterator[Row]:
    """Yield the rows for sinks; the outcomes of subtasks go to the message."""
    for row in rows:
        if is_log(row[1]):
            message.add(message_of(row[1]))
        else:
            yield row


def to_next(
    level: int, task: int, rows: Iterable[Row], subtask_of_route: Mapping[int, int]
) -> Iterator[bytes]:
    """Yield partition and frame in turn, and send the attempt to every subtask of the next level."""
    partitions = {route: to.to_bytes(8, "big") for route, to in subtask_of_route.items()}
    for route, frame in rows:
        yield partitions[route]
        yield frame
    sender = sender_frame(task, level, _attempt())
    for partition in partitions.values():
        yield partition
        yield sender


def _attempt() -> int:
    context = TaskContext.get()
    assert context is not None
    return int(context.taskAttemptId())


@dataclass(frozen=True, slots=True)
class FilesTask:
    """Runs level 0 over rows of files.

    Attributes:
        columns: Feeds them to level 0.
        schema: Schema of the Arrow batches, each of which arrives as a message without it.
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
        """Run one task."""
        del index
        cached = self.columns.take()
        clock = cached.level.clock
        decoded = (pa.ipc.read_record_batch(pa.py_buffer(batch), self.schema) for batch in batches)
        for frames in self.columns.run(cached, decoded):
            before = clock.switch(WAIT)
            yield from frames
            clock.switch(before)


@dataclass(frozen=True, slots=True)
class AtPartition:
    """Gives a task its index in the stage.

    Tasks of positions and of files are one stage, and Spark counts each kind from 0 when it calls them.
    """

    task: Stage

    def __call__(self, index: int, inputs: Iterator[bytes]) -> Iterable[bytes]:
        """Run it."""
        del index
        return self.task(task_id(), inputs)
