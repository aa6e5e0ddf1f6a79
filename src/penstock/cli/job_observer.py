"""A job of another process: looks at its state, and sends requests to its driver."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from penstock.api.environment.job import CompletableFuture
from penstock.errors import JobDirectoryError, SavepointError
from penstock.filesystem.stored_path import JobPath
from penstock.observe.events.event_log import EventFiles, events_in
from penstock.observe.events.job_view import LOST, OVER, JobView
from penstock.observe.events.status_json import status_json
from penstock.observe.ui.job_controls import JobAction, JobControl
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.savepoint_requests import SavepointFutures, no_live_run


@dataclass(slots=True)
class JobObserver:
    """Looks at a job from another process.

    Attributes:
        job: Its checkpoint directory.
    """

    job: ObservedJob
    _files: EventFiles
    _view: JobView | None = None
    _stamp: object = None

    @classmethod
    def at(cls, path: JobPath) -> JobObserver:
        """Return the observer of a directory."""
        job = ObservedJob.at(path)
        return cls(job, events_in(job.path))

    def status(self) -> dict[str, Any]:
        """Return the status of the job now; see `status_json`."""
        view = self.view()
        return status_json(view, view.state, time.time_ns() // 1_000_000)

    def view(self) -> JobView:
        """Return the view of the job now."""
        self.job = ObservedJob.at(self.job.path)  # it may be gone, or be another one
        # In this order: a driver records the end of the job before it releases the directory.
        is_running = self.job.is_running()
        view = self._read()
        view.job_name = view.job_name or self.job.name
        view.seen = self._seen(view, is_running=is_running)
        return view

    def _read(self) -> JobView:
        try:
            stamp = self._files.stamp()
            if self._view is None or stamp != self._stamp:
                self._view, self._stamp = JobView.of(self._files.events()), stamp
        except OSError as cause:
            raise JobDirectoryError.unreadable(f"the events in {self.job.path}", cause) from cause
        return self._view

    def _seen(self, view: JobView, *, is_running: bool) -> str | None:
        """Return the status as it is seen from outside, None if it is that of the driver."""
        is_over = view.status in OVER
        if is_running:
            # A driver has the lock before it records its begin.
            return "CREATED" if is_over else None
        if self.job.ended() is not None:
            return "FINISHED"
        return None if is_over else LOST


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
        self._open = [request for request in self._open if not request.done()] + [future]
        return future
