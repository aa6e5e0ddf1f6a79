"""A live run in this process: micro-batches, local copies, lost workers and failed attempts."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock.plan.physical import RunPlan
from penstock.program.level import LevelProgram
from penstock.runtime.task.chain import close_after, close_all
from penstock.runtime.task.level_zero import LevelZero
from penstock.runtime.task.live_subtask import LiveSubtask
from penstock.state.backends.base import KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.backends.lmdb.backend import LmdbBackend
from penstock.state.log.blob import key_group_of, operator_of
from penstock.state.schema.entry_schema import BROADCAST_GROUP
from penstock.testing.live_input import LiveInput
from penstock.testing.memory_log import AttemptFailed, MemoryLog
from penstock.testing.results import InProcessSinkStage
from penstock.testing.schedule import Failure, Schedule
from penstock.wire import user_code
from penstock.wire.canonical.key_groups import subtask_of

Row = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class _MicroBatch:
    """One micro-batch.

    Attributes:
        number: Number over all live runs of the job.
        hand_over: Whether it is the last one of a run that hands over its state.
        failure: The failure of the first attempts of every subtask, if they fail.
        starts: Whether every subtask is called, as by the event `start` on Spark: it is the first one
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
            [
                LiveSubtask(
                    self._data,
                    subtask,
                    make_backend=partial(self._make_backend, subtask),
                    min_compact_bytes=self._schedule.compact_bytes,
                )
                for subtask in range(len(self._routes))
            ]
            for _ in range(self._schedule.workers)
        ]

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
        worker = self._workers[batch.number % len(self._workers)][subtask]

        def run() -> list[Row]:
            if log.is_new():
                LiveSubtask.seed(log, self._initial[subtask])
            return list(worker.process(frames, log, ["handover"] if batch.hand_over else ()))

        if batch.failure is not None:
            # Without changes it writes nothing; then the attempt ends without a failure, and is lost too.
            with (
                suppress(AttemptFailed),
                log.attempt(fail_on_write=batch.failure is Failure.WHILE_WRITING),
            ):
                run()
                raise AttemptFailed
        with log.attempt():
            return run()


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
    """Run micro-batches until the sources have ended, or the schedule stops the run.

    Returns:
        Number of the micro-batch after the last.

    Raises:
        PenstockError: A user function failed, or a source cannot be read in process.
    """
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
            level = self._of(batch.number % self._schedule.workers, task)
            for piece in own:
                piece.feed(level, self._schedule.frame_records)
            for source in taken.next_parts if task == 0 else ():
                level.begin_next_part(source)
            for source in taken.ending if task == 0 else ():
                level.end_source(source)
            level.end_batch()
            rows += level.take_output()
        return rows

    def close(self) -> None:
        """Close the functions of every worker."""
        close_all(level.close for level in self._kept.values())

    def _of(self, worker: int, task: int) -> LevelZero:
        found = self._kept.get((worker, task))
        if found is None:
            program = user_code.load(self._program)
            found = self._kept[worker, task] = LevelZero(program, task)
        return found
