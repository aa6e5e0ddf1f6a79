"""Exactly once while a program is changed: SIGKILL of `penstock upgrade` at each step, and the same command again.

Totals of the first version go on, and the quiet pages are new. Both sinks must equal a replay of the whole input,
which is the answer of the second version from the beginning. The first version has been killed, or it goes on.
"""

from __future__ import annotations

import time
from pathlib import Path

from penstock.spark.job.observed_job import RESTORED
from tests.faults.drivers import SECONDS, Drivers
from tests.faults.jobs import visits_upgraded
from tests.faults.visits_job import VisitsJob
from tests.spark.visits import written_quiet, written_totals

BEFORE_COMMIT = [
    "batch.ran:1",  # in the batch run; the next driver reads anew
]
UPGRADE = [
    "sink.renamed-first:1",  # its output is half visible, and no longer removed
    "bootstrap.state:1",  # state without a manifest, which is no savepoint
    "bootstrap.merged:1",  # a savepoint, which the second version did not start from
]
EPOCH = [
    "live.staged:1",
    "epoch.record-linked:1",
    "live.committed:1",
]
"""Of the second version."""


ROUNDS = [
    "rounds.chosen:1",  # the positions of the first round are recorded
    "batch.ran:1",  # nothing is visible, and the next driver reads anew
    "sink.renamed-first:1",  # the output of the history is half visible
    "bootstrap.part-state:1",  # state of the first round without a manifest
    "bootstrap.advanced:1",  # the first round is complete
    "rounds.chosen:1",  # the positions of the next round are recorded
    "live.recorded:1",  # in a live run that catches up, before its sinks have committed
]
"""While the first version goes on."""

STOP = [
    "savepoint.requested:1",  # the first version takes its savepoint, and stops
    "live.staged:1",  # in the last round
    "bootstrap.part-state:1",
    "bootstrap.state:1",
    "bootstrap.merged:1",
]


def second_version(job: VisitsJob, *settings: tuple[str, str]) -> Drivers:
    """Return the drivers of `penstock upgrade`."""
    first = job.drivers
    return Drivers(
        first.script,
        (*first.arguments[:2], "second"),
        job.root / "second",
        job.root / "markers of the second",
        {**first.settings, **dict(settings)},
        command=("upgrade", str(job.checkpoints), str(job.root / "second")),
    )


def test_a_kill_at_each_round_beside_a_running_job_loses_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    job = VisitsJob(tmp_path, count=1800, epochs=80)
    first = job.drivers
    first.script = Path(visits_upgraded.__file__)
    first.arguments = (str(job.data), str(job.out), "slow")
    second = second_version(job, ("execution.evolution.short-round", "0 ms"))
    running = first.start()
    try:
        await_epoch(job)
        for place in ROUNDS:
            before, _ = written_totals(job.out)
            second.is_killed_at(place)
            job.assert_nothing_wrong()
            assert running.poll() is None
            assert written_totals(job.out)[0] > before, "the first version goes on"
        second.is_killed_at(STOP[0])
        output, _ = running.communicate(timeout=SECONDS)
        assert running.returncode == 0, output
    finally:
        running.kill()
    stands, _ = written_totals(job.out)
    assert stands < len(job.visits)
    for place in STOP[1:]:
        second.is_killed_at(place)
        job.assert_nothing_wrong()
        assert written_totals(job.out)[0] == stands
    for place in EPOCH:
        second.is_killed_at(place)
        job.assert_nothing_wrong()
    second.succeeds()
    job.assert_complete()
    assert not (second.checkpoints / "bootstrap").exists()


def await_epoch(job: VisitsJob) -> None:
    """Wait until the live run has recorded an epoch."""
    until = time.monotonic() + SECONDS
    while not job.has_begun(0):
        assert time.monotonic() < until
        time.sleep(0.2)


def test_a_kill_at_each_step_of_an_upgrade_loses_and_repeats_nothing(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, epochs=6)
    first = job.drivers
    first.script = Path(visits_upgraded.__file__)
    first.arguments = (str(job.data), str(job.out), "first")
    first.is_killed_at("live.committed:2")
    before, _ = written_totals(job.out)
    assert 0 < before < len(job.visits), "the old job must be in its live run for this test"
    second = second_version(job)
    for place in BEFORE_COMMIT:
        assert "reads again, for what is not kept" in second.is_killed_at(place)
        assert not written_quiet(job.out)
    for place in UPGRADE:
        second.is_killed_at(place)
        job.assert_nothing_wrong()
        assert written_totals(job.out)[0] == before, "kept operators stand still"
        assert not (second.checkpoints / f"{RESTORED}.json").exists()
    assert written_quiet(job.out)
    for place in EPOCH:
        second.is_killed_at(place)
        job.assert_nothing_wrong()
    second.succeeds()
    job.assert_complete()
    assert not (second.checkpoints / "bootstrap").exists()
