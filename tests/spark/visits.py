"""Data, oracle and results of `jobs/visits.py`."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.spark.jobs.visits import QUIET_MS

JOB = Path(__file__).parent / "jobs" / "visits.py"
Visit = tuple[str, int, int]
"""(page, amount, time in ms)"""


def make_visits(count: int) -> list[Visit]:
    """Return visits of nine pages, roughly in order of time."""
    chance = random.Random(7)  # noqa: S311 - the same visits every time
    return [
        (f"/page/{chance.randrange(9)}", chance.randrange(100), i * 20 + chance.randrange(50))
        for i in range(count)
    ]


def write_visits(data: Path, visits: list[Visit], cut: int, files: int = 3) -> None:
    """Write the first `cut` visits as history, the rest as live files."""
    for name, part in (("history", visits[:cut]), ("live", visits[cut:])):
        directory = data / name
        directory.mkdir(parents=True)
        for i in range(files):
            rows = part[len(part) * i // files : len(part) * (i + 1) // files]
            pages, amounts, times = zip(*rows, strict=True) if rows else ((), (), ())
            table = pa.table(
                {
                    "page": pa.array(pages, pa.string()),
                    "amount": pa.array(amounts, pa.int64()),
                    "time": pa.array(times, pa.int64()),
                }
            )
            pq.write_table(table, directory / f"{i}.parquet")


def expected_totals(visits: list[Visit]) -> dict[str, tuple[int, int]]:
    """Return page to (count, total)."""
    totals: dict[str, tuple[int, int]] = {}
    for page, amount, _ in visits:
        count, total = totals.get(page, (0, 0))
        totals[page] = (count + 1, total + amount)
    return totals


def expected_quiet(visits: list[Visit]) -> Counter[tuple[str, int]]:
    """Return (page, since), by definition from the sorted times."""
    times: dict[str, list[int]] = defaultdict(list)
    for page, _, stamp in visits:
        times[page].append(stamp)
    found: Counter[tuple[str, int]] = Counter()
    for page, stamps in times.items():
        for stamp in set(stamps):
            if not any(stamp < other <= stamp + QUIET_MS for other in stamps):
                found[page, stamp] += 1
    return found


def written_totals(out: Path) -> tuple[int, dict[str, tuple[int, int]]]:
    """Return the number of rolling results, and the last one of each page."""
    rows = [
        row
        for path in sorted((out / "totals").glob("*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]
    last: dict[str, tuple[int, int]] = {}
    for row in rows:
        result = (row["count"], row["total"])
        last[row["page"]] = max(last.get(row["page"], result), result)
    return len(rows), last


def written_quiet(out: Path) -> Counter[tuple[str, int]]:
    """Return what the second sink holds."""
    rows = [
        json.loads(line)
        for path in (out / "quiet").glob("*.json")
        for line in path.read_text().splitlines()
    ]
    return Counter((row["page"], row["quiet_since"]) for row in rows)
