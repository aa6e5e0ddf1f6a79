"""A job whose every start has another parallelism, and that fails at each step of a change of it.

Finds a record that is lost or counted twice, a timer that fires twice or never, and state of a key in two subtasks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.in_process import Attempts
from tests.faults.visits_job import VisitsJob
from tests.spark.conftest import Environment

STARTS = [
    (2, 128, "batch.pinned:1"),  # recorded nothing: the batch begins again
    (3, 128, "batch.staged:1"),
    (2, 128, "batch.committed:1"),
    (1, 256, "batch.done:1"),  # committed with the parallelism with which it was staged
    (3, 256, "live.started:1"),
    (1, 256, "live.staged:1"),
    (2, 256, "live.recorded:1"),  # the first epoch counts
    (3, 256, "rescale.outline-kept:1"),
    (3, 256, "rescale.written:1"),
    (1, 256, "live.staged:1"),  # another one, and still no epoch of it
    (3, 256, "live.recorded:1"),
    (3, 256, "live.committed:1"),
    (2, 512, "rescale.written:1"),
    (2, 512, "live.committed:1"),
    (1, 512, "live.recorded:1"),
    (2, 1024, None),
]


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_a_failure_at_each_step_loses_and_repeats_nothing(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    job = VisitsJob(tmp_path, epochs=8)
    attempts = Attempts(job, environment)
    for parallelism, key_groups, place in STARTS:
        job.settings = {
            "parallelism.default": str(parallelism),
            "pipeline.max-parallelism": str(key_groups),
            "state.backend.type": backend,
            "restart-strategy.type": "disable",
        }
        if place is None:
            attempts.succeed()
        else:
            attempts.fail_at(place, monkeypatch)
    job.assert_complete()
    assert not list(job.checkpoints.glob("run-*/rescaled"))
