"""The views of all jobs of a process."""

from __future__ import annotations

import threading

from penstock.events.job_events import JobEvent, JobStarted
from penstock.events.job_view import OVER, JobView
from penstock.events.listeners import JobListener

_MOST_JOBS = 20


class JobViews(JobListener):
    """Folds the events of each job. Thread-safe. Of the jobs that are over the last ones are remembered."""

    is_quick = True

    def __init__(self) -> None:
        self._views: dict[str, JobView] = {}
        self._lock = threading.Lock()

    def on_event(self, event: JobEvent) -> None:
        """Add an event to the view of its job."""
        with self._lock:
            begins = isinstance(event, JobStarted)
            # A job that begins again is the last one in order.
            known = self._views.pop(event.job_id, None) if begins else self._views.get(event.job_id)
            view = self._views[event.job_id] = known or JobView(event.job_id)
            if begins:
                self._forget_some()
        view.on_event(event)

    def views(self) -> tuple[JobView, ...]:
        """Return one view per name, of the job that began last: names tell the series of jobs apart."""
        with self._lock:
            return tuple({view.job_name: view for view in self._views.values()}.values())

    def _forget_some(self) -> None:
        """Forget the jobs that are over and began first; one that runs is never forgotten."""
        over = [job_id for job_id, view in self._views.items() if view.status in OVER]
        for job_id in over[: max(0, len(self._views) - _MOST_JOBS)]:
            del self._views[job_id]
