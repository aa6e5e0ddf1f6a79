"""`penstock upgrade`: starts a changed program in the place of a job, after it has read the history for what is new."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from penstock.api.environment.job import PlanReady
from penstock.cli.evolution import evolution_text
from penstock.cli.failures import exit_status
from penstock.cli.parameters import (
    Definitions,
    HistoryTables,
    ScriptArguments,
    ScriptPath,
    StartEmpty,
    Verbose,
    history_settings,
)
from penstock.cli.plan import planned_by
from penstock.cli.script import run_to_end, settings
from penstock.config.configuration import set_process_overrides
from penstock.config.options import CHECKPOINT_DIR, EVOLUTION, EVOLUTION_JOB, JOB_NAME, TARGET
from penstock.errors import EvolutionError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.job_steps import steps_of
from penstock.spark.job.mounted_path import named_directory
from penstock.spark.job.observed_job import RESTORED


def upgrade(  # noqa: PLR0913 - the options of a command line
    old_dir: Annotated[
        Path,
        typer.Argument(
            metavar="OLD_DIR",
            show_default=False,
            help="The checkpoint directory of the job: its execution.checkpointing.dir.",
        ),
    ],
    new_dir: Annotated[
        Path,
        typer.Argument(
            metavar="NEW_DIR",
            show_default=False,
            help="The checkpoint directory of the changed program; new, or that of an earlier attempt.",
        ),
    ],
    script: ScriptPath,
    arguments: ScriptArguments = None,
    definitions: Definitions = None,
    *,
    start_empty: StartEmpty = None,
    history: HistoryTables = None,
    verbose: Verbose = False,
) -> None:
    """Go on with a changed program in the place of a job.

    Operators that are the same keep their state. New and changed ones read the history that the job has read, while it goes
    on; then it is stopped, and they read the rest and join the others. The same command repeats an attempt that was
    interrupted.
    """
    console = Console(stderr=True)
    given = settings(definitions, verbose=verbose) | history_settings(start_empty, history)

    def action() -> int:
        old, new = named_directory(old_dir), named_directory(new_dir)
        if steps_of(new).read(RESTORED) is None:
            set_process_overrides("cli", given | {TARGET.key: "plan"})
            ready = planned_by(script, arguments)
            _check_directory(new, old, ready)
            _compare(old, new, ready, console)
        chosen = {
            CHECKPOINT_DIR.key: str(new),
            EVOLUTION.key: "allow",
            EVOLUTION_JOB.key: str(old),
        }
        return run_to_end(given | chosen, script, arguments, console, verbose=verbose)

    status = exit_status(
        action, console, verbose=verbose, advice=lambda _: "stopped; the same command goes on"
    )
    raise typer.Exit(status)


def _check_directory(new_dir: JobPath, old_dir: JobPath, ready: PlanReady) -> None:
    """Refuse a directory in which the changed program cannot start; leave it as it is."""
    other = "Name a directory that does not exist, or that of an earlier attempt."
    if os.path.realpath(str(new_dir)) == os.path.realpath(str(old_dir)):
        raise EvolutionError(f"OLD_DIR and NEW_DIR are both {new_dir}", hint=other)
    directory = JobDirectory.open(str(new_dir), ready.plan, ready.configuration.get(JOB_NAME))
    has_begun = directory.has_begun
    directory.refuse()
    if has_begun:
        raise EvolutionError(f"{new_dir} has a job that began without a savepoint", hint=other)


def _compare(old_dir: JobPath, new_dir: JobPath, ready: PlanReady, console: Console) -> None:
    """Print what is kept and what is read again."""
    text, is_possible = evolution_text(ready, old_dir, 1000, new_dir)
    console.print(Text(text), soft_wrap=True)
    if not is_possible:
        raise EvolutionError(
            f"the program cannot go on with the state of {old_dir}, see above; the job was not stopped",
            hint=f"Correct the program, or make a choice that is listed; or start it in a new directory, from a savepoint with {EVOLUTION.key} keep or without state.",
        )
