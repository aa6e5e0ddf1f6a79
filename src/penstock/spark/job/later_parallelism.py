"""The parallelism that `penstock rescale` records for later starts of a job: the step `parallelism`.

    parallelism.json                   that of later starts; read before the program is planned, because exchanges depend on it
    requests/parallelism.json          a request to a running driver, which records the step and removes the request
    requests/parallelism.refused.json  the reason why the driver did not

Only the driver of a running job has the fence, so only it records steps.
"""

from __future__ import annotations

import time
from typing import Any

from penstock.errors import (
    ArgumentError,
    DecodeError,
    JobDirectoryError,
    PenstockError,
)
from penstock.filesystem.stored_path import JobPath
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.job_steps import recording, steps_of
from penstock.spark.job.observed_job import ObservedJob
from penstock.wire.atomic_file import (
    PRIVATE_DIRECTORY,
    create_directory,
    read_verified,
    write_verified,
)

_STEP = "parallelism"
_REFUSED = "parallelism.refused"
_ERROR = "error"
_POLL_SECONDS = 0.5
"""Least time between two looks for a request."""


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
    """Record the parallelism of later starts of a job that has stopped."""
    with job.locked() as fence:
        recording(job.path, fence).record(_STEP, {_STEP: number}, fence)


def check_parallelism(job: ObservedJob, number: int) -> None:
    """Refuse a parallelism that a job cannot have."""
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


class ParallelismRequest:
    """The request for another parallelism of a running job; the newest one counts."""

    def __init__(self, job_directory: JobPath) -> None:
        self._directory = job_directory / "requests"

    def submit(self, number: int) -> None:
        """Write the request, durably."""
        try:
            create_directory(self._directory, PRIVATE_DIRECTORY)
            self._path(_REFUSED).unlink(missing_ok=True)
            write_verified(self._path(_STEP), {_STEP: number})
        except OSError as cause:
            raise _unusable(self._directory, cause) from cause

    def number(self) -> int | None:
        """Return the requested parallelism, None if there is no open request."""
        request = self._read(_STEP)
        number: int | None = None if request is None else request[_STEP]
        return number

    def refusal(self) -> PenstockError | None:
        """Return the reason why the driver has refused the request, None if it has not."""
        refused = self._read(_REFUSED)
        return None if refused is None else PenstockError.from_wire(refused[_ERROR])

    def refuse(self, error: PenstockError) -> None:
        """Answer with the reason of a refusal."""
        try:
            write_verified(self._path(_REFUSED), {_ERROR: error.to_wire()})
        except OSError as cause:
            raise _unusable(self._directory, cause) from cause
        self.withdraw()

    def withdraw(self) -> None:
        """Remove the request; there may be none."""
        self._path(_STEP).unlink(missing_ok=True)

    def _path(self, name: str) -> JobPath:
        return self._directory / f"{name}.json"

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            return read_verified(self._path(name))
        except FileNotFoundError:
            return None
        except DecodeError as cause:
            raise JobDirectoryError(cause.problem, hint=cause.hint) from cause
        except OSError as cause:
            raise _unusable(self._directory, cause) from cause


class Rescaling(Exception):  # noqa: N818 - no error: it ends the runs of an attempt, and the job goes on
    """Ends the runs of a job that goes on with another parallelism."""


class RescaleLookout:
    """Looks for a request for another parallelism, in the driver of a job."""

    def __init__(self, directory: JobDirectory) -> None:
        self._request = None if directory.is_temporary else ParallelismRequest(directory.path)
        self._next_look = 0.0

    def check(self) -> None:
        """End the runs if another parallelism was requested; call it between two epochs."""
        now = time.monotonic()
        if self._request is None or now < self._next_look:
            return
        self._next_look = now + _POLL_SECONDS
        if self._request.number() is not None:
            raise Rescaling


def accept_parallelism(directory: JobDirectory, number: int) -> None:
    """Record the parallelism of later starts, in the driver, and remove the request."""
    directory.record(_STEP, {_STEP: number})
    ParallelismRequest(directory.path).withdraw()


def _unusable(path: JobPath, cause: OSError) -> JobDirectoryError:
    return JobDirectoryError(
        f"{path} cannot be used: {cause}",
        hint="Make room, or make the checkpoint directory writable for this user.",
    )
