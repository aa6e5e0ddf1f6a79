"""One micro-batch of one subtask: local copy or log, records, append.

What makes state durable is the change log (`penstock.state.log.change_log`); what makes it fast is
that a worker keeps the level, and a state backend a local copy, between micro-batches. The
backend finds out what its copy lacks; an attempt that failed leaves nothing behind:

    the copy is known to the log       it takes the changes it lacks
    it is not, or there is none        it is built again from the log
    the attempt failed                 functions are closed, what the copy took back is forgotten

So an attempt may fail anywhere, be repeated anywhere, and find any copy or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from penstock.errors import PenstockError
from penstock.metrics.task_clock import ARROW, OTHER, START, STATE, WAIT, TaskClock
from penstock.program.level import LevelProgram
from penstock.runtime.task.live_level import LiveLevel
from penstock.state.backends.base import CopyUse, KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.change_log import MIN_COMPACT_BYTES, ChangeLog, LogStorage, Position
from penstock.state.schema.evolution import wall_clock_ms
from penstock.wire import user_code

COPY_USES: dict[CopyUse, str] = {
    CopyUse.HIT: "copy_hits",
    CopyUse.CATCH_UP: "copy_catch_ups",
    CopyUse.REBUILD: "copy_rebuilds",
}
"""What a local copy was worth to the name under which it is counted."""


def is_snapshot(word: str) -> bool:
    """Return whether a control event asks every subtask for a snapshot."""
    return word == "handover" or word.startswith("savepoint:")


class LiveSubtask:
    """A subtask of a level of a live run, as one worker process knows it.

    Keep one instance per worker process, run, level and subtask for as long as the process
    lives. Every instance has user functions of its own. Not thread-safe.

    Attributes:
        clock: Says where its time goes; waits between micro-batches.
    """

    def __init__(
        self,
        program: bytes,
        subtask: int,
        *,
        make_backend: Callable[[], KeyedStateBackend] = HashBackend,
        now_ms: Callable[[], int] = wall_clock_ms,
        min_compact_bytes: int = MIN_COMPACT_BYTES,
    ) -> None:
        """Do nothing yet: functions are opened by the first micro-batch.

        Args:
            program: `user_code.dump` of the `LevelProgram`; loaded whenever a new level is
                needed, so that no two share a function object.
            subtask: Index, from 0.
            make_backend: Makes the backend of this subtask.
            now_ms: Processing time, in milliseconds since 1970.
            min_compact_bytes: Changes that a log may hold before it is compacted.
        """
        self.clock = TaskClock(WAIT)
        self._program = program
        self._subtask = subtask
        self._make_backend = make_backend
        self._now_ms = now_ms
        self._min_compact_bytes = min_compact_bytes
        self._backend: KeyedStateBackend | None = None
        self._level: LiveLevel | None = None
        self._position: Position | None = None
        self._rewritten: tuple[int, ...] = ()

    @staticmethod
    def seed(storage: LogStorage, blobs: Iterable[bytes]) -> None:
        """Begin a log with the state of the run before: blobs of key groups it owns."""
        ChangeLog(storage).seed(blobs)

    def process(
        self, frames: Iterable[bytes], storage: LogStorage, snapshots: Iterable[str] = ()
    ) -> Iterator[tuple[int, bytes]]:
        """Process one micro-batch and append its changes to the log.

        Nothing is written if neither state nor watermarks changed. After an exception the
        storage may have been written to; the caller rolls it back, as Spark does.

        Args:
            frames: All frames with this subtask's route, in any order.
            storage: The subtask's log, as of the end of the previous micro-batch.
            snapshots: Names of snapshots to take after the records: `handover` for the next
                run, `savepoint:…`.

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
            costs = self._append(level, backend, log)
            out.append(level.report({COPY_USES[use]: 1, **costs}))
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
        if backend is not None:
            backend.close()
        if level is not None:
            level.close()

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
            self._level = LiveLevel(program, self._subtask, self._backend, self._now_ms, self.clock)
            self.clock.switch(before)
        return self._level, self._backend

    def _load(self) -> LevelProgram:
        """Return the program, with function objects of its own."""
        program: LevelProgram = user_code.load(self._program)
        return program

    def _discard(self, error: BaseException) -> None:
        self.clock = TaskClock(WAIT)  # what the attempt took does not count either
        try:
            if self._backend is not None:
                self._backend.discard()
            self.close()
        except PenstockError as second:
            error.add_note(f"Closing after this failed as well: {second}")

    def _append(
        self, level: LiveLevel, backend: KeyedStateBackend, log: ChangeLog
    ) -> dict[str, int]:
        """Write what changed, if anything did, and return what it cost."""
        memory = level.remember()
        changes = backend.drain()
        if not changes and memory == log.head.meta:
            return {}
        appended = log.append(changes, memory, backend)
        self._rewritten = appended.rewritten_groups
        return {"log_bytes": appended.change_bytes, "compaction_bytes": appended.rewritten_bytes}
