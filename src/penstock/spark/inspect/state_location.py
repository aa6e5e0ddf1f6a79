"""The location of the keyed state of a checkpoint directory or savepoint.

    savepoint                         its state files
    job, newest run is live           the logs of its epochs, as of the newest record
    job, newest run is complete       the snapshot files that the run recorded
    job, no run is complete           the savepoint it started from

A job with several pipelines has one of these for each. A live run without an epoch has no
state; the state that it starts with counts. Reading locks and writes no files, so a running job is not
disturbed.

While a driver runs the job it merges small extents, and removes the files they were in; with short epochs
several times a second. A task of Spark would come too late for them. So entries are read here, directly
after the record, and travel to the workers within the views. Large extents are left to the
workers: they stay until the state in them is written anew.

Reads the keyed state of a checkpoint directory or savepoint, without the job.

A live run stores its state as change logs, in the files that epoch records name. They are split into blobs,
grouped by operator and key group, and replayed. Snapshot files of batch runs and savepoints contain blobs
already. A worker needs memory for the entries of one key group of one operator.

While a driver runs the job, a function here chooses one epoch when it is called, and its whole result is as of the end of
that epoch. A loop of epochs retains large files until the state in them is written anew; a result that is evaluated later
is an error, and never a mix of two.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import (
    JobDirectoryError,
    JobFailedError,
    PenstockError,
    SourceError,
    StateError,
)
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.spark.failures.translation import translate
from penstock.spark.job.job_steps import PIPELINES, JobSteps, steps_of
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
from penstock.state.log.epoch_record import EPOCHS, EpochRecord
from penstock.state.log.extent import read_extent, split_entries
from penstock.state.log.log_table import epochs_in, with_logs
from penstock.state.log.subtask_log import LogName, LogView
from penstock.state.savepoint import MANIFEST, STATE_DIRECTORY, read_savepoint


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """One Parquet file of rows (operator, key_group, blob).

    Attributes:
        sha256: SHA-256 of its bytes in hexadecimal, None if it was not recorded.
    """

    path: JobPath
    sha256: str | None = None


_MOST_BYTES = 32 << 20
"""Size of the entries that are read here."""


@dataclass(frozen=True, slots=True)
class EpochLogs:
    """The state and the positions of a live run, as of one epoch record.

    Attributes:
        positions: Positions of the sources in the record.
    """

    path: JobPath
    epoch: int
    positions: Mapping[str, Any]
    logs: Mapping[LogName, LogView]


OneLocation: TypeAlias = EpochLogs | tuple[SnapshotFile, ...]


@dataclass(frozen=True, slots=True)
class PipelineStates:
    """The state of several pipelines of a job, each with operators of its own.

    Attributes:
        locations: One per pipeline that has state.
    """

    locations: tuple[OneLocation, ...]


StateLocation: TypeAlias = OneLocation | PipelineStates


def locate_state(directory: JobPath) -> StateLocation:
    """Return the current location of the state of a checkpoint directory or savepoint."""
    if (directory / MANIFEST).exists():
        return tuple(
            SnapshotFile(directory / STATE_DIRECTORY / file.name, file.sha256)
            for file in read_savepoint(directory).files
        )
    steps = steps_of(directory)
    if (job := steps.read("job")) is None:
        raise JobDirectoryError(
            f"{directory} is neither a checkpoint directory nor a savepoint: it has no job.json "
            f"and no {MANIFEST}",
            hint="Pass the execution.checkpointing.dir of a job, or a directory that "
            "`penstock savepoint` made.",
        )
    pipelines = job[PIPELINES]
    locations = [
        location
        for runs in _by_pipeline(_runs(directory, steps), pipelines)
        if (location := _newest(directory, steps, runs)) is not None
    ]
    restored = steps.read("restored")
    if restored is not None and len(locations) < len(restored["runs"]):
        return _restored(directory, restored, has_begun=bool(locations))
    if not locations:
        raise StateError(
            f"{directory} has no state yet: no run is complete and no micro-batch is committed",
            hint="Try again when the job has committed something.",
        )
    return locations[0] if len(locations) == 1 else PipelineStates(tuple(locations))


def _restored(directory: JobPath, record: dict[str, Any], *, has_begun: bool) -> StateLocation:
    if has_begun:
        raise StateError(
            f"{directory} has state of some pipelines in its savepoint, and of others behind it",
            hint="Try again when every pipeline of the job has committed a micro-batch.",
        )
    names = record["state_files"]
    return tuple(SnapshotFile(directory / "restored" / name) for name in names)


def _by_pipeline(runs: set[int], pipelines: Sequence[int]) -> list[list[int]]:
    """Return the runs that have begun of each pipeline, the newest first."""
    of = dict(enumerate(pipelines))
    grouped: dict[int, list[int]] = defaultdict(list)
    for run in sorted(runs, reverse=True):
        grouped[of.get(run, 0)].append(run)
    return [grouped[pipeline] for pipeline in sorted(grouped)]


def _newest(directory: JobPath, steps: JobSteps, runs: list[int]) -> OneLocation | None:
    """Return the location of the state of one pipeline, None if it has none yet."""
    for run in runs:
        files = _snapshot_files(directory, steps, run)
        live = None if files else newest_epoch(directory / f"run-{run}")
        if live is not None:
            return live
        if files is not None:
            return files
    return None


def _runs(directory: JobPath, steps: JobSteps) -> set[int]:
    names = (*steps.names(), *(path.name for path in directory.glob("run-*")))
    numbers = (name.split(".")[0].removeprefix("run-") for name in names)
    return {int(number) for number in numbers if number.isdigit()}


def _snapshot_files(
    directory: JobPath, steps: JobSteps, run: int
) -> tuple[SnapshotFile, ...] | None:
    """Return the hand-over files of a complete run, None if it is not complete."""
    done = steps.read(f"run-{run}.done")
    if done is None:
        return None
    snapshot = directory / f"run-{run}" / "snapshot"
    return tuple(
        SnapshotFile(snapshot / name, digest) for name, digest in done["state_files"].items()
    )


def newest_epoch(run_directory: JobPath) -> EpochLogs | None:
    """Return the logs of a run as of its newest record, None if it has no record."""
    directory = run_directory / EPOCHS
    if not epochs_in(directory):
        return None

    def read(record: EpochRecord, views: dict[LogName, LogView]) -> EpochLogs:
        return EpochLogs(directory, record.epoch, record.positions, _with_entries(directory, views))

    return with_logs(directory, read)


def _with_entries(directory: JobPath, views: dict[LogName, LogView]) -> dict[LogName, LogView]:
    """Return the logs with the entries of most extents, of small ones first."""
    recent = {name: dict(view.recent) for name, view in views.items()}
    extents = sorted(
        ((extent, name) for name, view in views.items() for extent in view.extents),
        key=lambda pair: pair[0].size,
    )
    left = _MOST_BYTES
    for extent, name in extents:
        left -= extent.size
        if left < 0:
            break
        entries = split_entries(extent, read_extent(directory, extent), directory)
        recent[name] |= enumerate(entries, extent.first)
    return {
        name: replace(view, recent=tuple(sorted(recent[name].items())))
        for name, view in sorted(views.items())
    }


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
