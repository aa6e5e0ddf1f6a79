"""Observes a job from another process through its checkpoint directory, without changing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import DecodeError, JobDirectoryError
from penstock.plan.phases.bounded_region import RESULTS_RUN
from penstock.program.run_settings import RunKind
from penstock.spark.job.job_lock import JobLock, is_locked
from penstock.wire.atomic_file import read_verified
from penstock.wire.fence import Fence

_LIVE = RunKind.LIVE.name


@dataclass(frozen=True, slots=True)
class ObservedJob:
    """The checkpoint directory of a job.

    Attributes:
        path: The directory.
        name: Name of the job.
        runs: (name, kind) of its runs.
    """

    path: Path
    name: str
    runs: tuple[tuple[str, str], ...]

    @classmethod
    def at(cls, path: Path) -> ObservedJob:
        """Return the job in a directory.

        Raises:
            JobDirectoryError: It is no checkpoint directory, or a damaged one.
        """
        job = _record(path / "job.json")
        if job is None:
            raise JobDirectoryError(
                f"{path} is not a checkpoint directory: it has no job.json",
                hint="Pass the execution.checkpointing.dir of the job.",
            )
        runs = tuple((name, kind) for name, kind in job["shape"]["runs"])
        return cls(path.absolute(), job["name"], runs)

    def is_running(self) -> bool:
        """Return whether a driver has locked the directory.

        Raises:
            JobDirectoryError: The lock cannot be read.
        """
        return is_locked(self.path)

    @contextmanager
    def locked(self) -> Iterator[Fence]:
        """Lock the directory inside the context; yield the fence to call before a commit.

        Raises:
            JobLockedError: A driver runs the job, or the JVM of a killed one still does.
        """
        try:
            lock = JobLock.take(self.path)
        except OSError as cause:
            raise JobDirectoryError(
                f"{self.path} cannot be locked: {cause}",
                hint="Run this as a user who may write to the checkpoint directory.",
            ) from cause
        try:
            yield lock.fence
        finally:
            lock.release()

    def record(self, step: str) -> dict[str, Any] | None:
        """Return the record of a step, None if the job has not reached it.

        Raises:
            JobDirectoryError: The record is damaged.
        """
        return _record(self.path / f"{step}.json")

    def ended(self) -> str | None:
        """Return in words how the job has ended; None if it can continue."""
        if self.record("finished") is not None:
            return "it is finished"
        stopped = self.record("stopped")
        return None if stopped is None else f"it was stopped with savepoint {stopped['savepoint']}"

    def has_live_run(self) -> bool:
        """Return whether a run of the job supports savepoints."""
        return any(kind == _LIVE and name != RESULTS_RUN for name, kind in self.runs)

    def run_now(self) -> int:
        """Return the index of the current run, or of the first one."""
        restored = self.record("restored")
        index = 0 if restored is None else int(restored["run"])
        while index < len(self.runs) - 1 and self.record(f"run-{index}.done") is not None:
            index += 1
        return index

    def run_without_savepoint(self) -> str | None:
        """Return the current run in words if it does not support savepoints, else None."""
        name, kind = self.runs[self.run_now()]
        if kind != _LIVE:
            return f"batch run {name!r}"
        return f"run {name!r}" if name == RESULTS_RUN else None


def _record(path: Path) -> dict[str, Any] | None:
    try:
        return read_verified(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except DecodeError as cause:
        raise JobDirectoryError(cause.problem, hint=cause.hint) from cause
    except OSError as cause:
        raise JobDirectoryError(
            f"{path} cannot be read: {cause}",
            hint="Run this as a user who may read the checkpoint directory.",
        ) from cause
