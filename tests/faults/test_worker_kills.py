"""Workers and executors that are killed at every step boundary: nobody can tell.

All accidents happen to one job; each once, and each to a process that is new if another one
came before. The driver never notices more than tasks that are tried again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.drivers import CLUSTER
from tests.faults.visits_job import VisitsJob

BOUNDARIES = [
    "batch.worker.read:1",
    "batch.worker.level:1",
    "worker.state-file:1",
    "worker.staged-run-0:1",
    "live.worker.read:1",
    "live.worker.adopted:1",
    "live.worker.logged:2",
    "worker.staged-run-1:3",
]


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_a_worker_killed_at_every_step_boundary(tmp_path: Path, backend: str) -> None:
    settings = {"state.backend.type": backend}
    job = VisitsJob(tmp_path, settings, count=900, live_files=8)
    job.drivers.succeeds(*(f"{place}:kill" for place in BOUNDARIES))
    job.assert_complete()


def test_an_executor_killed_at_every_step_boundary(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, CLUSTER, count=900, live_files=8)
    job.drivers.succeeds(*(f"{place}:kill-executor" for place in BOUNDARIES))
    job.assert_complete()
