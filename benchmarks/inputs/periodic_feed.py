"""Input that comes whether a job runs or not: files in a thread, period by period."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path


class PeriodicFeed(ABC):
    """Calls `write` in a thread, once a period, from `start` to `stop`.

    Attributes:
        error: What ended the thread, None if nothing has.
    """

    def __init__(self, data: Path, period_seconds: float) -> None:
        """Begin without a thread.

        Args:
            data: Directory of the files, which is there.
            period_seconds: Time from one call to the next; a call that takes longer is made up for.
        """
        self.error: OSError | None = None
        self._data = data
        self._period_seconds = period_seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-feed", daemon=True)

    @abstractmethod
    def write(self) -> None:
        """Write the input of a period."""

    def put(self, file: str, lines: Iterable[str]) -> None:
        """Write a file, which appears as a whole: by a rename from beside the directories.

        Args:
            file: Its path below the directory.
            lines: Its lines.
        """
        hidden = self._data / "hidden"
        with hidden.open("w", encoding="utf-8") as written:
            written.writelines(f"{line}\n" for line in lines)
        hidden.rename(self._data / file)

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
                self.write()
                due += self._period_seconds
        except OSError as error:
            self.error = error
