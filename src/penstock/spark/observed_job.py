"""A job seen from another process, through its checkpoint directory. Nothing is changed."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import DecodeError, JobDirectoryError, JobLockedError
from penstock.plan.blocking import RESULTS_RUN
from penstock.runtime.program import RunKind
from penstock.serde.atomic_file import read_verified
from penstock.spark.job_directory import wait_for_end_of

_LIVE = RunKind.LIVE.name


@dataclass(frozen=True, slots=True)
class ObservedJob:
    """A checkpoint directory that holds a job.

    Attributes:
        path: The directory.
        name: Of the job.
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
        """Return whether a driver holds the lock.

        The lock is tried for an instant; a driver that starts in it is refused.
        """
        try:
            with (self.path / "lock").open(encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False
        except OSError as cause:
            raise JobDirectoryError(
                f"{self.path / 'lock'} cannot be read: {cause}",
                hint="Run this as a user who may read the checkpoint directory.",
            ) from cause
        return False

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep drivers away.

        Raises:
            JobLockedError: A driver runs the job, or the JVM of a killed one still does.
        """
        with (self.path / "lock").open("a+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise JobLockedError(
                    f"a driver has just started the job in {self.path}",
                    hint="Repeat the command; the driver takes the savepoint.",
                ) from None
            lock.seek(0)
            text = lock.read().strip()
            if text.isdigit():
                wait_for_end_of(int(text), self.path)
            yield

    def record(self, step: str) -> dict[str, Any] | None:
        """Return what was recorded for a step, None if it was not reached.

        Raises:
            JobDirectoryError: The record is damaged.
        """
        return _record(self.path / f"{step}.json")

    def ended(self) -> str | None:
        """Return how the job ended for good, in words; None if it can go on."""
        if self.record("finished") is not None:
            return "it is finished"
        stopped = self.record("stopped")
        return None if stopped is None else f"it was stopped with savepoint {stopped['savepoint']}"

    def has_live_run(self) -> bool:
        """Return whether some run of the job can give a savepoint."""
        return any(kind == _LIVE and name != RESULTS_RUN for name, kind in self.runs)

    def run_now(self) -> int:
        """Return the index of the run the job is in, or begins with."""
        restored = self.record("restored")
        index = 0 if restored is None else int(restored["run"])
        while index < len(self.runs) - 1 and self.record(f"run-{index}.done") is not None:
            index += 1
        return index

    def run_without_savepoint(self) -> str | None:
        """Return the run the job is in, in words, if it has no savepoint to give; else None."""
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
