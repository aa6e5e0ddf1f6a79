"""When a job has no savepoint to give (FLIP-331 §5.3, rule 7). Nothing here needs Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.errors import SavepointError
from penstock.plan.phases.bounded_region import RESULTS_RUN
from penstock.plan.physical import PipelinePlan
from penstock.spark.live.epochs.epoch_savepoints import EpochSavepoints
from penstock.spark.savepoints.job_savepoints import JobSavepoints
from penstock.spark.savepoints.savepoint_requests import (
    SavepointFutures,
    SavepointRequests,
    no_live_run,
)


def savepoints_of(directory: Path, run: str) -> EpochSavepoints:
    checkpoints = SimpleNamespace(path=directory, step=lambda _: None, is_temporary=False)
    plan = SimpleNamespace(pipelines=(PipelinePlan(0, (1,)),), runs=())
    job: Any = SimpleNamespace(directory=checkpoints, plan=plan, configuration=Configuration())
    of_run: Any = SimpleNamespace(name=run, index=1, readings=(), pipeline=0)
    outline: Any = SimpleNamespace(layout=None)
    savepoints = JobSavepoints(job)
    savepoints.begin(0)
    return EpochSavepoints(job, of_run, outline, savepoints)


def test_a_request_waits_until_the_results_of_the_bounded_region_are_state(tmp_path: Path) -> None:
    request = SavepointRequests(tmp_path).submit(None)
    assert savepoints_of(tmp_path, RESULTS_RUN).next() is None
    found = savepoints_of(tmp_path, "live").next()
    assert found is not None
    assert found.event == request.event


@pytest.mark.parametrize("stop", [False, True])
def test_a_job_without_a_live_run_refuses_at_once(tmp_path: Path, stop: bool) -> None:
    futures = SavepointFutures(tmp_path, no_live_run("totals"))
    future = futures.submit(None, stop=stop, drain=False)
    assert future.done()
    with pytest.raises(SavepointError, match="'totals' is a batch job") as caught:
        future.result()
    assert caught.value.code == "SAVEPOINT"
    assert SavepointRequests(tmp_path).waiting() == []
