"""Savepoints of a live run that is a loop of epochs: what it adds to one, after an epoch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from penstock.filesystem.stored_path import JobPath
from penstock.plan.phases.bounded_region import RESULTS_RUN
from penstock.plan.physical import RunPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.driver.sink_stage import StagedEpoch
from penstock.spark.job.run_outline import RunOutline, source_records
from penstock.spark.live.epochs.epoch_journal import RecordedEpoch
from penstock.spark.savepoints.job_savepoints import JobSavepoints
from penstock.spark.savepoints.savepoint_requests import SavepointRequest
from penstock.state.savepoint import Savepoint, copy_state


class SavepointWriter:
    """Adds one live run to savepoints."""

    def __init__(
        self, job: JobContext, run: RunPlan, outline: RunOutline, savepoints: JobSavepoints
    ) -> None:
        self._job = job
        self._run = run
        self._outline = outline
        self._savepoints = savepoints

    def complete(
        self,
        request: SavepointRequest,
        positions: Mapping[str, Any],
        staged: StagedEpoch,
        snapshot: JobPath,
    ) -> None:
        """Add the run to the savepoint of a request; the job continues if that fails."""
        part = partial(self._part, request, positions, staged, snapshot)
        self._savepoints.add(self._run, part)

    def _part(
        self,
        request: SavepointRequest,
        positions: Mapping[str, Any],
        staged: StagedEpoch,
        snapshot: JobPath,
        target: JobPath,
    ) -> Savepoint:
        sources = source_records(
            self._outline,
            self._job.pinned_by(self._run),
            self._job.earlier,
            self._job.directory.path / f"run-{self._run.index}",
            positions,
            self._job.began_before(self._run),
        )
        files = copy_state((snapshot / name for name in staged.state_files), target)
        return self._outline.savepoint(
            request.id, staged.report, sources, files, drained=request.drain
        )


def remove_copied(staged: StagedEpoch, snapshot: JobPath) -> None:
    """Remove the state files of a savepoint: copied, or those of a request that is answered already."""
    if (staged.report.snapshot or "").startswith("savepoint:"):
        for name in staged.state_files:
            (snapshot / name).unlink(missing_ok=True)


_POLL_SECONDS = 0.05
"""Least time between two looks for requests; a look lists a directory."""


class EpochSavepoints:
    """Serves the requests for savepoints of one live run.

    Attributes:
        layout: The layout of the state of its epochs.
    """

    def __init__(
        self, job: JobContext, run: RunPlan, outline: RunOutline, savepoints: JobSavepoints
    ) -> None:
        self._run = run
        self._savepoints = savepoints
        self.layout = outline.layout
        self._writer = SavepointWriter(job, run, outline, savepoints)
        self._next_poll = 0.0

    @property
    def has_stopped(self) -> bool:
        """True if the job was stopped with a savepoint, after which it must not commit."""
        return self._savepoints.has_stopped

    @property
    def is_held(self) -> bool:
        """True if the run must not commit: the job stops, or will when other pipelines are ready."""
        return self._savepoints.is_held(self._run.pipeline)

    def next(self) -> SavepointRequest | None:
        """Return the request to serve in the next epoch, None if there is none."""
        now = time.monotonic()
        if now < self._next_poll or self._run.name == RESULTS_RUN:
            return None
        self._next_poll = now + _POLL_SECONDS
        return self._savepoints.next(self._run.pipeline)

    def complete(self, recorded: RecordedEpoch, snapshot: JobPath) -> None:
        """Add the state of an epoch with a savepoint to it, unless its request is answered."""
        request = self._savepoints.of_event(self._run.pipeline, recorded.event)
        if request is not None:
            positions = recorded.positions.to_json()
            self._writer.complete(request, positions, recorded.staged, snapshot)
        remove_copied(recorded.staged, snapshot)
