"""Part of a savepoint from a live run without an epoch under way, from the checkpoint directory alone.

State and watermarks are in the change logs, positions in the newest epoch record, and
names in the outline of the run.

A live run of a job that is not running, and stands between two epochs.

Its newest record is settled; an epoch without a record never happened. Otherwise output of the last epoch may be
visible, or not; only the job itself can finish it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from pyspark.sql import SparkSession

from penstock.connectors.files.hidden_files import UNPUBLISHED
from penstock.errors import SavepointError, StateError
from penstock.filesystem.stored_path import JobPath
from penstock.program.channel import WatermarkGroup
from penstock.runtime.task.report import Report
from penstock.runtime.time.watermarks import ChannelWatermarks
from penstock.spark.driver.restored import Restored
from penstock.spark.inspect.small_state import small_location
from penstock.spark.inspect.state_location import EpochLogs, newest_epoch, reading, state_rows
from penstock.spark.job.observed_job import RESTORED, ObservedJob
from penstock.spark.job.run_outline import (
    Began,
    RunOutline,
    SourceOutline,
    begun_with,
    outline_in,
    source_records,
)
from penstock.spark.job.state_layout import LAYOUT
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.read_context import Pinned
from penstock.spark.worker.state_tasks import NAMES_DDL, WriteStateFiles
from penstock.state.log.change_log import Head
from penstock.state.log.epoch_log import read_settled
from penstock.state.savepoint import Savepoint, copy_state
from penstock.wire.atomic_file import PRIVATE_DIRECTORY, create_directory
from penstock.wire.job_files import remove_tree

START = "Start the job again, and take the savepoint while it runs."


def settled_run(job: ObservedJob, run: int) -> EpochLogs:
    """Return the state and the positions of a live run of a job, which is locked."""
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
        f"job {job.name!r} is not running and was interrupted {where}; only a restart of the job "
        "can go on from there",
        hint=START,
    )


MakeSession: TypeAlias = Callable[[], SparkSession]
"""Returns the session; called only if Spark is needed."""


def settled_part(
    job: ObservedJob, run: int, make_session: MakeSession, target: JobPath, request_id: str
) -> Savepoint:
    """Copy the state of a run to a prepared savepoint, and return this part of its manifest."""
    begun(job, run)
    directory = job.path / f"run-{run}"
    settled = settled_run(job, run)
    outline, pinned = begun(job, run, settled.positions.get(LAYOUT))
    rows = directory / f"rows-{request_id}"
    try:
        with reading(job.path):
            create_directory(rows, PRIVATE_DIRECTORY)
            written = _written(job.path, settled, rows, make_session)
        report = _report(heads_of(settled), outline, pinned)
        earlier = _read_before(job, run)
        began = _began_before(job, run)
        sources = source_records(outline, pinned, earlier, directory, settled.positions, began)
        files = copy_state((rows / name for name in written), target)
    finally:
        remove_tree(rows)
    return outline.savepoint(request_id, report, sources, files, drained=False)


def write_newest(
    directory: JobPath, run: int, rows: JobPath, make_session: MakeSession
) -> tuple[list[str], list[Head]]:
    """Write the state of a run, as of its newest epoch, to files of snapshot rows; return their names and the heads of its logs."""
    newest = newest_epoch(directory / f"run-{run}")
    assert newest is not None, "an epoch was recorded"
    with reading(directory):
        names = _written(directory, newest, rows, make_session)
    return names, list(heads_of(newest))


def standing_part(job: ObservedJob, run: int) -> Savepoint:
    """Return what the manifest of a savepoint would be now, without state; the job may be running."""
    outline, pinned = begun(job, run)
    directory = job.path / f"run-{run}"
    newest = newest_epoch(directory)
    positions = {} if newest is None else newest.positions
    earlier, began = _read_before(job, run), _began_before(job, run)
    sources = source_records(outline, pinned, earlier, directory, positions, began)
    return outline.savepoint("", Report(), sources, (), drained=False)


def _written(
    directory: JobPath, location: EpochLogs, rows: JobPath, make_session: MakeSession
) -> list[str]:
    """Write the state of a job to files of snapshot rows, and return their names."""
    small = small_location(directory, location)
    if small is not None:
        return small.write_snapshot(rows)
    states = state_rows(make_session(), location)
    return [row.name for row in states.mapInArrow(WriteStateFiles(rows), NAMES_DDL).collect()]


def begun(job: ObservedJob, run: int, layout: str | None = None) -> tuple[RunOutline, Pinned]:
    """Return the outline and the input of a run, given the layout in the record of its newest epoch."""
    outline = outline_in(job.record, run, layout)
    pinned = job.record(f"run-{run}.pinned")
    if outline is None or pinned is None:
        raise SavepointError(
            f"job {job.name!r} is not running and has not begun, so it cannot give a savepoint",
            hint=START,
        )
    return outline, Pinned.from_json(pinned)


def _read_before(job: ObservedJob, run: int) -> dict[tuple[int, int], PinnedFiles]:
    """Return the files that were read before a run."""
    read_files: dict[tuple[int, int], PinnedFiles] = {}
    recorded = job.record(RESTORED)
    if recorded is not None:
        read_files |= Restored.from_json(recorded).read
    for index in job.runs_before(run):
        pinned = job.record(f"run-{index}.pinned")
        if pinned is None:
            continue
        for key, files in Pinned.from_json(pinned).files.items():
            before = read_files.get(key, PinnedFiles({}, ""))
            read_files[key] = PinnedFiles(before.files | files.files, files.schema)
    return read_files


def _began_before(job: ObservedJob, run: int) -> Began:
    """Return the splits with which the runs before one, or the jobs before, began to read parts."""
    restored = job.record(RESTORED)
    known = {} if restored is None else Restored.from_json(restored).began
    records = (job.record(f"run-{index}.pinned") for index in job.runs_before(run))
    return begun_with(known, [Pinned.from_json(record) for record in records if record is not None])


def _report(heads: Iterable[Head], outline: RunOutline, pinned: Pinned) -> Report:
    """Return watermarks and memory of every subtask, from the heads of their logs."""
    report = Report()
    senders = {
        source.id: _sender(source, source.part, pinned)
        for source in outline.sources
        if source.part is not None
    }
    for head in heads:
        if not head.meta:
            continue
        channels, memory, *_ = pickle.loads(head.meta)  # the rest is about backlog
        marks = {
            channel: _by_group(outline, channel, remembered, senders)
            for channel, remembered in channels.items()
        }
        report.merge(Report(watermarks=marks, memory=memory))
    return report


def _sender(source: SourceOutline, first: int, pinned: Pinned) -> WatermarkGroup:
    """Return the group of a source: of each part that the run reads the splits; files have no fixed number."""
    opened = pinned.open_splits()
    (splits, grows), *later = [
        (opened[key] if key in pinned.splits else 0, pinned.grows(key))
        for key in [(source.id, part) for part in (first, *source.later)]
    ]
    return WatermarkGroup(source.id, splits, may_grow=grows, later=tuple(later))


def _by_group(
    outline: RunOutline, channel: int, remembered: Any, senders: dict[int, WatermarkGroup]
) -> dict[int, int]:
    """Return the watermarks of a channel in the form of a hand-over."""
    sources = outline.channels[channel].sources
    if sources is None:
        groups = [WatermarkGroup(subtask, 1) for subtask in range(outline.parallelism)]
    else:
        groups = [senders.get(source, WatermarkGroup(source, 0)) for source in sources]
    marks = ChannelWatermarks(groups, {})
    marks.restore(remembered)
    return {-1: marks.current} if sources is None else marks.by_group()
