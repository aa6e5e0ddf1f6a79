"""The sink stage in a worker: stages records and state, and merges reports. For `mapInArrow`.

It is the last stage of every run and micro-batch. Each task returns one row: the pickled `SinkMessage`
that the driver needs to commit. In a batch run the last level, which may be level 0, runs in the same process, so
that a task needs one worker for both, and Spark moves no frames between them.

The number of the epoch that a task is of, as a local property of Spark: all tasks of a Spark job have it.

    driver   sets it in the thread that starts the Spark job of an epoch
    worker   reads it in any task of any stage of this job

So it travels beside the input of tasks, and the functions of a run stay the same in every epoch.
"""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import SparkContext, TaskContext

from penstock.errors import DecodeError, PenstockError, StateError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath
from penstock.graph.endpoints import EpochNumber, Sink, SinkContext, SinkWriter
from penstock.graph.sink_calls import open_writer
from penstock.metrics.task_clock import DECODE, OTHER, SINKS, START, STATE, WRITE, TaskClock
from penstock.runtime.exchange.channel_errors import not_taken
from penstock.runtime.task.garbage_collection import rare_for_records
from penstock.runtime.task.latency import SourceMarker
from penstock.runtime.task.output_frames import Row
from penstock.runtime.task.report import Report, decode_report
from penstock.spark.failures.translation import carrying
from penstock.spark.worker.frames import from_batches, task_id, waited_for
from penstock.spark.worker.payload import Payload
from penstock.state.log.blob import key_group_of, operator_of
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from penstock.state.schema.evolution import wall_clock_ms
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_columns,
    decode_records,
    payload_of,
    read_header,
)
from penstock.wire.job_files import NewFile, new_file

PROPERTY = "penstock.epoch"
"""Spark's local property with the number as text."""


def set_epoch(context: SparkContext, epoch: EpochNumber) -> None:
    """Set the epoch of the Spark jobs that this thread starts from now on."""
    context.setLocalProperty(PROPERTY, text_of(epoch))


@contextmanager
def jobs_of_epoch(context: SparkContext, epoch: EpochNumber) -> Iterator[None]:
    """Set the epoch of the Spark jobs that this thread starts inside the context."""
    set_epoch(context, epoch)
    try:
        yield
    finally:
        context.setLocalProperty(PROPERTY, None)  # type: ignore[arg-type]


def task_epoch() -> EpochNumber:
    """Return the epoch of this task."""
    context = TaskContext.get()
    assert context is not None, "it is a task of Spark"
    text = context.getLocalProperty(PROPERTY)
    assert text is not None, "the driver sets it for every job that stages output"
    return EpochNumber(*json.loads(text))


def text_of(epoch: EpochNumber) -> str:
    """Return the value of the property."""
    return json.dumps([epoch.run, epoch.number, epoch.is_whole_run])


MESSAGE_DDL = "message BINARY"
STATE_SCHEMA = pa.schema(
    [
        pa.field("operator", pa.string(), nullable=False),
        pa.field("key_group", pa.int32(), nullable=False),
        pa.field("blob", pa.binary(), nullable=False),
    ]
)
"""Rows of a state snapshot; readable without the job. Broadcast state has key group -1."""

_STATE_BYTES = 16 << 20


class LastLevel(Protocol):
    """The last level of a batch run: what Spark would call for it, or its `rows` in the processes of the sinks."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the level, for `mapInArrow`."""

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[Row]]:
        """Run the level, and yield its (route, frame) pairs."""


@dataclass(slots=True)
class SinkMessage:
    """The result of one task of the sink stage.

    Attributes:
        committables: Sink index to the committables of its writer.
        state_files: Name of each snapshot file, and the SHA-256 of its bytes.
        report: Merged report of all report frames of this task.
    """

    committables: dict[int, list[Any]] = field(default_factory=dict)
    state_files: dict[str, str] = field(default_factory=dict)
    report: Report = field(default_factory=Report)


@dataclass(frozen=True, slots=True)
class SinkTask:
    """Consumes the output of the last level.

    Attributes:
        payload: Payload of a tuple of (sink, context), in order of index.
        snapshot: Directory for state.
        parallelism: Parallelism of the job. A batch run may have more tasks; the subtask of a writer
            is the task modulo this.
        last_level: The last level, if it runs in the same process; None reads frames.
    """

    payload: Payload
    sink_of_channel: dict[int, int]
    snapshot: JobPath
    parallelism: int
    last_level: LastLevel | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Stage everything of one task."""
        with carrying(), rare_for_records():
            clock, message = TaskClock(START), SinkMessage()
            self.consume(self._arriving(batches, clock), message, task_id(), clock)
            yield pa.RecordBatch.from_pydict({"message": [pickle.dumps(message, 5)]})

    def consume(
        self, rows: Iterable[Row], message: SinkMessage, task: int, clock: TaskClock
    ) -> None:
        """Stage everything of one task, and add what the driver needs to its message.

        After an exception the sinks have aborted, and the message is of no use.
        """
        staging = SinkStaging(self, message, task, clock)
        with staging:
            for _, frame in rows:
                staging.take(frame)
            staging.finish()

    def _arriving(self, batches: Iterable[pa.RecordBatch], clock: TaskClock) -> Iterator[Row]:
        if self.last_level is None:
            yield from from_batches(batches, clock)
            return
        # Its clock starts with its work; the time before belongs to the sinks.
        for rows in waited_for(self.last_level.rows(batches), clock):
            yield from rows


class SinkStaging:
    """Stages what arrives at one task. A context: after an exception in it the sinks have aborted."""

    def __init__(
        self, described: SinkTask, message: SinkMessage, task: int, clock: TaskClock
    ) -> None:
        """Begin; see `SinkTask.consume`."""
        self._sinks: tuple[tuple[Sink, SinkContext], ...] = described.payload.unpack()
        self._described = described
        self._message = message
        self._task = task
        self._clock = clock
        self._writers: dict[int, SinkWriter] = {}
        self._state = _StateFile(described.snapshot)
        clock.switch(OTHER)

    def take(self, frame: bytes) -> None:
        """Take one frame."""
        header, clock, report = read_header(frame), self._clock, self._message.report
        if header.kind is FrameKind.REPORT:
            report.merge(decode_report(frame))
        elif header.kind is FrameKind.STATE:
            before = clock.switch(STATE)
            self._state.add(payload_of(frame))
            clock.switch(before)
        elif header.kind is FrameKind.LATENCY:
            uid = self._sinks[self._described.sink_of_channel[header.channel]][1].sink_id
            measured = SourceMarker.of_frame(frame).measured(uid, wall_clock_ms())
            report.merge(Report(metrics=measured))
        else:
            writer = self._writer(self._described.sink_of_channel[header.channel])
            before = clock.switch(DECODE)
            batch = decode_columns(header, frame)[0] if header.has_columns else None
            clock.switch(WRITE)
            if batch is None or not writer.write_columns(batch):
                clock.switch(DECODE)
                values = self._values_of(header, frame)
                clock.switch(WRITE)
                writer.write(values)
            sink = self._described.sink_of_channel[header.channel]
            report.sink_records[sink] = report.sink_records.get(sink, 0) + header.count
            clock.switch(before)

    def _values_of(self, header: FrameHeader, frame: bytes) -> list[Any]:
        try:
            return decode_records(header, frame)[0]
        except DecodeError as refused:
            context = self._sinks[self._described.sink_of_channel[header.channel]][1]
            raise not_taken(refused, f"sink {context.sink_id!r}", None) from refused

    def finish(self) -> None:
        """Complete the message."""
        message, clock = self._message, self._clock
        clock.switch(WRITE)
        for index, writer in self._writers.items():
            message.committables[index] = [
                *message.committables.get(index, ()),
                *writer.prepare_commit(),
            ]
        clock.switch(STATE)
        message.state_files = self._state.finish()
        message.report.merge(Report(times=clock.take(SINKS)))
        failpoint(f"worker.staged-{self._described.snapshot.parent.name}")

    def _writer(self, index: int) -> SinkWriter:
        writer = self._writers.get(index)
        if writer is None:
            sink, context = self._sinks[index]
            subtask = self._task % self._described.parallelism
            writer = self._writers[index] = open_writer(
                sink, replace(context, subtask=subtask, epoch=task_epoch())
            )
        return writer

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, kind: object, failure: BaseException | None, trace: object) -> None:
        """Drop what is staged if something failed."""
        if failure is not None:
            _abort(self._writers.values(), failure)
            self._state.abort()


def _abort(writers: Iterable[SinkWriter], failure: BaseException) -> None:
    """Drop the staged data; errors of it are ignored, because the first failure has the cause."""
    for writer in writers:
        try:
            writer.abort()
        except PenstockError as second:
            failure.add_note(f"A sink could not be cleaned up either: {second}")


class _StateFile:
    """One Parquet file of state rows, made at the first row."""

    def __init__(self, directory: JobPath) -> None:
        self._directory = directory
        self._file: NewFile | None = None
        self._writer: pq.ParquetWriter | None = None
        self._rows: list[tuple[str, int, bytes]] = []
        self._bytes = 0

    def add(self, blob: bytes) -> None:
        group = key_group_of(blob)
        self._rows.append((operator_of(blob), -1 if group == BROADCAST_GROUP else group, blob))
        self._bytes += len(blob)
        if self._bytes >= _STATE_BYTES:
            self._write()

    def finish(self) -> dict[str, str]:
        self._write()
        if self._writer is None or self._file is None:
            return {}
        try:
            self._writer.close()
            self._file.finish()
        except OSError as cause:
            raise _unwritable(self._file.path, cause) from cause
        return {self._file.path.name: self._file.sha256}

    def abort(self) -> None:
        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.discard()

    def _write(self) -> None:
        if not self._rows:
            return
        operators, groups, blobs = zip(*self._rows, strict=True)
        try:
            if self._writer is None:
                failpoint("worker.state-file")
                path = self._directory / f"{uuid.uuid4().hex}.parquet"
                self._file = new_file(path, is_digested=True)
                self._writer = pq.ParquetWriter(self._file, STATE_SCHEMA, compression="lz4")
            batch = pa.RecordBatch.from_arrays(
                [
                    pa.array(operators, pa.string()),
                    pa.array(groups, pa.int32()),
                    pa.array(blobs, pa.binary()),
                ],
                schema=STATE_SCHEMA,
            )
            self._writer.write_batch(batch)
        except OSError as cause:
            raise _unwritable(self._directory, cause) from cause
        self._rows, self._bytes = [], 0


def _unwritable(path: JobPath, cause: OSError) -> StateError:
    return StateError(
        f"state cannot be written to {path}: {cause}",
        hint="Make room, or make the checkpoint directory writable, and start again.",
    )
