"""A batch run in this process, with the levels and the routing of a run on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain

from penstock.errors import SourceError
from penstock.metrics.task_clock import WAIT, TaskClock
from penstock.plan.phases.pipelines import task_groups
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.program.level import LevelProgram
from penstock.program.routing import task_of_negative
from penstock.runtime.task.batch_level import BatchLevel
from penstock.runtime.task.level_zero import LevelZero
from penstock.state.schema.evolution import wall_clock_ms
from penstock.testing.logs import Logs, Piece, cut_evenly, splits_of
from penstock.testing.results import InProcessSinkStage
from penstock.testing.schedule import BATCH_RUN, AttemptFailed, Schedule, Steps
from penstock.wire import user_code

Row = tuple[int, bytes]


def run_batch(
    plan: PhysicalPlan,
    run: RunPlan,
    programs: tuple[LevelProgram, ...],
    schedule: Schedule,
    sinks: InProcessSinkStage,
    pieces: Sequence[Piece] | None = None,
    now_ms: Callable[[], int] = wall_clock_ms,
) -> None:
    """Run every level over all records of the run."""
    if pieces is None:
        pieces = list(splits_of(plan, run))
    *_, rows = level_outputs(plan, run, programs, schedule, pieces=pieces, now_ms=now_ms)
    sinks.commit([frame for _, frame in rows])
    reached = {reading.source: reading.parts[-1] for reading in run.readings}
    Logs(plan, run, pieces).confirm([], reached)


def level_outputs(
    plan: PhysicalPlan,
    run: RunPlan,
    programs: tuple[LevelProgram, ...],
    schedule: Schedule,
    add_times: Callable[[dict[str, int]], None] | None = None,
    pieces: Sequence[Piece] | None = None,
    now_ms: Callable[[], int] = wall_clock_ms,
) -> Iterator[list[Row]]:
    """Yield the output of each level; that of the last one is for the sinks."""
    shipped = [user_code.dump(program) for program in programs]
    if pieces is None:
        pieces = list(splits_of(plan, run))
    endless = [piece for piece in pieces if piece.end is None]
    if endless:
        raise SourceError(
            f"{endless[0].part.describe()} is read in a batch run, but a split of it never ends",
            hint="Return False from is_bounded if the source is unbounded, or end its splits.",
        )
    tasks = programs[0].settings.parallelism
    rows = _level_zero(_shares(plan, run, list(pieces), tasks), shipped[0], schedule, add_times)
    yield rows
    for program, data in zip(programs[1:], shipped[1:], strict=True):
        rows = _level(program, data, rows, schedule, add_times, now_ms)
        yield rows


def _level_zero(
    shares: list[list[Piece]],
    program: bytes,
    schedule: Schedule,
    add_times: Callable[[dict[str, int]], None] | None,
) -> list[Row]:
    rows: list[Row] = []
    for task, share in enumerate(shares):

        def attempt(steps: Steps, task: int = task, share: list[Piece] = share) -> list[Row]:
            level = LevelZero(user_code.load(program), task, TaskClock(WAIT, add_times))
            try:
                for piece in steps.through(share):
                    piece.feed(level, schedule.frame_records)
            except BaseException as error:
                level.abandon(error)
                raise
            level.close()
            return level.take_output()

        rows += _attempts(attempt, schedule.fails_at(BATCH_RUN, 0, task))
    return rows


def _attempts(attempt: Callable[[Steps], list[Row]], left: int | None) -> list[Row]:
    """Return the output of a task, whose first attempt may fail at a step and is lost then."""
    if left is not None:
        with suppress(AttemptFailed):
            attempt(Steps(left))
    return attempt(Steps())


def _shares(plan: PhysicalPlan, run: RunPlan, pieces: list[Piece], tasks: int) -> list[list[Piece]]:
    """Return the input of each task: as on Spark if the program sets the number of tasks."""
    groups = task_groups(plan, run)
    if any(group.tasks is None for group in groups):
        return cut_evenly(pieces, tasks)
    return [
        share
        for group in groups
        for share in cut_evenly(
            [piece for piece in pieces if (piece.source_id, piece.part_number) in group.parts],
            min(group.tasks or tasks, tasks),
        )
    ]


def _level(
    program: LevelProgram,
    data: bytes,
    rows: list[Row],
    schedule: Schedule,
    add_times: Callable[[dict[str, int]], None] | None,
    now_ms: Callable[[], int],
) -> list[Row]:
    settings = program.settings
    arriving: list[list[Row]] = [[] for _ in range(settings.parallelism)]
    for route, frame in rows:
        task = (
            task_of_negative(route, settings.parallelism)
            if route < 0
            else route * settings.parallelism // settings.max_parallelism
        )
        arriving[task].append((route, frame))
    leaving: list[Row] = []
    for task, own in enumerate(arriving):

        def attempt(steps: Steps, task: int = task, own: list[Row] = own) -> list[Row]:
            clock = TaskClock(WAIT, add_times)
            level = BatchLevel(user_code.load(data), task, clock=clock, now_ms=now_ms)
            written = steps.through(level.run(steps.through(sorted(own))))
            return list(chain.from_iterable(written))

        leaving += _attempts(attempt, schedule.fails_at(BATCH_RUN, program.level, task))
    return leaving
