"""A savepoint that another process requests of a job, or takes itself if the job is not running."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

from penstock.errors import SavepointError
from penstock.failpoint import failpoint
from penstock.filesystem.object_path import ObjectPath
from penstock.spark.job.awaited_answer import AnswerOfJob, Awaited
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.job_savepoints import STOPPED
from penstock.spark.savepoints.offline_savepoint import take_offline
from penstock.spark.savepoints.savepoint_requests import SavepointRequests, no_live_run

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
            f"job {job.name!r} has no savepoint to give: {ended}",
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
