"""`penstock savepoint`: requests a savepoint of a running job and waits for it."""

from __future__ import annotations

import json as json_module
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from penstock.cli.failures import exit_status
from penstock.cli.parameters import JobDir, Verbose
from penstock.cli.progress import duration
from penstock.observe.events.sentences import unnamed_state
from penstock.spark.job.mounted_path import savepoint_place
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.requested_savepoint import request_savepoint


def savepoint(
    job_dir: JobDir,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET",
            show_default=False,
            help="Where the savepoint gets a directory of its own, also s3://bucket/path, gs:// or abfss://; by default the job's "
            "execution.checkpointing.savepoint-dir, else JOB_DIR/savepoints.",
        ),
    ] = None,
    *,
    stop: Annotated[
        bool,
        typer.Option("--stop", help="Stop the job with it; it processes no record afterwards."),
    ] = False,
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            show_default=False,
            help="Give up after this time, such as 5min; without it, wait as long as the job runs.",
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: path, and uids that are missing.")
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Take a savepoint of a job and print its path.

    A new job starts from it with execution.state-recovery.path, also with another parallelism
    and a changed program.
    """
    console = Console(stderr=True)

    def action() -> int:
        limit = None if timeout is None else duration("--timeout", timeout)
        taken, unnamed = take_savepoint(job_dir, target, console, stop=stop, limit=limit)
        record = {"path": taken, "operators_without_uid": [*unnamed]}
        typer.echo(json_module.dumps(record, ensure_ascii=False) if json else taken)
        if unnamed:
            console.print(Text(unnamed_state(unnamed), style="yellow"), soft_wrap=True)
        return 0

    status = exit_status(
        action, console, verbose=verbose, advice=lambda _: "stopped waiting; the job goes on"
    )
    raise typer.Exit(status)


def take_savepoint(
    job_dir: Path, target: str | None, console: Console, *, stop: bool, limit: timedelta | None
) -> tuple[str, tuple[str, ...]]:
    """Request a savepoint; return it, and the operators without a uid whose state is in it."""
    place = None if target is None else savepoint_place(target)
    job = ObservedJob.at(job_dir)
    return request_savepoint(job, place, stop=stop, limit=limit, report=dim_on(console))


def dim_on(console: Console) -> Callable[[str], None]:
    """Return what prints remarks."""
    return lambda text: console.print(Text(text, style="dim"), soft_wrap=True)
