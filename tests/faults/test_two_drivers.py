"""Two drivers on one checkpoint directory: one runs the job, the other is refused or fenced off."""

from __future__ import annotations

import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

from tests.faults.drivers import SECONDS, assert_fenced, ended, wait_until_frozen
from tests.faults.meeting_job import MeetingJob
from tests.faults.processes import wait_for
from tests.faults.visits_job import VisitsJob

EPOCH = [
    "live.staged:1",  # its put is refused, because it looks who the owner is
    "epoch.record-checked:1",  # behind that look: its temporary file is gone
    "epoch.record-linked:1",  # its record counts, and the next driver commits it
    "sink.manifest-written:4",  # the next driver makes visible what it has decided
    "live.committed:2",  # all is visible; its next epoch is refused
]


def test_one_of_two_drivers_is_refused(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, {"execution.checkpointing.interval": "1 s"}, epochs=20)
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

    wait_for(lambda: job.has_begun(1), SECONDS, "no live run")
    assert "JOB_LOCKED" in job.drivers.is_refused()
    output, _ = running.communicate(timeout=SECONDS)
    assert running.returncode == 0, output
    job.assert_complete()


def test_a_driver_that_was_frozen_commits_nothing_when_it_wakes_up(tmp_path: Path) -> None:
    """Its lock is removed, which declares it dead, and the next one freezes at the next place.

    Each but the last wakes up while the next one has the job; the last one when all is done.
    """
    job = VisitsJob(tmp_path, epochs=8)
    with ExitStack() as stack:
        frozen: subprocess.Popen[str] | None = None
        for place in EPOCH:
            driver = job.drivers.start(f"{place}:freeze")
            stack.enter_context(ended(driver))
            wait_until_frozen(job.drivers, driver, f"{place}:freeze")
            (job.checkpoints / "lock").unlink()
            if frozen is not None:
                assert_fenced(frozen)
                job.assert_nothing_wrong()
            frozen = driver
        assert frozen is not None
        job.drivers.succeeds()
        job.assert_complete()
        assert_fenced(frozen)
    job.assert_complete()


def test_a_driver_that_was_frozen_while_it_wrote_a_dataframe_adds_nothing(tmp_path: Path) -> None:
    job = MeetingJob(tmp_path, is_frame=True)
    with ExitStack() as stack:
        frozen: list[subprocess.Popen[str]] = []
        for place in ("frame.written:1", "frame.checked:1"):
            driver = job.drivers.start(f"{place}:freeze")
            stack.enter_context(ended(driver))
            wait_until_frozen(job.drivers, driver, f"{place}:freeze")
            (tmp_path / "job" / "lock").unlink()
            frozen.append(driver)
        last = job.drivers.start("live.committed:4:freeze")
        stack.enter_context(ended(last))
        wait_until_frozen(job.drivers, last, "live.committed:4:freeze")
        (final,) = (tmp_path / "job").glob("run-*/dataframe-*")
        files = sorted(path.name for path in final.iterdir())
        for driver in frozen:
            assert_fenced(driver)
        assert sorted(path.name for path in final.iterdir()) == files
        last.send_signal(signal.SIGCONT)
        output, _ = last.communicate(timeout=SECONDS)
        assert last.returncode == 0, output
    job.assert_complete()
