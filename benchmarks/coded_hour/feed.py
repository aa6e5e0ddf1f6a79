"""The input of the hour: a file of each table per period, whether the jobs run or not."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from benchmarks.inputs.binlog import ORDERS, REFUNDS

PERIOD_SECONDS = 5.0


class BinlogFeed:
    """Writes files of change records in a thread; record `i` of a table follows from `i`.

    Attributes:
        records: How many records each table has.
        keys: How many orders there are.
        error: What ended the thread, None if nothing has.
    """

    def __init__(self, data: Path, records_per_second: int, keys: int) -> None:
        self.records = 0
        self.keys = keys
        self.error: OSError | None = None
        self._data = data
        self._per_file = round(records_per_second * PERIOD_SECONDS / 2)
        self._files = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-hour-feed", daemon=True)
        for table in (ORDERS, REFUNDS):
            (data / table.name).mkdir(parents=True)
        self._write()  # so that the jobs have something to begin with

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """Write no more.

        Raises:
            OSError: A file could not be written.
        """
        self._stopped.set()
        self._thread.join()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        due = time.monotonic()
        try:
            while not self._stopped.wait(max(0.0, due - time.monotonic())):
                self._write()
                due += PERIOD_SECONDS
        except OSError as error:
            self.error = error

    def _write(self) -> None:
        part = range(self.records, self.records + self._per_file)
        for table in (ORDERS, REFUNDS):
            # By a rename from beside the directories: a file appears as a whole.
            hidden = self._data / "hidden"
            with hidden.open("w", encoding="utf-8") as file:
                file.writelines(f"{table.line(index, self.keys)}\n" for index in part)
            hidden.rename(self._data / table.name / f"{self._files:06}.json")
        self._files += 1
        self.records = part.stop
