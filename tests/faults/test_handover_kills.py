"""Exactly once while the sinks of a job are handed over: SIGKILL of `penstock handover` at each step, and the same command again.

A job, its shadow, the hand-over, and the way back, for each system that has sinks. Three jobs write one target one after
the other, and each record of the input must be counted in it once. The job is handed over while one of its drivers sleeps
inside a commit, which wakes up when others own the target.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.faults.drivers import Drivers, assert_fenced, ended, wait_until_frozen
from tests.sink_systems import SINKS, SinkTarget, new_target
from tests.spark.jobs import weighed
from tests.spark.jobs.weighed import HEAVY, LIGHT, add, owners

RECORDS = 200
SETTINGS = {
    "execution.runtime-mode": "STREAMING",
    "execution.live.max-records-per-batch": "8",
    "execution.live.catch-up-factor": "1",
}

BEFORE = [
    "handover.taker-stopped:1",  # the shadow has ended, the job goes on
    "handover.giver-stopped:1",  # both have ended
    "handover.recorded:1",  # the job may not start again
    "live.staged:1",  # an epoch of what advances, with sinks that drop
    "bootstrap.part-state:1",  # state at the positions of the job, without a manifest
    "handover.advanced:1",  # a savepoint, from which nothing has started
    "restore.copied:1",
    "restore.recorded:1",  # the generation owns the sinks
]
EPOCH = ["live.staged:1", "epoch.record-linked:1"]
"""Of the job that has got the sinks; the steps of its commit follow."""

BACK = [
    "handover.giver-stopped:1",
    "handover.recorded:1",
    "handover.advanced:1",
    "restore.recorded:1",
]


@dataclass(frozen=True, slots=True)
class Scene:
    """A job, its shadow, and their target.

    Attributes:
        base: Directory of everything.
        target: The place that they write.
    """

    base: Path
    target: SinkTarget

    @property
    def both(self) -> tuple[str, str]:
        """The checkpoint directories."""
        return str(self.base / "job"), str(self.base / "shadow")

    def drivers(self, name: str, weight: int, *command: str) -> Drivers:
        """Return the drivers of a command that starts the program."""
        target = (self.target.system, self.target.address, self.target.name)
        return Drivers(
            Path(weighed.__file__),
            (str(self.base / "log"), "bounded", str(weight), *target),
            self.base / "job",
            self.base / f"markers of {name}",
            SETTINGS,
            command=command,
        )

    def written(self) -> int:
        """Return the number of totals, and check that each record was counted once by one job after the other."""
        rows = self.target.rows()
        for of_key in owners(rows):
            assert [LIGHT, HEAVY, LIGHT][: len(of_key)] == of_key
        return rows.total()


@pytest.mark.parametrize("system", SINKS)
def test_a_kill_at_each_step_of_a_hand_over_loses_and_repeats_nothing(
    tmp_path: Path, system: str, request: pytest.FixtureRequest
) -> None:
    scene = Scene(tmp_path, new_target(system, request))
    add(tmp_path / "log", 0, RECORDS)
    original = scene.drivers("the job", LIGHT, "run")
    original.is_killed_at("live.committed:2")
    job, taker = scene.both
    shadow = scene.drivers("the shadow", HEAVY, "shadow", "--of", job, "--into", taker)
    shadow.is_killed_at("live.committed:1")
    handover = scene.drivers("the hand-over", HEAVY, "handover", *scene.both)
    asleep = f"{SINKS[system].sleeps_at}:1:freeze"
    sleeping = original.start(asleep)
    with ended(sleeping):
        wait_until_frozen(original, sleeping, asleep)
        (tmp_path / "job" / "lock").unlink()
        assert "only a restart of the job can go on from there" in handover.is_refused()
        original.is_killed_at("live.committed:2")  # it has read more than its shadow
        before = scene.written()
        for place in BEFORE:
            handover.is_killed_at(place)
            assert scene.written() == before, "no job owns the sinks"
        refused = original.is_refused()
        assert "JOB_HANDED_OVER" in refused
        assert f"penstock handover --back {job} {taker}" in refused
        for place in (*EPOCH, *(f"{step}:1" for step in SINKS[system].steps)):
            handover.is_killed_at(place)
            scene.written()
        handover.is_killed_at("live.committed:1")
        now = scene.written()
        assert now > before
        assert_fenced(sleeping)
        assert scene.written() == now
    back = scene.drivers("the way back", LIGHT, "handover", "--back", *scene.both)
    for place in BACK:
        back.is_killed_at(place)
        assert scene.written() == now
    taken = replace(original, checkpoints=tmp_path / "shadow", started=0)
    assert "JOB_HANDED_OVER" in replace(taken, arguments=handover.arguments).is_refused()
    back.is_killed_at("live.committed:1")
    scene.written()
    back.succeeds()
    assert scene.written() == RECORDS
    assert [LIGHT, HEAVY, LIGHT] in owners(scene.target.rows())
