"""Running a program as python would, and the settings given with it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import typer

from penstock.cli.script import parse_definitions, run_script, settings
from penstock.errors import EnvironmentSetupError


def test_definitions():
    assert parse_definitions(["a.b=1", "c = x=y ", "d=", "a.b=2"]) == {
        "a.b": "2",
        "c": "x=y",
        "d": "",
    }
    assert parse_definitions(None) == {}


@pytest.mark.parametrize("text", ["novalue", "=1", " =1", ""])
def test_bad_definition_is_refused_with_its_text(text):
    with pytest.raises(typer.BadParameter, match="KEY=VALUE") as caught:
        parse_definitions([text])
    assert repr(text) in str(caught.value)


def test_verbose_turns_sparks_log_on_unless_it_is_set():
    assert settings((), verbose=True) == {"spark.log.level": "INFO"}
    assert settings(["spark.log.level=WARN"], verbose=True) == {"spark.log.level": "WARN"}
    assert settings((), verbose=False) == {}


def test_program_sees_what_python_would_show_it(program, tmp_path, capfd):
    program("VALUE = 7", name="neighbour.py")
    path = program(
        """
        import sys, os, neighbour
        print(__name__, sys.argv[1:], sys.path[0], neighbour.VALUE)
        print(os.environ["PYTHONPATH"].split(os.pathsep)[0])
        """
    )
    run_script(tmp_path / "job.py", ["a", "--b"])
    assert capfd.readouterr().out.splitlines() == [
        f"__main__ ['a', '--b'] {tmp_path} 7",
        str(tmp_path),
    ]
    assert path not in sys.argv
    sys.modules.pop("neighbour")


@pytest.mark.parametrize("before", [None, "/some/where"])
def test_process_is_put_back_also_after_an_error(program, tmp_path, monkeypatch, before):
    if before is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", before)
    kept = (list(sys.argv), list(sys.path))
    program("1 / 0")
    with pytest.raises(ZeroDivisionError):
        run_script(tmp_path / "job.py", None)
    assert (sys.argv, sys.path, os.environ.get("PYTHONPATH")) == (*kept, before)


@pytest.mark.parametrize(
    ("hiding", "line"),
    [
        ("colorsys.py", "import colorsys; colorsys.rgb_to_hsv"),
        ("colorsys.py", "from colorsys import rgb_to_hsv"),
        ("wsgiref.py", "import wsgiref.util"),
    ],
)
def test_a_file_in_place_of_a_standard_module_is_named(
    program, tmp_path, monkeypatch, hiding, line
):
    name = hiding.removesuffix(".py")
    for module in [each for each in sys.modules if each.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    program("", name=hiding)
    program(line)
    try:
        with pytest.raises(EnvironmentSetupError, match="takes the place of the standard") as found:
            run_script(tmp_path / "job.py", [])
    finally:
        sys.modules.pop(name, None)
    assert found.value.problem.startswith(f"{tmp_path / hiding} ")


def test_another_error_stays_as_it_is(program, tmp_path):
    program(
        """
        try:
            import json; json.no_such_name
        except AttributeError as cause:
            error = ValueError("mine")
            cause.__cause__ = error
            raise error from cause
        """
    )
    with pytest.raises(ValueError, match="mine"):
        run_script(tmp_path / "job.py", [])


def test_files_of_the_current_directory_hide_no_standard_modules(program, tmp_path):
    for name in ("random", "csv", "logging", "typing"):
        program("raise SystemExit(__file__)", name=f"{name}.py")
    command = [sys.executable, "-m", "penstock", "--help"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
