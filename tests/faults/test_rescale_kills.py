"""A job whose every start has another parallelism, and that fails at each step of a change of it.

Finds a record that is lost or counted twice, a timer that fires twice or never, and state of a key in two subtasks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark.job.later_parallelism import ParallelismRequest, recorded_parallelism
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.requested_savepoint import take_offline
from penstock.state.savepoint import read_savepoint
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


RUNNING = [
    "live.started:1",  # the request is written, and no driver has looked for it
    "rescale.ended:1",  # the runs have ended, and the parallelism is the old one
    "rescale.planned:1",
    "rescale.accepted:1",  # the new one is recorded
    "rescale.written:1",
    "live.staged:1",  # an epoch of the new subtasks is not recorded
    "epoch.record-linked:1",  # it is, and its sinks have not committed
    "live.committed:1",
]
"""Steps of a running job, from a request on."""


def settings(parallelism: int, key_groups: int, backend: str = "hashmap") -> dict[str, str]:
    return {
        "parallelism.default": str(parallelism),
        "pipeline.max-parallelism": str(key_groups),
        "state.backend.type": backend,
        "restart-strategy.type": "disable",
    }


def test_a_savepoint_before_the_first_epoch_has_the_earlier_layout(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = VisitsJob(tmp_path, epochs=8)
    attempts = Attempts(job, environment)
    job.settings = settings(2, 128)
    attempts.fail_at("live.committed:3", monkeypatch)
    job.settings = settings(3, 256)
    attempts.fail_at("rescale.written:1", monkeypatch)
    place, _ = take_offline(ObservedJob.at(job.checkpoints), tmp_path / "savepoints", stop=False)
    assert isinstance(place, Path)
    savepoint = read_savepoint(place)
    assert (savepoint.parallelism, savepoint.max_parallelism) == (2, 128)
    assert savepoint.watermarks
    attempts.succeed()
    job.assert_complete()


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_a_failure_at_each_step_loses_and_repeats_nothing(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    job = VisitsJob(tmp_path, epochs=8)
    attempts = Attempts(job, environment)
    for parallelism, key_groups, place in STARTS:
        job.settings = settings(parallelism, key_groups, backend)
        if place is None:
            attempts.succeed()
        else:
            attempts.fail_at(place, monkeypatch)
    job.assert_complete()
    assert not list(job.checkpoints.glob("run-*/rescaled"))


def test_a_failure_at_each_step_of_a_running_job_that_is_rescaled(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = VisitsJob(tmp_path, epochs=8)
    attempts = Attempts(job, environment)
    job.settings = settings(2, 128)
    attempts.fail_at("live.committed:2", monkeypatch)
    request = ParallelismRequest(job.checkpoints)
    request.submit(3)
    attempts.fail_at("rescale.planned:1", monkeypatch)
    assert request.number() == 3, "the next driver serves it"
    attempts.fail_at("rescale.accepted:1", monkeypatch)
    assert recorded_parallelism(job.checkpoints) == 3
    assert request.number() is None
    attempts.fail_at("rescale.written:1", monkeypatch)
    request.submit(1)
    attempts.fail_at("live.staged:1", monkeypatch)  # one epoch of three subtasks is not recorded
    attempts.fail_at("live.recorded:1", monkeypatch)
    attempts.succeed()
    assert recorded_parallelism(job.checkpoints) == 1
    job.assert_complete()
    assert not list(job.checkpoints.glob("run-*/rescaled"))


def test_a_kill_at_each_step_of_a_running_job_that_is_rescaled(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, epochs=12)
    job.drivers.parallelism = ""  # that of the command line would have precedence at each start
    job.drivers.is_killed_at("live.committed:2")
    request = ParallelismRequest(job.checkpoints)
    for number in (3, 1):
        request.submit(number)
        for place in RUNNING:
            job.drivers.is_killed_at(place)
            job.assert_nothing_wrong()
            is_recorded = RUNNING.index(place) >= RUNNING.index("rescale.accepted:1")
            assert (recorded_parallelism(job.checkpoints) == number) == is_recorded
            assert (request.number() is None) == is_recorded
    job.drivers.succeeds()
    job.assert_complete()
    assert not list(job.checkpoints.glob("run-*/rescaled"))
