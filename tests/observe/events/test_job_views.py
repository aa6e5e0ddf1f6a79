"""The views of a process: a job that runs is not forgotten for those that are over."""

from __future__ import annotations

from typing import Any

from penstock.observe.events.job_events import JobEnded, JobStarted
from penstock.observe.events.job_view import JobViews


def test_the_job_that_runs_longest_stays() -> None:
    views = JobViews()
    for number in range(50):
        whose: dict[str, Any] = {"job_id": str(number), "job_name": f"job {number}"}
        views.on_event(JobStarted("0", "STREAMING", 2, **whose))
        if number:
            views.on_event(JobEnded("FINISHED", **whose))
    found = [view.job_id for view in views.views()]
    assert found[0] == "0"
    assert found[-1] == "49"
    assert len(found) == 20
