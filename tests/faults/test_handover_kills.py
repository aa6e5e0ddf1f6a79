"""Exactly once while the sinks of a job are handed over: SIGKILL of `penstock handover` at each step, and the same command again.

A job, its shadow, the hand-over, and the way back. One sink, which three jobs write one after the other, must equal a
replay of the whole input.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.faults.drivers import Drivers
from tests.faults.jobs import visits_upgraded
from tests.faults.visits_job import VisitsJob
from tests.spark.visits import expected_totals, written_totals

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
EPOCH = [
    "live.staged:1",
    "epoch.record-linked:1",
    "live.committed:1",
]
"""Of the job that has got the sinks."""

BACK = [
    "handover.giver-stopped:1",
    "handover.recorded:1",
    "handover.advanced:1",
    "restore.recorded:1",
    "live.committed:1",
]


def assert_nothing_twice(job: VisitsJob) -> int:
    """Check that each visit of a page has one total, and return their number."""
    count, last = written_totals(job.out)
    assert count == sum(visits for visits, _ in last.values())
    return count


def test_a_kill_at_each_step_of_a_hand_over_loses_and_repeats_nothing(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, epochs=12)
    shadow_directory = tmp_path / "shadow"
    both = str(job.checkpoints), str(shadow_directory)

    def drivers(name: str, *command: str) -> Drivers:
        made = job.drivers
        markers = tmp_path / f"markers of {name}"
        arguments = (*made.arguments[:2], "first")
        script = Path(visits_upgraded.__file__)
        return Drivers(script, arguments, made.checkpoints, markers, made.settings, command=command)

    original = drivers("the job", "run")
    original.is_killed_at("live.committed:2")
    shadow = drivers("the shadow", "shadow", "--of", both[0], "--into", both[1])
    shadow.is_killed_at("live.committed:1")
    original.is_killed_at("live.committed:3")  # it has read more than its shadow
    before = assert_nothing_twice(job)
    handover = drivers("the hand-over", "handover", *both)
    for place in BEFORE:
        handover.is_killed_at(place)
        assert assert_nothing_twice(job) == before, "no job owns the sinks"
    refused = original.is_refused()
    assert "JOB_HANDED_OVER" in refused
    assert f"penstock handover --back {both[0]} {both[1]}" in refused
    for place in EPOCH:
        handover.is_killed_at(place)
        assert_nothing_twice(job)
    assert assert_nothing_twice(job) > before
    back = drivers("the way back", "handover", "--back", *both)
    for place in BACK:
        back.is_killed_at(place)
        assert_nothing_twice(job)
    taken = replace(original, checkpoints=shadow_directory, started=0)
    assert "JOB_HANDED_OVER" in taken.is_refused()
    back.succeeds()
    count, last = written_totals(job.out)
    assert last == expected_totals(job.visits)
    assert count == len(job.visits)
