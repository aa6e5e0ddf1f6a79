"""The program of the README does what the README says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

README = Path(__file__).parents[2] / "README.md"
FLIGHTS: dict[str, list[tuple[Any, ...]]] = {
    "history": [("UA", 5, False), ("AA", 1, False), ("UA", None, True)],
    "live": [("UA", 10, False), ("AA", 2, False)],
}


PRINTED = sorted(["('UA', 1, 5)", "('AA', 1, 1)", "('UA', 2, 15)", "('AA', 2, 3)"])


def readme_program() -> str:
    """Return the first program of the README, over input that ends."""
    found = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    assert ".monitor_continuously()" in found[1]
    return found[1].replace(".monitor_continuously()", "")  # or the test would never end


def write_flights(directory: Path) -> None:
    """Write what the program reads."""
    for name, flights in FLIGHTS.items():
        carriers, delays, cancelled = zip(*flights, strict=True)
        table = {"carrier": carriers, "dep_delay": delays, "cancelled": cancelled}
        (directory / name).mkdir()
        pq.write_table(pa.table(table), directory / name / "0.parquet")


def test_the_program_of_the_readme(
    session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_flights(tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(readme_program(), "README.md", "exec"), {})  # noqa: S102 - our own documentation
    printed = [line.split("> ")[-1] for line in capsys.readouterr().out.splitlines()]
    assert sorted(printed) == PRINTED
    assert (tmp_path / "checkpoint" / "finished.json").exists()
