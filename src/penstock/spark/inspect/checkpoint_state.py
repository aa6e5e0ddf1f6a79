"""Reads the keyed state of a checkpoint directory or savepoint, without the job.

A live run stores its state as change logs, in the files that epoch records name. They are split into blobs,
grouped by operator and key group, and replayed. Snapshot files of batch runs and savepoints contain blobs
already. A worker needs memory for the entries of one key group of one operator.

While a driver runs the job, a function here chooses one epoch when it is called, and its whole result is as of the end of
that epoch. A loop of epochs retains large files until the state in them is written anew; a result that is evaluated later
is an error, and never a mix of two.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import JobFailedError, PenstockError, SourceError, StateError
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.spark.failures.translation import translate
from penstock.spark.inspect.state_location import (
    EpochLogs,
    PipelineStates,
    SnapshotFile,
    StateLocation,
)
from penstock.spark.worker.state_tasks import (
    BLOB_DDL,
    FILE_DDL,
    STATE_DDL,
    VIEW_DDL,
    ReadFiles,
    ReplayGroups,
    SplitEpochLogs,
    snapshot_rows,
)

_ORDER = ("operator", "key_group", "source", "sequence")


def state_rows(session: SparkSession, location: StateLocation) -> DataFrame:
    """Return the state at a location as snapshot rows."""
    blobs = grouped(blob_rows(session, location))
    return blobs.mapInArrow(ReplayGroups(snapshot_rows), STATE_DDL)


def blob_rows(session: SparkSession, location: StateLocation, uid: str | None = None) -> DataFrame:
    """Return the blobs at a location in rows of `BLOB_DDL`, in no order."""
    return _BLOBS[type(location)](session, location, uid)


def grouped(blobs: DataFrame) -> DataFrame:
    """Return blob rows in the order of `ReplayGroups`: by key group, each in order of writing."""
    return blobs.repartition("operator", "key_group").sortWithinPartitions(*_ORDER)


@contextmanager
def reading(directory: JobPath) -> Iterator[None]:
    """Translate Spark's exceptions in the context to our errors."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as cause:
        error = translate(cause, f"reading the state of {directory}")
        if isinstance(error, (SourceError, JobFailedError)):
            raise StateError(
                error.problem,
                hint="Run again with --verbose (or spark.log.level=INFO) to see Spark's own log. "
                "If the job runs, try again: it may have dropped this epoch.",
            ) from cause
        raise error from cause


def _epoch_blobs(session: SparkSession, epoch: EpochLogs, uid: str | None) -> DataFrame:
    if not epoch.logs:
        return session.createDataFrame([], BLOB_DDL)
    rows = [
        (level, subtask, bytearray(pickle.dumps(view, 5)))
        for (level, subtask), view in epoch.logs.items()
    ]
    listed = session.createDataFrame(rows, VIEW_DDL).repartition(len(rows))
    return listed.mapInArrow(SplitEpochLogs(epoch.path.absolute(), uid), BLOB_DDL)


def _file_blobs(
    session: SparkSession, files: tuple[SnapshotFile, ...], uid: str | None
) -> DataFrame:
    if not files:
        return session.createDataFrame([], BLOB_DDL)
    rows = [(str(file.path.absolute()), file.sha256) for file in files]
    listed = session.createDataFrame(rows, FILE_DDL).repartition(len(files))
    stores = [file.path.store for file in files if isinstance(file.path, StoredPath)]
    return listed.mapInArrow(ReadFiles(uid, stores[0] if stores else None), BLOB_DDL)


def _blobs_of_each(session: SparkSession, states: PipelineStates, uid: str | None) -> DataFrame:
    blobs = (blob_rows(session, location, uid) for location in states.locations)
    return reduce(DataFrame.unionAll, blobs)


_BLOBS: dict[type, Callable[[SparkSession, Any, str | None], DataFrame]] = {
    EpochLogs: _epoch_blobs,
    tuple: _file_blobs,
    PipelineStates: _blobs_of_each,
}
"""Kind of location to the function that reads it."""
