"""What is visible in the sink of the soak: seen as it appears, and compared with a replay in the end."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.soak.feed import KEYS, replayed


class Results:
    """Looks for new files of a sink. A file that is visible does not change.

    Attributes:
        rows: How many results were seen.
    """

    def __init__(self, out: Path) -> None:
        self.rows = 0
        self._out = out
        self._seen: set[str] = set()

    def look(self) -> np.ndarray:
        """Return the latencies, in milliseconds, of the results that are new."""
        if not self._out.exists():
            return np.empty(0)
        with os.scandir(self._out) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(".parquet")]
        now_ms = time.time_ns() // 1_000_000
        new = [name for name in names if name not in self._seen]
        found = [pq.read_table(self._out / name, columns=["at_ms"])["at_ms"] for name in new]
        self._seen.update(new)
        latencies = [now_ms - column.to_numpy() for column in found]
        self.rows += sum(map(len, latencies))
        return np.concatenate(latencies) if latencies else np.empty(0)


def differences(out: Path, records: int) -> list[str]:
    """Return how the results differ from those of the first `records` records: every count of every key once.

    In which order a key's amounts are added is not defined, so only its last total is compared.
    """
    files = sorted(out.glob("*.parquet"))
    columns = ["key", "count", "total"]
    table = pa.concat_tables([pq.read_table(path, columns=columns) for path in files])
    found = []
    if len(table) != records:
        found.append(f"{len(table):,} results of {records:,} records")
    keys, counts, totals = (table[name].to_numpy() for name in columns)
    order = np.lexsort((counts, keys))
    keys, counts, totals = keys[order], counts[order], totals[order]
    wanted = replayed(records)
    begins = np.searchsorted(keys, np.arange(KEYS + 1))
    for key, (count, total) in wanted.items():
        own = slice(begins[key], begins[key + 1])
        if not np.array_equal(counts[own], np.arange(1, count + 1)):
            found.append(f"key {key} does not have each count from 1 to {count} once")
        elif totals[own][-1] != total:
            found.append(f"key {key} has total {totals[own][-1]} instead of {total}")
    return found
