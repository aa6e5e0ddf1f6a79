"""A live run of a job that is not running, and stands between two epochs.

Its newest record is settled; an epoch without a record never happened. Otherwise output of the last epoch may be
visible, or not; only the job itself can finish it.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.connectors.files.hidden_files import UNPUBLISHED
from penstock.errors import SavepointError, StateError
from penstock.spark.inspect.epoch_logs import EpochLogs, newest_epoch
from penstock.spark.job.observed_job import ObservedJob
from penstock.state.log.change_log import Head
from penstock.state.log.settled_epoch import read_settled

START = "Start the job again, and take the savepoint while it runs."


def settled_run(job: ObservedJob, run: int) -> EpochLogs:
    """Return the state and the positions of a live run of a job, which is locked.

    Raises:
        SavepointError: It has no epoch, the last one is not complete, or output of it is not visible yet.
        StateError: Its positions or logs are damaged.
    """
    unpublished = job.path / UNPUBLISHED
    if unpublished.is_dir() and any(unpublished.iterdir()):
        raise _interrupted(job, "before all of its output was merged and visible")
    newest = newest_epoch(job.path / f"run-{run}")
    if newest is None:
        raise _interrupted(job, "before its first epoch")
    try:
        settled = read_settled(newest.path)
    except OSError as cause:
        raise StateError(
            f"the last epoch of {newest.path} cannot be determined: {cause}",
            hint="Run this as a user who may read the checkpoint directory.",
        ) from cause
    if settled != newest.epoch:
        raise _interrupted(job, f"in epoch {newest.epoch}, whose output may not be visible yet")
    return newest


def heads_of(newest: EpochLogs) -> Iterable[Head]:
    """Return the heads of all logs."""
    return [Head.decode(view.head) for view in newest.logs.values() if view.head is not None]


def _interrupted(job: ObservedJob, where: str) -> SavepointError:
    return SavepointError(
        f"job {job.name!r} is not running and was interrupted {where}; only the job itself "
        "can go on from there",
        hint=START,
    )
