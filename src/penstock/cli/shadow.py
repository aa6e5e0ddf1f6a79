"""`penstock shadow`: a program that reads what another job reads, and writes elsewhere."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from penstock.api.environment.job import PlanReady
from penstock.cli.evolution import history_lines
from penstock.cli.failures import exit_status
from penstock.cli.parameters import Definitions, ScriptArguments, ScriptPath, Verbose
from penstock.cli.plan import planned_by
from penstock.cli.script import run_to_end, settings
from penstock.config.configuration import set_process_overrides
from penstock.config.options import CHECKPOINT_DIR, EVOLUTION, RECOVERY_PATH, SHADOW, TARGET
from penstock.errors import JobDirectoryError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.job.mounted_path import mounted_path, named_directory
from penstock.spark.upgrade.shadow import ShadowBeginning, begin_shadow


class Sinks(Enum):
    """Decides where the sinks of a shadow write."""

    FILES = "files"
    DISCARD = "discard"


def shadow(
    script: ScriptPath,
    arguments: ScriptArguments = None,
    definitions: Definitions = None,
    *,
    of: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            show_default=False,
            help="The checkpoint directory of the original: its execution.checkpointing.dir.",
        ),
    ],
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="NEW",
            show_default="DIR-shadow",
            help="The checkpoint directory of the shadow; new, or that of an earlier attempt.",
        ),
    ] = None,
    sinks: Annotated[
        Sinks,
        typer.Option(
            metavar="files|discard",
            help="files writes the output of each sink below NEW/outputs; discard keeps a count and a digest there.",
        ),
    ] = Sinks.FILES,
    verbose: Verbose = False,
) -> None:
    """Run a program beside another job: it reads the same history and live input, and writes elsewhere.

    The original goes on. Its consumer groups and replication slots are left alone. Stop the shadow with Ctrl-C; the same
    command goes on with it.
    """
    console = Console(stderr=True)
    given = settings(definitions, verbose=verbose)

    def action() -> int:
        original = named_directory(of)
        what = "the directory of a shadow"
        new = mounted_path(into or f"{original}-shadow", what, JobDirectoryError)
        chosen = {CHECKPOINT_DIR.key: str(new), EVOLUTION.key: "allow", SHADOW.key: sinks.value}
        set_process_overrides("cli", given | chosen | {TARGET.key: "plan"})
        ready = planned_by(script, arguments)
        beginning = begin_shadow(original, new, ready.plan)
        console.print(Text(_banner(original, new, ready, beginning)), soft_wrap=True)
        from_there = {} if beginning is None else {RECOVERY_PATH.key: str(beginning.savepoint)}
        return run_to_end(given | chosen | from_there, script, arguments, console, verbose=verbose)

    status = exit_status(
        action, console, verbose=verbose, advice=lambda _: "stopped; the same command goes on"
    )
    raise typer.Exit(status)


def _banner(
    original: JobPath, new: Path, ready: PlanReady, beginning: ShadowBeginning | None
) -> str:
    """Return what the shadow reads and writes."""
    sources = (
        [f"  source {source.name}: as a new job" for source in ready.plan.sources]
        if beginning is None
        else history_lines(beginning.bootstrap)
    )
    sinks = [f"  sink {sink.name}: {sink.sink.describe()}" for sink in ready.plan.sinks]
    return "\n".join([f"shadow of {original}, in {new}", *sources, *sinks])
