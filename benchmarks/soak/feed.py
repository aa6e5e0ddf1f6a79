"""The input of the soak: a file a second, whether the job runs or not. Record `i` follows from `i` and the clock."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.inputs.periodic_feed import PeriodicFeed
from benchmarks.model.digest import mix

KEYS = 1_000
AMOUNTS = 1_000
HISTORY_FILES = 10
PERIOD_SECONDS = 1.0


class Feed(PeriodicFeed):
    """Writes files of records in a thread.

    Attributes:
        records: How many records were written.
        files: In how many files.
    """

    def __init__(self, data: Path, records_per_second: int) -> None:
        super().__init__(data, PERIOD_SECONDS)
        self.records = 0
        self.files = 0
        self._per_file = round(records_per_second * PERIOD_SECONDS)
        for part in ("history", "live"):
            (data / part).mkdir(parents=True)
        for _ in range(HISTORY_FILES):
            self._write("history")

    def write(self) -> None:
        """Write a live file."""
        self._write("live")

    def _write(self, part: str) -> None:
        at_ms = time.time_ns() // 1_000_000
        keys, amounts = facts(self.records, self.records + self._per_file)
        lines = (
            json.dumps({"key": int(key), "amount": int(amount), "at_ms": at_ms})
            for key, amount in zip(keys, amounts, strict=True)
        )
        self.put(f"{part}/{self.files:07d}.json", lines)
        self.files += 1
        self.records += self._per_file


def facts(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Return keys and amounts of the records from `begin` to before `end`."""
    mixed = mix(np.arange(begin, end, dtype=np.uint64))
    return mixed % np.uint64(KEYS), mix(mixed) % np.uint64(AMOUNTS)


def replayed(records: int) -> Mapping[int, tuple[int, int]]:
    """Return key to count and total of the first records."""
    keys, amounts = facts(0, records)
    places = keys.astype(np.int64)
    counts = np.bincount(places, minlength=KEYS)
    totals = np.bincount(places, weights=amounts.astype(np.float64), minlength=KEYS)
    return {key: (int(counts[key]), int(totals[key])) for key in range(KEYS) if counts[key]}
