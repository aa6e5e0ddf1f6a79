"""Parameters and help of commands: what several commands take, and help without the types of Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from penstock.config.options import HISTORY_TABLES, START_EMPTY

WRITE, OPERATE, MACHINE = "Write and run a program", "Operate a job", "This machine"
"""Groups of commands, in the order of the help."""


class _Plain:
    """Command whose help has the names of values, and no `<bool>` or `<list[Path]>`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; each shows the name of its value, and a flag nothing."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            is_option = param.param_type_name == "option"
            name = (param.metavar or "") if is_option else ""
            # The library has no setting for this column; a version without the method shows its own words.
            param.display_type_rich = lambda *, ctx, name=name: name  # noqa: ARG005 - of the library
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line; names that are required stand without braces."""
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [piece.replace("{", "").replace("}", "") for piece in pieces]


class PlainCommand(_Plain, TyperCommand):
    """Command of the command line."""


class PlainGroup(_Plain, TyperGroup):
    """Group of commands."""


ScriptPath = Annotated[
    Path,
    typer.Argument(
        metavar="JOB.PY",
        exists=True,
        dir_okay=False,
        readable=True,
        show_default=False,
        help="The program.",
    ),
]
"""The program to run, as every command that runs one declares it."""

ScriptArguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ARGS",
        show_default=False,
        help="Arguments of the program; those that start with a dash follow `--`.",
    ),
]
"""The arguments after the program."""

Definitions = Annotated[
    list[str] | None,
    typer.Option(
        "-D",
        metavar="KEY=VALUE",
        show_default=False,
        help="Set an option; overrides the program. Repeatable. "
        "`penstock config` lists the options.",
    ),
]
"""Settings of the command line."""

StartEmpty = Annotated[
    list[str] | None,
    typer.Option(
        "--start-empty",
        metavar="SOURCE",
        show_default=False,
        help="Let new and changed operators begin without the history of a source, by its uid. Repeatable.",
    ),
]
"""Sources of which new and changed operators get no history."""

HistoryTables = Annotated[
    list[str] | None,
    typer.Option(
        "--history",
        metavar="SOURCE=TABLE",
        show_default=False,
        help="Read files or a Delta table in the place of the history of a source, by its uid. Repeatable. "
        "Example: --history orders=/data/orders",
    ),
]
"""Tables in the place of the history of sources."""

Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Show whole tracebacks and Spark's log, and progress as plain lines.",
    ),
]
"""True if to show all details."""
JobDir = Annotated[
    Path,
    typer.Argument(
        metavar="JOB_DIR",
        show_default=False,
        help="The checkpoint directory of the job: its execution.checkpointing.dir.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]


def writable_file(path: Path | None) -> Path | None:
    """Return the file that an option names if it can be written; the callback of the option."""
    if path is not None:
        if path.is_dir():
            raise typer.BadParameter(f"{path} is a directory, not a file")
        if not path.parent.is_dir():
            raise typer.BadParameter(f"there is no directory {path.parent}")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise typer.BadParameter(f"{path} is not writable")
    return path


def history_settings(empty: list[str] | None, tables: list[str] | None) -> dict[str, str]:
    """Return the settings of the choices about histories that cannot be read again."""
    chosen = {START_EMPTY.key: empty, HISTORY_TABLES.key: tables}
    return {key: ";".join(values) for key, values in chosen.items() if values}
