"""The subtasks of a level of a live run, in a worker.

A worker process keeps one `LiveSubtask` per run, level and subtask (see `worker_memory`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.runtime.task.live_subtask import LiveSubtask, is_snapshot
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.worker_memory import LiveAttempt, LocalCopies, memory, spill_directory
from penstock.state.log.blob import BLOB_BYTES
from penstock.state.log.change_log import LogStorage
from penstock.wire.frame import FrameKind, payload_of, read_header


@dataclass(frozen=True, slots=True)
class LevelDescription:
    """The driver's description of a level of a live run.

    Attributes:
        copies: The local copies of state, by run and program.
        subtask_of_route: Grouping key to subtask.
    """

    payload: Payload
    attempt: LiveAttempt
    copies: LocalCopies
    level: int
    subtask_of_route: dict[int, int]


def live_subtask(described: LevelDescription, subtask: int) -> LiveSubtask:
    """Return the instance of a subtask in this process; the first call makes it."""
    described.payload.enter()  # also for a cached subtask: this process may have run another job since
    copies = described.copies
    kept = memory.of(described.attempt)
    name = ("level", copies.digest, described.level, subtask)
    live = kept.get(name)
    if live is None:
        make_backend = copies.factory(described.level, subtask)
        live = kept[name] = LiveSubtask(
            described.payload.data,
            subtask,
            make_backend=make_backend,
            local_directory=spill_directory(subtask),
        )
    assert isinstance(live, LiveSubtask)
    return live


class ArrivedFrames:
    """The frames that arrived at a subtask in one micro-batch.

    Attributes:
        processed: Frames for `LiveSubtask.process`, in order of arrival.
        passing: Signals and logs for later levels and the sink stage; they are sent on unchanged.
        signals: Control events for this level.
        logs: Frames of logs for this level.
    """

    def __init__(self, level: int) -> None:
        """Start empty."""
        self._level = level
        self.processed: list[bytes] = []
        self.passing: list[bytes] = []
        self.signals: set[str] = set()
        self.logs: list[bytes] = []

    def add(self, frame: bytes) -> None:
        """Add one frame."""
        header = read_header(frame)
        is_own = header.target_level == self._level
        if header.kind is FrameKind.SIGNAL and is_own:
            self.signals.add(payload_of(frame).decode())
        elif header.kind is FrameKind.LOG and is_own:
            self.logs.append(frame)
        elif header.kind in {FrameKind.SIGNAL, FrameKind.LOG}:
            self.passing.append(frame)
        else:
            self.processed.append(frame)

    def snapshots(self) -> list[str]:
        """Return the control events that request a snapshot."""
        return sorted(word for word in self.signals if is_snapshot(word))


class Seed:
    """Writes the state of the previous run into a log, a few megabytes at a time."""

    def __init__(self, log: LogStorage) -> None:
        """Begin."""
        self.log = log
        self._blobs: list[bytes] = []
        self._bytes = 0

    def add(self, blob: bytes) -> None:
        """Add one blob."""
        self._blobs.append(blob)
        self._bytes += len(blob)
        if self._bytes >= BLOB_BYTES:
            self.flush()

    def add_all(self, blobs: Iterable[bytes]) -> None:
        """Add blobs, and write all of them."""
        for blob in blobs:
            self.add(blob)
        self.flush()

    def flush(self) -> None:
        """Write what was added."""
        LiveSubtask.seed(self.log, self._blobs)
        self._blobs, self._bytes = [], 0
