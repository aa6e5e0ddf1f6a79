"""`penstock advise`: the parallelism and the memory that a live run needs, with the measurements."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.failures import exit_status
from penstock.cli.job_observer import JobObserver
from penstock.cli.parameters import JobDir, Verbose
from penstock.cli.progress import duration
from penstock.errors import ArgumentError, JobDirectoryError
from penstock.observe.events.advice import LEAST_MICRO_BATCHES, UTILIZATION, Advice, advice_for
from penstock.observe.events.sentences import human_bytes, human_duration


def advise(
    job_dir: JobDir,
    *,
    catch_up: Annotated[
        str,
        typer.Option(metavar="DURATION", help="Time for reading the pending input."),
    ] = "10min",
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per live run.")
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Print the parallelism that a live run needs for its rate, and how it was computed.

    The measurements are those of its last micro-batches, also if the job does not run. The advice takes for granted that
    each further subtask does as much as those there are.
    """
    console = Console(stderr=True)

    def action() -> int:
        seconds = duration("--catch-up", catch_up).total_seconds()
        if seconds <= 0:
            raise ArgumentError(
                f"--catch-up is {catch_up}", hint="Pass a time in which input can be read: 10min."
            )
        observer = JobObserver.at(job_dir)
        advice = advice_for(observer.view(), seconds, observer.job.key_groups)
        if not advice:
            raise JobDirectoryError(
                f"the events of job {observer.job.name!r} have fewer than {LEAST_MICRO_BATCHES + 1} micro-batches "
                "of a live run, so there is no advice",
                hint="Let the live run work for a minute, and repeat this command.",
            )
        for piece in advice:
            lines = [json_module.dumps(piece.to_json())] if json else _lines(piece)
            typer.echo("\n".join(lines))
        return 0

    raise typer.Exit(exit_status(action, console, verbose=verbose))


def _lines(advice: Advice) -> Iterator[str]:
    name = advice.run if advice.pipeline is None else f"{advice.run} of pipeline {advice.pipeline}"
    yield f"{name}: parallelism {advice.parallelism} (now {advice.parallelism_now})"
    span, busy = human_duration(advice.span_seconds), human_duration(advice.busy_seconds)
    yield (
        f"  arriving     {advice.arriving_per_second:,.1f} records/s, in {advice.micro_batches:,} micro-batches "
        f"that read {advice.records:,} records in {span}"
    )
    yield (
        f"  capacity     {advice.capacity_per_second:,.1f} records/s: the micro-batches took {busy}"
    )
    pending = "without pending records, which this source does not count"
    if advice.pending_records is not None:
        within = human_duration(advice.catch_up_seconds)
        pending = f"with {advice.pending_records:,} pending records read in {within}"
    yield f"  needed       {advice.needed_per_second:,.1f} records/s, {pending}"
    yield (
        f"  parallelism  {advice.parallelism_now} * {advice.needed_per_second:,.1f} / "
        f"({UTILIZATION} * {advice.capacity_per_second:,.1f}), rounded up, at most {advice.key_groups} key groups"
    )
    if advice.state_bytes is not None and advice.state_bytes_per_subtask is not None:
        yield (
            f"  state        {human_bytes(advice.state_bytes)} in the checkpoint, "
            f"{human_bytes(advice.state_bytes_per_subtask)} per subtask; hashmap needs more than that in memory, lmdb on "
            "a local disk"
        )
    for uid in advice.hot_operators:
        yield f"  skew         one subtask of {uid} gets most records: more subtasks do not divide a key"
