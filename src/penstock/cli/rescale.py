"""`penstock rescale`: records the parallelism with which a stopped job goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.failures import exit_status
from penstock.cli.script import Verbose
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.job.wanted_parallelism import record_parallelism


def rescale(
    job_dir: Annotated[
        Path,
        typer.Argument(
            metavar="JOB_DIR",
            show_default=False,
            help="The checkpoint directory of the job: its execution.checkpointing.dir.",
        ),
    ],
    *,
    parallelism: Annotated[
        int,
        typer.Option("--parallelism", "-p", show_default=False, help="The number of subtasks."),
    ],
    verbose: Verbose = False,
) -> None:
    """Let a stopped job go on with another parallelism.

    The next start in its directory takes it in place of the program's parallelism.default; one on the command line has
    precedence. State, timers and positions move to the new subtasks with the first epoch.
    """
    console = Console(stderr=True)

    def action() -> int:
        job = ObservedJob.at(job_dir)
        record_parallelism(job, parallelism)
        typer.echo(f"job {job.name!r} goes on with parallelism {parallelism} when it starts again")
        return 0

    raise typer.Exit(exit_status(action, console, verbose=verbose))
