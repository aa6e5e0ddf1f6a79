"""`penstock plan`: the plan of a program, without starting Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from penstock.api.environment.execution_plan import execution_plan_json
from penstock.api.environment.plan_only import PlanReady
from penstock.cli.failures import exit_status
from penstock.cli.plan_svg import plan_svg
from penstock.cli.script import (
    Definitions,
    ScriptArguments,
    ScriptPath,
    Verbose,
    run_script,
    settings,
)
from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.config.options import TARGET
from penstock.config.overrides import set_process_overrides
from penstock.errors import ArgumentError, PenstockError
from penstock.events.sentences import changed_function
from penstock.plan.compat.function_digest import changed_functions
from penstock.plan.explain.estimate import estimate, render_estimate
from penstock.plan.explain.render import render_mermaid, render_text
from penstock.plan.explain.unnamed_state import describe_unnamed_state
from penstock.plan.physical import PhysicalPlan
from penstock.spark.driver.changed_functions import recorded_functions


class PlanForm(Enum):
    """The format of a printed plan."""

    TEXT = 0
    """Text: runs, levels, sinks and the reason of each decision."""

    MERMAID = 1
    """A Mermaid flowchart."""

    JSON = 2
    """The logical graph, in the shape of Flink's execution plan."""


RENDERERS: dict[PlanForm, Callable[[PhysicalPlan], str]] = {
    PlanForm.TEXT: render_text,
    PlanForm.MERMAID: render_mermaid,
    PlanForm.JSON: execution_plan_json,
}
"""Format to the function that writes it."""


class NoJobError(PenstockError):
    """A program that was to be planned did not execute a job."""

    code = "CLI_NO_JOB"


def plan(  # noqa: PLR0913 - the options of a command line
    script: ScriptPath,
    arguments: ScriptArguments = None,
    definitions: Definitions = None,
    *,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the logical graph as JSON, as Flink does.")
    ] = False,
    svg: Annotated[
        Path | None,
        typer.Option(
            "--svg",
            metavar="FILE",
            show_default=False,
            help="Write the graph as an SVG file that needs nothing else, and print nothing.",
        ),
    ] = None,
    estimated: Annotated[
        bool,
        typer.Option(
            "--estimate",
            help="Print how much time and memory the job is expected to take instead, for --records and --keys.",
        ),
    ] = False,
    records: Annotated[
        float,
        typer.Option(min=1, help="Records of all sources, for --estimate; 1e9 is understood."),
    ] = 1e6,
    keys: Annotated[
        float, typer.Option(min=1, help="Different keys of each keyed operator, for --estimate.")
    ] = 1e3,
    verbose: Verbose = False,
) -> None:
    """Print the plan of a program's first job, without starting Spark.

    The program runs up to its first execute(); what it prints goes to stderr, so that stdout is
    the plan alone. Operators that keep state and have no uid are listed on stderr, and so are those whose
    functions have changed since the state was made with which the job would start.
    """
    if mermaid + json + (svg is not None) + estimated > 1:
        raise typer.BadParameter(
            "choose one of --mermaid, --json, --svg and --estimate",
            param_hint="the form of the plan",
        )
    form = PlanForm.MERMAID if mermaid else PlanForm.JSON if json else PlanForm.TEXT
    set_process_overrides("cli", settings(definitions, verbose=verbose) | {TARGET.key: "plan"})

    console = Console(stderr=True)

    def action() -> int:
        ready = planned_by(script, arguments)
        planned = ready.plan
        if estimated:
            typer.echo(render_estimate(estimate(planned, int(records), int(keys))), nl=False)
            return 0
        if svg is None:
            typer.echo(RENDERERS[form](planned).rstrip("\n"))
        else:
            _write(svg, plan_svg(planned))
        unnamed = describe_unnamed_state(planned)
        if unnamed is not None and planned.mode is not RuntimeExecutionMode.BATCH:
            console.print(Text(unnamed, style="yellow"), soft_wrap=True)
        _print_changes(ready, console)
        return 0

    raise typer.Exit(exit_status(action, console, verbose=verbose))


def _print_changes(ready: PlanReady, console: Console) -> None:
    known = recorded_functions(ready.configuration)
    if known is not None:
        for op in changed_functions(ready.plan, known.digests):
            text = changed_function(op.name, op.uid, known.place)
            console.print(Text(text, style="yellow"), soft_wrap=True)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as cause:
        raise ArgumentError(
            f"--svg {path} cannot be written: {cause}",
            hint="Name a file in a directory that is there.",
        ) from cause


def plan_of(script: Path, arguments: list[str] | None) -> PhysicalPlan:
    """Return the plan of a program; see `planned_by`."""
    return planned_by(script, arguments).plan


def planned_by(script: Path, arguments: list[str] | None) -> PlanReady:
    """Run a program up to its first execute(), and return its plan; the target has to be `plan`.

    Raises:
        NoJobError: It does not execute a job.
    """
    try:
        with redirect_stdout(sys.stderr):
            run_script(script, arguments)
    except PlanReady as ready:
        return ready
    except SystemExit as ended:
        if ended.code:
            raise
    raise NoJobError(
        f"{script} ended without executing a job, so there is no plan",
        hint="Call execute() on its StreamExecutionEnvironment; arguments the program needs "
        "follow `--`.",
    )
