"""`penstock demo`: runs `examples/demo` of the checkout that this package is in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated

import typer
from rich.console import Console

from penstock.api.environment.program_file import importable
from penstock.cli.failures import exit_status
from penstock.cli.parameters import Verbose
from penstock.cli.progress import job_progress
from penstock.cli.script import settings
from penstock.config.configuration import set_process_overrides
from penstock.errors import EnvironmentSetupError

CHECKOUT = Path(__file__).parents[3]
"""The checkout, if the package is in one: `src/penstock/cli` is three folders below it."""

DEMO = Path("examples", "demo")
"""Folder of the demo in a checkout."""

RUN_DEMO = "examples.demo.command:run_demo"
"""The module that runs the demo. It is imported by name, because it is not in the package."""


def demo(
    data_dir: Annotated[
        Path, typer.Option(file_okay=False, metavar="DIR", help="Directory of data and results.")
    ] = Path("demo-data"),
    parallelism: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", show_default="one per core", help="Subtasks of every operator."
        ),
    ] = None,
    *,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Run BATCH, STREAMING and mixed, and print their times."),
    ] = False,
    fresh: Annotated[
        bool,
        typer.Option("--fresh/--reuse", help="Prepare the data again, or use existing data."),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Read a year of flights as history, switch, and go on live with the same state.

    The demo is an example in a checkout of the project, `examples/demo`.
    """
    set_process_overrides("cli", settings((), verbose=verbose))

    def action() -> int:
        _require_checkout()
        with importable(CHECKOUT), job_progress(console, plain=verbose):
            run_demo: Callable[..., int] = resolve_name(RUN_DEMO)
            return run_demo(
                # Absolute: Spark's processes have other working directories.
                data_dir.absolute(),
                compare=compare,
                parallelism=parallelism,
                fresh=fresh,
            )

    console = Console(stderr=True)
    status = exit_status(
        action,
        console,
        verbose=verbose,
        advice=lambda _: "stopped; the same command starts over with the data prepared so far",
    )
    raise typer.Exit(status)


def _require_checkout() -> None:
    if not (CHECKOUT / DEMO).is_dir():
        raise EnvironmentSetupError(
            f"the demo is no part of the installed package; it is {DEMO} of the project's source",
            hint="Get the source and run `make demo` in it. Your own program does not need it: "
            "`penstock run JOB.PY`.",
        )
