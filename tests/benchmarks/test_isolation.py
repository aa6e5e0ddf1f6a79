"""`isolation`: what both systems are told, and a round that history does not outlast."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.catalog import PROGRAMS
from benchmarks.measuring.runner import BenchRequest, chosen_systems
from benchmarks.model.measurement import LATENCY
from benchmarks.model.program import Case
from benchmarks.programs.isolation import ALONE, BESIDE, HISTORY_RECORDS
from benchmarks.programs.latency import ClockWorkload
from benchmarks.reporting.figures import FIGURES
from benchmarks.reporting.judging import Latency
from benchmarks.systems.latency_system import RATE
from benchmarks.systems.launch import PEERS
from penstock.observe.events.job_events import JobEvent, RunFinished, RunStarted

PROGRAM = PROGRAMS["isolation"]
OPTIONS = {HISTORY_RECORDS: 7, RATE: 1}
CASE = Case(100, 10, 2, 1, OPTIONS)


@pytest.fixture
def workload():
    return ClockWorkload(PROGRAM.name, CASE)


@pytest.fixture
def isolated(workload, tmp_path, monkeypatch):
    """Return a maker of systems without a job; every event is out 40 ms after it arose."""
    monkeypatch.syspath_prepend(str(PEERS))
    isolation_penstock: Any = importlib.import_module("isolation_penstock")
    system_class: Any = isolation_penstock.Isolated
    monkeypatch.setattr(isolation_penstock, "SETTLE_MS", 1)

    class WithoutJob(system_class):  # type: ignore[misc]
        events: tuple[JobEvent, ...] = ()

        def start(self):
            self.begun = isolation_penstock.now_ms()
            self._history = []
            for event in self.events:
                self.on_event(event)

        def arrivals(self):
            now = isolation_penstock.now_ms()
            for event in range(self.begun, max(self.begun + 1, now - 40)):
                yield event + 40, np.array([event])

        def check_alive(self):
            pass

        def close(self):
            pass

    def make(name, *events):
        (system,) = (each for each in PROGRAM.systems if each.name == name)
        made = WithoutJob(workload.specification(system, tmp_path))
        made.events = events
        return made

    yield make
    sys.modules.pop("isolation_penstock", None)


def test_one_of_two_systems_has_another_pipeline(workload):
    told = {
        system.name: workload.specification(system, Path())
        for system in chosen_systems(PROGRAM, BenchRequest())
    }
    assert list(told) == [ALONE, BESIDE]
    assert told[ALONE]["options"] == {}
    assert told[BESIDE]["options"] == {"beside": "true"}
    assert all(each["shape"]["parameters"] == OPTIONS for each in told.values())


def test_figures_compare_both_quantiles():
    figures = [
        each for each in FIGURES if isinstance(each, Latency) and each.program == "isolation"
    ]
    assert [(figure.quantile, figure.goal) for figure in figures] == [("p50", 2.0), ("p99", 2.0)]
    assert PROGRAM.reference == BESIDE
    assert {figure.against for figure in figures} == {(ALONE,)}


BEGUN = RunStarted("history", "batch", "orders", bounded=True)
ENDED = RunFinished("history", "batch", 7, 1.0)


def test_a_round_needs_history_to_the_end(isolated):
    assert isolated(ALONE).round()[LATENCY] == {"p50": 40.0, "p99": 40.0}
    assert isolated(BESIDE, BEGUN).round()["records"] == CASE.records
    with pytest.raises(RuntimeError, match=r"history ended within the round of 0\.1 seconds"):
        isolated(BESIDE, BEGUN, ENDED).round()
