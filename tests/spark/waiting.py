"""Waiting for what a running job does."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from penstock.api.environment.job import JobClient


def wait_for(client: JobClient, holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something holds; a job that has ended is not waited for.

    Raises:
        PenstockError: The job has failed.
    """
    result = client.get_job_execution_result()
    deadline = time.monotonic() + seconds
    while True:
        has_ended = result.done()  # asked first: what holds at the end holds afterwards too
        if holds():
            return
        if has_ended:
            result.result()
            raise AssertionError("the job has ended without it")
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def committed(run: Path) -> int:
    """Return how many epochs of a live run count: they have a record.

    Args:
        run: Directory of the run.
    """
    numbers = (int(path.name) for path in (run / "epochs" / "records").glob("[0-9]*"))
    return max(numbers, default=-1) + 1
