"""The location of the keyed state of a checkpoint directory or savepoint.

    savepoint                         its state files
    job, newest run is live           the state store of its query, after its last commit, or
                                      the logs of its epochs, as of the newest record
    job, newest run is complete       the snapshot files that the run recorded
    job, no run is complete           the savepoint it started from

A live run without a committed micro-batch has no state; the state that it starts with counts. Reading
locks and writes no files, so a running job is not disturbed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from penstock.errors import DecodeError, JobDirectoryError, StateError
from penstock.spark.inspect.epoch_logs import EpochLogs, newest_epoch
from penstock.state.savepoint import MANIFEST, STATE_DIRECTORY, read_savepoint
from penstock.wire.atomic_file import read_verified


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """One Parquet file of rows (operator, key_group, blob).

    Attributes:
        path: Path of the file.
        sha256: SHA-256 of its bytes in hexadecimal, None if it was not recorded.
    """

    path: Path
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class QueryCheckpoint:
    """The checkpoint of a streaming query.

    Attributes:
        path: Path of the directory.
        batch: Number of the last committed micro-batch.
    """

    path: Path
    batch: int


LiveLocation: TypeAlias = QueryCheckpoint | EpochLogs
StateLocation: TypeAlias = LiveLocation | tuple[SnapshotFile, ...]


def locate_state(directory: Path) -> StateLocation:
    """Return the current location of the state of a checkpoint directory or savepoint.

    Raises:
        JobDirectoryError: It is neither, or a record in it is damaged.
        SavepointError: It is a savepoint with a damaged manifest.
        StateError: The job has no state yet, or it is damaged.
    """
    if (directory / MANIFEST).exists():
        return tuple(
            SnapshotFile(directory / STATE_DIRECTORY / file.name, file.sha256)
            for file in read_savepoint(directory).files
        )
    if not (directory / "job.json").exists():
        raise JobDirectoryError(
            f"{directory} is neither a checkpoint directory nor a savepoint: it has no job.json "
            f"and no {MANIFEST}",
            hint="Pass the execution.checkpointing.dir of a job, or a directory that "
            "`penstock savepoint` made.",
        )
    _record(directory / "job.json")
    for run in sorted(_runs(directory), reverse=True):
        files = _snapshot_files(directory, run)
        live = None if files else live_location(directory / f"run-{run}")
        if live is not None:
            return live
        if files is not None:
            return files
    restored = directory / "restored.json"
    if restored.exists():
        names = _record(restored)["state_files"]
        return tuple(SnapshotFile(directory / "restored" / name) for name in names)
    raise StateError(
        f"{directory} has no state yet: no run is complete and no micro-batch is committed",
        hint="Try again when the job has committed something.",
    )


def live_location(run_directory: Path) -> LiveLocation | None:
    """Return the location of the state of a live run, None if it has committed nothing.

    Args:
        run_directory: Directory of the run in the checkpoint directory.

    Raises:
        StateError: The state is damaged.
    """
    epoch = newest_epoch(run_directory)
    if epoch is not None:
        return epoch
    checkpoint = run_directory / "spark"
    batch = _last_commit(checkpoint / "commits")
    return None if batch is None else QueryCheckpoint(checkpoint, batch)


def _runs(directory: Path) -> set[int]:
    numbers = (path.name.split(".")[0].removeprefix("run-") for path in directory.glob("run-*"))
    return {int(number) for number in numbers if number.isdigit()}


def _snapshot_files(directory: Path, run: int) -> tuple[SnapshotFile, ...] | None:
    """Return the hand-over files of a complete run, None if it is not complete."""
    path = directory / f"run-{run}.done.json"
    if not path.exists():
        return None
    snapshot = directory / f"run-{run}" / "snapshot"
    files = _record(path)["state_files"]
    return tuple(SnapshotFile(snapshot / name, digest) for name, digest in files.items())


def _last_commit(commits: Path) -> int | None:
    numbers = (int(path.name) for path in commits.glob("*") if path.name.isdigit())
    return max(numbers, default=None)


def _record(path: Path) -> dict[str, Any]:
    try:
        return read_verified(path)
    except DecodeError as cause:
        raise JobDirectoryError(cause.problem, hint=cause.hint) from cause
