"""Exactly once while a program is changed: SIGKILL of `penstock upgrade` at each step, and the same command again.

Totals of the first version go on, and the quiet pages are new. Both sinks must equal a replay of the whole input,
which is the answer of the second version from the beginning.
"""

from __future__ import annotations

from pathlib import Path

from penstock.spark.job.observed_job import RESTORED
from tests.faults.drivers import Drivers
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


def test_a_kill_at_each_step_of_an_upgrade_loses_and_repeats_nothing(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, epochs=6)
    first = job.drivers
    first.script = Path(visits_upgraded.__file__)
    first.arguments = (str(job.data), str(job.out), "first")
    first.is_killed_at("live.committed:2")
    before, _ = written_totals(job.out)
    assert 0 < before < len(job.visits), "the old job must be in its live run for this test"
    second = Drivers(
        first.script,
        (*first.arguments[:2], "second"),
        tmp_path / "second",
        tmp_path / "markers of the second",
        first.settings,
        command=("upgrade", str(job.checkpoints), str(tmp_path / "second")),
    )
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
