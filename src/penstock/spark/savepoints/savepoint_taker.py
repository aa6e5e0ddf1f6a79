"""Takes savepoints of a live run. The driver's loop begins them, the commit of a micro-batch completes them.

    requests/<id>.json ──▶ begin: control event "savepoint:<id>"
    its micro-batch:       every subtask sends its state, sinks commit
                       ──▶ state files copied, positions read
                       ──▶ manifest written, requests/<id>.done.json (see `job_savepoints`)

There is one at a time. None is taken in the micro-batch that hands over to a next run, nor in the run
that reads the results of a bounded region: requests wait for the next run. If the driver is killed
before the answer, the micro-batch is computed again, or the next driver begins the savepoint again.
"""

from __future__ import annotations

import json

from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath, mounted
from penstock.plan.phases.bounded_region import RESULTS_RUN
from penstock.plan.physical import RunPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.driver.sink_stage import StagedEpoch
from penstock.spark.job.run_outline import RunOutline
from penstock.spark.savepoints.job_savepoints import JobSavepoints
from penstock.spark.savepoints.savepoint_requests import SavepointRequest
from penstock.spark.savepoints.savepoint_writer import SavepointWriter, remove_copied
from penstock.spark.sources.positions import ControlLog
from penstock.spark.sources.stream_positions import stream_offsets


class SavepointTaker:
    """Adds one live run to the savepoints of its job.

    Attributes:
        writer: Adds to them.
    """

    def __init__(
        self,
        job: JobContext,
        run: RunPlan,
        control: ControlLog,
        outline: RunOutline,
        savepoints: JobSavepoints,
    ) -> None:
        self._job = job
        self._run = run
        self._control = control
        self._savepoints = savepoints
        self._begun: tuple[SavepointRequest, int] | None = None
        self.writer = SavepointWriter(job, run, outline, savepoints)

    @property
    def has_stopped(self) -> bool:
        """True if the job was stopped with a savepoint, after which it must not commit."""
        return self._savepoints.has_stopped

    @property
    def is_held(self) -> bool:
        """True if the run must not commit: the job stops, or will when other pipelines are ready."""
        return self._savepoints.is_held(self._run.pipeline)

    @property
    def is_busy(self) -> bool:
        """True if a savepoint is in progress."""
        return self._begun is not None

    def poll(self) -> None:
        """Begin the next requested savepoint; also one that an earlier driver began.

        Raises:
            PenstockError: The checkpoint directory cannot be read or written.
        """
        if self._begun is not None or self.has_stopped or self._run.name == RESULTS_RUN:
            return
        request = self._savepoints.next(self._run.pipeline)
        if request is None:
            return
        events = [event["event"] for event in self._control.events()]
        if request.event in events:
            self._begun = request, events.index(request.event)
        elif "handover" not in events:
            ends = [reading.source for reading in self._run.readings] if request.drain else []
            self._begun = request, len(events)
            self._control.append(request.event, ends=ends)
            failpoint("savepoint.begun")

    def after_commit(self, batch: int, staged: StagedEpoch, snapshot: JobPath) -> None:
        """Add to the savepoint if this micro-batch contains it.

        The job continues if the savepoint fails.

        Raises:
            PenstockError: The checkpoint directory cannot be read or written.
        """
        if self._begun is not None:
            request, number = self._begun
            run_directory = self._job.directory.path / f"run-{self._run.index}"
            offsets = stream_offsets(mounted(run_directory / "spark"), batch)
            if offsets[0] is not None and json.loads(offsets[0])["control"] > number:
                if self._savepoints.of_event(self._run.pipeline, request.event) is not None:
                    self._job.sinks.publish()  # who starts from it knows nothing of what is held back
                    self.writer.complete(request, offsets, staged, snapshot)
                self._begun = None
        remove_copied(staged, snapshot)
