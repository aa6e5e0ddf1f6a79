"""Takes savepoints of a live run. The driver's loop begins them, the commit of a micro-batch completes them.

    requests/<id>.json ──▶ begin: control event "savepoint:<id>"
    its micro-batch:       every subtask sends its state, sinks commit
                       ──▶ state files copied, positions read, manifest written
                       ──▶ requests/<id>.done.json

There is one at a time. None is taken in the micro-batch that hands over to a next run, nor in the run
that reads the results of a bounded region: requests wait for the next run. If the driver is killed
before the answer, the micro-batch is computed again, or the next driver begins the savepoint again.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from penstock.config.options import SAVEPOINT_DIR
from penstock.errors import JobFencedError, PenstockError, SavepointError
from penstock.failpoint import failpoint
from penstock.metrics.listener import SavepointFailed, SavepointTaken
from penstock.plan.phases.bounded_region import RESULTS_RUN
from penstock.plan.physical import RunPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.driver.sink_stage import StagedEpoch
from penstock.spark.job.run_outline import RunOutline, source_records
from penstock.spark.savepoints.savepoint_requests import SavepointRequest, SavepointRequests
from penstock.spark.sources.positions import ControlLog
from penstock.spark.sources.stream_positions import stream_offsets
from penstock.state.savepoint import (
    MANIFEST,
    copy_state,
    prepare_directory,
    read_savepoint,
    write_manifest,
)

STOPPED = "stopped"
"""The step of a job that was stopped with a savepoint."""


class SavepointTaker:
    """Serves the requests for savepoints of one live run.

    Attributes:
        is_busy: Whether a savepoint is in progress.
        has_stopped: Whether the job was stopped with a savepoint, after which it must not commit.
    """

    def __init__(
        self, job: JobContext, run: RunPlan, control: ControlLog, outline: RunOutline
    ) -> None:
        self._job = job
        self._run = run
        self._control = control
        self._outline = outline
        self._requests = SavepointRequests(job.directory.path)
        self._begun: tuple[SavepointRequest, int] | None = None
        self._has_reported = False
        self.has_stopped = False

    @property
    def is_busy(self) -> bool:
        """Whether a savepoint is in progress."""
        return self._begun is not None

    def poll(self) -> None:
        """Begin the next requested savepoint; also one that an earlier driver began.

        Raises:
            JobDirectoryError: The checkpoint directory cannot be read or written.
        """
        if self._begun is not None or self.has_stopped or self._run.name == RESULTS_RUN:
            return
        waiting = self._requests.waiting()
        if not waiting:
            return
        events = [event["event"] for event in self._control.events()]
        begun = [request for request in waiting if request.event in events]
        if begun:
            self._begun = begun[0], events.index(begun[0].event)
        elif "handover" not in events:
            ends = [reading.source for reading in self._run.readings] if waiting[0].drain else []
            self._begun = waiting[0], len(events)
            self._control.append(waiting[0].event, ends=ends)
            failpoint("savepoint.begun")

    def after_commit(self, batch: int, staged: StagedEpoch, snapshot: Path) -> None:
        """Complete the savepoint if this micro-batch contains it.

        The job continues if the savepoint fails.

        Args:
            batch: Number of the micro-batch; its sinks have committed.
            staged: Staged output of its tasks.
            snapshot: Directory of their state files.

        Raises:
            PenstockError: The checkpoint directory cannot be read or written.
        """
        if self._begun is not None:
            request, number = self._begun
            offset = stream_offsets(self._run_directory / "spark", batch)[0]
            if offset is not None and json.loads(offset)["control"] > number:
                self._complete(request, batch, staged, snapshot)
                self._begun = None
        if (staged.report.snapshot or "").startswith("savepoint:"):
            # copied, or those of a request that is answered already
            for name in staged.state_files:
                (snapshot / name).unlink(missing_ok=True)

    @property
    def _run_directory(self) -> Path:
        return self._job.directory.path / f"run-{self._run.index}"

    def _complete(
        self, request: SavepointRequest, batch: int, staged: StagedEpoch, snapshot: Path
    ) -> None:
        started = time.monotonic()
        try:
            target = self._target(request)
            if not _is_complete(target, request):
                self._write(target, request, batch, staged, snapshot)
        except JobFencedError:
            raise  # the other driver answers the request
        except (PenstockError, OSError) as cause:
            error = cause if isinstance(cause, PenstockError) else unwritable(cause)
            self._requests.fail(request, error)
            self._job.events.publish(SavepointFailed(error.problem))
            return
        failpoint("savepoint.written")
        if request.stop:
            self._job.directory.record(STOPPED, {"savepoint": str(target)})
            self.has_stopped = True
        unnamed = read_savepoint(target).unnamed_state
        seconds = time.monotonic() - started
        unreported = () if self._has_reported else unnamed
        self._has_reported = True
        self._job.events.publish(SavepointTaken(str(target), seconds, request.stop, unreported))
        self._requests.succeed(request, target, unnamed)

    def _target(self, request: SavepointRequest) -> Path:
        parent = request.parent or self._job.configuration.get(SAVEPOINT_DIR)
        if parent is not None:
            return Path(parent.removeprefix("file://")).absolute() / request.id
        if self._job.directory.is_temporary:
            raise SavepointError(
                "the checkpoint directory is temporary, so a savepoint in it would be lost",
                hint=f"Name a directory for the savepoint, or set {SAVEPOINT_DIR.key}.",
            )
        return self._job.directory.path / "savepoints" / request.id

    def _write(
        self,
        target: Path,
        request: SavepointRequest,
        batch: int,
        staged: StagedEpoch,
        snapshot: Path,
    ) -> None:
        prepare_directory(target)
        sources = source_records(
            self._outline,
            self._job.pinned_by(self._run),
            self._job.earlier,
            self._run_directory,
            batch,
        )
        files = copy_state((snapshot / name for name in staged.state_files), target)
        manifest = self._outline.savepoint(
            request.id, staged.report, sources, files, drained=request.drain
        )
        self._job.directory.fence()
        write_manifest(target, manifest)


def _is_complete(target: Path, request: SavepointRequest) -> bool:
    """Return whether an earlier attempt of the same request wrote the savepoint."""
    return (target / MANIFEST).exists() and read_savepoint(target).id == request.id


def unwritable(cause: OSError) -> SavepointError:
    """Return the error for a savepoint whose files cannot be written."""
    return SavepointError(
        f"the savepoint cannot be written: {cause}",
        hint="Make room, or name a directory this user may write to.",
    )
