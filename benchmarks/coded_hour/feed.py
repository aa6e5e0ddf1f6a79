"""The input of the hour: a file of each table per period, whether the jobs run or not."""

from __future__ import annotations

from pathlib import Path

from benchmarks.inputs.binlog import ORDERS, REFUNDS
from benchmarks.inputs.periodic_feed import PeriodicFeed

PERIOD_SECONDS = 5.0


class BinlogFeed(PeriodicFeed):
    """Writes files of change records in a thread; record `i` of a table follows from `i`.

    Attributes:
        records: How many records each table has.
        keys: How many orders there are.
    """

    def __init__(self, data: Path, records_per_second: int, keys: int) -> None:
        super().__init__(data, PERIOD_SECONDS)
        self.records = 0
        self.keys = keys
        self._per_file = round(records_per_second * PERIOD_SECONDS / 2)
        self._files = 0
        for table in (ORDERS, REFUNDS):
            (data / table.name).mkdir(parents=True)
        self.write()  # so that the jobs have something to begin with

    def write(self) -> None:
        """Write a file of each table."""
        part = range(self.records, self.records + self._per_file)
        for table in (ORDERS, REFUNDS):
            lines = (table.line(index, self.keys) for index in part)
            self.put(f"{table.name}/{self._files:06}.json", lines)
        self._files += 1
        self.records = part.stop
