"""Adds what one live run has to a savepoint, after the micro-batch with its state has committed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from penstock.filesystem.stored_path import JobPath
from penstock.plan.physical import RunPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.driver.sink_stage import StagedEpoch
from penstock.spark.job.run_outline import RunOutline, source_records
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
        """Add the run to the savepoint of a request; the job continues if that fails.

        Raises:
            PenstockError: The checkpoint directory cannot be read or written.
        """
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
