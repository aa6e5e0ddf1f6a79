"""A live run in this process: its input, micro-batches and change log in memory, local copies, lost workers, failed attempts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock.errors import SourceError
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.program.level import LevelProgram
from penstock.runtime.task.chain import close_after, close_all
from penstock.runtime.task.level_zero import LevelZero
from penstock.runtime.task.live_subtask import LiveSubtask
from penstock.state.backends.base import KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.state.log.blob import key_group_of, operator_of
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from penstock.testing.logs import Logs, Piece
from penstock.testing.results import InProcessSinkStage
from penstock.testing.schedule import AttemptFailed, Failure, Schedule, Steps
from penstock.wire import user_code
from penstock.wire.canonical.key_groups import subtask_of

_ALL = Steps()


class MemoryLog:
    """Implements `LogStorage`; the writes of an attempt stay only if it succeeds."""

    def __init__(self) -> None:
        self._head: bytes | None = None
        self._entries: dict[int, bytes] = {}
        self._steps = _ALL

    @contextmanager
    def attempt(self, steps: Steps = _ALL) -> Iterator[None]:
        """Undo all writes of the context if it raises; each entry that is written is a step."""
        saved = self._head, dict(self._entries)
        self._steps = steps
        try:
            yield
        except BaseException:
            self._head, self._entries = saved
            raise
        finally:
            self._steps = _ALL

    def is_new(self) -> bool:
        """Return whether the log has never been written."""
        return self._head is None

    def size(self) -> int:
        """Return the bytes of all entries."""
        return sum(map(len, self._entries.values()))

    def read_head(self) -> bytes | None:
        """Return the stored head, None for a new log."""
        return self._head

    def write_head(self, data: bytes) -> None:
        """Replace the head."""
        self._head = data

    def read_entry(self, number: int) -> bytes | None:
        """Return one entry, None if it does not exist."""
        return self._entries.get(number)

    def write_entry(self, number: int, data: bytes) -> None:
        """Add one entry."""
        self._steps.step()
        self._entries[number] = data

    def remove_entry(self, number: int) -> None:
        """Remove one entry."""
        del self._entries[number]


@dataclass(frozen=True, slots=True)
class TakenInput:
    """The input of a micro-batch.

    Attributes:
        next_parts: Sources that go on with their next part behind it.
        ending: Sources that end with it.
    """

    pieces: tuple[Piece, ...]
    next_parts: tuple[int, ...]
    ending: tuple[int, ...]


class LiveInput:
    """The remaining input, the parts that sources read, and the sources that have ended."""

    def __init__(
        self, plan: PhysicalPlan, run: RunPlan, pieces: Sequence[Piece], schedule: Schedule
    ) -> None:
        """Begin."""
        self._logs = Logs(plan, run, pieces)
        self._left = self._logs.begin(pieces)
        self._turns = schedule.turns
        self._waits = schedule.stop_after is not None and bool(self._logs.unbounded)
        self._ends = {reading.source for reading in run.readings if reading.ends}
        if self._waits:
            self._ends -= self._logs.unbounded
        self._ended: set[int] = set()
        self._parts = {reading.source: list(reading.parts) for reading in run.readings}
        self._has_looked = not self._logs.unbounded
        if schedule.stop_after is None and any(piece.end is None for piece in self._left):
            raise SourceError(
                "a source of the program never ends",
                hint="Set the number of micro-batches with Schedule(stop_after=…).",
            )

    @property
    def are_done(self) -> bool:
        """True if all input is read, and all ends are sent."""
        is_read = self._has_looked and not self._left and self._ended == self._ends
        in_last_part = all(len(parts) == 1 for parts in self._parts.values())
        return is_read and in_last_part and not self._waits

    def take(self, size: int) -> TakenInput:
        """Return up to `size` positions of every split of the current parts.

        A source ends in the micro-batch after its last record.
        """
        self._left = self._logs.grown(self._left, self._ended)
        self._has_looked = not self._left or not self._logs.unbounded
        open_sources = {piece.source_id for piece in self._left}
        open_sources |= {source for source, parts in self._parts.items() if len(parts) > 1}
        ending = sorted(self._ends - self._ended - open_sources)
        self._ended.update(ending)
        taken, left = [], []
        in_turn = self._in_turn()
        for piece in self._left:
            if (
                piece.source_id not in in_turn
                or piece.part_number != self._parts[piece.source_id][0]
            ):
                left.append(piece)
                continue
            until = piece.start + size * piece.unit
            if piece.end is not None and until >= piece.end:
                taken.append(piece)
                continue
            left.append(replace(piece, start=until))
            if size:
                taken.append(replace(piece, end=until, finished=False))
        self._left = left
        return TakenInput(tuple(taken), tuple(self._begin_next_parts()), tuple(ending))

    def _in_turn(self) -> set[int]:
        """Return the sources that are read now."""
        sources = {piece.source_id for piece in self._left}
        if not sources or not self._turns:
            return sources
        return {min(sources) if self._turns > 0 else max(sources)}

    def _begin_next_parts(self) -> list[int]:
        """Leave the parts of which nothing is left, and return their sources."""
        left = {(piece.source_id, piece.part_number) for piece in self._left}
        sources = [
            source
            for source, parts in self._parts.items()
            if len(parts) > 1 and (source, parts[0]) not in left
        ]
        for source in sources:
            self._parts[source].pop(0)
        return sources

    def confirm(self) -> None:
        """Confirm the committed positions to the logs."""
        self._logs.confirm(self._left, {source: parts[0] for source, parts in self._parts.items()})


Row = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class _MicroBatch:
    """One micro-batch.

    Attributes:
        number: Number over all live runs of the job.
        hand_over: True if it is the last one of a run that hands over its state.
        failure: The failure of the first attempts of every subtask, if they fail.
        starts: True if every subtask is called, as by the event `start` on Spark: it is the first one
            of a run, which takes over all state and fires due timers.
    """

    number: int
    hand_over: bool
    failure: Failure | None
    starts: bool


class _Level:
    """All subtasks of one level, each with a log, and with a copy per worker."""

    def __init__(
        self, program: LevelProgram, blobs: list[bytes], schedule: Schedule, files: ExitStack
    ) -> None:
        """Start the workers."""
        settings = program.settings
        self._number = program.level
        self._data = user_code.dump(program)
        self._routes = settings.routes
        self._schedule = schedule
        self._logs = [MemoryLog() for _ in self._routes]
        self._initial: list[list[bytes]] = [[] for _ in self._routes]
        subtasks = {
            spec.uid: spec.parallelism or settings.parallelism for spec in program.operators
        }
        for blob in blobs:
            group = key_group_of(blob)
            parallelism = subtasks.get(operator_of(blob))
            if parallelism is None:
                continue
            if group == BROADCAST_GROUP:
                owners = range(settings.parallelism)
            else:
                owner = subtask_of(group, parallelism, settings.max_parallelism)
                owners = range(owner, owner + 1)
            for owner in owners:
                self._initial[owner].append(blob)
        self._workers: list[list[LiveSubtask]] = []
        self._files: Path | None = None
        if schedule.backend == "lmdb":
            self._files = Path(files.enter_context(TemporaryDirectory(prefix="penstock-")))
        self.lose_workers()

    def lose_workers(self) -> None:
        """Start new workers, as if the old ones were killed."""
        self._workers = [
            [self._new_worker(subtask) for subtask in range(len(self._routes))]
            for _ in range(self._schedule.workers)
        ]

    def _new_worker(self, subtask: int) -> LiveSubtask:
        return LiveSubtask(
            self._data,
            subtask,
            make_backend=partial(self._make_backend, subtask),
            min_compact_bytes=self._schedule.compact_bytes,
        )

    def process(self, rows: list[Row], batch: _MicroBatch) -> list[Row]:
        """Run every subtask over its rows."""
        arriving: dict[int, list[bytes]] = {route: [] for route in self._routes}
        for route, frame in rows:
            arriving[route].append(frame)
        out: list[Row] = []
        for subtask, route in enumerate(self._routes):
            if arriving[route] or batch.hand_over or batch.starts:
                out += self._attempts(subtask, arriving[route], batch)
        return out

    def close(self) -> None:
        """Close the functions of every worker."""
        close_all(subtask.close for worker in self._workers for subtask in worker)

    def _make_backend(self, subtask: int) -> KeyedStateBackend:
        if self._files is None:
            return HashBackend()
        return LmdbBackend(self._files / str(subtask), f"in process/{subtask}")

    def _attempts(self, subtask: int, frames: list[bytes], batch: _MicroBatch) -> list[Row]:
        log = self._logs[subtask]
        workers = self._workers[batch.number % len(self._workers)]
        if self._schedule.loses_worker(batch.number, self._number, subtask):
            workers[subtask] = self._new_worker(subtask)

        def run(reading: Steps) -> list[Row]:
            if log.is_new():
                LiveSubtask.seed(log, self._initial[subtask])
            events = ["handover"] if batch.hand_over else ()
            answers = workers[subtask].process(reading.through(frames), log, events)
            return list(reading.through(answers))

        for reading, writing in self._failures(subtask, batch):
            # Without changes it writes nothing; then the attempt ends without a failure, and is lost too.
            with suppress(AttemptFailed), log.attempt(writing):
                run(reading)
                raise AttemptFailed
        with log.attempt():
            return run(Steps())

    def _failures(self, subtask: int, batch: _MicroBatch) -> Iterator[tuple[Steps, Steps]]:
        """Yield the steps of each attempt that fails, without and with writes."""
        if batch.failure is not None:
            yield Steps(), Steps(0 if batch.failure is Failure.WHILE_WRITING else None)
        left = self._schedule.fails_at(batch.number, self._number, subtask)
        if left is not None:
            steps = Steps(left)
            yield steps, steps


def run_live(
    run: RunPlan,
    programs: tuple[LevelProgram, ...],
    sources: LiveInput,
    schedule: Schedule,
    sinks: InProcessSinkStage,
    *,
    state: list[bytes],
    first_batch: int,
) -> int:
    """Run micro-batches until the sources have ended or the schedule stops, and return the number after the last."""
    with ExitStack() as files:
        zero = _LevelZero(user_code.dump(programs[0]), schedule)
        levels = [_Level(p, state, schedule, files) for p in programs[1:]]
        number = first_batch
        closes = [zero.close, *(level.close for level in levels)]
        try:
            while True:
                done = sources.are_done or number - first_batch == schedule.stop_after
                if done and not run.hands_over:
                    break
                if schedule.restarts_before(number):
                    zero.lose_workers()
                    for level in levels:
                        level.lose_workers()
                starts = number == first_batch
                batch = _MicroBatch(number, done, schedule.fails_in(number), starts)
                rows = zero.process(sources, programs[0].settings.parallelism, batch)
                for level in levels:
                    rows = level.process(rows, batch)
                sinks.commit([frame for _, frame in rows])
                sources.confirm()
                number += 1
                if done:
                    break
        except BaseException as error:
            close_after(error, closes)
            raise
        close_all(closes)
        return number


class _LevelZero:
    """Level 0, per worker and task."""

    def __init__(self, program: bytes, schedule: Schedule) -> None:
        self._program = program
        self._schedule = schedule
        self._kept: dict[tuple[int, int], LevelZero] = {}

    def lose_workers(self) -> None:
        """Start new workers, as if the old ones were killed."""
        self._kept.clear()

    def process(self, sources: LiveInput, tasks: int, batch: _MicroBatch) -> list[Row]:
        """Read the next micro-batch."""
        if batch.hand_over:
            return []
        taken = sources.take(self._schedule.batch_size(batch.number))
        events = taken.next_parts or taken.ending
        rows: list[Row] = []
        for task in range(tasks):
            own = [
                piece
                for number, piece in enumerate(taken.pieces)
                if number % (piece.tasks or tasks) == task
            ]
            if not own and not (events and task == 0):
                continue
            left = self._schedule.fails_at(batch.number, 0, task)
            if left is not None:
                with suppress(AttemptFailed):
                    self._attempt(Steps(left), own, taken, batch, task)
                    raise AttemptFailed
                self._lose(batch, task)
            elif self._schedule.loses_worker(batch.number, 0, task):
                self._lose(batch, task)
            rows += self._attempt(Steps(), own, taken, batch, task)
        return rows

    def _attempt(
        self,
        steps: Steps,
        pieces: Sequence[Piece],
        taken: TakenInput,
        batch: _MicroBatch,
        task: int,
    ) -> list[Row]:
        level = self._of(batch.number % self._schedule.workers, task)
        for piece in steps.through(pieces):
            piece.feed(level, self._schedule.frame_records)
        for source in taken.next_parts if task == 0 else ():
            level.begin_next_part(source)
        for source in taken.ending if task == 0 else ():
            level.end_source(source)
        level.end_batch()
        return level.take_output()

    def _lose(self, batch: _MicroBatch, task: int) -> None:
        """Start a new worker for a task, as if the old one was killed."""
        self._kept.pop((batch.number % self._schedule.workers, task), None)

    def close(self) -> None:
        """Close the functions of every worker."""
        close_all(level.close for level in self._kept.values())

    def _of(self, worker: int, task: int) -> LevelZero:
        level = self._kept.get((worker, task))
        if level is None:
            program = user_code.load(self._program)
            level = self._kept[worker, task] = LevelZero(program, task)
        return level
