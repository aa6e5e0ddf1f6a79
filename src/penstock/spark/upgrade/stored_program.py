"""The program and the positions of stored state: of a savepoint, or of a job as it stands."""

from __future__ import annotations

from penstock.errors import SavepointError
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.store_settings import StoreSettings
from penstock.filesystem.stored_path import JobPath, StoredPath, store_of
from penstock.plan.compat.evolution import StoredProgram
from penstock.spark.job.mounted_path import savepoint_place
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.savepoint_requests import no_live_run
from penstock.spark.savepoints.settled_part import standing_part
from penstock.state.savepoint import MANIFEST, Savepoint, merged, read_savepoint


def manifest_at(path: JobPath, settings: StoreSettings | None = None) -> Savepoint:
    """Return the manifest of a savepoint, or of a job as of its newest epoch, which has no state files."""
    if (path / MANIFEST).exists():
        return read_savepoint(path)
    job = ObservedJob.at(path)
    stopped = job.record("stopped")
    if stopped is not None:
        place = savepoint_place(stopped["savepoint"])
        if isinstance(place, ObjectPath):
            return read_savepoint(StoredPath(store_of(place, settings), place))
        return read_savepoint(place)
    if not job.has_live_run():
        raise no_live_run(job.name)
    without = job.run_without_savepoint()
    if without is not None:
        raise SavepointError(
            f"job {job.name!r} is in its {without}, so it has no positions yet",
            hint="Wait for its live run, or start the changed program in a new directory.",
        )
    return merged([standing_part(job, run) for run in job.live_runs_now()])


def stored_program(savepoint: Savepoint, place: object) -> StoredProgram:
    """Return the program of a manifest, for the comparison with another one."""
    return StoredProgram(
        place=str(place),
        operators=savepoint.operators,
        sources=frozenset(source.uid for source in savepoint.sources),
        with_state=frozenset(savepoint.operators_with_state),
        sinks=savepoint.sinks,
    )
