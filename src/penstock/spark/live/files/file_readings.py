"""How the files of a live run are read in a loop of epochs."""

from __future__ import annotations

from penstock.config.options import MAX_FILES_PER_BATCH
from penstock.plan.phases.backlog import catch_up_factor
from penstock.plan.physical import RunPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.live.epochs.split_readings import history_read
from penstock.spark.sources.listing.file_readings import FileCaps, FileReading
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.source_row import LoopContext
from penstock.spark.sources.table import row_of


def file_readings(job: JobContext, run: RunPlan, pinned: Pinned) -> tuple[FileReading, ...]:
    """Return the readings of all parts of sources of a run whose rows are in files. They are not open.

    A batch DataFrame is written to files first.

    Args:
        job: The job.
        run: The run.
        pinned: Its input.
    """
    usual = job.configuration.get(MAX_FILES_PER_BATCH)
    caps = FileCaps(usual, catch_up_factor(job.configuration, MAX_FILES_PER_BATCH))
    read_frames = frozenset[int]() if job.restored is None else job.restored.read_frames
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
            is_read=reading.source in read_frames,
            directory=job.directory.run_directory(run.index, "files").parent,
            fence=job.directory.fence,
            caps=caps,
            ends=reading.ends,
            is_history=(reading.source, part) in history,
        )
        found.append(how.reading(context, described))
    return tuple(found)
