"""Programs to run, a way to run them in this process, and nothing left behind."""

from __future__ import annotations

import textwrap

import pytest
from typer.testing import CliRunner

from penstock.cli.main import command_line
from penstock.config.configuration import process_overrides, set_process_overrides
from penstock.observe.events.listeners import LogListener, set_listeners


@pytest.fixture(autouse=True)
def _nothing_left():
    yield
    for name, _ in process_overrides():
        set_process_overrides(name, {})
    set_listeners(LogListener())


@pytest.fixture(autouse=True)
def _plain_output(monkeypatch):
    # Help and usage texts are boxed to the width, and coloured where someone forces colours.
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def program(tmp_path):
    """Return a function that writes a program and returns its path as text."""

    def write(text, name="job.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return str(path)

    return write


@pytest.fixture
def penstock():
    """Return a function that runs the command line in this process."""

    def invoke(*arguments, input=None):  # noqa: A002 - as in CliRunner
        return CliRunner().invoke(command_line(), list(arguments), input=input)

    return invoke
