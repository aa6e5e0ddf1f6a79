"""The table of commands: what it names is there, and only what is needed is loaded."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from penstock.cli.main import COMMANDS, command_line, needed
from penstock.cli.parameters import MACHINE, OPERATE, WRITE

_NOT_FOR_RUN = (
    "penstock.cli.port",
    "penstock.cli.sql",
    "penstock.cli.doctor",
    "penstock.sql",
    "pydantic",
    "pandas",
    "pyspark",
)


def test_each_command_is_what_its_row_says():
    found = get_command(command_line()).commands  # type: ignore[attr-defined]
    assert list(found) == [command.name for command in COMMANDS]
    for command in COMMANDS:
        group = getattr(found[command.name], "commands", {"": found[command.name]})
        for each in group.values():
            assert each.help
            assert each.epilog.startswith("Example: ")
            assert f"penstock {command.name}" in each.epilog


def test_help_has_no_types_of_python_and_groups_in_order(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    app = command_line()
    texts = {(): CliRunner().invoke(app, ["--help"]).output}
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        for inner in ((name,), *((name, each) for each in getattr(command, "commands", ()))):
            texts[inner] = CliRunner().invoke(app, [*inner, "--help"]).output
    assert len(texts) > len(COMMANDS) + 3
    places = [texts[()].index(group) for group in (WRITE, OPERATE, MACHINE)]
    assert places == sorted(places)
    for name, text in texts.items():
        # A name of a value in small letters is a parameter of a function.
        usage = next(line for line in text.splitlines() if "Usage:" in line)
        assert not re.search(r"<[a-z]", text), name
        assert not re.search(r"[{}]|\.{4}|\[\[|\[?[a-z_]+\]?$", usage.rstrip()), usage


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_alone_it_is_as_among_all(command):
    alone = get_command(command_line(needed([command.name, "--help"])))
    assert list(alone.commands) == [command.name]  # type: ignore[attr-defined]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"], ["rum", "x"], ["-h", "run"]])
def test_all_are_there_when_none_is_named_first(arguments):
    assert needed(arguments) == COMMANDS


def test_a_run_does_not_wait_for_other_commands():
    program = (
        "import sys\n"
        "from penstock.cli.main import command_line, needed\n"
        "command_line(needed(['run', 'job.py']))\n"
        f"print([name for name in {_NOT_FOR_RUN} if name in sys.modules])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
