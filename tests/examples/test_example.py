"""The example: it plans as what it says it is, without starting Spark."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from penstock.api.environment.job import PlanReady
from penstock.config.configuration import set_process_overrides
from penstock.program.run_settings import RunKind

EXAMPLE = Path(__file__).parents[2] / "examples" / "departures.py"


@pytest.fixture
def plan_only():
    set_process_overrides("test", {"execution.target": "plan"})
    yield
    set_process_overrides("test", {})


def test_the_example_reads_history_as_a_batch_and_goes_on_live(plan_only, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(tmp_path)])
    with pytest.raises(PlanReady) as planned:
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    plan = planned.value.plan
    assert [(run.name, run.kind) for run in plan.runs] == [
        ("history", RunKind.BATCH),
        ("live", RunKind.LIVE),
    ]
    assert len(plan.sinks) == 2
    assert not plan.sources[0].parts[-1].is_bounded
    assert list(tmp_path.iterdir()) == []


def test_the_example_is_short_enough_for_the_readme():
    assert len(EXAMPLE.read_text().splitlines()) < 60
