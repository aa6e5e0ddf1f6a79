"""One subtask of a live run, micro-batch after micro-batch: update the local copy, process, write the log."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from penstock.metrics.task_clock import (
    ARROW,
    DECODE,
    OTHER,
    START,
    STATE,
    WAIT,
    TaskClock,
    level_place,
)
from penstock.program.channel import SINK_LEVEL
from penstock.program.level import LevelProgram
from penstock.runtime.exchange.channel_writer import FrameSequence
from penstock.runtime.exchange.level_input import LevelInput
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.operators.timestamps import TimestampsOperator
from penstock.runtime.spill.spill_space import SpillSpace
from penstock.runtime.task.chain import OperatorChain, close_after, close_all
from penstock.runtime.task.latency import SourceMarker
from penstock.runtime.task.level_zero import of_subtask
from penstock.runtime.task.report import Report, encode_report
from penstock.runtime.time.watermarks import LevelBacklog, LevelWatermarks
from penstock.state.backends.base import CopyUse, KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.level_state import LevelState
from penstock.state.log.blob import key_group_of, operator_of
from penstock.state.log.change_log import MIN_COMPACT_BYTES, ChangeLog, LogStorage, Position
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from penstock.state.schema.evolution import wall_clock_ms
from penstock.wire import user_code
from penstock.wire.canonical.key_groups import KeyGroups
from penstock.wire.elements import MAX_WATERMARK, BacklogStatus, ControlElement, NextPart
from penstock.wire.frame import FrameHeader, FrameKind, encode_payload


class LiveLevel:
    """One subtask of one level of a live run."""

    def __init__(
        self,
        program: LevelProgram,
        subtask: int,
        backend: KeyedStateBackend,
        now_ms: Callable[[], int] = wall_clock_ms,
        clock: TaskClock | None = None,
        local_directory: Path | None = None,
    ) -> None:
        """Open the user's functions."""
        self._program = program = of_subtask(program, subtask)
        self._subtask = subtask
        self._backend = backend
        key_groups = KeyGroups(program.settings.max_parallelism)
        state = LevelState(backend, key_groups.__getitem__, now_ms)
        self._now_ms = now_ms
        self._out: list[tuple[int, bytes]] = []
        self._sequence = FrameSequence(subtask, clock)
        self._clock = self._sequence.clock
        ids = [spec.id for spec in program.operators]
        entries = sorted({spec.target_operator for spec in program.inputs})
        self._chain = OperatorChain(
            program, ids, entries, self._sequence, self._emit, state, subtask
        )
        self._watermarks = LevelWatermarks(program)
        self._backlog = LevelBacklog(program) if program.settings.sends_backlog else None
        self._idle: set[int] = set()
        self._space = SpillSpace(program.settings.sorted_inputs_bytes, local_directory)
        self._chain.use_spill_space(self._space)
        self._chain.open()
        self._restore_watermarks(program.settings.initial_memory)

    @property
    def number(self) -> int:
        """Index of the level."""
        return self._program.level

    def process(
        self, frames: Iterable[bytes], *, ends_backlog: bool = False
    ) -> list[tuple[int, bytes]]:
        """Process one micro-batch and return (route, frame) pairs."""
        self._chain.start_epoch()
        self._forward_processing_time()
        self._watermarks.start(self._now_ms())
        arrived = LevelInput(self._program)
        for frame in frames:
            arrived.add(frame)
        own_route = self._program.settings.routes[self._subtask]
        self._out += [(own_route, frame) for frame in arrived.take_passing()]
        self._forward_backlog(arrived.statuses())
        for elements in arrived.punctuation():
            self._run_until(arrived, elements)
        self._run(arrived, arrived.control(), ends=True)
        if ends_backlog and self._backlog is not None:
            self._backlog.end()
            self._forward_backlog()
        self._forward_processing_time()
        self._chain.finish_batch()
        self._chain.end_epoch()
        for operator, frame in arrived.latency():
            marker = SourceMarker.of_frame(frame)
            self._chain.latency.arrive(operator, marker, self._now_ms())
        for writer in self._chain.writers.values():
            ended = writer.timeline.greatest == MAX_WATERMARK
            writer.send_watermark(self._subtask, 0, finished=ended)
        return self._take()

    def _run_until(
        self, arrived: LevelInput, elements: list[tuple[int, ControlElement | BacklogStatus]]
    ) -> None:
        """Process the records before a punctuation, then its elements."""
        statuses = [
            (channel, element)
            for channel, element in elements
            if isinstance(element, BacklogStatus)
        ]
        if statuses:
            self._feed(arrived)
            self._forward_backlog(statuses)
            return
        times = [
            (channel, element)
            for channel, element in elements
            if not isinstance(element, BacklogStatus)
        ]
        self._run(arrived, times)
        self._chain.finish_batch()
        for writer in self._chain.writers.values():
            writer.separate()

    def _feed(self, arrived: LevelInput) -> None:
        for entry in arrived.operators():
            section = self._clock.switch(DECODE)
            batches = arrived.take(entry)
            self._clock.switch(section)
            self._chain.feed(entry, batches)

    def _run(
        self,
        arrived: LevelInput,
        elements: Iterable[tuple[int, ControlElement]],
        *,
        ends: bool = False,
    ) -> None:
        """Process the arrived records, then the watermarks after them."""
        self._feed(arrived)
        for channel, element in elements:
            self._watermarks.accept(channel, element)
            if self._backlog is not None and isinstance(element, NextPart):
                self._backlog.begin_part(channel, element.group, self._watermarks)
        if ends:
            self._watermarks.detect_idleness()
        if ends and self._backlog is not None:
            self._backlog.notice(self._watermarks, self._now_ms())
            self._forward_backlog()
        for operator, number in self._watermarks.ended_inputs():
            self._chain.end_input(operator, number)
        before, self._idle = self._idle, self._watermarks.idle_operators()
        for entry, mark in self._watermarks.of_operators().items():
            fed = self._chain.entries[entry]
            if entry in before - self._idle:
                fed.set_idle(False)
            fed.advance_watermark(mark)
            if entry in self._idle - before:
                fed.set_idle(True)

    def _forward_backlog(self, statuses: Iterable[tuple[int, BacklogStatus]] = ()) -> None:
        if self._backlog is None:
            return
        self._backlog.accept(statuses)
        for status in self._backlog.of_inputs():
            self._chain.set_backlog(*status)

    def _keyed(self) -> Iterator[KeyedOperator]:
        operators = self._chain.operators.values()
        return (operator for operator in operators if isinstance(operator, KeyedOperator))

    def _forward_processing_time(self) -> None:
        now_ms = self._now_ms()
        for operator in self._keyed():
            operator.on_processing_time(now_ms)

    def sweep(self, rewritten: Iterable[int], *, everything: bool) -> None:
        """Remove expired state that is not read; after `process`, before changes are drained."""
        for operator in self._keyed():
            operator.sweep(rewritten, everything=everything)

    def report(self, state: dict[str, int], facts: Report | None = None) -> tuple[int, bytes]:
        """Return the report of the micro-batch as a (route, frame) pair."""
        due_times = [operator.next_processing_time() for operator in self._keyed()]
        due_times.append(self._watermarks.next_idle_time())
        due_times += [
            operator.next_idle_time()
            for operator in self._chain.operators.values()
            if isinstance(operator, TimestampsOperator)
        ]
        due = min((time for time in due_times if time is not None), default=None)
        report = Report(
            metrics=self._chain.take_metrics(),
            operator_records=self._chain.take_counts(),
            state=state,
            next_calls={(self._program.level, self._subtask): due},
            times=self._clock.take(level_place(self._program.level)),
            subtask=self._subtask,
        )
        if facts is not None:
            report.merge(facts)
        frame = encode_report(report, self._subtask, self._sequence.take())
        return self._program.settings.routes[self._subtask], frame

    def remember(self) -> bytes:
        """Return the values other than keyed state that are stored with the micro-batch."""
        remembered = (self._watermarks.remember(), self._chain.memory())
        if self._backlog is None:
            return pickle.dumps(remembered, 5)
        # A subtask may run in another worker in every micro-batch, and a writer sends each status
        # once: the new worker must have those that the old one has received.
        sent = {key: writer.backlog for key, writer in self._chain.writers.items()}
        return pickle.dumps((*remembered, (self._backlog.remember(), sent)), 5)

    def restore(self, memory: bytes) -> None:
        """Restore the result of `remember`; the backend is up to date."""
        if memory:
            watermarks, operators, *backlog = pickle.loads(memory)
            self._watermarks.restore(watermarks)
            self._restore_watermarks(operators)
            if self._backlog is not None and backlog:
                known, statuses = backlog[0]
                self._backlog.restore(known)
                for key, writer in self._chain.writers.items():
                    writer.backlog = statuses.get(key)

    def snapshot(self, name: str) -> Iterator[tuple[int, bytes]]:
        """Yield (route, frame) pairs with a snapshot, for a next run or a savepoint.

        There is one STATE frame per state blob, and one REPORT frame with watermarks and the `memory`
        of operators. Call it after the changes of the micro-batch were drained; the counts of the
        micro-batch are in another report. Every subtask has broadcast state, so only the first one
        emits it.
        """
        own_route = self._program.settings.routes[self._subtask]
        level = self._program.level
        for blob in self._backend.snapshot():
            if self._subtask > 0 and key_group_of(blob) == BROADCAST_GROUP:
                continue
            number = self._sequence.take()
            header = FrameHeader(self._subtask, number, level, SINK_LEVEL, FrameKind.STATE, 1)
            yield own_route, encode_payload(header, blob)
        report = Report(
            watermarks=self._watermarks.for_hand_over(),
            memory=self._chain.memory(),
            snapshot=name,
        )
        yield own_route, encode_report(report, self._subtask, self._sequence.take())

    def close(self) -> None:
        """Close the user's functions, and remove the files of sorters."""
        try:
            self._chain.close()
        finally:
            self._space.close()

    def _restore_watermarks(self, memory: dict[str, int]) -> None:
        for writer in self._chain.writers.values():
            writer.start_split(self._subtask, 0)
        for operator, number in self._watermarks.ended_inputs():
            self._chain.end_input(operator, number, again=True)
        for operator, mark in self._watermarks.of_operators().items():
            self._chain.entries[operator].restore_watermark(mark)
        self._idle = self._watermarks.idle_operators()
        for operator in self._idle:
            self._chain.entries[operator].set_idle(True)
        self._chain.restore_memory(memory)

    def _take(self) -> list[tuple[int, bytes]]:
        out, self._out = self._out, []
        return out

    def _emit(self, route: int, frame: bytes) -> None:
        self._out.append((route, frame))


COPY_USES: dict[CopyUse, str] = {
    CopyUse.HIT: "copy_hits",
    CopyUse.CATCH_UP: "copy_catch_ups",
    CopyUse.REBUILD: "copy_rebuilds",
}
"""Use of a local copy to the name of its counter."""


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
        self._is_counted = False

    @staticmethod
    def seed(storage: LogStorage, blobs: Iterable[bytes]) -> None:
        """Begin a log with the state of the previous run: blobs of the subtask's key groups."""
        ChangeLog(storage).seed(blobs)

    @staticmethod
    def seed_memory(storage: LogStorage, memory: bytes) -> None:
        """Begin a log with the memory of another subtask of the run."""
        ChangeLog(storage).seed_memory(memory)

    def process(
        self, frames: Iterable[bytes], storage: LogStorage, snapshots: Iterable[str] = ()
    ) -> Iterator[tuple[int, bytes]]:
        """Process one micro-batch, append its changes to the log, and yield (route, frame) pairs.

        It writes nothing if neither state nor watermarks changed. After an exception the storage
        may have new entries; the caller rolls it back, as Spark does. The micro-batch counts only
        when the iterator is exhausted.
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
            switch(ARROW)  # the time of the reader of the frames
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
        close_all(part.close for part in (backend, level) if part is not None)

    def _current(self, log: ChangeLog) -> tuple[LiveLevel, KeyedStateBackend]:
        """Return a level whose changes are all in the log, and its backend."""
        unchanged = self._position is None and log.is_new
        if self._level is not None and not unchanged and log.missing_after(self._position) is None:
            self.close()
        if self._level is None or self._backend is None:
            before = self.clock.switch(START)
            self._backend = self._make_backend()
            self._is_counted = False
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
        if changes or not self._is_counted:
            counts = backend.key_counts()
            self._is_counted = None not in counts.values()
            facts.state_keys = {uid: {self._subtask: keys} for uid, keys in counts.items()}
        if not changes and memory == log.head.meta:
            return {}
        for blob in changes:
            uid = operator_of(blob)
            facts.state_written[uid] = facts.state_written.get(uid, 0) + len(blob)
        appended = log.append(changes, memory, backend)
        self._rewritten = appended.rewritten_groups
        return {"log_bytes": appended.change_bytes, "compaction_bytes": appended.rewritten_bytes}
