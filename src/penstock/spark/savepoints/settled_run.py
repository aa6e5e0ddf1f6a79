"""A live run of a job that is not running, and stands between two micro-batches.

    query    the micro-batch that Spark began last is committed
    epochs   the newest record is settled; an epoch without a record never happened

Otherwise output of the last micro-batch may be visible, or not; only the job itself can finish it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from pyspark.sql import SparkSession

from penstock.connectors.files.hidden_files import UNPUBLISHED
from penstock.errors import SavepointError, StateError
from penstock.filesystem.stored_path import JobPath, mounted
from penstock.spark.inspect.checkpoint_state import level_operators, log_rows
from penstock.spark.inspect.epoch_logs import EpochLogs
from penstock.spark.inspect.state_location import LiveLocation, QueryCheckpoint, live_location
from penstock.spark.job.checkpoint_files import check_checkpoint
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.sources.split_reads import offset_of
from penstock.spark.sources.stream_positions import last_batches, stream_offsets
from penstock.spark.worker.state_sources import HEAD_NUMBER
from penstock.state.log.change_log import Head
from penstock.state.log.settled_epoch import read_settled

MakeSession: TypeAlias = Callable[[], SparkSession]
"""Returns the session; called only if Spark is needed."""

START = "Start the job again, and take the savepoint while it runs."


@dataclass(frozen=True, slots=True)
class SettledRun:
    """The positions and logs of a live run at the end of its last micro-batch.

    Attributes:
        location: Its state.
        offsets: Offsets of all streams, as in Spark's checkpoint.
        heads: Returns the heads of all logs.
    """

    location: LiveLocation
    offsets: list[str | None]
    heads: Callable[[MakeSession], Iterable[Head]]


def settled_run(job: ObservedJob, run: int) -> SettledRun:
    """Return a live run of a job, which is locked.

    Raises:
        SavepointError: It has no micro-batch, the last one is not complete, or output of it is not visible yet.
        StateError: Its positions or logs are damaged.
    """
    unpublished = job.path / UNPUBLISHED
    if unpublished.is_dir() and any(unpublished.iterdir()):
        raise _interrupted(job, "before all of its output was merged and visible")
    directory = job.path / f"run-{run}"
    location = live_location(directory)
    return _SETTLED[type(location)](job, directory, location)


def _settled_query(job: ObservedJob, directory: JobPath, _: Any) -> SettledRun:
    checkpoint = mounted(directory / "spark")
    check_checkpoint(checkpoint)
    begun, committed = last_batches(checkpoint)
    if committed is None or begun != committed:
        raise _interrupted(
            job, "before its first micro-batch" if begun is None else f"in micro-batch {begun}"
        )
    location = QueryCheckpoint(checkpoint, committed)
    offsets = stream_offsets(checkpoint, committed)
    return SettledRun(location, offsets, partial(_heads_of_query, location))


def _settled_epoch(job: ObservedJob, _: JobPath, newest: EpochLogs) -> SettledRun:
    try:
        settled = read_settled(newest.path)
    except OSError as cause:
        raise StateError(
            f"the last epoch of {newest.path} cannot be determined: {cause}",
            hint="Run this as a user who may read the checkpoint directory.",
        ) from cause
    if settled != newest.epoch:
        raise _interrupted(job, f"in epoch {newest.epoch}, whose output may not be visible yet")
    offsets: list[str | None] = [offset_of(newest.positions)]
    return SettledRun(newest, offsets, partial(_heads_of_epoch, newest))


_SETTLED: dict[type, Callable[[ObservedJob, JobPath, Any], SettledRun]] = {
    EpochLogs: _settled_epoch,
    QueryCheckpoint: _settled_query,
    type(None): _settled_query,
}
"""Kind of location to the function for it; the query knows what a run without a commit has begun."""


def _heads_of_query(checkpoint: QueryCheckpoint, make_session: MakeSession) -> list[Head]:
    session = make_session()
    logs = (log_rows(session, checkpoint, op) for op in level_operators(session, checkpoint))
    heads = [log.where(f"number = {HEAD_NUMBER}").select("data").collect() for log in logs]
    return [Head.decode(bytes(row[0])) for rows in heads for row in rows]


def _heads_of_epoch(newest: EpochLogs, _: MakeSession) -> list[Head]:
    return [Head.decode(view.head) for view in newest.logs.values() if view.head is not None]


def _interrupted(job: ObservedJob, where: str) -> SavepointError:
    return SavepointError(
        f"job {job.name!r} is not running and was interrupted {where}; only the job itself "
        "can go on from there",
        hint=START,
    )
