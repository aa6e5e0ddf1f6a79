"""Two drivers on one checkpoint directory: one runs the job, the other is refused."""

from __future__ import annotations

from pathlib import Path

from tests.faults.drivers import SECONDS
from tests.faults.processes import wait_for
from tests.faults.visits_job import VisitsJob


def test_one_of_two_drivers_is_refused(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, live_files=12)
    together = [job.drivers.start(), job.drivers.start()]
    wait_for(
        lambda: any(process.poll() is not None for process in together),
        SECONDS,
        "neither of two drivers was refused",
    )
    refused, running = sorted(together, key=lambda process: process.poll() is None)
    output, _ = refused.communicate()
    assert refused.returncode == 1, output
    assert "JOB_LOCKED" in output
    assert running.poll() is None, "the other one was not running meanwhile"

    wait_for((job.checkpoints / "run-1/spark/commits/1").exists, SECONDS, "no live run")
    assert "JOB_LOCKED" in job.drivers.is_refused()
    output, _ = running.communicate(timeout=SECONDS)
    assert running.returncode == 0, output
    job.assert_complete()
