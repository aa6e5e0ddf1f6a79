"""Exactly once into a Delta table, tested by SIGKILL of the driver at every step of a commit.

One checkpoint directory, one driver after the other: each commits what the one before had recorded, and is killed a
step further. The table must have the counts of one uninterrupted run.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from tests.faults.drivers import Drivers

deltalake = pytest.importorskip("deltalake")

PLACES = {
    "append": ["delta.decided:2", "delta.renamed:2", "delta.committed:2"],
    "upsert": ["delta.decided:2", "delta.read:2", "delta.committed:2"],
}
ROWS = 120
KEYS = 5


@pytest.mark.parametrize("form", PLACES)
def test_counts_are_written_once_over_a_chain_of_killed_drivers(tmp_path: Path, form: str) -> None:
    table, to = tmp_path / "table", tmp_path / "to"
    for first in range(0, ROWS, 10):
        keys = pa.table({"key": [f"k{n % KEYS}" for n in range(first, first + 10)]})
        deltalake.write_deltalake(table, keys, mode="append")
    drivers = Drivers(
        Path(__file__).parent / "jobs" / "delta_counts.py",
        (str(table), str(to), form),
        tmp_path / "job",
        tmp_path / "markers",
        {"execution.runtime-mode": "STREAMING", "execution.live.max-records-per-batch": "10"},
    )
    for place in PLACES[form]:
        drivers.is_killed_at(place)
        assert rows(to) != wanted(form)
    drivers.succeeds()
    assert rows(to) == wanted(form)


def rows(path: Path) -> Counter[tuple[str, int]]:
    found = deltalake.DeltaTable(path).to_pyarrow_table().to_pylist()
    return Counter((row["key"], row["n"]) for row in found)


def wanted(form: str) -> Counter[tuple[str, int]]:
    if form == "upsert":
        return Counter({(f"k{n}", ROWS // KEYS): 1 for n in range(KEYS)})
    return Counter((f"k{n % KEYS}", n // KEYS + 1) for n in range(ROWS))
