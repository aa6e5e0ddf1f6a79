"""A level of a live run over Spark's state store: one call per subtask and micro-batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row

from penstock.failpoint import failpoint
from penstock.metrics.task_clock import ARROW
from penstock.runtime.task.garbage_collection import paused_for_micro_batch
from penstock.spark.failures.translation import carrying
from penstock.spark.worker.live_subtasks import (
    ArrivedFrames,
    LevelDescription,
    Seed,
    live_subtask,
)
from penstock.spark.worker.state_sources import HEAD_NUMBER
from penstock.state.log.change_log import LogStorage


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


class LevelWorker:
    """Runs the subtasks of one level in one task."""

    def __init__(self, described: LevelDescription, entries: Any) -> None:
        """Make the worker."""
        self._described = described
        self._entries = entries
        self._seeds: dict[int, Seed] = {}

    def seed(self, route: int, blob: bytes) -> None:
        """Log one state blob of the previous run; the records of the subtask follow."""
        seed = self._seeds.setdefault(route, Seed(_SeededLog(self._entries)))
        with carrying():
            seed.add(blob)

    def process(self, route: int, rows: Iterator[Any]) -> Iterator[Row]:
        """Process one micro-batch of one subtask."""
        with carrying(), paused_for_micro_batch():
            described = self._described
            subtask = live_subtask(described, described.subtask_of_route[route])
            subtask.clock.resume(ARROW)
            arrived = ArrivedFrames(described.level)
            for row in rows:
                arrived.add(bytes(row[1]))
            log: LogStorage = _SparkLog(self._entries)
            if route in self._seeds:
                seed = self._seeds.pop(route)
                seed.flush()
                log = seed.log
                failpoint("live.worker.adopted")
            for frame in arrived.passing:
                yield Row(route=route, frame=frame)
            for to, frame in subtask.process(arrived.processed, log, arrived.snapshots()):
                yield Row(route=to, frame=frame)
            failpoint("live.worker.logged")
