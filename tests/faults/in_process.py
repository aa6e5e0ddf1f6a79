"""Faults that need no process of their own: the job runs in the session of the tests.

What survives a driver is its directory, so a job that fails at a failpoint and is started again
stands for one that was killed there. It saves the start of a JVM.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

import penstock.failpoint
from penstock.errors import PenstockError
from tests.faults.visits_job import VisitsJob
from tests.spark.conftest import Environment
from tests.spark.jobs.visits import build


@dataclass(slots=True)
class Attempts:
    """Runs a job in this process, again and again.

    Attributes:
        job: Input and output.
        environment: Makes environments whose checkpoint directory is the job's.
    """

    job: VisitsJob
    environment: Environment

    def succeed(self) -> None:
        """Run the job to its end."""
        env = self.environment(
            "mixed",
            **{
                "execution.checkpointing.dir": str(self.job.checkpoints),
                **self.job.epoch_settings,
                **self.job.settings,
            },
        )
        build(env, str(self.job.data), str(self.job.out), self.job.live)
        env.execute("visits")

    def error(self) -> PenstockError | None:
        """Run the job to its end, or return what it failed with."""
        try:
            self.succeed()
        except PenstockError as error:
            return error
        return None

    def fail(self) -> PenstockError:
        """Run the job, which must fail, and return with what."""
        with pytest.raises(PenstockError) as caught:
            self.succeed()
        return caught.value

    def fail_at(
        self, place: str, patch: pytest.MonkeyPatch, action: str = "raise"
    ) -> PenstockError:
        """Run the job until it fails at `name:nth` in the driver; return with what."""
        marker = self.job.root / "marker"
        marker.unlink(missing_ok=True)
        penstock.failpoint.count_anew()
        with patch.context() as armed:
            armed.setenv("PENSTOCK_FAILPOINT", f"{place}:{action}")
            armed.setenv("PENSTOCK_FAILPOINT_MARKER", str(marker))
            error = self.fail()
        assert marker.exists(), f"{place} did not fire: {error}"
        return error


class Kept:
    """Directories as they were, to be brought back as often as wanted."""

    def __init__(self, directories: tuple[Path, ...], at: Path) -> None:
        self._copies = {path: at / str(number) for number, path in enumerate(directories)}
        for path, copy in self._copies.items():
            shutil.copytree(path, copy)

    def bring_back(self) -> None:
        """Make the directories what they were, times of files included."""
        for path, copy in self._copies.items():
            shutil.rmtree(path)
            shutil.copytree(copy, path)
