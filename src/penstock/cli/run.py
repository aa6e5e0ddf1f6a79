"""`penstock run`: runs a program with settings of the command line, and shows its progress."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from penstock.api.environment.job import PlanReady
from penstock.cli.failures import exit_status
from penstock.cli.parameters import Definitions, ScriptArguments, ScriptPath, Verbose
from penstock.cli.progress import job_progress
from penstock.cli.script import run_script, settings
from penstock.config.configuration import Configuration, set_process_overrides
from penstock.config.options import LOGGING_FORMAT
from penstock.config.reporter_options import UI_PORT
from penstock.observe.events.event_json import log_as_json
from penstock.observe.ui.server import UiServer, announced_to
from penstock.plan.explain.render import render_text

RUN_PORT = 8470
"""The port of `penstock run --ui`."""


def run(
    script: ScriptPath,
    arguments: ScriptArguments = None,
    definitions: Definitions = None,
    *,
    ui: Annotated[
        bool,
        typer.Option(
            "--ui",
            help=f"Serve the page of the job, and metrics, on 127.0.0.1:{RUN_PORT}; -D ui.port=PORT names another port.",
        ),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Run a program as python would, with progress on stderr.

    Stop it with Ctrl-C or SIGTERM. With execution.checkpointing.dir set, the same command
    resumes it where it was.
    """
    served = {UI_PORT.key: str(RUN_PORT)} if ui else {}
    set_process_overrides("cli", served | settings(definitions, verbose=verbose))
    console = Console(stderr=True)

    def action() -> int:
        if Configuration().get(LOGGING_FORMAT) == "json":
            log_as_json()
            return _run_or_plan(script, arguments)
        with (
            job_progress(console, plain=verbose, shows_metrics=verbose),
            announced_to(partial(_print_page, console)),
        ):
            return _run_or_plan(script, arguments)

    raise typer.Exit(exit_status(action, console, verbose=verbose))


def _print_page(console: Console, server: UiServer) -> None:
    address = server.address_for(is_terminal=console.is_terminal)
    console.print(Text(f"page: {address}"), soft_wrap=True)


def _run_or_plan(script: Path, arguments: list[str] | None) -> int:
    try:
        run_script(script, arguments)
    except PlanReady as ready:  # execution.target=plan, from the program or from -D
        typer.echo(render_text(ready.plan), nl=False)
    return 0
