"""`penstock completion`: the script by which a shell completes commands and options."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

# What the library does for its own options; it exports both without saying so.
from typer.completion import (  # type: ignore[attr-defined]
    completion_init,
    get_completion_script,
)

COMMAND = "penstock"
_VARIABLE = "_PENSTOCK_COMPLETE"
"""Environment variable by which a script asks the command line; the library derives it from the name."""


class Shell(Enum):
    """A shell that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(show_default=False, help="The shell.")],
) -> None:
    """Print a script that lets a shell complete commands, options and files.

    The script asks the command line itself, so it stays right when commands change.
    """
    typer.echo(get_completion_script(prog_name=COMMAND, complete_var=_VARIABLE, shell=shell.value))


def enable_completion() -> None:
    """Let the command line answer the scripts; the library does so only beside options of its own."""
    completion_init()
