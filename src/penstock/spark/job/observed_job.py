"""Observes a job from another process through its checkpoint directory, without changing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import JobDirectoryError
from penstock.filesystem.stored_path import JobPath
from penstock.plan.phases.bounded_region import RESULTS_RUN
from penstock.program.run_settings import RunKind
from penstock.spark.job.job_lock import is_locked, take_lock
from penstock.spark.job.job_steps import KEY_GROUPS, PIPELINES, steps_of
from penstock.spark.job.mounted_path import checkpoint_path
from penstock.wire.fence import Fence

RESTORED = "restored"
"""The step of a job that began with a savepoint."""

_LIVE = RunKind.LIVE.name


@dataclass(frozen=True, slots=True)
class ObservedJob:
    """The checkpoint directory of a job.

    Attributes:
        fingerprint: That of the plan at the first start.
    """

    path: JobPath
    name: str
    runs: tuple[tuple[str, str], ...]
    pipelines: tuple[int, ...]
    fingerprint: str = ""
    key_groups: int = 1

    @classmethod
    def at(cls, path: JobPath) -> ObservedJob:
        """Return the job in a directory."""
        place = checkpoint_path(path) if isinstance(path, Path) else path
        job = recorded_step(place, "job")
        if job is None:
            raise JobDirectoryError(
                f"{path} is not a checkpoint directory: it has no job.json",
                hint="Pass the execution.checkpointing.dir of the job.",
            )
        runs = tuple((name, kind) for name, kind in job["shape"]["runs"])
        pipelines = tuple(job[PIPELINES])
        groups = job.get(KEY_GROUPS, job["shape"].get("max_parallelism", 1))
        return cls(place, job["name"], runs, pipelines, job.get("fingerprint", ""), groups)

    def is_running(self) -> bool:
        """Return whether a driver has locked the directory."""
        return is_locked(self.path)

    @contextmanager
    def locked(self) -> Iterator[Fence]:
        """Lock the directory inside the context; yield the fence to call before a commit."""
        try:
            lock = take_lock(self.path)
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
        """Return the record of a step, None if the job has not reached it."""
        return recorded_step(self.path, step)

    def ended(self) -> str | None:
        """Return in words how the job has ended; None if it can continue."""
        if self.record("finished") is not None:
            return "it is finished"
        stopped = self.record("stopped")
        return None if stopped is None else f"it was stopped with savepoint {stopped['savepoint']}"

    def has_live_run(self) -> bool:
        """Return whether a run of the job supports savepoints."""
        return any(kind == _LIVE and name != RESULTS_RUN for name, kind in self.runs)

    def runs_now(self) -> tuple[int, ...]:
        """Return the index of the current run of each pipeline; the last one if all are complete."""
        return tuple(self._run_now(pipeline) for pipeline in sorted(set(self.pipelines)))

    def live_runs_now(self) -> tuple[int, ...]:
        """Return those of the current runs that support savepoints."""
        return tuple(run for run in self.runs_now() if self._gives_savepoints(run))

    def runs_before(self, run: int) -> tuple[int, ...]:
        """Return the earlier runs of the pipeline of a run."""
        return tuple(r for r in range(run) if self.pipelines[r] == self.pipelines[run])

    def run_without_savepoint(self) -> str | None:
        """Return the first current run that delays savepoints in words, None if there is none."""
        for run in self.runs_now():
            if not self._gives_savepoints(run) and not self.is_complete(run):
                name, kind = self.runs[run]
                return f"run {name!r}" if kind == _LIVE else f"batch run {name!r}"
        return None

    def is_complete(self, run: int) -> bool:
        """Return whether a run has ended, or was left out because the job began with a savepoint."""
        restored = self.record(RESTORED)
        is_skipped = restored is not None and run in skipped_runs(restored)
        return is_skipped or self.record(f"run-{run}.done") is not None

    def _run_now(self, pipeline: int) -> int:
        runs = [run for run, of in enumerate(self.pipelines) if of == pipeline]
        return next((run for run in runs if not self.is_complete(run)), runs[-1])

    def _gives_savepoints(self, run: int) -> bool:
        name, kind = self.runs[run]
        return kind == _LIVE and name != RESULTS_RUN


def skipped_runs(restored: Mapping[str, Any]) -> frozenset[int]:
    """Return the runs that a job leaves out, given the record of the savepoint it began with."""
    return frozenset(restored["skips"])


def recorded_step(path: JobPath, step: str) -> dict[str, Any] | None:
    """Return the record of a step in a checkpoint directory, None if the job has not reached it."""
    try:
        return steps_of(path).read(step)
    except OSError as cause:
        raise JobDirectoryError.unreadable(f"step {step} in {path}", cause) from cause
