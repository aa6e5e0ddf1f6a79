"""`python -m benchmarks` on the command line. With Spark `make bench-smoke` runs it."""

from __future__ import annotations

import contextlib
import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.catalog import PROGRAMS
from benchmarks.command import app
from benchmarks.model.errors import SystemMissingError
from benchmarks.systems.launch import IMPORTED, environment


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_help_has_an_example(bench):
    result = bench("--help")
    assert result.exit_code == 0
    assert "Example: python -m benchmarks live-state" in result.stdout
    assert "--against" in result.stdout


def test_list_names_programs_systems_and_options(bench):
    result = bench("--list")
    assert result.exit_code == 0
    for program in PROGRAMS.values():
        names = [program.name, *(s.name for s in program.systems), *program.options]
        assert [name for name in names if name not in result.stdout] == []


def test_what_systems_run_is_there():
    for program in PROGRAMS.values():
        for system in program.systems:
            with contextlib.suppress(SystemMissingError):  # Flink's environment
                _, *words = system.command()
                scripts = [word for word in words if word.endswith(".py")]
                modules = [word for word in words if word.startswith("benchmarks.")]
                assert [script for script in scripts if not Path(script).is_file()] == []
                assert [name for name in modules if find_spec(name) is None] == []


def test_what_processes_import_is_found_first():
    first, *_ = environment({"A": "b"})["PYTHONPATH"].split(os.pathsep)
    assert Path(first, "benchmarks", "systems", "serve.py").is_file()
    assert [path for path in IMPORTED if not path.is_dir()] == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "name a program"),
        (["life-state"], "there is no program 'life-state'"),
        (["live-state", "--keys", "many"], "'many' is not a number"),
        (["live-state", "--keys", "10,0"], "'0' is not a number of 1 or more"),
        (["live-state", "-o", "micro-batch"], "is not of the form KEY=VALUE"),
    ],
)
def test_bad_arguments(bench, arguments, problem):
    result = bench(*arguments)
    assert result.exit_code == 2
    assert problem in result.stderr


def test_an_unknown_peer_is_refused_with_those_there_are(bench):
    result = bench("live-state", "--against", "nothing")
    assert result.exit_code == 1
    assert result.stderr.startswith("[BENCH_REQUEST] live-state has no nothing\n")
    assert "tws-row" in result.stderr


@pytest.fixture
def fakes(fake_program, fake_system, monkeypatch):
    def use(**peer):
        program = fake_program(fake_system("a"), fake_system("p", is_peer=True, **peer))
        monkeypatch.setitem(PROGRAMS, "fake", program)

    return use


def test_json_is_one_object_on_stdout(bench, fakes):
    fakes()
    result = bench("fake", "--runs", "2", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["name"], found["runs"], len(found["results"])) == ("fake", 2, 2)
    assert "p: round 2 of 2: 1,000 records" in result.stderr


def test_wrong_outputs_make_the_status_1(bench, fakes):
    fakes(digest="wrong")
    result = bench("fake", "--runs", "1")
    assert result.exit_code == 1
    assert "WRONG" in result.stdout


def test_results_are_appended(bench, fakes, tmp_path):
    fakes()
    file = tmp_path / "results.jsonl"
    for _ in range(2):
        bench("fake", "--runs", "1", "--append", str(file))
    assert [json.loads(line)["name"] for line in file.read_text().splitlines()] == ["fake"] * 2
