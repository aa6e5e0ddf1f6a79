"""Workers and executors that are killed at every step boundary: nobody can tell.

All accidents happen to one job; each once, and each to a process that is new if another one
came before. The driver never notices more than tasks that are tried again, or an epoch.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.faults.drivers import CLUSTER, Drivers
from tests.faults.jobs import flow
from tests.faults.visits_job import VisitsJob

BATCH = [
    "batch.worker.read:1",
    "batch.worker.level:1",
    "worker.state-file:1",
    "worker.staged-run-0:1",
]
LIVE = [
    "live.worker.read:1",
    "live.worker.adopted:1",
    "live.worker.logged:2",
    "worker.staged-run-1:3",
]
STAGES = [
    "live.worker.read:2",  # the first stage: its output is complete
    "live.worker.adopted:1",  # the state of the run before is read
    "flow.totals:60",  # the second one: it has read, and sent a part
    "flow.numbered:60",  # the third one, behind two exchanges
    "live.worker.logged:3",
    "worker.staged-run-1:2",  # its output is staged
]


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_a_worker_killed_at_every_step_boundary(tmp_path: Path, backend: str) -> None:
    job = VisitsJob(tmp_path, {"state.backend.type": backend}, count=900, epochs=16)
    job.drivers.succeeds(*(f"{place}:kill" for place in BATCH + LIVE))
    job.assert_complete()


@pytest.mark.parametrize(
    ("action", "single_task_work"), [("kill", "0ms"), ("kill-executor", "0ms"), ("kill", "1min")]
)
def test_a_death_in_every_stage_of_an_epoch(
    tmp_path: Path, action: str, single_task_work: str
) -> None:
    settings = {
        "execution.runtime-mode": "STREAMING",
        "execution.live.max-records-per-batch": "40",
        "execution.live.catch-up-factor": "1",
        "execution.live.single-task-work": single_task_work,
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "100 ms",
        **(CLUSTER if action == "kill-executor" else {}),
    }
    out = tmp_path / "out"
    arguments = (str(out), "1500", "0")
    drivers = Drivers(
        Path(flow.__file__), arguments, tmp_path / "job", tmp_path / "markers", settings
    )
    drivers.succeeds(*(f"{place}:{action}" for place in STAGES))
    rows = [row for path in out.glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    assert len(rows) == 1500 + flow.HISTORY * flow.SPLITS
    flow.assert_shown(rows)
