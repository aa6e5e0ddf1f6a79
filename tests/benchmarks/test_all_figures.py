"""The command that measures all figures: each call is one that works, and nothing is left out or done twice."""

from __future__ import annotations

import json
import sys

import pytest
import typer

from benchmarks import all_figures
from benchmarks.all_figures import RUNS, FigureRun, listing, measure, minutes_of, open_runs
from benchmarks.catalog import PROGRAMS
from benchmarks.command import app
from benchmarks.measuring.runner import BenchRequest, chosen_systems
from benchmarks.reporting.costs import RESULTS
from benchmarks.reporting.figures import FIGURES


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_arguments_name_what_there_is(run):
    context = typer.main.get_command(app).make_context("benchmarks", list(run.arguments))
    given = context.params
    program = PROGRAMS[given["names"][0]]
    request = BenchRequest(systems=given["system"] or (), peers=given["against"] or ())
    assert chosen_systems(program, request)
    options = {each.partition("=")[0] for each in given["option"] or ()}
    assert options <= program.options.keys()
    assert run.name.startswith(program.name)


def test_every_figure_has_a_run():
    named = {name for run in RUNS for name in run.figures.split(", ") if name}
    assert named >= {figure.id for figure in FIGURES}
    measured = {run.arguments[0] for run in RUNS}
    assert measured >= {figure.program for figure in FIGURES}


def test_every_program_of_the_catalogue_has_a_run():
    assert {run.arguments[0] for run in RUNS} == set(PROGRAMS)


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Return where results are, and have a program that appends one, unless its name is `fails`."""
    monkeypatch.setattr(all_figures, "RESULTS", tmp_path)
    program = (
        "import json, sys; name, path = sys.argv[1:]; name == 'fails' and sys.exit(1); "
        "open(path, 'a').write(json.dumps({'commit': 'abc', 'wall_seconds': 120}) + chr(10))"
    )

    def command(self):
        return (sys.executable, "-c", program, self.name, str(self.results))

    monkeypatch.setattr(FigureRun, "command", property(command))
    return tmp_path


def _named(*names):
    return [FigureRun(name, "", (name,)) for name in names]


def test_what_this_commit_has_is_not_measured_again(results):
    runs = _named("one", "two")
    assert measure(open_runs(runs, (), "abc")[:1], None) == 0
    assert [run.name for run in open_runs(runs, (), "abc")] == ["two"]
    assert open_runs(runs, (), "later") == runs
    assert open_runs(runs, (), "abc+") == runs
    assert open_runs(runs, ("t*",), None) == runs[1:]


def test_what_does_not_fit_is_left_out(results, capsys):
    runs = _named("one")
    assert measure(runs, 1) == 0
    assert minutes_of(runs[0]) == 2
    assert measure(runs, 1) == 0
    assert "left out after 0 min; it took 2 min last" in capsys.readouterr().err
    assert len((results / "one.jsonl").read_text().splitlines()) == 1
    assert "| one |  | 2 | one |" in listing(runs)


def test_others_go_on_behind_one_that_fails(results, capsys):
    assert measure(_named("fails", "two"), None) == 1
    assert json.loads((results / "two.jsonl").read_text())["commit"] == "abc"
    assert "[1/2] fails: FAILED" in capsys.readouterr().err


def test_results_lie_where_the_pages_read_them():
    assert all(run.results.parent == RESULTS for run in RUNS)
    assert len({run.name for run in RUNS}) == len(RUNS)
