"""A live run that goes on with other subtasks: its state, out of the logs of the earlier ones.

    newest record k     of another layout than that of the plan
    run-1/rescaled/     the state at its end, rows by operator and key group; the logs stay
    record k + 1        a base of new logs, which were seeded with the rows: it counts from here
    record k + 2        the rows are removed, and the earlier logs are garbage

Nothing but the record of an epoch decides which logs count. So a driver that is killed before it repeats the step, and
one that is killed behind it has nothing to repeat. Positions, snapshots of sources and logs of files stay those of the run.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.failpoint import failpoint
from penstock.plan.physical import RunPlan
from penstock.program.level import LevelProgram
from penstock.runtime.task.subtask_memory import SubtaskMemory
from penstock.spark.driver.run_context import JobContext
from penstock.spark.job.run_outline import RunOutline
from penstock.spark.job.state_layout import channel_outlines
from penstock.spark.live.run_bounds import FirstState
from penstock.spark.savepoints.settled_part import write_newest
from penstock.wire.job_files import remove_tree

_ROWS = "rescaled"


def rescaled_state(
    job: JobContext, run: RunPlan, before: RunOutline, programs: Sequence[LevelProgram]
) -> FirstState:
    """Return the state with which the subtasks of a run begin, out of the logs of its newest epoch."""
    directory = job.directory
    rows = directory.run_directory(run.index, _ROWS)
    names, heads = write_newest(directory.path, run.index, rows, lambda: job.session)
    failpoint("rescale.written")
    memory = SubtaskMemory.of((head.meta for head in heads), before.channels)
    now = channel_outlines(job.plan)
    return FirstState(
        directory,
        (run.index,),
        [rows / name for name in names],
        before.max_parallelism,
        {program.level: memory.moved(program, now) for program in programs[1:]},
    )


def forget_rows(job: JobContext, run: RunPlan) -> None:
    """Remove rows that an interrupted start has left; no record needs them."""
    path = job.directory.path / f"run-{run.index}" / _ROWS
    if path.is_dir():
        remove_tree(path, job.directory.fence)
