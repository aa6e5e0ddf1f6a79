"""The page of the command line, made from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from penstock.cli.main import command_line

_HEAD = """\
# Command line

Made from the commands; `penstock COMMAND --help` prints the same on a terminal.

| Command | What it does |
|---|---|
{rows}
"""


def render_commands() -> str:
    """Return the page as markdown."""
    found = dict(_commands(get_command(command_line()), "penstock"))
    rows = [
        f"| [`{name}`](#{_anchor(name)}) | {_first_line(command)} |"
        for name, command in found.items()
    ]
    sections = [line for name, command in found.items() for line in _section(name, command)]
    return _HEAD.format(rows="\n".join(rows)) + "\n".join(sections) + "\n"


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for each, inner in command.commands.items():
            yield from _commands(inner, f"{name} {each}")
    else:
        yield name, command


def _section(name: str, command: Any) -> Iterator[str]:
    yield f"\n## {name} {{ #{_anchor(name)} }}\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    words = " ".join(str(each.metavar or each.name.upper()) for each in arguments)
    yield f"```text\n{name} [OPTIONS] {words}".rstrip() + "\n```\n"
    if command.params:
        yield "| Argument or option | Meaning | Default |\n|---|---|---|"
        yield from map(_row, command.params)
    if command.epilog:
        yield f"\n{command.epilog.replace('Example: ', 'Example: `', 1)}`"


def _row(each: Any) -> str:
    named = ", ".join(f"`{word}`" for word in [*each.opts, *each.secondary_opts])
    given = each.default
    default = "" if given in (None, (), [], False) or callable(given) else f"`{given}`"
    if repr(given).startswith("Sentinel"):
        default = ""
    text = " ".join(str(getattr(each, "help", None) or "").split()).replace("|", "&#124;")
    return f"| {named} | {text} | {default} |"


def _first_line(command: Any) -> str:
    return inspect.cleandoc(command.help or "").partition("\n")[0]


def _anchor(name: str) -> str:
    return name.replace(" ", "-")
