"""Examples print on Spark the tables that their page shows."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.results import run
from tools.site.example_tables import EXAMPLES, PAGE, beginning, shown


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_prints_its_tables(
    example: str,
    session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", [example, str(tmp_path)])
    run(importlib.import_module(f"examples.{example}").build, example)
    printed = capsys.readouterr().out.strip()
    assert printed == shown(example).strip()
    assert f"```text\n{beginning(printed)}\n```" in PAGE.read_text(encoding="utf-8")
