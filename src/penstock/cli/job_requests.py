"""Requests to the driver of a job in another process, through its checkpoint directory, as `penstock savepoint` does."""

from __future__ import annotations

from penstock.api.environment.job import CompletableFuture
from penstock.errors import SavepointError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.savepoint_futures import SavepointFutures, no_live_run
from penstock.ui.job_controls import JobAction, JobControl


class JobRequests:
    """Requests to one job. One stops it with a savepoint; its own process stops it without one.

    Attributes:
        control: For the page.
    """

    def __init__(self, path: JobPath) -> None:
        """Prepare; nothing is read or written."""
        self._path = path
        self._futures = SavepointFutures(path)
        self._open: list[CompletableFuture[str]] = []
        self.control: JobControl = {
            JobAction.SAVEPOINT: lambda: self._submit(stop=False),
            JobAction.STOP_WITH_SAVEPOINT: lambda: self._submit(stop=True),
        }

    def give_up(self) -> None:
        """Withdraw what is open: no driver runs the job."""
        for future in self._open:
            future.cancel()
        self._open.clear()

    def _submit(self, *, stop: bool) -> CompletableFuture[str]:
        job = ObservedJob.at(self._path)
        if not job.has_live_run():
            raise no_live_run(job.name)
        if not job.is_running():
            raise SavepointError(
                f"no driver runs job {job.name!r}",
                hint="Take a savepoint of what is in its directory with `penstock savepoint`.",
            )
        future = self._futures.submit(None, stop=stop, drain=False)
        self._open = [each for each in self._open if not each.done()] + [future]
        return future
