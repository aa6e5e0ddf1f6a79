"""Ctrl-C and SIGTERM end a job cleanly, and the next start goes on from there."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.faults.drivers import MIXED, SECONDS
from tests.faults.visits_job import VisitsJob
from tests.spark.visits import written_totals


@pytest.mark.parametrize(
    ("mode", "interrupt"),
    [
        pytest.param(MIXED, signal.SIGINT, id="mixed-SIGINT"),
        # History is read by a query then, and the live files by a loop of epochs.
        pytest.param({}, signal.SIGTERM, id="streaming-SIGTERM"),
    ],
)
def test_a_stopped_job_ends_cleanly_and_resumes(
    tmp_path: Path, mode: dict[str, str], interrupt: signal.Signals
) -> None:
    job = VisitsJob(tmp_path, epochs=200, mode=mode)
    process = job.drivers.start()
    assert process.stdout is not None
    for line in process.stdout:
        if "live" in line:
            process.send_signal(interrupt)
            break
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + interrupt, output
    assert "Traceback" not in output
    assert written_totals(job.out)[0] < len(job.visits), "it must not be at its end for this test"
    job.drivers.succeeds()
    job.assert_complete()
