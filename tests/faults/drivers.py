"""Drivers in processes of their own, with accidents that leave a proof.

A place is `name:nth:action`, see `penstock.failpoint`. A run whose accident did not happen, or
happened to another process than it should, fails the test.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from penstock.testing.drivers import is_alive, process_at, start_driver
from tests.faults.processes import wait_for

ROOT = Path(__file__).parents[2]
SECONDS = 600
MIXED = {"execution.checkpointing.interval-during-backlog": "0"}
CLUSTER = {"spark.master": "local-cluster[2,1,1024]", "spark.executor.memory": "512m"}
"""Executors with a JVM of their own."""


@dataclass(slots=True)
class Drivers:
    """The drivers of one job, one after the other.

    Attributes:
        script: The program.
        arguments: Its arguments.
        checkpoints: Its checkpoint directory.
        markers: Where accidents leave their markers; one directory per driver.
        settings: Configuration, beside that of every job here.
        started: How many drivers there were.
        stored: Its checkpoint directory if that is in a store.
        command: The command and its arguments before the program.
        parallelism: That of the command line; empty leaves it to the job.
    """

    script: Path
    arguments: tuple[str, ...]
    checkpoints: Path
    markers: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    started: int = 0
    stored: str | None = None
    command: tuple[str, ...] = ("run",)
    parallelism: str = "2"

    def start(self, *places: str) -> subprocess.Popen[str]:
        """Start a driver with accidents at `places`, through the command line."""
        settings = {
            "execution.checkpointing.dir": self.stored or str(self.checkpoints),
            **({"parallelism.default": self.parallelism} if self.parallelism else {}),
            **self.settings,
        }
        self.started += 1
        command = [sys.executable, "-m", "penstock", *self.command, str(self.script)]
        options = [f"-D{key}={value}" for key, value in settings.items()]
        return start_driver(
            [*command, *options, "--", *self.arguments],
            self._markers,
            places,
            environ={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        )

    def is_killed_at(self, place: str) -> str:
        """Run a driver that is killed at a place; return what it said."""
        process = self.start(f"{place}:kill")
        output, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == -signal.SIGKILL, f"{place}: {output}"
        assert self.process_at(f"{place}:kill") == process.pid
        return output

    def fails_at(self, place: str) -> str:
        """Run a driver that fails because of what happens at `name:nth:action`."""
        process = self.start(place)
        output, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 1, f"{place}: {output}"
        assert self.process_at(place) is not None, f"{place} did not fire: {output}"
        return output

    def succeeds(self, *places: str) -> str:
        """Run a driver to its end, whatever happens to others at `places`."""
        process = self.start(*places)
        output, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, output
        for place in places:
            pid = self.process_at(place)
            assert pid is not None, f"{place} did not fire: {output}"
            assert pid != process.pid, f"{place} fired in the driver"
            assert not is_alive(pid), f"{place} left process {pid} alive"
        return output

    def is_refused(self) -> str:
        """Run a driver that ends by itself with an error."""
        process = self.start()
        output, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 1, output
        assert "Traceback" not in output, output
        return output

    @property
    def _markers(self) -> Path:
        return self.markers / str(self.started - 1)

    def process_at(self, place: str) -> int | None:
        """Return the process in which the latest driver's accident happened."""
        return process_at(self._markers, place)


def wait_until_frozen(drivers: Drivers, driver: subprocess.Popen[str], place: str) -> None:
    """Wait until the latest driver has stopped at a place."""

    def has_frozen() -> bool:
        return drivers.process_at(place) == driver.pid

    wait_for(lambda: has_frozen() or driver.poll() is not None, SECONDS, "nothing froze")
    assert driver.poll() is None, driver.communicate()[0]


def assert_fenced(frozen: subprocess.Popen[str]) -> None:
    """Let a driver go on, which must end because another one has taken over."""
    frozen.send_signal(signal.SIGCONT)
    output, _ = frozen.communicate(timeout=SECONDS)
    assert frozen.returncode == 1, output
    assert "JOB_FENCED" in output
    assert "Traceback" not in output


@contextmanager
def ended(driver: subprocess.Popen[str]) -> Iterator[None]:
    """Kill a driver at the end of the block."""
    try:
        yield
    finally:
        driver.kill()
        driver.communicate()
