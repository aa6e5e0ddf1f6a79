"""A savepoint of a job that is not running, made from its checkpoint directory alone.

It reads state and watermarks from the change logs, positions from the newest epoch record, and
names from the outline of the run. That is possible only between two epochs: only the job itself can determine
how much output of an interrupted epoch is visible (see `settled_run`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.config.configuration import Configuration
from penstock.errors import SavepointError
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.stored_path import JobPath
from penstock.filesystem.stores import store_of
from penstock.spark.job.job_steps import recording
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.job_savepoints import STOPPED, unwritable
from penstock.spark.savepoints.savepoint_requests import new_request_id
from penstock.spark.savepoints.settled_part import (
    START,
    MakeSession,
    begun,
    settled_part,
    settled_run,
)
from penstock.spark.session.factory import get_session
from penstock.spark.session.job_settings import default_interpreter, job_settings
from penstock.state.savepoint import (
    merged,
    prepare_directory,
    put_savepoint,
    write_manifest,
)
from penstock.wire.job_files import remove_tree


def take_offline(
    job: ObservedJob, parent: Path | ObjectPath | None, *, stop: bool
) -> tuple[JobPath | ObjectPath, tuple[str, ...]]:
    """Take a savepoint of a job that is not running; return it, and the generated uids of operators that have state in it."""
    with job.locked() as fence:
        runs = _live_runs(job)
        request_id = new_request_id()
        inside: JobPath = parent if isinstance(parent, Path) else job.path / "savepoints"
        target = inside.absolute() / request_id
        place: JobPath | ObjectPath = target
        try:
            prepare_directory(target)
            with _lazy_session() as session:
                parts = [settled_part(job, run, session, target, request_id) for run in runs]
            savepoint = merged(parts)
            write_manifest(target, savepoint)
            if isinstance(parent, ObjectPath):
                place = parent / request_id
                put_savepoint(store_of(place), target, place, fence)
                remove_tree(target)
            if stop:
                recording(job.path, fence).record(STOPPED, {"savepoint": str(place)}, fence)
        except OSError as cause:
            raise unwritable(cause) from cause
    return place, savepoint.unnamed_state


@contextmanager
def _lazy_session() -> Iterator[MakeSession]:
    """Yield a function that creates a session with the settings of a job on demand."""
    with ExitStack() as stack:

        @cache
        def session() -> SparkSession:
            made = get_session(Configuration.from_dict({"spark.sql.shuffle.partitions": "8"}))
            stack.enter_context(job_settings(made, default_interpreter(made)))
            return made

        yield session


def _live_runs(job: ObservedJob) -> tuple[int, ...]:
    """Return the current live run of each pipeline, checked before anything is written."""
    without = job.run_without_savepoint()
    if without is not None:
        raise SavepointError(
            f"job {job.name!r} is not running and is in its {without}, so it has no savepoint to "
            "give",
            hint=START,
        )
    runs = job.live_runs_now()
    for run in runs:
        begun(job, run)
        settled_run(job, run)
    return runs
