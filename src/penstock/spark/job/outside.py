"""Resources that a job keeps in other systems, found by its program and its checkpoint directory.

The program has the logins, which the directory does not contain. Names in other systems contain the id of the job,
and only the directory records the id and the sources that have begun.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from penstock.errors import JobDirectoryError, SinkError, SourceError
from penstock.filesystem.stored_path import JobPath
from penstock.graph.endpoints import SinkContext
from penstock.graph.log_values import KeptOutside
from penstock.plan.phases.backlog import snapshot_parts
from penstock.plan.physical import PhysicalPlan
from penstock.spark.job.job_directory import SHADOW, JobDirectory, bootstrap_round, snapshot_step
from penstock.spark.job.mounted_path import generations, named_directory
from penstock.spark.job.observed_job import RESTORED, ObservedJob, recorded_step
from penstock.user_failure import failing_as

_DROP_HINT = "Correct what removes it, or remove it by hand."
_HINT = "Correct its kept_outside(), which returns what is there now."


@contextmanager
def opened(path: JobPath, plan: PhysicalPlan) -> Iterator[list[JobDirectory]]:
    """Open and lock the checkpoint directories of a job that does not run, each with an id of its own; the newest is the last."""
    job = ObservedJob.at(path)
    with ExitStack() as stack:
        directories = []
        for place in _places(path, job.path):
            directories.append(JobDirectory.open(place, plan, job.name))
            stack.callback(directories[-1].release)
        yield directories


def _places(path: JobPath, newest: JobPath) -> list[JobPath]:
    """Return the directories in which a job has owned its sinks; those of a shadow, which writes beside them, are left out."""
    first = named_directory(path) if isinstance(path, Path) else path
    earlier = generations(first)[:-1] if isinstance(first, Path) else []
    return [*(directory for directory in earlier if not (directory / SHADOW).exists()), newest]


def kept_outside(directory: JobDirectory) -> list[KeptOutside]:
    """Return the existing resources of the job in other systems."""
    rounds = (kept for job in _round_jobs(directory) for kept in _kept_by_sinks(directory, *job))
    return [*_kept_by_sources(directory), *kept_by_sinks(directory), *rounds]


def _kept_by_sources(directory: JobDirectory) -> list[KeptOutside]:
    plan, kept = directory.plan, list[KeptOutside]()
    is_restored = directory.step(RESTORED) is not None
    for source, part in snapshot_parts(plan).items():
        if is_restored or _has_begun(directory, source):
            planned = plan.source(source)
            failed = f"source {planned.name!r} does not list its outside resources"
            with failing_as(SourceError, failed, planned.origin, hint=_HINT):
                kept += part.source.kept_outside()
    return kept


def kept_by_sinks(directory: JobDirectory) -> list[KeptOutside]:
    """Return the existing resources of the sinks of a job in other systems."""
    return _kept_by_sinks(directory, directory.path, directory.job_id)


def _round_jobs(directory: JobDirectory) -> Iterator[tuple[JobPath, str]]:
    """Yield place and id of the jobs that have read the history for an upgrade that is not complete: new sinks write in them."""
    for number in count():
        path = bootstrap_round(directory.path, number)
        if not path.exists():
            return
        known = recorded_step(path / "job", "job")
        if known is not None:
            yield path / "job", known["job_id"]


def _kept_by_sinks(directory: JobDirectory, place: JobPath, job_id: str) -> list[KeptOutside]:
    kept = list[KeptOutside]()
    for sink in directory.plan.sinks:
        context = SinkContext(
            job_id,
            sink.uid,
            -1,
            sink.type_info,
            sink.name,
            sink.origin,
            place,
            may_commit=directory.fence,
        )
        failed = f"sink {sink.name!r} does not list its outside resources"
        with failing_as(SinkError, failed, sink.origin, hint=_HINT):
            kept += sink.sink.kept_outside(context)
    return kept


def dropped(kept: KeptOutside) -> None:
    """Drop something."""
    with failing_as(SinkError, f"{kept.what} cannot be dropped", None, hint=_DROP_HINT):
        kept.drop()


def _has_begun(directory: JobDirectory, source: int) -> bool:
    """Return whether the job has taken the snapshot of a source, and so owns the resources with its name."""
    if directory.step(snapshot_step(source)) is not None:
        return True
    files = directory.path / "snapshots" / str(source)
    try:
        return files.is_dir() and any(files.iterdir())
    except OSError as cause:
        raise JobDirectoryError.unreadable(files, cause) from cause
