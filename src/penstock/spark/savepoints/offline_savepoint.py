"""A savepoint of a job that is not running, made from its checkpoint directory alone.

It reads state and watermarks from the change logs, positions from the newest epoch record or Spark's
offsets, and names from the outline of the run. That is possible only between two micro-batches: only the
job itself can determine how much output of an interrupted micro-batch is visible (see `settled_run`).
"""

from __future__ import annotations

from pathlib import Path

from penstock.config.configuration import Configuration
from penstock.errors import SavepointError
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.job_savepoints import STOPPED, unwritable
from penstock.spark.savepoints.savepoint_requests import new_request_id
from penstock.spark.savepoints.settled_part import begun, settled_part
from penstock.spark.savepoints.settled_run import START, settled_run
from penstock.spark.session.factory import get_session
from penstock.spark.session.job_settings import default_interpreter, job_settings
from penstock.state.savepoint import (
    merged,
    prepare_directory,
    read_savepoint,
    write_manifest,
)
from penstock.wire.atomic_file import write_verified


def take_offline(job: ObservedJob, parent: Path | None, *, stop: bool) -> Path:
    """Take a savepoint of a job that is not running.

    Args:
        job: The job; it is locked during the call.
        parent: Parent of the savepoint's directory; None is `savepoints` in the checkpoint
            directory.
        stop: Whether to close the checkpoint directory, as stopping a running job does.

    Raises:
        SavepointError: No savepoint is possible at this step of the job, or it cannot be written.
        JobLockedError: A driver has started.
        StateError: The state is damaged.
    """
    with job.locked() as fence:
        runs = _live_runs(job)
        session = get_session(Configuration.from_dict({"spark.sql.shuffle.partitions": "8"}))
        request_id = new_request_id()
        target = (parent or job.path / "savepoints").absolute() / request_id
        try:
            prepare_directory(target)
            with job_settings(session, default_interpreter(session)):
                parts = [settled_part(job, run, session, target, request_id) for run in runs]
            write_manifest(target, merged(parts))
            if stop:
                stopped = {"savepoint": str(target)}
                write_verified(job.path / f"{STOPPED}.json", stopped, may_replace=fence)
        except OSError as cause:
            raise unwritable(cause) from cause
    return target


def unnamed_state_of(savepoint: Path) -> tuple[str, ...]:
    """Return the generated uids of operators that have state in a savepoint.

    Raises:
        SavepointError: It is no savepoint, or it is damaged.
    """
    return read_savepoint(savepoint).unnamed_state


def _live_runs(job: ObservedJob) -> tuple[int, ...]:
    """Return the current live run of each pipeline, checked before anything is written.

    Raises:
        SavepointError: The current run of a pipeline is not live, or not between two micro-batches.
        StateError: Its positions are damaged.
    """
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
