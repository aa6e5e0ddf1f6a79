"""`penstock drop`: removes the resources in other systems of an abandoned job."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from penstock.cli.failures import exit_status
from penstock.cli.parameters import Definitions, JobDir, ScriptArguments, ScriptPath, Verbose
from penstock.cli.plan import plan_of
from penstock.cli.script import settings
from penstock.config.configuration import set_process_overrides
from penstock.config.options import CHECKPOINT_DIR, TARGET
from penstock.spark.job.outside import dropped, kept_outside, opened
from penstock.spark.savepoints.job_savepoints import STOPPED


def drop(
    script: ScriptPath,
    job_dir: JobDir,
    arguments: ScriptArguments = None,
    definitions: Definitions = None,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", help="Drop it; without this it is only listed.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object per line: the resource, and whether it was dropped.",
        ),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """List the resources of a job in other systems; --yes drops them, and the job cannot continue.

    These are the replication slot and the publication of a PostgreSQL source, and the staged rows and
    marks of sinks; of a job that was handed over also those of its earlier generations, of an upgrade that was given up those of
    its rounds. A job that was started from a savepoint of this one has the same slot. Written
    data and the checkpoint directory stay. The program runs up to its first execute(), because
    it has the logins; the directory lists the resources of the job.
    """
    planned = {TARGET.key: "plan", CHECKPOINT_DIR.key: str(job_dir)}
    set_process_overrides("cli", settings(definitions, verbose=verbose) | planned)
    console = Console(stderr=True)

    def action() -> int:
        with opened(job_dir, plan_of(script, arguments)) as directories:
            kept = {entry.what: (of, entry) for of in directories for entry in kept_outside(of)}
            stopped = directories[-1].step(STOPPED)
            for directory, entry in kept.values():
                if yes:
                    directory.fence()
                    dropped(entry)
                line = json.dumps({"what": entry.what, "is_dropped": yes})
                typer.echo(line if as_json else f"{'dropped ' if yes else ''}{entry.what}")
        if kept and stopped is not None:
            reason = f"a job that was started from {stopped['savepoint']} has the same slots"
            console.print(Text(reason), soft_wrap=True)
        if not kept:
            console.print("the job keeps nothing in other systems")
        elif not yes:
            console.print("nothing was dropped; --yes drops it, and the job cannot continue then")
        return 0

    raise typer.Exit(exit_status(action, console, verbose=verbose))
