"""Upserts on Spark: a table by key is the same in every mode, whatever fails."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.datastream.connectors import DataGeneratorSource, FileSink, HybridSource
from tests.spark.conftest import Environment, Failures
from tests.spark.test_epochs import STEPS

PAIR = Types.ROW_NAMED(["key", "n"], [Types.LONG(), Types.LONG()])
RECORDS = 4_000
KEYS = 7


def written(directory: Path) -> dict[str, list[Any]]:
    """Return the rows of each commit, in order; a file's name has its epoch."""
    found: dict[str, list[Any]] = {}
    for path in directory.glob("*.parquet"):
        epoch = path.stem.rpartition("-")[0]
        found.setdefault(epoch, []).extend(pq.read_table(path).to_pylist())
    return found


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_every_commit_has_a_key_once_and_the_table_is_right(
    environment: Environment, tmp_path: Path, mode: str, failures: Failures
) -> None:
    settings: dict[str, object] = {"execution.live.max-records-per-batch": 500}
    if mode == "streaming":
        settings |= failures.at(*STEPS)
    env = environment(mode, **settings)
    numbers = DataGeneratorSource(lambda n: (n % KEYS, 1), count=RECORDS)
    source = HybridSource.until_position(numbers, 3_000)
    ones = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    totals = ones.key_by(lambda one: one[0]).sum(1).uid("totals").map(lambda one: one, PAIR)
    totals.upsert_to(FileSink.parquet(tmp_path / "out"), key=lambda row: row.key).uid("out")
    env.execute("upserts")
    commits = written(tmp_path / "out")
    for rows in commits.values():
        assert max(Counter(row["key"] for row in rows).values()) == 1
    assert len(commits) == {"batch": 1, "streaming": len(commits), "mixed": len(commits)}[mode]
    assert len(commits) > 1 or mode == "batch"
    table: dict[int, int] = {}
    for rows in commits.values():
        for row in rows:
            table[row["key"]] = max(row["n"], table.get(row["key"], 0))
    assert table == Counter(n % KEYS for n in range(RECORDS))
    if mode == "streaming":
        failures.check_all_happened()
