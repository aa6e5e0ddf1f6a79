"""An executor dies with output that some tasks have read, and that comes out different again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faults.drivers import CLUSTER, Drivers

JOB = Path(__file__).parent / "jobs" / "stamped.py"
COUNT = 4_000
BOTH_EXECUTORS = {**CLUSTER, "spark.scheduler.minRegisteredResourcesRatio": "1.0"}
"""Work begins when both are there, so that each keeps output for the other."""


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_every_record_counts_once_if_functions_give_other_results(
    tmp_path: Path, mode: str
) -> None:
    said = _said_with_an_executor_killed(tmp_path, mode, "clock")
    assert "again from the last commit (1 of 4)" in said, said


def test_a_batch_run_computes_only_what_was_lost(tmp_path: Path) -> None:
    said = _said_with_an_executor_killed(tmp_path, "BATCH", "zero")
    assert "again" not in said, said


def _said_with_an_executor_killed(tmp_path: Path, mode: str, clock: str) -> str:
    """Kill one of two executors that has a subtask, when the other one has finished its own."""
    out = tmp_path / "out"
    settings = {
        "execution.runtime-mode": mode,
        "execution.live.single-task-work": "0ms",  # a single task has no output that others read
        **BOTH_EXECUTORS,
    }
    arguments = (str(out), str(COUNT), clock)
    drivers = Drivers(JOB, arguments, tmp_path / "job", tmp_path / "markers", settings)

    said = drivers.succeeds("stamped.second-subtask:1:kill-executor")

    parts = [part.read_text().splitlines() for part in out.glob("*.json")]
    rows = [json.loads(line) for lines in parts for line in lines]
    assert sorted(row["number"] for row in rows) == list(range(COUNT))
    return said
