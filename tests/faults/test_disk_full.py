"""Disks that are full, for one write or for all of them, and have room again later.

Two ways, both without root and without a file system of their own:

* For the writes of our own files a failpoint stands where the write is and raises ENOSPC: it can be
  aimed at one file, in the driver or in a worker.
* For everything else, above all what Spark itself writes (shuffle, offsets, state store), the limit
  of file sizes is lowered from outside (`processes.full_disk`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock.failpoint
from penstock.observe.events.event_log import EventFiles
from penstock.observe.events.job_events import JobEnded, JobStarted, RunFinished
from tests.faults.drivers import SECONDS
from tests.faults.in_process import Attempts
from tests.faults.processes import full_disk, wait_for
from tests.faults.visits_job import VisitsJob
from tests.spark.conftest import Environment

IN_THE_DRIVER = {
    "file.job.json:1": "JOB_DIRECTORY",
    "file.run-0.pinned.json:1": "JOB_DIRECTORY",
    "file.run-0.staged.json:1": "JOB_DIRECTORY",
    "file.0-0.json:1": "SINK",
    "file.run-0.done.json:1": "JOB_DIRECTORY",
    "epoch.encoded:1": "JOB_DIRECTORY",
    "epoch.record-written:2": "JOB_DIRECTORY",
    "file.1-1.json:1": "SINK",
    "epoch.record-linked:1": "JOB_DIRECTORY",  # nobody knows whether it is durable: it counts
    "epoch.segment-written:1": "JOB_DIRECTORY",  # a merge
    "epoch.segment-synced:1": "JOB_DIRECTORY",
    "epoch.sweep:1": "JOB_DIRECTORY",
    "file.finished.json:1": "JOB_DIRECTORY",
}
IN_A_WORKER = ["spill.write:1", "sink.write:1", "worker.state-file:1"]


def test_a_record_that_finds_no_room_fails_the_job_until_there_is_some(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = VisitsJob(tmp_path, count=900, epochs=100)
    attempts = Attempts(job, environment)
    for place, code in IN_THE_DRIVER.items():
        error = attempts.fail_at(place, monkeypatch, "disk-full")
        assert error.code == code, (place, error)
        assert "No space left on device" in error.problem, (place, error)
        job.assert_nothing_wrong()
    attempts.succeed()
    job.assert_complete()


def test_a_worker_that_finds_no_room_once_is_tried_again(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, {"execution.sorted-inputs.memory": "2kb"})
    job.drivers.succeeds(*(f"{place}:disk-full" for place in IN_A_WORKER))
    job.assert_complete()


def test_events_that_find_no_room_cost_the_job_nothing(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = VisitsJob(tmp_path, count=900, epochs=100)
    penstock.failpoint.count_anew()
    full = (f"events.append:{number}:disk-full" for number in (1, 2, 4))
    monkeypatch.setenv("PENSTOCK_FAILPOINT", ",".join(full))
    Attempts(job, environment).succeed()
    job.assert_complete()
    events = list(EventFiles(job.checkpoints).events())
    assert isinstance(events[0], JobStarted)
    assert events[-1] == JobEnded("FINISHED")
    names = [event.name for event in events if isinstance(event, RunFinished)]
    assert names == ["history", "live"]


@pytest.mark.parametrize("run", ["batch", "live"])
def test_all_disks_full_fail_the_job_and_it_goes_on_when_there_is_room(
    tmp_path: Path, run: str
) -> None:
    job = VisitsJob(tmp_path, {"state.backend.type": "lmdb"}, count=900, epochs=100)
    process = job.drivers.start()
    pinned = job.checkpoints / "run-0.pinned.json"
    begun = pinned.exists if run == "batch" else lambda: job.has_begun(2)
    wait_for(begun, SECONDS, f"the {run} run did not begin")
    with full_disk(process.pid):
        output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 1, output
    assert "File too large" in output, output
    assert "Traceback" not in output, output
    assert not (job.checkpoints / "finished.json").exists()
    if run == "batch":
        job.assert_nothing_visible()
    job.assert_nothing_wrong()
    job.drivers.succeeds()
    job.assert_complete()
