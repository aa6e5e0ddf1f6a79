"""The entry point of the command line, its table of commands, and `penstock completion`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import Enum
from importlib import import_module
from typing import Annotated, NamedTuple

import typer

# The library uses both for its own options; they are not in its `__all__`.
from typer.completion import (  # type: ignore[attr-defined]
    completion_init,
    get_completion_script,
)

from penstock.cli.parameters import MACHINE, OPERATE, WRITE, PlainCommand, PlainGroup
from penstock.version import __version__


class Command(NamedTuple):
    """A command, and where it is.

    Attributes:
        module: Below `penstock.cli`; loaded when the command is needed.
        attribute: The function in the module, or its group of commands.
        group: Heading of the help below which it stands.
        example: End of its help; a group has one for each of its commands.
    """

    name: str
    module: str
    attribute: str
    group: str
    example: str | None = None


COMMANDS: tuple[Command, ...] = (
    Command("init", "init", "init", WRITE, "penstock init spent"),
    Command(
        *("run", "run", "run", WRITE),
        "penstock run job.py -D parallelism.default=4 -- --since 2013-10-01",
    ),
    Command("plan", "plan", "plan", WRITE, "penstock plan job.py --mermaid > plan.mmd"),
    Command(
        *("check", "check", "check", WRITE),
        "penstock check job.py --seconds 20 --write-test test_job.py",
    ),
    Command(
        *("sample", "sample", "sample", WRITE),
        "penstock sample job.py --mask customer --out samples",
    ),
    Command("sql", "sql", "sql", WRITE, "penstock sql job.sql -D parallelism.default=4"),
    Command("port", "port", "port", WRITE, "penstock port job.py --diff"),
    Command("demo", "demo", "demo", WRITE, "penstock demo --compare"),
    Command(
        *("status", "status", "status", OPERATE),
        "penstock status /data/checkpoints/visits --max-behind 1min",
    ),
    Command("top", "status", "top", OPERATE, "penstock top /data/checkpoints/visits"),
    Command("ui", "ui", "ui", OPERATE, "penstock ui /data/checkpoints/visits"),
    Command(
        *("savepoint", "savepoint", "savepoint", OPERATE),
        "penstock savepoint /data/checkpoints/visits --stop",
    ),
    Command(
        *("advise", "advise", "advise", OPERATE),
        "penstock advise /data/checkpoints/visits --catch-up 10min",
    ),
    Command(
        "rescale", "rescale", "rescale", OPERATE, "penstock rescale /data/checkpoints/visits -p 8"
    ),
    Command(
        *("upgrade", "upgrade", "upgrade", OPERATE),
        "penstock upgrade /data/checkpoints/visits /data/checkpoints/visits-2 job.py",
    ),
    Command(
        *("shadow", "shadow", "shadow", OPERATE),
        "penstock shadow job_v2.py --of /data/checkpoints/visits --into /data/checkpoints/visits-2",
    ),
    Command(
        *("compare", "compare", "compare", OPERATE),
        "penstock compare /data/checkpoints/visits /data/checkpoints/visits-2",
    ),
    Command(
        *("handover", "handover", "handover", OPERATE),
        "penstock handover /data/checkpoints/visits /data/checkpoints/visits-2 job_v2.py",
    ),
    Command("drop", "drop", "drop", OPERATE, "penstock drop job.py /data/checkpoints/visits --yes"),
    Command(
        *("doctor", "doctor.command", "doctor", MACHINE),
        "penstock doctor --directory /data/checkpoints",
    ),
    Command("prepare", "prepare", "prepare", MACHINE, "penstock prepare"),
    Command(
        *("config", "config", "config", MACHINE),
        "penstock config execution.checkpointing.interval",
    ),
    Command("completion", "main", "completion", MACHINE, 'eval "$(penstock completion bash)"'),
    Command("state", "state", "state_app", OPERATE),
)
"""Every command, in the order of the help."""


def command_line(commands: Iterable[Command] = COMMANDS) -> typer.Typer:
    """Return the command line."""
    app = typer.Typer(
        name="penstock",
        cls=PlainGroup,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        # `penstock.cli.failures` reports exceptions; typer would report them a second time.
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(epilog="Example: penstock run job.py -D parallelism.default=4")(penstock)
    for command in commands:
        implementation = getattr(import_module(f"penstock.cli.{command.module}"), command.attribute)
        if isinstance(implementation, typer.Typer):
            app.add_typer(implementation, name=command.name, rich_help_panel=command.group)
        else:
            epilog = f"Example: {command.example}"
            app.command(
                command.name, cls=PlainCommand, epilog=epilog, rich_help_panel=command.group
            )(implementation)
    return app


def needed(arguments: Sequence[str]) -> tuple[Command, ...]:
    """Return the commands that arguments may need: one if they begin with its name, otherwise all.

    Examples:
        >>> [command.name for command in needed(["run", "job.py"])]
        ['run']
        >>> needed(["--help"]) == needed(["rum", "job.py"]) == needed([]) == COMMANDS
        True
    """
    named = tuple(command for command in COMMANDS if arguments[:1] == [command.name])
    return named or COMMANDS


def _show_version(is_requested: bool) -> None:  # noqa: FBT001 - typer calls it so
    if is_requested:
        typer.echo(f"penstock {__version__}")
        raise typer.Exit


def penstock(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """PyFlink-style DataStream programs on Apache Spark.

    History first at batch speed, then live, in one program with one state.
    """


_INTERRUPTED = 130
"""The status that a shell expects after Ctrl-C, 128 + SIGINT."""


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        enable_completion()
        command_line(needed(sys.argv[1:]))()
    except KeyboardInterrupt:  # before there is a command: modules are imported
        sys.exit(_INTERRUPTED)


COMMAND = "penstock"
_VARIABLE = "_PENSTOCK_COMPLETE"
"""Environment variable by which a script calls the command line; the library derives it from the name."""


class Shell(Enum):
    """A shell that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[
        Shell, typer.Argument(metavar="SHELL", show_default=False, help="bash, zsh or fish.")
    ],
) -> None:
    """Print a script that lets a shell complete commands, options and files.

    The script calls the command line itself, so it stays right when commands change.
    """
    typer.echo(get_completion_script(prog_name=COMMAND, complete_var=_VARIABLE, shell=shell.value))


def enable_completion() -> None:
    """Let the command line answer the scripts; the library does so only beside options of its own."""
    completion_init()
