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
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from penstock.errors import JobDirectoryError, StateError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.job.job_steps import PIPELINES, JobSteps, steps_of
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
        path: Directory of the epochs.
        epoch: Number of the record.
        positions: Positions of the sources in the record.
        logs: The log of every subtask.
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
    found = [
        location
        for runs in _by_pipeline(_runs(directory, steps), pipelines)
        if (location := _newest(directory, steps, runs)) is not None
    ]
    restored = steps.read("restored")
    if restored is not None and len(found) < len(restored["runs"]):
        return _restored(directory, restored, has_begun=bool(found))
    if not found:
        raise StateError(
            f"{directory} has no state yet: no run is complete and no micro-batch is committed",
            hint="Try again when the job has committed something.",
        )
    return found[0] if len(found) == 1 else PipelineStates(tuple(found))


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
        key=lambda each: each[0].size,
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
