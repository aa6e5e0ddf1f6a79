"""A savepoint of a job that is not running, made from its checkpoint directory alone.

It reads state and watermarks from the change logs, positions from the newest epoch record or Spark's
offsets, and names from the outline of the run. That is possible only between two micro-batches: only the
job itself can determine how much output of an interrupted micro-batch is visible (see `settled_run`).
"""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from penstock.config.configuration import Configuration
from penstock.errors import SavepointError
from penstock.program.channel import WatermarkGroup
from penstock.runtime.task.report import Report
from penstock.runtime.time.watermarks import ChannelWatermarks
from penstock.spark.driver.recovery import Restored
from penstock.spark.inspect.checkpoint_state import reading, state_rows
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.job.run_outline import RunOutline, source_records
from penstock.spark.savepoints.savepoint_requests import new_request_id
from penstock.spark.savepoints.savepoint_writer import STOPPED, unwritable
from penstock.spark.savepoints.settled_run import START, settled_run
from penstock.spark.session.factory import get_session
from penstock.spark.session.job_settings import default_interpreter, job_settings
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.read_context import Pinned
from penstock.state.log.change_log import Head
from penstock.state.savepoint import (
    copy_state,
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
        run, outline, pinned = _live_run(job)
        directory = job.path / f"run-{run}"
        settled = settled_run(job, run)
        session = get_session(Configuration.from_dict({"spark.sql.shuffle.partitions": "8"}))
        request_id = new_request_id()
        target = (parent or job.path / "savepoints").absolute() / request_id
        rows = directory / f"rows-{request_id}"
        try:
            prepare_directory(target)
            with reading(job.path), job_settings(session, default_interpreter(session)):
                state_rows(session, settled.location).write.parquet(str(rows))
            report = _report(settled.heads(session), outline, pinned)
            read = _read_before(job, run)
            sources = source_records(outline, pinned, read, directory, settled.offsets)
            files = copy_state(sorted(rows.glob("*.parquet")), target)
            write_manifest(
                target, outline.savepoint(request_id, report, sources, files, drained=False)
            )
            if stop:
                stopped = {"savepoint": str(target)}
                write_verified(job.path / f"{STOPPED}.json", stopped, may_replace=fence)
        except OSError as cause:
            raise unwritable(cause) from cause
        finally:
            shutil.rmtree(rows, ignore_errors=True)
    return target


def unnamed_state_of(savepoint: Path) -> tuple[str, ...]:
    """Return the generated uids of operators that have state in a savepoint.

    Raises:
        SavepointError: It is no savepoint, or it is damaged.
    """
    return read_savepoint(savepoint).unnamed_state


def _live_run(job: ObservedJob) -> tuple[int, RunOutline, Pinned]:
    """Return index, outline and positions of the current live run.

    Raises:
        SavepointError: The current run is not live.
    """
    without = job.run_without_savepoint()
    run = job.run_now()
    outline = job.record(f"run-{run}.outline")
    pinned = job.record(f"run-{run}.pinned")
    if without is not None or outline is None or pinned is None:
        where = "has not begun" if without is None else f"is in its {without}"
        raise SavepointError(
            f"job {job.name!r} is not running and {where}, so it has no savepoint to give",
            hint=START,
        )
    return run, RunOutline.from_json(outline), Pinned.from_json(pinned)


def _read_before(job: ObservedJob, run: int) -> dict[tuple[int, int], PinnedFiles]:
    """Return the files that were read before a run."""
    found: dict[tuple[int, int], PinnedFiles] = {}
    recorded = job.record("restored")
    if recorded is not None:
        found |= Restored.from_json(recorded).read
    for index in range(run):
        pinned = job.record(f"run-{index}.pinned")
        if pinned is None:
            continue
        for key, files in Pinned.from_json(pinned).files.items():
            before = found.get(key, PinnedFiles({}, ""))
            found[key] = PinnedFiles(before.files | files.files, files.schema)
    return found


def _report(heads: Iterable[Head], outline: RunOutline, pinned: Pinned) -> Report:
    """Return watermarks and memory of every subtask, from the heads of their logs."""
    report = Report()
    grown = pinned.unbounded_logs()
    senders = {
        source: WatermarkGroup(source, splits, may_grow=source in grown)
        for source, splits in pinned.open_splits().items()
    }
    for head in heads:
        if not head.meta:
            continue
        channels, memory = pickle.loads(head.meta)
        marks = {
            channel: _by_group(outline, channel, remembered, senders)
            for channel, remembered in channels.items()
        }
        report.merge(Report(watermarks=marks, memory=memory))
    return report


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
