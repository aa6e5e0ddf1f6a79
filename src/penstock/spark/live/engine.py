"""The engine of a live run: that of the plan, unless the run has begun with the other one.

A run goes on with the engine that it began with, because its state and its positions are in the files of
that engine. A savepoint can be continued by either.
"""

from __future__ import annotations

from penstock.filesystem.stored_path import JobPath
from penstock.plan.physical import RunPlan
from penstock.program.run_settings import LiveEngine
from penstock.state.log.epoch_record import EPOCHS, RECORDS

_BEGUN = {LiveEngine.JOBS: f"{EPOCHS}/{RECORDS}", LiveEngine.QUERY: "spark/offsets"}
"""Directory of a run that has files if the run began with the engine."""


def engine_of(job_directory: JobPath, run: RunPlan) -> LiveEngine:
    """Return the engine that executes a live run.

    Args:
        job_directory: Checkpoint directory of the job.
        run: The run.
    """
    for engine, name in _BEGUN.items():
        folder = job_directory / f"run-{run.index}" / name
        if folder.is_dir() and any(path.name.isdigit() for path in folder.iterdir()):
            return engine
    assert run.engine is not None, "it is a live run"
    return run.engine
