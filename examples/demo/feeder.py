"""Delivers the live files while the job runs, as some other system would."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread

FILES_PER_STEP = 3
SECONDS_PER_STEP = 0.5


class Feeder:
    """Moves files into a directory, some at a time, in a thread of its own.

    Each file is copied beside its origin and then renamed, so that it appears complete.

    Attributes:
        error: What ended the thread early, None if nothing did.
    """

    def __init__(
        self,
        files: Sequence[Path],
        target: Path,
        *,
        files_per_step: int = FILES_PER_STEP,
        seconds_per_step: float = SECONDS_PER_STEP,
    ) -> None:
        self._steps = [
            files[first : first + files_per_step] for first in range(0, len(files), files_per_step)
        ]
        self._target = target
        self._seconds_per_step = seconds_per_step
        self._go_on = Event()
        self._stop = Event()
        self._thread = Thread(target=self._run, name="penstock-demo-feeder", daemon=True)
        self.error: OSError | None = None

    def start(self, go_on: Event) -> None:
        """Deliver the files of the first step now, and the others once `go_on` is set.

        Raises:
            OSError: A file of the first step cannot be delivered.
        """
        self._go_on = go_on
        self._deliver(self._steps[:1])
        self._thread.start()

    def stop(self) -> None:
        """Deliver no more and wait for the thread; harmless if all is delivered."""
        self._stop.set()
        self._go_on.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        self._go_on.wait()
        try:
            self._deliver(self._steps[1:])
        except OSError as error:
            self.error = error

    def _deliver(self, steps: Sequence[Sequence[Path]]) -> None:
        for step in steps:
            if self._stop.wait(self._seconds_per_step):
                return
            for file in step:
                arriving = file.with_suffix(".arriving")
                shutil.copyfile(file, arriving)
                arriving.replace(self._target / file.name)
