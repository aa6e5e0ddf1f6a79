"""One micro-batch of one subtask: update the local copy, process records, append to the log.

The change log (`penstock.state.log.change_log`) makes state durable. Between micro-batches a worker keeps
the level, and the state backend a local copy, which makes state fast. The backend determines the changes
that its copy lacks:

    the log contains the copy's position    the copy takes the changes after it
    it does not, or there is no copy        the copy is built again from the log
    the attempt failed                      functions are closed, and the changes are discarded

So an attempt may fail at any point, be repeated in any worker, and start with any copy or none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from penstock.metrics.task_clock import ARROW, OTHER, START, STATE, WAIT, TaskClock
from penstock.program.level import LevelProgram
from penstock.runtime.task.chain import close_after, close_all
from penstock.runtime.task.live_level import LiveLevel
from penstock.runtime.task.report import Report
from penstock.state.backends.base import CopyUse, KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.blob import operator_of
from penstock.state.log.change_log import (
    MIN_COMPACT_BYTES,
    ChangeLog,
    LogStorage,
    Position,
)
from penstock.state.schema.evolution import wall_clock_ms
from penstock.wire import user_code

COPY_USES: dict[CopyUse, str] = {
    CopyUse.HIT: "copy_hits",
    CopyUse.CATCH_UP: "copy_catch_ups",
    CopyUse.REBUILD: "copy_rebuilds",
}
"""Use of a local copy to the name of its counter."""


_COUNT_SECONDS = 1.0
"""Least time between two counts of keys, which look at every key group."""


def is_snapshot(word: str) -> bool:
    """Return whether a control event requests a snapshot of every subtask."""
    return word == "handover" or word.startswith("savepoint:")


class LiveSubtask:
    """A subtask of a level of a live run, in one worker process.

    A worker process has one instance per run, level and subtask for its whole life. Every instance
    has its own user functions. Not thread-safe.

    Attributes:
        clock: Clock of the subtask; its section between micro-batches is waiting.
    """

    def __init__(
        self,
        program: bytes,
        subtask: int,
        *,
        make_backend: Callable[[], KeyedStateBackend] = HashBackend,
        now_ms: Callable[[], int] = wall_clock_ms,
        min_compact_bytes: int = MIN_COMPACT_BYTES,
        local_directory: Path | None = None,
    ) -> None:
        """Make the subtask; the first micro-batch opens its functions."""
        self.clock = TaskClock(WAIT)
        self._program = program
        self._subtask = subtask
        self._make_backend = make_backend
        self._now_ms = now_ms
        self._min_compact_bytes = min_compact_bytes
        self._local_directory = local_directory
        self._backend: KeyedStateBackend | None = None
        self._level: LiveLevel | None = None
        self._position: Position | None = None
        self._rewritten: tuple[int, ...] = ()
        self._next_count = 0.0

    @staticmethod
    def seed(storage: LogStorage, blobs: Iterable[bytes]) -> None:
        """Begin a log with the state of the previous run: blobs of the subtask's key groups."""
        ChangeLog(storage).seed(blobs)

    def process(
        self, frames: Iterable[bytes], storage: LogStorage, snapshots: Iterable[str] = ()
    ) -> Iterator[tuple[int, bytes]]:
        """Process one micro-batch and append its changes to the log.

        It writes nothing if neither state nor watermarks changed. After an exception the storage may
        have new entries; the caller rolls it back, as Spark does.

        Yields:
            (route, frame) pairs for later levels and the sink stage. The micro-batch counts
            only when the iterator is exhausted.

        Raises:
            PenstockError: A user function failed, or the log is damaged.
        """
        switch = self.clock.switch
        switch(STATE)
        try:
            log = ChangeLog(storage, min_compact_bytes=self._min_compact_bytes)
            level, backend = self._current(log)
            use = backend.catch_up(log)
            if self._position != log.position():
                level.restore(log.head.meta)
            names = tuple(snapshots)
            switch(OTHER)
            out = level.process(frames, ends_backlog="handover" in names)
            switch(STATE)
            level.sweep(self._rewritten, everything=bool(names))
            facts = Report()
            costs = self._append(level, backend, log, facts)
            facts.state_log_bytes[level.number, self._subtask] = log.head.log_bytes
            out.append(level.report({COPY_USES[use]: 1, **costs}, facts))
            switch(ARROW)  # whoever takes the frames
            yield from out
            switch(STATE)
            for name in names:
                yield from level.snapshot(name)
            self._position = log.position()
            if self._position is not None:
                backend.written(self._position)
        except BaseException as error:
            self._discard(error)
            raise
        finally:
            switch(WAIT)

    def close(self) -> None:
        """Close the user's functions and forget the copy; the subtask may be used again."""
        level, backend = self._level, self._backend
        self._level = self._backend = self._position = None
        close_all(each.close for each in (backend, level) if each is not None)

    def _current(self, log: ChangeLog) -> tuple[LiveLevel, KeyedStateBackend]:
        """Return a level that has seen nothing the log does not know, and its backend."""
        unchanged = self._position is None and log.is_new
        if self._level is not None and not unchanged and log.missing_after(self._position) is None:
            self.close()
        if self._level is None or self._backend is None:
            before = self.clock.switch(START)
            self._backend = self._make_backend()
            program = self._load()
            self._backend.format = program.settings.state_format()
            self._level = LiveLevel(
                program,
                self._subtask,
                self._backend,
                self._now_ms,
                self.clock,
                self._local_directory,
            )
            self.clock.switch(before)
        return self._level, self._backend

    def _load(self) -> LevelProgram:
        """Return the program, with function objects of its own."""
        program: LevelProgram = user_code.load(self._program)
        return program

    def _discard(self, error: BaseException) -> None:
        self.clock = TaskClock(WAIT)  # what the attempt took does not count either
        discards = () if self._backend is None else (self._backend.discard,)
        close_after(error, (*discards, self.close))

    def _append(
        self, level: LiveLevel, backend: KeyedStateBackend, log: ChangeLog, facts: Report
    ) -> dict[str, int]:
        """Write what changed, if anything did, and return what it cost; `facts` gets whose it is."""
        memory = level.remember()
        changes = backend.drain()
        if not changes and memory == log.head.meta:
            return {}
        for blob in changes:
            uid = operator_of(blob)
            facts.state_written[uid] = facts.state_written.get(uid, 0) + len(blob)
        now = time.monotonic()
        if now >= self._next_count:
            self._next_count = now + _COUNT_SECONDS
            facts.state_keys = {
                uid: {self._subtask: keys} for uid, keys in backend.key_counts().items()
            }
        appended = log.append(changes, memory, backend)
        self._rewritten = appended.rewritten_groups
        return {"log_bytes": appended.change_bytes, "compaction_bytes": appended.rewritten_bytes}
