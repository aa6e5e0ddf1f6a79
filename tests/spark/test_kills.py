"""Exactly once, tested by SIGKILL at every step boundary.

One checkpoint directory, one driver after the other: each is killed at the next boundary, so
every driver both recovers from the kill before and dies at a new place. The last one is left
alone. A marker proves each kill. The sinks must equal a replay of the input.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.spark.visits import (
    expected_quiet,
    expected_totals,
    make_visits,
    start_job,
    write_visits,
    written_quiet,
    written_totals,
)

MIXED = {"execution.checkpointing.interval-during-backlog": "0"}
BOUNDARIES = [
    "batch.pinned:1",
    "batch.ran:1",
    "batch.staged:1",
    "sink.manifest-written:1",
    "sink.renamed-first:1",
    "sinks.one-committed:1",
    "sinks.committed:1",
    "batch.committed:1",
    "batch.done:1",
    "live.started:1",
    "live.staged:1",
    "sink.manifest-written:2",
    "sinks.one-committed:1",
    "live.committed:2",
    "live.staged:2",
    "live.done:1",
    "job.finished:1",
]


def test_a_kill_at_every_step_boundary_loses_and_repeats_nothing(tmp_path: Path) -> None:
    visits = make_visits(900)
    data, out, checkpoints = tmp_path / "data", tmp_path / "out", tmp_path / "job"
    write_visits(data, visits, cut=500)
    for number, boundary in enumerate([*BOUNDARIES, None]):
        marker = tmp_path / f"marker-{number}"
        armed = {}
        if boundary is not None:
            armed = {
                "PENSTOCK_FAILPOINT": f"{boundary}:kill",
                "PENSTOCK_FAILPOINT_MARKER": str(marker),
            }
        process = start_job(data, out, checkpoints, mode=MIXED, **armed)
        output, _ = process.communicate(timeout=240)
        if boundary is None:
            assert process.returncode == 0, output
        else:
            assert process.returncode == -signal.SIGKILL, f"{boundary}: {output}"
            assert marker.read_text() == f"{boundary}:kill"
    count, last = written_totals(out)
    assert last == expected_totals(visits)
    assert count == len(visits)
    assert written_quiet(out) == expected_quiet(visits)


@pytest.mark.parametrize("mode", [{}, MIXED], ids=["streaming", "mixed"])
def test_ctrl_c_stops_cleanly_and_the_job_resumes(tmp_path: Path, mode: dict[str, str]) -> None:
    visits = make_visits(600)
    data, out, checkpoints = tmp_path / "data", tmp_path / "out", tmp_path / "job"
    write_visits(data, visits, cut=300)
    process = start_job(data, out, checkpoints, mode=mode)
    assert process.stdout is not None
    for line in process.stdout:
        if "live" in line:
            process.send_signal(signal.SIGINT)
            break
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    process = start_job(data, out, checkpoints, mode=mode)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    count, last = written_totals(out)
    assert (count, last) == (len(visits), expected_totals(visits))
    assert written_quiet(out) == expected_quiet(visits)
