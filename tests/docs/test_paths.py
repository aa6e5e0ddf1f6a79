"""Files, folders and commands that the pages name are there."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.main import get_command

from penstock.cli.main import command_line

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BELOW = (ROOT, ROOT / "src", ROOT / "src" / "penstock", ROOT / "docs", ROOT / "docs" / "decisions")
_FILE = re.compile(r"(?<![\w/.*<-])((?:[a-z_0-9-]+/)+[a-z_0-9]+\.py)\b")
_MODULE = re.compile(r"\bpython -m ((?:benchmarks|penstock|tools|tests)\b[\w.]*)")
_SHELL = re.compile(r"^```(?:text|console|sh|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^penstock ([a-z]+)", re.MULTILINE)
_FOLDER = re.compile(r"`((?:[a-z_]+/)+)`")


def missing(text: str, pattern: re.Pattern[str]) -> list[str]:
    found = {match.group(1) for match in pattern.finditer(text)}
    return sorted(name for name in found if not any((base / name).exists() for base in BELOW))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_are_there(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8"), _FILE) == []


def test_folders_of_the_architecture_are_there() -> None:
    page = ROOT / "docs" / "architecture.md"
    assert missing(page.read_text(encoding="utf-8"), _FOLDER) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    modules = {name.rstrip(".") for name in _MODULE.findall(text)}
    assert {name for name in modules if find_spec(name) is None} == set()
    commands = {name for block in _SHELL.findall(text) for name in _COMMAND.findall(block)}
    assert commands - get_command(command_line()).commands.keys() == set()  # type: ignore[attr-defined]


def test_a_file_that_is_not_there_is_noticed() -> None:
    assert missing("see `runtime/no_such_file.py` and (wire/frame.py)", _FILE) == [
        "runtime/no_such_file.py"
    ]
