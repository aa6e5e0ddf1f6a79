"""One micro-batch of one subtask: local copy or log, records, append.

What makes state durable is the change log (`penstock.state.change_log`); what makes it fast is
that a worker keeps the level, and with it the state, between micro-batches. That copy is used
again only if the log proves what it lacks:

    its position is in the log's head      apply the entries it lacks, take over the memory
    it is not (or there is no copy)        new level, load the log from its first entry
    the attempt failed                     drop the copy: it was half changed

So an attempt may fail anywhere, be repeated anywhere, and find any copy or none.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import PenstockError
from penstock.runtime.live_level import LiveLevel
from penstock.serde import user_code
from penstock.state.change_log import MIN_COMPACT_BYTES, ChangeLog, LogStorage


class LiveSubtask:
    """A subtask of a level of a live run, as one worker process knows it.

    Keep one instance per worker process, run, level and subtask for as long as the process
    lives. Every instance has user functions of its own. Not thread-safe.
    """

    def __init__(
        self, program: bytes, subtask: int, *, min_compact_bytes: int = MIN_COMPACT_BYTES
    ) -> None:
        """Do nothing yet: functions are opened by the first micro-batch.

        Args:
            program: `user_code.dump` of the `LevelProgram`; loaded whenever a new level is
                needed, so that no two share a function object.
            subtask: Index, from 0.
            min_compact_bytes: Changes that a log may hold before it is compacted.
        """
        self._program = program
        self._subtask = subtask
        self._min_compact_bytes = min_compact_bytes
        self._level: LiveLevel | None = None
        self._position: tuple[int, str] | None = None

    def process(
        self,
        frames: Iterable[bytes],
        storage: LogStorage,
        *,
        initial: Iterable[bytes] = (),
        hand_over: bool = False,
    ) -> list[tuple[int, bytes]]:
        """Process one micro-batch and append its changes to the log.

        Nothing is written if neither state nor watermarks changed. After an exception the
        storage may have been written to; the caller rolls it back, as Spark does.

        Args:
            frames: All frames with this subtask's route, in any order.
            storage: The subtask's log, as of the end of the previous micro-batch.
            initial: State blobs of the run before, of the key groups this subtask owns.
                Used only if nothing was ever written to the log, else ignored.
            hand_over: The run ends with this micro-batch: also return state and watermarks
                for the next run, as `LiveLevel.snapshot` describes.

        Returns:
            (route, frame) pairs for later levels and the sink stage.

        Raises:
            PenstockError: A user function failed, or the log is damaged.
        """
        try:
            log = ChangeLog(storage, min_compact_bytes=self._min_compact_bytes)
            blobs = initial if log.is_new else ()
            level = self._current_level(log)
            seeded = False
            for blob in blobs:
                level.store.load(blob)
                seeded = True
            out = level.process(frames)
            self._write(level, log, seeded=seeded)
            if hand_over:
                out += level.snapshot()
        except BaseException as error:
            self._discard(error)
            raise
        self._position = log.position()
        return out

    def close(self) -> None:
        """Close the user's functions and forget the copy; the subtask may be used again."""
        level, self._level, self._position = self._level, None, None
        if level is not None:
            level.close()

    def _current_level(self, log: ChangeLog) -> LiveLevel:
        """Return the level in the state the log describes."""
        missing = log.missing_after(self._position)
        if self._level is None or missing is None:
            self.close()
            missing = log.entries()
            self._level = LiveLevel(user_code.load(self._program), self._subtask)
        if missing:
            for blob in log.blobs(missing):
                self._level.store.load(blob)
            self._level.restore(log.head.meta)
        return self._level

    def _write(self, level: LiveLevel, log: ChangeLog, *, seeded: bool) -> None:
        memory = level.remember()
        changes = level.store.drain(level.key_groups.__getitem__)
        if seeded or (changes and log.wants_compaction):
            log.compact(level.store.snapshot(level.key_groups.__getitem__), memory)
        elif changes or memory != log.head.meta:
            log.append(changes, memory)

    def _discard(self, error: BaseException) -> None:
        try:
            self.close()
        except PenstockError as second:
            error.add_note(f"Closing after this failed as well: {second}")
