"""`for_each_batch` over a chain of drivers that are killed before, in and behind a call.

Finds a batch that is lost, one that is repeated with other rows, and a number that is given twice.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from tests.faults.drivers import Drivers

PLACES = [
    "batches.numbered:2",
    "batches.called:1",  # in the recovery, which calls it once more
    "batches.called:3",
    "batches.recorded:2",
]
RECORDS = 200


def test_every_row_is_in_one_batch_and_a_repeated_one_has_the_same_rows(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    drivers = Drivers(
        Path(__file__).parent / "jobs" / "batches.py",
        (str(out), str(RECORDS)),
        tmp_path / "job",
        tmp_path / "markers",
        {"execution.runtime-mode": "STREAMING", "execution.live.max-records-per-batch": "20"},
    )
    for place in PLACES:
        drivers.is_killed_at(place)
    drivers.succeeds()
    batches: dict[int, list[tuple[int, int]]] = {}
    calls = Counter[int]()
    for path in out.iterdir():
        number = int(path.name.partition("-")[0])
        calls[number] += 1
        rows = sorted(tuple(row.values()) for row in pq.read_table(path).to_pylist())
        assert batches.setdefault(number, rows) == rows
    assert sorted(batches) == list(range(1, len(batches) + 1))
    found = Counter(row for rows in batches.values() for row in rows)
    assert found == Counter((n % 5, n) for n in range(RECORDS))
    assert sum(calls.values()) == len(batches) + 2, "two calls returned, and nobody noted it"
