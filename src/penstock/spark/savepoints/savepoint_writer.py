"""Writes a requested savepoint, after the micro-batch that contains the state has committed."""

from __future__ import annotations

import time
from pathlib import Path

from penstock.config.options import SAVEPOINT_DIR
from penstock.errors import JobFencedError, PenstockError, SavepointError
from penstock.failpoint import failpoint
from penstock.metrics.listener import SavepointFailed, SavepointTaken
from penstock.plan.physical import RunPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.driver.sink_stage import StagedEpoch
from penstock.spark.job.run_outline import RunOutline, source_records
from penstock.spark.savepoints.savepoint_requests import SavepointRequest, SavepointRequests
from penstock.state.savepoint import (
    MANIFEST,
    copy_state,
    prepare_directory,
    read_savepoint,
    write_manifest,
)

STOPPED = "stopped"
"""The step of a job that was stopped with a savepoint."""


class SavepointWriter:
    """Writes the savepoints of one live run.

    Attributes:
        has_stopped: Whether the job was stopped with a savepoint, after which it must not commit.
    """

    def __init__(self, job: JobContext, run: RunPlan, outline: RunOutline) -> None:
        self._job = job
        self._run = run
        self._outline = outline
        self._requests = SavepointRequests(job.directory.path)
        self._has_reported = False
        self.has_stopped = False

    def complete(
        self,
        request: SavepointRequest,
        offsets: list[str | None],
        staged: StagedEpoch,
        snapshot: Path,
    ) -> None:
        """Write a savepoint and answer its request; the job continues if that fails.

        Args:
            request: The request.
            offsets: Offsets of all streams at the end of the micro-batch, as in Spark's checkpoint.
            staged: Staged output of its tasks; its sinks have committed.
            snapshot: Directory of their state files.

        Raises:
            PenstockError: The checkpoint directory cannot be read or written.
        """
        started = time.monotonic()
        try:
            target = self._target(request)
            if not _is_complete(target, request):
                self._write(target, request, offsets, staged, snapshot)
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
        offsets: list[str | None],
        staged: StagedEpoch,
        snapshot: Path,
    ) -> None:
        prepare_directory(target)
        sources = source_records(
            self._outline,
            self._job.pinned_by(self._run),
            self._job.earlier,
            self._job.directory.path / f"run-{self._run.index}",
            offsets,
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


def remove_copied(staged: StagedEpoch, snapshot: Path) -> None:
    """Remove the state files of a savepoint: copied, or those of a request that is answered already."""
    if (staged.report.snapshot or "").startswith("savepoint:"):
        for name in staged.state_files:
            (snapshot / name).unlink(missing_ok=True)
