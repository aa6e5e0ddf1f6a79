"""A savepoint that another process requests of a job, or takes itself if the job is not running.

For a job that is not running, it is made from the checkpoint directory alone: it reads state and watermarks from the
change logs, positions from the newest epoch record, and names from the outline of the run. That is possible only
between two epochs: only the job itself can determine how much output of an interrupted epoch is visible
(see `settled_run`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import cache, partial
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.config.configuration import Configuration
from penstock.errors import SavepointError
from penstock.failpoint import failpoint
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.stored_path import JobPath, store_of
from penstock.spark.job.awaited_answer import AnswerOfJob, Awaited
from penstock.spark.job.job_steps import recording
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.job_savepoints import STOPPED, unwritable
from penstock.spark.savepoints.savepoint_requests import (
    SavepointRequests,
    new_request_id,
    no_live_run,
)
from penstock.spark.savepoints.settled_part import (
    START,
    MakeSession,
    begun,
    settled_part,
    settled_run,
)
from penstock.spark.session.factory import get_session
from penstock.spark.session.job_settings import default_interpreter, job_settings
from penstock.state.savepoint import (
    merged,
    prepare_directory,
    put_savepoint,
    write_manifest,
)
from penstock.wire.job_files import remove_tree


def take_offline(
    job: ObservedJob, parent: Path | ObjectPath | None, *, stop: bool
) -> tuple[JobPath | ObjectPath, tuple[str, ...]]:
    """Take a savepoint of a job that is not running; return it, and the generated uids of operators that have state in it."""
    with job.locked() as fence:
        runs = _live_runs(job)
        request_id = new_request_id()
        inside: JobPath = parent if isinstance(parent, Path) else job.path / "savepoints"
        target = inside.absolute() / request_id
        place: JobPath | ObjectPath = target
        try:
            prepare_directory(target)
            with _lazy_session() as session:
                parts = [settled_part(job, run, session, target, request_id) for run in runs]
            savepoint = merged(parts)
            write_manifest(target, savepoint)
            if isinstance(parent, ObjectPath):
                place = parent / request_id
                put_savepoint(store_of(place), target, place, fence)
                remove_tree(target)
            if stop:
                recording(job.path, fence).record(STOPPED, {"savepoint": str(place)}, fence)
        except OSError as cause:
            raise unwritable(cause) from cause
    return place, savepoint.unnamed_state


@contextmanager
def _lazy_session() -> Iterator[MakeSession]:
    """Yield a function that creates a session with the settings of a job on demand."""
    with ExitStack() as stack:

        @cache
        def session() -> SparkSession:
            spark_session = get_session(
                Configuration.from_dict({"spark.sql.shuffle.partitions": "8"})
            )
            stack.enter_context(job_settings(spark_session, default_interpreter(spark_session)))
            return spark_session

        yield session


def _live_runs(job: ObservedJob) -> tuple[int, ...]:
    """Return the current live run of each pipeline, checked before anything is written."""
    without = job.run_without_savepoint()
    if without is not None:
        raise SavepointError(
            f"job {job.name!r} is not running and is in its {without}, so it cannot give a savepoint",
            hint=START,
        )
    runs = job.live_runs_now()
    for run in runs:
        begun(job, run)
        settled_run(job, run)
    return runs


_SAVEPOINT = Awaited(
    subject="savepoint",
    done="took the savepoint",
    comes="the micro-batch that carries the savepoint",
    must_wait="cannot give a savepoint before it is done",
    error=SavepointError,
    later="a savepoint comes with the next micro-batch.",
)


def request_savepoint(
    job: ObservedJob,
    place: Path | ObjectPath | None,
    *,
    stop: bool,
    limit: timedelta | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[str, tuple[str, ...]]:
    """Wait for a savepoint; return it, and the operators without a uid whose state is in it.

    `place` is the directory of savepoints, None that of the job; without a `limit` it waits as long as the job runs.
    """
    ended = job.ended()
    if ended is not None:
        raise SavepointError(
            f"job {job.name!r} cannot give a savepoint: {ended}",
            hint="Take savepoints of jobs that are running or were interrupted.",
        )
    if not job.has_live_run():
        raise no_live_run(job.name)
    if not job.is_running():
        taken, unnamed = take_offline(job, place, stop=stop)
        return str(taken), unnamed
    requests = SavepointRequests(job.path)
    request = requests.submit(place, stop=stop)
    failpoint("savepoint.requested")

    def answer() -> tuple[str, tuple[str, ...]] | None:
        taken = requests.answer(request.id)
        if isinstance(taken, SavepointError):
            raise taken
        return None if taken is None else (str(taken), requests.unnamed_state(request.id))

    waiting = AnswerOfJob(job, _SAVEPOINT, report)
    return waiting.wait(answer, partial(requests.withdraw, request.id), limit)


def stop_for_successor(job: ObservedJob, report: Callable[[str], None] = lambda _: None) -> str:
    """Stop a job with a savepoint, unless it was, and return the savepoint, in which every epoch is committed."""
    if job.record(STOPPED) is None:
        try:
            request_savepoint(job, None, stop=True, report=report)
        except SavepointError:
            if job.record(STOPPED) is None:
                raise
            # the request of an earlier attempt has stopped it
    recorded = job.record(STOPPED)
    assert recorded is not None, "the job was stopped"
    return str(recorded["savepoint"])
