"""Two drivers on one checkpoint directory: one runs the job, the other is refused or fenced off."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    "place",
    [
        "sinks.before-commit:3",  # a micro-batch is staged and not committed
        "sink.manifest-written:4",  # it is decided, and the next driver makes it visible
        "live.committed:2",  # it is visible, and Spark has not written it down
    ],
)
def test_a_driver_that_was_frozen_commits_nothing_when_it_wakes_up(
    tmp_path: Path, place: str
) -> None:
    """Its lock is removed, which declares it dead, and another driver does the whole job."""
    job = VisitsJob(tmp_path)
    frozen = job.drivers.start(f"{place}:freeze")
    try:
        wait_for(
            lambda: (
                job.drivers.process_at(f"{place}:freeze") == frozen.pid or frozen.poll() is not None
            ),
            SECONDS,
            "nothing froze",
        )
        (job.checkpoints / "lock").unlink()
        job.drivers.succeeds()
        job.assert_complete()
        frozen.send_signal(signal.SIGCONT)
        output, _ = frozen.communicate(timeout=SECONDS)
    finally:
        frozen.kill()
        frozen.communicate()
    assert frozen.returncode == 1, output
    assert "JOB_FENCED" in output
    assert "Traceback" not in output
    job.assert_complete()
