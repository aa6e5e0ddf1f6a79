"""A level of a live run in a worker: one call per subtask and micro-batch.

A worker process keeps one `LiveSubtask` per run, level and subtask (see `worker_memory`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Row

from penstock.failpoint import failpoint
from penstock.metrics.task_clock import ARROW
from penstock.runtime.task.garbage_collection import paused_for_micro_batch
from penstock.runtime.task.live_subtask import LiveSubtask, is_snapshot
from penstock.spark.failures.translation import carrying
from penstock.spark.worker.local_state import LocalCopies
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.state_sources import HEAD_NUMBER
from penstock.spark.worker.worker_memory import LiveAttempt, memory
from penstock.state.log.blob import BLOB_BYTES
from penstock.wire.frame import FrameKind, payload_of, read_header


class _SparkLog:
    """`LogStorage` over Spark's state variables, for the key being processed."""

    def __init__(self, entries: Any) -> None:
        self._entries = entries

    def read_head(self) -> bytes | None:
        return self.read_entry(HEAD_NUMBER)

    def write_head(self, data: bytes) -> None:
        self.write_entry(HEAD_NUMBER, data)

    def read_entry(self, number: int) -> bytes | None:
        row = self._entries.getValue((number,))
        return None if row is None else bytes(row[0])

    def write_entry(self, number: int, data: bytes) -> None:
        self._entries.updateValue((number,), (data,))

    def remove_entry(self, number: int) -> None:
        self._entries.removeKey((number,))


class _SeededLog(_SparkLog):
    """The log in the micro-batch that fills it with the state of the previous run.

    Its entries are read in the same micro-batch, once. So it keeps them and does not read Spark's state.
    """

    def __init__(self, entries: Any) -> None:
        super().__init__(entries)
        self._unread: dict[int, bytes] = {}

    def read_entry(self, number: int) -> bytes | None:
        written = self._unread.pop(number, None)
        return super().read_entry(number) if written is None else written

    def write_entry(self, number: int, data: bytes) -> None:
        super().write_entry(number, data)
        self._unread[number] = data


class _Seed:
    """Writes the state of the previous run into the log, a few megabytes at a time.

    Attributes:
        log: The log.
    """

    def __init__(self, log: _SeededLog) -> None:
        self.log = log
        self._blobs: list[bytes] = []
        self._bytes = 0

    def add(self, blob: bytes) -> None:
        self._blobs.append(blob)
        self._bytes += len(blob)
        if self._bytes >= BLOB_BYTES:
            self.flush()

    def flush(self) -> None:
        LiveSubtask.seed(self.log, self._blobs)
        self._blobs, self._bytes = [], 0


@dataclass(frozen=True, slots=True)
class LevelDescription:
    """The driver's description of a level of a live run.

    Attributes:
        payload: Payload of the level's program.
        attempt: Attempt of the run.
        copies: The local copies of state, by run and program.
        level: The level.
        subtask_of_route: Grouping key to subtask.
    """

    payload: Payload
    attempt: LiveAttempt
    copies: LocalCopies
    level: int
    subtask_of_route: dict[int, int]


class LevelWorker:
    """Runs the subtasks of one level in one task."""

    def __init__(self, described: LevelDescription, entries: Any) -> None:
        """Make the worker.

        Args:
            described: The level.
            entries: Spark's map state that holds the change log of the current key.
        """
        self._described = described
        self._entries = entries
        self._seeds: dict[int, _Seed] = {}

    def seed(self, route: int, blob: bytes) -> None:
        """Log one state blob of the previous run; the records of the subtask follow."""
        seed = self._seeds.setdefault(route, _Seed(_SeededLog(self._entries)))
        with carrying():
            seed.add(blob)

    def process(self, route: int, rows: Iterator[Any]) -> Iterator[Row]:
        """Process one micro-batch of one subtask."""
        with carrying(), paused_for_micro_batch():
            subtask = self._subtask(route)
            subtask.clock.resume(ARROW)
            frames: list[bytes] = []
            signals: set[str] = set()
            passing: list[bytes] = []
            for row in rows:
                frame = bytes(row[1])
                header = read_header(frame)
                if header.kind is not FrameKind.SIGNAL:
                    frames.append(frame)
                elif header.target_level == self._described.level:
                    signals.add(payload_of(frame).decode())
                else:
                    passing.append(frame)
            log = _SparkLog(self._entries)
            if route in self._seeds:
                seed = self._seeds.pop(route)
                seed.flush()
                log = seed.log
                failpoint("live.worker.adopted")
            snapshots = sorted(word for word in signals if is_snapshot(word))
            for frame in passing:
                yield Row(route=route, frame=frame)
            for to, frame in subtask.process(frames, log, snapshots):
                yield Row(route=to, frame=frame)
            failpoint("live.worker.logged")

    def _subtask(self, route: int) -> LiveSubtask:
        described = self._described
        described.payload.enter()  # also for a cached subtask: this process may have run another job since
        copies = described.copies
        subtask = described.subtask_of_route[route]
        kept = memory.of(described.attempt)
        name = ("level", copies.digest, described.level, subtask)
        found = kept.get(name)
        if found is None:
            make_backend = copies.factory(described.level, subtask)
            found = kept[name] = LiveSubtask(
                described.payload.data, subtask, make_backend=make_backend
            )
        assert isinstance(found, LiveSubtask)
        return found
