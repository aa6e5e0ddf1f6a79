"""The parallelism that `penstock rescale` records for later starts of a job: the step `parallelism`.

The executor reads it before the program is planned, because exchanges depend on it.
"""

from __future__ import annotations

from penstock.errors import ArgumentError, JobDirectoryError, JobLockedError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.job.job_steps import recording, steps_of
from penstock.spark.job.observed_job import ObservedJob

_STEP = "parallelism"


def recorded_parallelism(path: JobPath) -> int | None:
    """Return the parallelism that was recorded for a job, None if none was."""
    try:
        recorded = steps_of(path).read(_STEP)
    except OSError as cause:
        raise JobDirectoryError(
            f"step {_STEP} in {path} cannot be read: {cause}",
            hint="Check that the checkpoint directory can be reached, and start again.",
        ) from cause
    number: int | None = None if recorded is None else recorded[_STEP]
    return number


def record_parallelism(job: ObservedJob, number: int) -> None:
    """Record the parallelism of later starts of a job, which must not run."""
    ended = job.ended()
    if ended is not None:
        raise JobDirectoryError(
            f"job {job.name!r} cannot be rescaled: {ended}",
            hint="Start from its savepoint, in a new checkpoint directory with another parallelism.default.",
        )
    if not 1 <= number <= job.key_groups:
        raise ArgumentError(
            f"the parallelism of job {job.name!r} cannot be {number}: it has {job.key_groups} key groups",
            hint=f"Name a number from 1 to {job.key_groups}, or double pipeline.max-parallelism first.",
        )
    if job.is_running():
        raise JobLockedError(
            f"job {job.name!r} is running, and goes on with another parallelism only when it starts again",
            hint="Stop it with Ctrl-C or SIGTERM, repeat this command, and start it again.",
        )
    with job.locked() as fence:
        recording(job.path, fence).record(_STEP, {_STEP: number}, fence)
