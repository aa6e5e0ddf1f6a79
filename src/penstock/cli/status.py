"""`penstock status` and `penstock top`: a job as its checkpoint directory shows it."""

from __future__ import annotations

import json as json_module
import time
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from penstock.cli.durations import duration
from penstock.cli.failures import exit_status
from penstock.cli.job_observer import JobObserver
from penstock.cli.job_status import status_text
from penstock.events.job_view import LOST, OVER

FAILED_STATUS, BEHIND_STATUS = 1, 2
"""Exit statuses: the job has failed or its driver was killed; it is behind more than allowed."""

_PIPE_WIDTH = 220

JobDir = Annotated[
    Path,
    typer.Argument(
        metavar="JOB_DIR",
        show_default=False,
        help="The checkpoint directory of the job: its execution.checkpointing.dir.",
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show whole tracebacks.")]


def status(
    job_dir: JobDir,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    max_behind: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            show_default=False,
            help="Exit with 2 if input waits longer than this, such as 30s.",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Print the status of a job that runs anywhere, or is over.

    The exit status is for health checks: 0 if the job runs or has ended well, 1 if it has failed or
    its driver was killed, 2 if it is behind more than --max-behind.
    """
    console = Console(stderr=True)

    def action() -> int:
        limit = None if max_behind is None else duration("--max-behind", max_behind)
        found = JobObserver.at(job_dir).status()
        if json:
            typer.echo(json_module.dumps(found, ensure_ascii=False))
        else:
            _console().print(status_text(found))
        return _exit_status(found, limit, console)

    raise typer.Exit(exit_status(action, console, verbose=verbose, advice=lambda _: "stopped"))


def top(
    job_dir: JobDir,
    *,
    interval: Annotated[
        str, typer.Option(metavar="DURATION", help="Time between two looks.")
    ] = "1s",
    verbose: Verbose = False,
) -> None:
    """Show the status of a job until it is over, or until Ctrl-C.

    Without a terminal it is printed once.
    """
    stderr = Console(stderr=True)

    def action() -> int:
        pause = duration("--interval", interval)
        observer, console = JobObserver.at(job_dir), _console()
        if not console.is_terminal:
            console.print(status_text(observer.status()))
            return 0
        with Live(console=console, auto_refresh=False, transient=True) as live:
            while True:
                found = observer.status()
                live.update(status_text(found), refresh=True)
                if found["status"] in OVER or found["status"] == LOST:
                    break
                time.sleep(pause.total_seconds())
        console.print(status_text(found))
        return 0

    raise typer.Exit(
        exit_status(action, stderr, verbose=verbose, advice=lambda _: "the job goes on")
    )


def _exit_status(found: dict[str, Any], limit: timedelta | None, console: Console) -> int:
    if found["status"] in {"FAILED", LOST}:
        return FAILED_STATUS
    behind = found["behind_seconds"]
    if limit is None:
        return 0
    if behind is None:
        is_live = any(run["kind"] == "live" and run["finished_ms"] is None for run in found["runs"])
        if is_live:
            told = "nobody counts the pending input of this job: --max-behind has no effect"
            console.print(Text(told, style="yellow"), soft_wrap=True)
        return 0
    return BEHIND_STATUS if behind > limit.total_seconds() else 0


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=_PIPE_WIDTH)
