"""`cold`: what is read of a process from outside, and what is judged of it."""

from __future__ import annotations

import os
import sys

import pytest

from benchmarks.catalog import PROGRAMS
from benchmarks.model.errors import SystemFailedError
from benchmarks.programs import cold
from benchmarks.programs.cold import BATCH, EXPECTED, LIVE, Watched
from benchmarks.reporting.figures import FIGURES
from benchmarks.reporting.judging import Seconds

PROGRAM = PROGRAMS["cold"]

UNTIL_INTERRUPTED = """
import sys, time
print("batch: started", file=sys.stderr, flush=True)
time.sleep(0.05)
for n in range(5): print(n, "history", flush=True)
time.sleep(0.05)
for n in range(5): print(n, "live", flush=True)
try: time.sleep(60)
except KeyboardInterrupt: sys.exit(1)
"""


def test_it_notes_what_is_printed_first_and_interrupts_a_live_job():
    watched = Watched([sys.executable, "-c", UNTIL_INTERRUPTED], os.environ)
    assert watched.run("live") == 1
    assert len(watched.printed) == EXPECTED["live"].count
    seen = watched.seen
    assert seen["started"] < seen["output"] < seen["live"] < 30
    assert "python" in seen
    assert watched.memory["driver"] > 1 << 20


def test_a_process_that_does_not_end_is_killed_with_all_it_started(monkeypatch):
    monkeypatch.setattr(cold, "_SECONDS", 0.2)
    with pytest.raises(SystemFailedError):
        Watched([sys.executable, "-c", "import time; time.sleep(60)"], os.environ).run(None)


def test_its_figures_are_about_systems_that_it_has():
    figures = [each for each in FIGURES if each.program == "cold"]
    assert {type(each) for each in figures} == {Seconds}
    assert [(each.of, each.goal) for each in figures] == [(BATCH, 5.0), (LIVE, 7.0)]
    assert {each.of for each in figures} <= {system.name for system in PROGRAM.systems}
