"""The guard against regressions: when it fails."""

from __future__ import annotations

import pytest

from benchmarks.catalog import PROGRAMS
from benchmarks.measuring.runner import BenchRequest
from benchmarks.reporting.judging import Throughput
from benchmarks.smoke import RUNS, Smoke, run


@pytest.fixture
def fake(fake_program, fake_system, monkeypatch):
    """Return a maker of runs in which `a` is twice as fast as `p`."""

    def make(goal, against="p", **peer):
        a = fake_system("a", seconds="0.5")
        p = fake_system("p", is_peer=True, **{"seconds": "1.0", **peer})
        monkeypatch.setitem(PROGRAMS, "fake", fake_program(a, p))
        figure = Throughput(id="S", program="fake", goal=goal, against=(against,))
        return (Smoke(BenchRequest(rounds=1), (figure,)),)

    return make


def test_goals_that_hold_pass(fake):
    assert run(fake(2.0)) == 0


def test_a_goal_that_does_not_hold_fails(fake, capsys):
    assert run(fake(2.1)) == 1
    assert "a / p, 10 keys: 2.0 (goal 2.1): DOES NOT HOLD" in capsys.readouterr().err


def test_wrong_outputs_fail(fake):
    assert run(fake(0.1, digest="wrong")) == 1


def test_a_goal_nobody_could_judge_fails(fake):
    assert run(fake(0.1, against="q")) == 1


def test_systems_of_the_runs_exist():
    for smoke in RUNS:
        program = PROGRAMS[smoke.goals[0].program]
        names = {system.name for system in program.systems}
        for goal in smoke.goals:
            assert goal.program == program.name
            assert {goal.of or program.reference, *getattr(goal, "against", ())} <= names
        assert {*smoke.request.systems, *smoke.request.peers} <= names
