"""The project of `penstock init`: its program reads history, then live, and goes on where it was."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.cli.init import write_project


def test_the_program_of_a_new_project(
    session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_project(tmp_path)
    live = tmp_path / "data" / "live"
    live.mkdir()
    (live / "a.json").write_text('{"customer": "ann", "amount": 1}\n')

    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["spent.py", *arguments])
        runpy.run_path(str(tmp_path / "spent.py"), run_name="__main__")
        return capsys.readouterr().out

    call("--once")
    assert call("show").splitlines() == ["ann\t3\t8", "bob\t1\t3", "cat\t1\t8"]
    assert (tmp_path / "data" / "checkpoint" / "finished.json").exists()
