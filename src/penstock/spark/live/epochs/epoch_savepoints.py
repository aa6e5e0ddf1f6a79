"""Savepoints of a live run that is a loop of epochs.

    requests/<id>.json ─▶ the next epoch has the control event "savepoint:<id>"
    its job:              every subtask sends its state
    its record:           names the state files, the positions and the event
                       ─▶ sinks commit, manifest written, requests/<id>.done.json (see
                          `spark.savepoints.job_savepoints`)

A driver that is killed after the record leaves everything that the savepoint needs in it: the next driver
completes the savepoint. Killed earlier, the next driver begins it again.
"""

from __future__ import annotations

import time

from penstock.filesystem.stored_path import JobPath
from penstock.plan.phases.bounded_region import RESULTS_RUN
from penstock.plan.physical import RunPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.job.run_outline import RunOutline
from penstock.spark.live.epochs.epoch_journal import RecordedEpoch
from penstock.spark.savepoints.job_savepoints import JobSavepoints
from penstock.spark.savepoints.savepoint_requests import SavepointRequest
from penstock.spark.savepoints.savepoint_writer import SavepointWriter, remove_copied

_POLL_SECONDS = 0.05
"""Least time between two looks for requests; a look lists a directory."""


class EpochSavepoints:
    """Serves the requests for savepoints of one live run."""

    def __init__(
        self, job: JobContext, run: RunPlan, outline: RunOutline, savepoints: JobSavepoints
    ) -> None:
        self._run = run
        self._savepoints = savepoints
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
        """Return the request to serve in the next epoch, None if there is none.

        Raises:
            JobDirectoryError: The checkpoint directory cannot be read or written.
        """
        now = time.monotonic()
        if now < self._next_poll or self._run.name == RESULTS_RUN:
            return None
        self._next_poll = now + _POLL_SECONDS
        return self._savepoints.next(self._run.pipeline)

    def complete(self, recorded: RecordedEpoch, snapshot: JobPath) -> None:
        """Add the state of an epoch with a savepoint to it, unless its request is answered.

        Raises:
            PenstockError: The checkpoint directory cannot be read or written.
        """
        request = self._savepoints.of_event(self._run.pipeline, recorded.event)
        if request is not None:
            positions = recorded.positions.to_json()
            self._writer.complete(request, positions, recorded.staged, snapshot)
        remove_copied(recorded.staged, snapshot)
