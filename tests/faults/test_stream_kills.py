"""A streaming DataFrame whose driver, executors and workers are killed: each of its rows is counted once.

History in files is a batch run; the stream is written to files by a query of its own, and read by the epochs.
"""

from __future__ import annotations

import signal
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.faults.drivers import CLUSTER, MIXED, SECONDS, Drivers
from tests.faults.processes import wait_for
from tests.spark.jobs import counted_stream

DRIVER = [
    "stream.begun:1",  # Spark has recorded the offsets of the first micro-batch
    "stream.written:1",  # its files stay, and the next driver removes them
    "stream.checked:2",
    "stream.complete:1",  # it is not written again
    "epoch.record-written:1",  # no record yet
    "epoch.record-linked:1",  # the epoch counts; its sinks did not commit
    "live.committed:1",
]
WORKERS = [
    "stream.row:50",  # the stream's own worker, in its second micro-batch
    "live.worker.read:1",
    "live.worker.adopted:1",
    "live.worker.logged:2",
    "worker.staged-run-1:3",
]


@dataclass(slots=True)
class StreamJob:
    """Input, output and drivers."""

    root: Path
    settings: dict[str, str] = field(default_factory=dict)
    drivers: Drivers = field(init=False)

    def __post_init__(self) -> None:
        """Write the input."""
        data = self.root / "data"
        counted_stream.write_input(data)
        self.drivers = Drivers(
            Path(counted_stream.__file__),
            (str(data), str(self.out)),
            self.root / "job",
            self.root / "markers",
            MIXED | self.settings,
        )

    @property
    def out(self) -> Path:
        """Output."""
        return self.root / "out"

    def assert_nothing_doubled(self) -> None:
        """Check that each row that is visible is one of a replay, once."""
        assert counted_stream.written(self.out) <= counted_stream.expected()

    def assert_complete(self) -> None:
        """Check that the output is that of a replay."""
        assert counted_stream.written(self.out) == counted_stream.expected()


def test_a_driver_killed_at_every_step_of_a_stream_loses_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    job = StreamJob(tmp_path)
    for place in DRIVER:
        job.drivers.is_killed_at(place)
        job.assert_nothing_doubled()
    job.drivers.succeeds()
    job.assert_complete()


@pytest.mark.parametrize("action", ["kill", "kill-executor"])
def test_a_worker_and_an_executor_killed_in_every_stage_of_a_stream(
    tmp_path: Path, action: str
) -> None:
    settings = {
        "execution.live.single-task-work": "0ms",
        # Spark gives an epoch up if it loses the shuffle of a stage it has begun to read.
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "100 ms",
        **(CLUSTER if action == "kill-executor" else {}),
    }
    job = StreamJob(tmp_path, settings)
    job.drivers.succeeds(*(f"{place}:{action}" for place in WORKERS))
    job.assert_complete()


def test_a_driver_that_was_frozen_while_it_wrote_a_stream_adds_nothing(tmp_path: Path) -> None:
    """Its lock is removed, which declares it dead; it wakes up when the next one has done all the work."""
    job = StreamJob(tmp_path)
    with ExitStack() as ended:
        frozen = []
        for place in ("stream.written:2:freeze", "stream.checked:2:freeze"):
            driver = job.drivers.start(place)
            ended.callback(driver.communicate)
            ended.callback(driver.kill)
            wait_for(
                lambda: job.drivers.process_at(place) is not None or driver.poll() is not None,  # noqa: B023 - it is called here
                SECONDS,
                "nothing froze",
            )
            assert driver.poll() is None, driver.communicate()[0]
            assert job.drivers.process_at(place) == driver.pid
            (tmp_path / "job" / "lock").unlink()
            frozen.append(driver)
        job.drivers.succeeds()
        job.assert_complete()
        (directory,) = (tmp_path / "job").glob("run-*/stream-*")
        files = sorted(directory.rglob("*"))
        for driver in frozen:
            driver.send_signal(signal.SIGCONT)
            output, _ = driver.communicate(timeout=SECONDS)
            # Its program may see that all output is there, and cancel the job, before the job is fenced off.
            assert driver.returncode == 0 or "JOB_FENCED" in output, output
            assert "Traceback" not in output
        assert {*directory.rglob("[0-9]*.parquet")} <= {*files}
    job.assert_complete()
