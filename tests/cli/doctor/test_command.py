"""`penstock doctor`: its table, its JSON, its exit status."""

from __future__ import annotations

import json

import pytest

from penstock.cli.doctor import command as doctor
from penstock.cli.doctor.command import CHECKS
from penstock.cli.doctor.finding import Finding, Verdict, fail, ok, warn


@pytest.fixture
def finds(monkeypatch):
    """Return a function that says what is found."""

    def found(*findings: Finding) -> None:
        monkeypatch.setattr(doctor, "examine", lambda *_, **__: iter(findings))

    return found


def test_findings_with_their_fixes(penstock, finds):
    finds(ok("java", "Java 17"), warn("disk", "2 GiB", "Free space."))
    result = penstock("doctor")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["ok", "java", "Java", "17"],
        ["warn", "disk", "2", "GiB"],
        ["→", "Free", "space."],
    ]


def test_a_failure_is_in_the_exit_status(penstock, finds):
    finds(fail("java", "there is none", "Install one."), ok("clock", "12:00"))
    result = penstock("doctor")
    assert result.exit_code == 1
    assert "there is none" in result.stdout
    assert "12:00" in result.stdout  # the others are shown all the same


def test_json(penstock, finds):
    finds(ok("java", "Java 17"), fail("ports", "closed", "Open them."))
    result = penstock("doctor", "--json")
    assert result.exit_code == 1
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"name": "java", "verdict": "ok", "text": "Java 17", "fix": None},
        {"name": "ports", "verdict": "fail", "text": "closed", "fix": "Open them."},
    ]


def test_the_real_checks_run(penstock, tmp_path):
    result = penstock("doctor", "--json", "--directory", str(tmp_path))
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["name"] for each in found] == list(CHECKS)
    failed = [each for each in found if each["verdict"] == Verdict.FAIL.value]
    assert result.exit_code == (1 if failed else 0)


def test_a_directory_that_is_not_there(penstock, tmp_path):
    result = penstock("doctor", "--directory", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "does not exist" in result.stderr
