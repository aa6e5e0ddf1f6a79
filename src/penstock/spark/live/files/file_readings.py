"""Reading of the files of a live run in a loop of epochs."""

from __future__ import annotations

from penstock.config.options import MAX_FILES_PER_BATCH, MAX_RECORDS_PER_BATCH
from penstock.plan.phases.backlog import catch_up_factor, checkpoint_interval
from penstock.plan.phases.pipelines import most_written_tasks
from penstock.plan.physical import RunPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.live.epochs.split_readings import history_read
from penstock.spark.sources.listing.file_readings import FileCaps, FileReading
from penstock.spark.sources.listing.frame_writer import WriteLimits
from penstock.spark.sources.listing.stream_writer import StreamLimits
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.source_row import LoopContext
from penstock.spark.sources.table import row_of

_FILES_PER_EPOCH = 4
"""Files of a DataFrame that have as many records as a source gives to an epoch."""


def file_readings(job: JobContext, run: RunPlan, pinned: Pinned) -> tuple[FileReading, ...]:
    """Return the readings of all parts of sources of a run whose rows are in files. They are not open."""
    usual = job.configuration.get(MAX_FILES_PER_BATCH)
    caps = FileCaps(usual, catch_up_factor(job.configuration, MAX_FILES_PER_BATCH))
    writes = WriteLimits(
        # Several files per epoch: its share of records is kept by whole files.
        max(job.configuration.get(MAX_RECORDS_PER_BATCH) // _FILES_PER_EPOCH, 1),
        most_written_tasks(job.plan, run, job.session.sparkContext.defaultParallelism),
    )
    interval = checkpoint_interval(job.configuration, backlog=False).total_seconds()
    streams = StreamLimits(interval, job.plan.options.parallelism)
    history = history_read(job.plan, run)
    found = []
    for reading, part in ((each, part) for each in run.readings for part in each.parts):
        described = job.plan.source(reading.source).parts[part]
        how = row_of(described).in_loop
        if how is None:
            continue
        context = LoopContext(
            session=job.session,
            source=reading.source,
            part=part,
            pinned=pinned,
            earlier=job.earlier,
            is_read=_is_read(job, reading.source, part),
            directory=job.directory.run_directory(run.index, "files").parent,
            fence=job.directory.fence,
            caps=caps,
            writes=writes,
            streams=streams,
            ends=reading.ends,
            is_history=(reading.source, part) in history,
        )
        found.append(how.reading(context, described))
    return tuple(found)


def _is_read(job: JobContext, source: int, part: int) -> bool:
    """Return whether a batch DataFrame was read before the savepoint from which the job started."""
    restored = job.restored
    if restored is None:
        return False
    is_now = restored.parts.get(source, part) == part
    return restored.has_passed(source, part) or (is_now and source in restored.read_frames)
