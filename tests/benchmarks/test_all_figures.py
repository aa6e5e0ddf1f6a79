"""The command that measures all figures: each call is one that works, and nothing is left out or done twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime

import pytest
import typer

from benchmarks import figure_runs
from benchmarks.all_figures import (
    FigureSession,
    is_failed,
    listing,
    minutes_of,
    newest,
    open_runs,
    seconds_until,
)
from benchmarks.catalog import PROGRAMS
from benchmarks.command import app
from benchmarks.figure_runs import RUNS, TINY, FigureRun, named
from benchmarks.measuring.runner import BenchRequest, chosen_systems
from benchmarks.reporting.costs import RESULTS
from benchmarks.reporting.figures import FIGURES
from tools.site.numbers import LATENCIES, SPEEDS


@pytest.mark.parametrize("is_tiny", [False, True], ids=["whole", "tiny"])
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_arguments_name_what_there_is(run, is_tiny):
    run = run.tiny() if is_tiny else run
    context = typer.main.get_command(app).make_context("benchmarks", list(run.arguments))
    given = context.params
    program = PROGRAMS[given["names"][0]]
    request = BenchRequest(systems=given["system"] or (), peers=given["against"] or ())
    assert chosen_systems(program, request)
    options = {each.partition("=")[0] for each in given["option"] or ()}
    assert options <= program.options.keys()
    assert run.name.startswith(program.name)
    assert not is_tiny or (given["runs"] == 1 and given["records"] <= 100_000)


def test_every_figure_has_a_run():
    named = {name for run in RUNS for name in run.figures.split(", ") if name}
    assert named >= {figure.id for figure in FIGURES}
    measured = {run.arguments[0] for run in RUNS}
    assert measured >= {figure.program for figure in FIGURES}


def test_every_program_of_the_catalogue_has_a_run():
    assert {run.arguments[0] for run in RUNS} == set(PROGRAMS)
    assert TINY.keys() == set(PROGRAMS)


def test_what_the_readme_claims_is_measured_first():
    claimed = [speed.program for speed in (*SPEEDS, *LATENCIES)]
    assert [run.name for run in RUNS[: len(claimed)]] == claimed


def test_a_tiny_run_differs_in_size_only():
    run = FigureRun("a", "", ("reduce", "--runs", "5", "-o", "slow-records=9", "--system", "x y"))
    assert run.tiny().arguments == (
        *("reduce", "--system", "x y", "--runs", "1", "--records", "20000", "--keys", "100"),
        *("-o", "live-records=1000", "-o", "slow-records=2000"),
    )


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Return where results are, and have a program that appends one, unless its name is `fails`."""
    monkeypatch.setattr(figure_runs, "RESULTS", tmp_path)
    program = """
import json, sys, time
name, path = sys.argv[1:]
if name == "fails":
    sys.exit(1)
if name == "sleeps":
    print("begun", flush=True)
    time.sleep(60)
skipped = [{"system": "peer", "keys": 5, "reason": "is not here", "is_failure": False}]
equal = name != "differs"
if name != "forgets":
    with open(path, "a") as file:
        print(json.dumps({"commit": "abc", "runs": 1, "wall_seconds": 120,
                          "results": [{"outputs_equal": equal, "seconds": {"median": 10}}],
                          "skipped": skipped if name == "lonely" else []}), file=file)
sys.exit(not equal)
"""

    def command(self, path):
        return (sys.executable, "-c", program, self.name, str(path))

    monkeypatch.setattr(FigureRun, "command", command)
    return tmp_path


def _named(*names):
    return [FigureRun(name, "", (name, "--runs", "1")) for name in names]


def test_what_this_commit_has_is_not_measured_again(results):
    runs = _named("one", "two", "differs")
    assert FigureSession().measure([runs[0], runs[2]]) == 1
    assert [run.name for run in open_runs(runs, (), "abc")] == ["two", "differs"]
    assert open_runs(runs, (), "later") == runs
    assert open_runs(runs, (), "abc+") == runs
    assert open_runs(runs, ("t*",), None) == named(runs, ("t*",)) == runs[1:2]


@pytest.mark.parametrize(
    ("equal", "is_failure", "failed"),
    [(True, None, False), (True, False, False), (True, True, True), (False, None, True)],
)
def test_a_result_failed_if_outputs_differ_or_one_of_ours_is_missing(equal, is_failure, failed):
    skipped = [{"system": "a"} | ({} if is_failure is None else {"is_failure": is_failure})]
    assert is_failed({"results": [{"outputs_equal": equal}], "skipped": skipped}) is failed


def test_what_does_not_fit_is_left_out(results):
    runs = _named("one")
    assert FigureSession(60.0).measure(runs) == 0
    assert minutes_of(runs[0]) == 2
    night = FigureSession(60.0)
    assert night.measure(runs) == 0
    assert night.left_out == ["one: 1 min are left, it takes 2 min"]
    assert len((results / "one.jsonl").read_text().splitlines()) == 1
    assert "| one |  | 2 | one --runs 1 |" in listing(runs)


def test_what_runs_when_the_time_is_over_is_stopped_and_not_recorded(results):
    given = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as what a shell starts in the background
    try:
        night = FigureSession(1.5)
        begun = time.monotonic()
        assert night.measure(_named("sleeps", "two")) == 0
    finally:
        signal.signal(signal.SIGINT, given)
    assert time.monotonic() - begun < 30
    assert night.left_out[0] == "sleeps: stopped at the end of the time, not recorded"
    assert [line.partition(":")[0] for line in night.left_out] == ["sleeps", "two"]
    assert not list(results.iterdir())


def test_others_go_on_behind_one_that_fails(results, capsys):
    night = FigureSession()
    assert night.measure(_named("fails", "two", "forgets", "lonely")) == 1
    assert json.loads((results / "two.jsonl").read_text())["commit"] == "abc"
    said = capsys.readouterr().err
    assert "[1/4] fails: FAILED" in said
    assert "2 measured, 2 failed, 0 left out" in said
    assert "failed: fails: exit status 1" in said
    assert "failed: forgets: it recorded nothing" in said
    assert "without: lonely: peer, 5 keys: is not here" in said


def test_results_of_a_tiny_run_go_elsewhere(results, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert FigureSession(directory=elsewhere).measure(_named("one")) == 0
    assert newest(elsewhere / "one.jsonl")
    assert not (results / "one.jsonl").exists()


def test_an_interrupted_run_says_what_it_did(tmp_path):
    program = """
from benchmarks.all_figures import FigureSession
from benchmarks.figure_runs import FigureRun
import sys
FigureRun.command = lambda self, path: (sys.executable, "-c", "print('begun', flush=True); import time; time.sleep(60)")
sys.exit(FigureSession().measure([FigureRun("one-that-is-not-there", "", ("reduce",))]))
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        begun = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # a group of its own
        said = process.communicate()[1]
    assert process.returncode == 130
    assert "the same command goes on from here" in said
    assert "0 measured, 0 failed, 0 left out" in said
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize(
    ("clock", "seconds"), [("23:30", 1800), ("23:00", 86_400), ("00:10", 4200)]
)
def test_a_time_of_the_day_is_the_next_one(clock, seconds):
    assert seconds_until(clock, datetime(2026, 11, 26, 23, 0)) == seconds  # noqa: DTZ001 - of a clock


@pytest.mark.parametrize(
    ("wall_seconds", "rounds", "seconds"), [(None, 3, 1.3 * 120), (150, 3, 150), (150, 5, 190)]
)
def test_what_a_run_will_take_is_known_from_other_rounds(results, wall_seconds, rounds, seconds):
    each = {"seconds": {"median": 10.0}, "details": {"cold_seconds": 30.0}}
    line = {"runs": 3, "wall_seconds": wall_seconds, "results": [each, each]}
    (results / "one.jsonl").write_text(json.dumps(line))
    run = FigureRun("one", "", ("reduce", "--runs", str(rounds)))
    assert minutes_of(run) == pytest.approx(seconds / 60)
    assert minutes_of(_named("two")[0]) is None


def test_results_lie_where_the_pages_read_them():
    assert all(run.results.parent == RESULTS for run in RUNS)
    assert len({run.name for run in RUNS}) == len(RUNS)
