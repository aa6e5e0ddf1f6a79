"""`penstock rescale`: lets a job go on with another parallelism."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.failures import exit_status
from penstock.cli.parameters import JobDir, Verbose
from penstock.cli.progress import duration
from penstock.cli.savepoint import dim_on
from penstock.errors import JobDirectoryError
from penstock.spark.job.awaited_answer import AnswerOfJob, Awaited
from penstock.spark.job.later_parallelism import (
    ParallelismRequest,
    check_parallelism,
    record_parallelism,
)
from penstock.spark.job.observed_job import ObservedJob

_RESCALED = Awaited(
    subject="change of parallelism",
    done="changed its parallelism",
    comes="the end of the micro-batch",
    must_wait="keeps its parallelism",
    error=JobDirectoryError,
    later="the parallelism changes between two micro-batches.",
)


def rescale(
    job_dir: JobDir,
    *,
    parallelism: Annotated[
        int,
        typer.Option(
            "--parallelism", "-p", metavar="N", show_default=False, help="The number of subtasks."
        ),
    ],
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            show_default=False,
            help="Give up after this time, such as 5min; without it, wait as long as a running job runs.",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Let a job go on with another parallelism, in its directory.

    A running job changes between two micro-batches, without a restart of its process. A stopped one changes when it starts
    again. Later starts take the parallelism in place of the program's parallelism.default; one on their command line has
    precedence. State, timers and positions move to the new subtasks with the first micro-batch.
    """
    console = Console(stderr=True)

    def action() -> int:
        limit = None if timeout is None else duration("--timeout", timeout)
        job = ObservedJob.at(job_dir)
        check_parallelism(job, parallelism)
        if job.is_running():
            _wait_for_driver(job, parallelism, console, limit)
            typer.echo(f"job {job.name!r} goes on with parallelism {parallelism}")
        else:
            record_parallelism(job, parallelism)
            again = "when it starts again"
            typer.echo(f"job {job.name!r} goes on with parallelism {parallelism} {again}")
        return 0

    status = exit_status(
        action, console, verbose=verbose, advice=lambda _: "stopped waiting; the job goes on"
    )
    raise typer.Exit(status)


def _wait_for_driver(
    job: ObservedJob, parallelism: int, console: Console, limit: timedelta | None
) -> None:
    """Request the parallelism of the driver, and wait until it has planned the program with it."""
    request = ParallelismRequest(job.path)
    request.submit(parallelism)

    def answer() -> bool | None:
        refused = request.refusal()
        if refused is not None:
            raise refused
        return True if request.number() is None else None

    AnswerOfJob(job, _RESCALED, dim_on(console)).wait(answer, request.withdraw, limit)
