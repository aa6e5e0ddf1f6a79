"""`penstock run`: runs a program with settings of the command line, and shows its progress."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from penstock.api.environment.plan_only import PlanReady
from penstock.cli.failures import exit_status
from penstock.cli.progress import job_progress
from penstock.cli.script import (
    Definitions,
    ScriptArguments,
    ScriptPath,
    Verbose,
    run_script,
    settings,
)
from penstock.config.overrides import set_process_overrides
from penstock.plan.explain.render import render_text


def run(
    script: ScriptPath,
    arguments: ScriptArguments = None,
    definitions: Definitions = None,
    *,
    verbose: Verbose = False,
) -> None:
    """Run a program as python would, with progress on stderr.

    Stop it with Ctrl-C or SIGTERM. With execution.checkpointing.dir set, the same command
    resumes it where it was.
    """
    set_process_overrides("cli", settings(definitions, verbose=verbose))
    console = Console(stderr=True)

    def action() -> int:
        with job_progress(console, plain=verbose, shows_metrics=verbose):
            return _run_or_plan(script, arguments)

    raise typer.Exit(exit_status(action, console, verbose=verbose))


def _run_or_plan(script: Path, arguments: list[str] | None) -> int:
    try:
        run_script(script, arguments)
    except PlanReady as ready:  # execution.target=plan, from the program or from -D
        typer.echo(render_text(ready.plan), nl=False)
    return 0
