"""`penstock savepoint`: requests a savepoint of a running job and waits for it."""

from __future__ import annotations

import json as json_module
import time
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from penstock.cli.failures import exit_status
from penstock.cli.progress import duration
from penstock.errors import SavepointError
from penstock.observe.events.sentences import human_duration, unnamed_state
from penstock.spark.job.mounted_path import savepoint_place
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.offline_savepoint import take_offline
from penstock.spark.savepoints.savepoint_requests import (
    SavepointRequest,
    SavepointRequests,
    no_live_run,
)

_POLL_SECONDS = 0.1
_LOOK_SECONDS = 1.0


def savepoint(
    job_dir: Annotated[
        Path,
        typer.Argument(
            metavar="JOB_DIR",
            show_default=False,
            help="The checkpoint directory of the job: its execution.checkpointing.dir.",
        ),
    ],
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
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show whole tracebacks.")
    ] = False,
) -> None:
    """Take a savepoint of a job and print its path.

    A new job starts from it with execution.state-recovery.path, also with another parallelism
    and a changed program.
    """
    console = Console(stderr=True)

    def action() -> int:
        limit = None if timeout is None else duration("--timeout", timeout)
        taken, unnamed = take_savepoint(job_dir, target, console, stop=stop, limit=limit)
        made = {"path": taken, "operators_without_uid": [*unnamed]}
        typer.echo(json_module.dumps(made, ensure_ascii=False) if json else taken)
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
    ended = job.ended()
    if ended is not None:
        raise SavepointError(
            f"job {job.name!r} has no savepoint to give: {ended}",
            hint="Take savepoints of jobs that are running or were interrupted.",
        )
    if not job.has_live_run():
        raise no_live_run(job.name)
    if not job.is_running():
        taken, unnamed = take_offline(job, place, stop=stop)
        return str(taken), unnamed
    request = SavepointRequests(job.path).submit(place, stop=stop)
    return _Waiting(job, console).for_savepoint(request, limit)


class _Waiting:
    """Waits for the result of one request, and reports the state of the job."""

    def __init__(self, job: ObservedJob, console: Console) -> None:
        self._job = job
        self._console = console
        self._requests = SavepointRequests(job.path)
        self._said = ""

    def for_savepoint(
        self, request: SavepointRequest, limit: timedelta | None
    ) -> tuple[str, tuple[str, ...]]:
        """Return the savepoint, once it is complete, and the operators without a uid in it."""
        begun = time.monotonic()
        look_at = begun
        try:
            while True:
                now = time.monotonic()
                if now >= look_at:  # before the answer: always report the job
                    look_at = now + _LOOK_SECONDS
                    self._report_job(request.id)
                answer = self._requests.answer(request.id)
                if isinstance(answer, SavepointError):
                    raise answer
                if answer is not None:
                    return str(answer), self._requests.unnamed_state(request.id)
                if limit is not None and now - begun >= limit.total_seconds():
                    raise self._timeout(limit)
                time.sleep(_POLL_SECONDS)
        finally:
            self._requests.withdraw(request.id)

    def _report_job(self, request_id: str) -> None:
        """Report the state of the job, or that no driver runs it."""
        if not self._job.is_running() and self._requests.answer(request_id) is None:
            raise SavepointError(
                f"the driver of job {self._job.name!r} ended before it took the savepoint",
                hint="Start the job again and repeat this command.",
            )
        run = self._job.run_without_savepoint()
        if run is None:
            self._report("waiting for the micro-batch that carries the savepoint")
        else:
            self._report(
                f"the job is in its {run}, which cannot give a savepoint before "
                "it is done; waiting for the live run"
            )

    def _report(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self._console.print(Text(text, style="dim"), soft_wrap=True)

    def _timeout(self, limit: timedelta) -> SavepointError:
        after = human_duration(limit.total_seconds())
        run = self._job.run_without_savepoint()
        doing = "" if run is None else f"; the job is still in its {run}"
        return SavepointError(
            f"no savepoint after {after}{doing}",
            hint="Wait longer with --timeout, or look at the progress of the job: a savepoint "
            "comes with the next micro-batch.",
        )
