"""`penstock sql`: a script of SQL, or a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.cli.failures import exit_status
from penstock.cli.progress import job_progress
from penstock.cli.script import Definitions, Verbose, importable, run_script, script_text, settings
from penstock.cli.statements.shell import SqlShell, stdin_lines
from penstock.config.configuration import set_process_overrides


def sql(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE.SQL]",
            exists=True,
            dir_okay=False,
            readable=True,
            show_default=False,
            help="The script; without it a shell.",
        ),
    ] = None,
    definitions: Definitions = None,
    *,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Print what the script would run, without starting Spark."),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Run a script of SQL, in Flink's dialect; without one a shell.

    Rows of a SELECT go to stdout as they come, progress to stderr. INSERTs that follow each other are one job, which is
    resumed by the same command if `execution.checkpointing.dir` is set. Functions of Python are found beside the script.

    In the shell a statement ends with a semicolon, Ctrl-C stops the job, and Ctrl-D or QUIT ends the shell.
    """
    if explain and file is None:
        raise typer.BadParameter("name the script to explain", param_hint="FILE.SQL")
    set_process_overrides("cli", settings(definitions, verbose=verbose))
    console = Console(stderr=True)

    def action() -> int:
        environment = StreamExecutionEnvironment.get_execution_environment()
        if file is None:
            with importable(Path.cwd()):
                return SqlShell(environment, console, verbose=verbose).run(stdin_lines())
        if explain:
            with importable(file.resolve().parent):
                typer.echo(environment.sql_session.explained(script_text(file), str(file)))
            return 0
        with job_progress(console, plain=verbose, shows_metrics=verbose):
            run_script(file, None)
        return 0

    raise typer.Exit(exit_status(action, console, verbose=verbose))
