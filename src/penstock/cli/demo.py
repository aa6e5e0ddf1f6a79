"""`penstock demo`: the built-in example."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.failures import exit_status
from penstock.cli.progress import job_progress
from penstock.cli.script import Verbose, settings
from penstock.config.overrides import set_process_overrides
from penstock.demo.options import DEFAULT_DATA_DIR, DemoOptions

RUN_DEMO = "penstock.demo.command:run_demo"
"""What runs the demo. A name, because importing it takes longer than printing a help text."""


def demo(
    data_dir: Annotated[
        Path, typer.Option(file_okay=False, help="Where the demo keeps data and results.")
    ] = DEFAULT_DATA_DIR,
    parallelism: Annotated[
        int | None,
        typer.Option(min=1, show_default="one per core", help="Subtasks of every operator."),
    ] = None,
    *,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Run BATCH, STREAMING and mixed, and print their times."),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh/--reuse", help="Prepare the data again, or use what is there already."
        ),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Read a year of flights as history, switch, and go on live with the same state."""
    set_process_overrides("cli", settings((), verbose=verbose))
    options = DemoOptions(
        # Absolute: Spark's processes have directories of their own.
        data_dir=data_dir.absolute(),
        compare=compare,
        parallelism=parallelism,
        fresh=fresh,
    )

    def action() -> int:
        run_demo: Callable[[DemoOptions], int] = resolve_name(RUN_DEMO)
        with job_progress(console, plain=verbose):
            return run_demo(options)

    console = Console(stderr=True)
    status = exit_status(
        action,
        console,
        verbose=verbose,
        advice=lambda _: "stopped; the same command starts over with the data prepared so far",
    )
    raise typer.Exit(status)
