"""`penstock init`: what it writes is tested by its own test, and kept in order by our linter.

`tests/spark/test_project.py` runs the program.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.version import __version__

TOP = Path(__file__).parents[2]
WRITTEN = {
    *(".gitignore", "Makefile", "README.md", "requirements.txt", "spent.py", "test_spent.py"),
    *("data/history/orders-1.json", "data/history/orders-2.json"),
}


@pytest.fixture
def project(penstock, tmp_path):
    path = tmp_path / "spent"
    assert penstock("init", str(path)).exit_code == 0
    return path


def make(project, *targets):
    environ = {**os.environ, "PYTHONPATH": str(TOP / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        ["make", *targets, f"PYTHON={sys.executable}"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        env=environ,
    )


def test_what_is_written(penstock, tmp_path):
    path = tmp_path / "a" / "spent"
    result = penstock("init", str(path))
    assert result.exit_code == 0
    files = {each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file()}
    assert files == WRITTEN
    assert {Path(line).relative_to(path).as_posix() for line in result.stdout.split()} == WRITTEN
    assert not [each for each in files if re.search("@[A-Z]+@", (path / each).read_text())]
    assert f"penstock-spark=={__version__}" in (path / "requirements.txt").read_text()


def test_its_test_passes(project):
    done = make(project, "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout


def test_its_test_can_fail(project):
    program = project / "spent.py"
    program.write_text(program.read_text().replace("or 0) + order.amount", "or 0) - order.amount"))
    done = make(project, "test")
    assert done.returncode != 0
    assert "3 failed" in done.stdout


def test_before_a_run_there_are_no_totals(project):
    done = make(project, "show")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_an_order_arrives_as_a_whole_file(project):
    assert make(project, "order", "order").returncode == 0
    assert make(project, "order").returncode == 0
    names = [path.name for path in (project / "data" / "live").iterdir()]
    assert len(names) == 2
    assert not (project / "data" / ".order").exists()


def test_its_program_has_a_plan(project):
    done = make(project, "plan")
    assert done.returncode == 0, done.stderr
    assert "spent" in done.stdout


def test_it_is_in_order(project):
    rules = ["--isolated", "--line-length", "100", "--select", "E,F,I,B,UP,N,SIM,RET"]
    for command in (["check", *rules], ["format", "--check", "--isolated", "--line-length", "100"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "."],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_nothing_is_written_over(penstock, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    result = penstock("init", str(tmp_path))
    assert result.exit_code == 1
    assert "[CLI_PROJECT_EXISTS]" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_empty_directory_will_do(penstock, tmp_path):
    assert penstock("init", str(tmp_path)).exit_code == 0
    shutil.rmtree(tmp_path / "data")
