"""The drivers of the soak: one after the other over one checkpoint directory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measuring.processes import members, signal_all
from benchmarks.model.errors import SystemFailedError
from benchmarks.systems.launch import CHECKOUT

JOB = Path(__file__).parent / "job.py"
STOP_SECONDS = 120.0
"""Until a driver and all that it started are gone."""

STATUSES = {signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}
"""Signal to the exit status of a driver that it has ended."""

_POLL_SECONDS = 0.05


@dataclass(slots=True)
class Drivers:
    """Starts and stops the job.

    Attributes:
        work: Its directory: `data`, `out`, `job`, `temporary`, and a log per driver.
        settings: Configuration of the job.
        started: How many drivers there were.
        program: What they run.
        data: Its input; None is `data` of the directory.
    """

    work: Path
    settings: Mapping[str, str]
    started: int = 0
    program: Path = JOB
    data: Path | None = None
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def job(self) -> Path:
        """The checkpoint directory."""
        return self.work / "job"

    @property
    def temporary(self) -> Path:
        """All temporary files of the job."""
        return self.work / "temporary"

    @property
    def session(self) -> int:
        """Process id of the driver, which leads a session of its own."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start a driver."""
        self.temporary.mkdir(exist_ok=True)
        settings = {"execution.checkpointing.dir": str(self.job), **self.settings}
        options = [f"-D{key}={value}" for key, value in settings.items()]
        arguments = [str(self.data or self.work / "data"), str(self.work / "out")]
        with self._log().open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [
                    sys.executable,
                    "-m",
                    "penstock",
                    "run",
                    str(self.program),
                    *options,
                    "--",
                    *arguments,
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={
                    **os.environ,
                    "PYTHONPATH": f"{CHECKOUT / 'src'}:{CHECKOUT}",
                    "TMPDIR": str(self.temporary),
                },
            )
        self.started += 1

    def check_alive(self) -> None:
        """Raise if the driver has ended.

        Raises:
            SystemFailedError: It has; the end of its log is in the message.
        """
        status = None if self._process is None else self._process.poll()
        if status is not None:
            raise SystemFailedError(
                f"driver {self.started - 1} ended with {status}: {self._last_words()}",
                hint=f"Read {self._log(self.started - 1)}.",
            )

    def stop(self, number: signal.Signals) -> float:
        """Send a signal to the driver; return the seconds until nothing of the job runs.

        Raises:
            SystemFailedError: The driver ended with another status than it should, or a process of it runs on.
        """
        assert self._process is not None
        begun = time.monotonic()
        self._process.send_signal(number)
        try:
            status = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired as late:
            raise SystemFailedError(
                f"driver {self.started - 1} runs {STOP_SECONDS:.0f} s after {number.name}",
                hint=f"Read {self._log(self.started - 1)}.",
            ) from late
        while left := members(self.session):
            if time.monotonic() - begun > STOP_SECONDS:
                raise SystemFailedError(
                    f"processes {left} run after their driver was ended by {number.name}",
                    hint="Look what they are: ps -o pid,args -p PID.",
                )
            time.sleep(_POLL_SECONDS)
        if status != STATUSES[number]:
            raise SystemFailedError(
                f"{number.name} ended driver {self.started - 1} with {status}: {self._last_words()}",
                hint=f"Read {self._log(self.started - 1)}.",
            )
        return time.monotonic() - begun

    def close(self) -> None:
        """End whatever runs."""
        if self._process is not None:
            signal_all(self.session, signal.SIGKILL)
            self._process.wait()

    def _log(self, number: int | None = None) -> Path:
        return self.work / f"driver-{self.started if number is None else number}.log"

    def _last_words(self) -> str:
        lines = self._log(self.started - 1).read_text(encoding="utf-8", errors="replace")
        return " | ".join(lines.splitlines()[-5:])
