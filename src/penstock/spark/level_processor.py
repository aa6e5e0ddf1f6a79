"""A level of a live run as Spark's stateful processor: one call per subtask and micro-batch.

Spark's state store holds the change log of each subtask (`penstock.state.change_log`) as one
`MapState`: its entries by number, and its head as number `HEAD_NUMBER`. One variable rather than
two: asking Spark for a variable costs about 25 ms in every micro-batch. A worker process keeps
one `LiveSubtask` per run, level and subtask.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from penstock.failpoint import failpoint
from penstock.metrics.task_clock import ARROW
from penstock.runtime.collector import paused_for_micro_batch
from penstock.runtime.live_subtask import LiveSubtask, is_snapshot
from penstock.serde.frame import FrameKind, payload_of, read_header
from penstock.spark.failures import carrying
from penstock.spark.local_state import LocalCopies
from penstock.spark.payload import Payload
from penstock.spark.state_sources import HEAD_NUMBER
from penstock.state.blob import BLOB_BYTES

LOG_VARIABLE = "log"
"""Name of the state variable that holds the change log of a subtask."""

_NUMBER = StructType([StructField("number", LongType())])
_ENTRY = StructType([StructField("entry", BinaryType())])
# Given as text, a worker would ask the JVM to parse them, in every micro-batch.

_subtasks: dict[tuple[str, str, int, int], LiveSubtask] = {}
"""(job and run, digest of the program, level, subtask) to what this process knows of it."""


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
    """The log in the micro-batch that fills it with the state of the run before.

    What is written is read in the same micro-batch: once, and without asking Spark for it.
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
    """State of the run before, on its way into the log: a few megabytes at a time.

    Attributes:
        log: Where to.
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


class LevelProcessor(StatefulProcessor):
    """Runs the subtasks of one level."""

    def __init__(
        self, payload: Payload, copies: LocalCopies, level: int, subtask_of_route: dict[int, int]
    ) -> None:
        """Describe; Spark pickles the processor and calls `init` in the worker.

        Args:
            payload: Packs the level's program.
            copies: How workers keep state; tells this query's run and program from others.
            level: The level.
            subtask_of_route: Grouping key to subtask.
        """
        self._payload = payload
        self._copies = copies
        self._level = level
        self._subtask_of_route = subtask_of_route
        self._seeds: dict[int, _Seed] = {}

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Get the state variable."""
        self._entries = handle.getMapState(LOG_VARIABLE, _NUMBER, _ENTRY)
        self._seeds = {}

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
        """Log one state row of the run before; the input rows of the key follow."""
        seed = self._seeds.setdefault(key[0], _Seed(_SeededLog(self._entries)))
        with carrying():
            seed.add(bytes(initialState[-1]))

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """Process one micro-batch of one subtask."""
        route = key[0]
        subtask = self._subtask(route)
        subtask.clock.resume(ARROW)
        with carrying(), paused_for_micro_batch():
            frames: list[bytes] = []
            signals: set[str] = set()
            passing: list[bytes] = []
            for row in rows:
                frame = bytes(row[1])
                header = read_header(frame)
                if header.kind is not FrameKind.SIGNAL:
                    frames.append(frame)
                elif header.target_level == self._level:
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

    def close(self) -> None:
        """Keep the subtasks: the next micro-batch wants them."""

    def _subtask(self, route: int) -> LiveSubtask:
        subtask = self._subtask_of_route[route]
        run = (self._copies.run, self._copies.digest)
        name = (*run, self._level, subtask)
        found = _subtasks.get(name)
        if found is None:
            _forget_other_runs(self._copies.run)
            make_backend = self._copies.factory(self._level, subtask)
            found = _subtasks[name] = LiveSubtask(
                self._payload.data, subtask, make_backend=make_backend
            )
        return found


def _forget_other_runs(run: str) -> None:
    """Close what belongs to queries that this process served before."""
    for name in [name for name in _subtasks if name[0] != run]:
        _subtasks.pop(name).close()
