"""Takes the snapshots of logs, once per job, before anything is read.

    snapshots/3/          files of the snapshot of source 3
    snapshot-3.json       the snapshot is complete: its files, and where the tail begins

Without the record the next driver lets the source begin again, in the same directory. A job that starts
from a savepoint reads on where that was, so it captures nothing; if the savepoint was taken before the snapshot
was read to its end, the files are read where the earlier job has written them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath, mounted
from penstock.graph.hybrid import Captured, SnapshotPart, snapshot_part_of
from penstock.plan.phases.backlog import snapshot_parts, with_snapshot
from penstock.plan.physical import PhysicalPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.job.job_directory import snapshot_step
from penstock.wire.atomic_file import PRIVATE_DIRECTORY, create_directory

_DIRECTORY = "directory"


def with_snapshots(job: JobContext) -> PhysicalPlan:
    """Return the plan with the snapshots of all sources that begin with one; take those that are missing."""
    plan = job.plan
    for source, part in snapshot_parts(plan).items():
        recorded = job.directory.step(snapshot_step(source))
        if recorded is None:
            if _goes_on(job, source):
                continue
            recorded = _restored(job, source)
            if recorded is None:
                recorded = _captured(job, source, part).to_json()
            job.directory.record(snapshot_step(source), recorded)
            failpoint("snapshot.recorded")
        snapshot = snapshot_of(job.directory.path, source, recorded)
        if not _is_read(job, source):
            snapshot.check_files(part.source.describe())
        plan = with_snapshot(plan, source, snapshot)
    return plan


def snapshot_of(directory: JobPath, source: int, recorded: dict[str, Any]) -> Captured:
    """Return a recorded snapshot."""
    files = Path(recorded.get(_DIRECTORY) or mounted(directory / "snapshots" / str(source)))
    return Captured.from_json(recorded, files)


def _captured(job: JobContext, source: int, part: SnapshotPart) -> Captured:
    directory = mounted(job.directory.path / "snapshots" / str(source))
    job.directory.fence()
    create_directory(directory.parent, PRIVATE_DIRECTORY)
    create_directory(directory, PRIVATE_DIRECTORY)
    failpoint("snapshot.begins")
    with PenstockError.at(job.plan.source(source).origin):
        captured: Captured = job.patiently(partial(part.capture, directory))
    failpoint("snapshot.captured")
    return captured


def _is_read(job: JobContext, source: int) -> bool:
    """Return whether all runs are done that read the snapshot of a source."""
    indexed_part = snapshot_part_of(job.plan.source(source).parts)
    assert indexed_part is not None, "the source has a snapshot"
    number, _ = indexed_part
    return all(
        job.directory.step(f"run-{run.index}.done") is not None
        for run in job.plan.runs
        if any(reading.source == source and number in reading.parts for reading in run.readings)
    )


def _goes_on(job: JobContext, source: int) -> bool:
    """Return whether a savepoint has the source behind its snapshot."""
    restored = job.restored
    return (
        restored is not None
        and source not in restored.snapshots
        and any(of == source for of, _ in restored.splits)
    )


def _restored(job: JobContext, source: int) -> dict[str, Any] | None:
    """Return the record of a snapshot that an earlier job has not read to its end."""
    return None if job.restored is None else job.restored.snapshots.get(source)
