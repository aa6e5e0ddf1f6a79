"""Reads the keyed state of a checkpoint directory or savepoint, without the job.

A live run stores its state as change logs: in the files that epoch records name, or in Spark's state
store, which Spark's state data source reads as of one committed micro-batch. They are split into blobs,
grouped by operator and key group, and replayed. Snapshot files of batch runs and savepoints contain blobs
already. A worker needs memory for the entries of one key group of one operator.

While a driver runs the job, a function here chooses one micro-batch when it is called, and its whole
result is as of the end of that micro-batch. Spark retains the last ten
(`spark.sql.streaming.minBatchesToRetain`), and a loop of epochs retains large files until the state in
them is written anew; a result that is evaluated later is an error, and never a mix of two.

The path by which Spark's reader of state finds a checkpoint.

Spark 4 spells the path as a URI, and takes that for a path again: `a b` is looked for as `a%20b`. So a link is made whose path a
URI spells as it is. Executors on other hosts would not see it.
"""

from __future__ import annotations

import atexit
import json
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.errors import JobFailedError, PenstockError, SourceError, StateError
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.spark.failures.translation import translate
from penstock.spark.inspect.epoch_logs import EpochLogs
from penstock.spark.inspect.state_location import (
    PipelineStates,
    QueryCheckpoint,
    SnapshotFile,
    StateLocation,
    locate_state,
)
from penstock.spark.session.temporary_directory import PLAIN_PATH
from penstock.spark.sources.file_paths import uri_of
from penstock.spark.worker.epoch_log_sources import VIEW_DDL, SplitEpochLogs
from penstock.spark.worker.level_processor import LOG_VARIABLE
from penstock.spark.worker.state_sources import BLOB_DDL, FILE_DDL, STATE_DDL, ReadFiles, SplitLogs
from penstock.spark.worker.state_tasks import ReplayGroups, snapshot_rows


@lru_cache(maxsize=256)
def readable_path(path: Path) -> str:
    """Return the path of a checkpoint, or of a link to it, which lasts as long as this process."""
    if uri_of(str(path)) == f"file://{path}":
        return str(path)
    made = Path(tempfile.mkdtemp(prefix="penstock-state-", dir=PLAIN_PATH))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    link = made / "checkpoint"
    link.symlink_to(path.absolute(), target_is_directory=True)
    return str(link)


_ORDER = ("operator", "key_group", "source", "sequence")


def read_state_rows(session: SparkSession, job_directory: JobPath) -> DataFrame:
    """Return the state of a checkpoint directory or savepoint as snapshot rows.

    Returns:
        Rows (operator STRING, key_group INT, blob BINARY) of entries only, as of the last
        committed micro-batch or complete batch run. Broadcast state has key group -1. Damage that is
        detected while they are computed is a `StateError` inside Spark's exception; `reading`
        extracts it.

    Raises:
        JobDirectoryError: It is no checkpoint directory or savepoint, or a record in it is damaged.
        SavepointError: It is a savepoint with a damaged manifest.
        StateError: There is no state yet, or it is damaged.
    """
    with reading(job_directory):
        return state_rows(session, locate_state(job_directory))


def state_rows(session: SparkSession, location: StateLocation) -> DataFrame:
    """Return the state at a location as snapshot rows; see `read_state_rows`."""
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
    """Translate Spark's exceptions in the context to our errors.

    Raises:
        PenstockError: The error of a worker, or a `StateError`.
    """
    try:
        yield
    except PenstockError:
        raise
    except Exception as cause:
        if "_stateSchema" in str(cause):
            raise StateError(
                f"Spark cannot find the state of {directory} where it was written",
                hint="Read a checkpoint directory at the path it was written to; Spark's "
                "checkpoints hold absolute paths. A savepoint can be read anywhere.",
            ) from cause
        error = translate(cause, f"reading the state of {directory}")
        if isinstance(error, (SourceError, JobFailedError)):
            raise StateError(
                error.problem,
                hint="Run again with --verbose (or spark.log.level=INFO) to see Spark's own log. "
                "If the job runs, try again: it may have dropped this micro-batch.",
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


def _log_blobs(session: SparkSession, checkpoint: QueryCheckpoint, uid: str | None) -> DataFrame:
    operators = level_operators(session, checkpoint)
    if not operators:
        return session.createDataFrame([], BLOB_DDL)
    logs = reduce(DataFrame.unionAll, (log_rows(session, checkpoint, op) for op in operators))
    subtasks = next(iter(operators.values()))
    ordered = logs.repartition("query_operator", "route").sortWithinPartitions(
        "query_operator", "route", "number"
    )
    return ordered.mapInArrow(SplitLogs(subtasks, uid), BLOB_DDL)


def level_operators(session: SparkSession, checkpoint: QueryCheckpoint) -> dict[int, int]:
    """Return the stateful operators of a query that are levels, with their partitions.

    A user's stream may have others.
    """
    if not any((checkpoint.path / "state").glob("[0-9]*")):
        return {}
    rows = session.read.format("state-metadata").load(readable_path(checkpoint.path)).collect()
    return {
        row["operatorId"]: row["numPartitions"]
        for row in rows
        if _variables(row["operatorProperties"]) >= {LOG_VARIABLE}
    }


def _variables(properties: str | None) -> set[str]:
    found: dict[str, Any] = json.loads(properties or "{}")
    return {each["stateName"] for each in found.get("stateVariables", ())}


def log_rows(session: SparkSession, checkpoint: QueryCheckpoint, operator: int) -> DataFrame:
    """Return the logs of one level as rows (query_operator, route, number, data)."""
    reader = session.read.format("statestore").option("operatorId", operator)
    reader = reader.option("batchId", checkpoint.batch).option("stateVarName", LOG_VARIABLE)
    return reader.load(readable_path(checkpoint.path)).select(
        sf.lit(operator).cast("long").alias("query_operator"),
        sf.col("key.route"),
        sf.col("user_map_key.number"),
        sf.col("user_map_value.entry").alias("data"),
    )


def _blobs_of_each(session: SparkSession, states: PipelineStates, uid: str | None) -> DataFrame:
    blobs = (blob_rows(session, location, uid) for location in states.locations)
    return reduce(DataFrame.unionAll, blobs)


_BLOBS: dict[type, Callable[[SparkSession, Any, str | None], DataFrame]] = {
    EpochLogs: _epoch_blobs,
    QueryCheckpoint: _log_blobs,
    tuple: _file_blobs,
    PipelineStates: _blobs_of_each,
}
"""Kind of location to the function that reads it."""
