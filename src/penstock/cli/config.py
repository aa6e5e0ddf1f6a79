"""`penstock config`: the reference of all options."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.failures import exit_status
from penstock.config.option import ANY_VALUE, ConfigOption
from penstock.config.options import ALL_OPTIONS, OPEN_PREFIXES
from penstock.config.parse import to_text
from penstock.errors import ConfigError, did_you_mean

_PIPE_WIDTH = 220


def config(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="KEY",
            show_default=False,
            help="One option, or the beginning of several keys; without it, all options.",
        ),
    ] = None,
    *,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line and option.")
    ] = False,
) -> None:
    """Print options with their defaults, limits and meaning.

    Set them in the program, or with -D KEY=VALUE on the command line.
    """

    def action() -> int:
        options = ALL_OPTIONS if key is None else options_of(key)
        if json:
            for option in options:
                typer.echo(json_module.dumps(_json(option), ensure_ascii=False))
            return 0
        console = Console()
        if not console.is_terminal:
            console = Console(width=_PIPE_WIDTH)
        is_one = key is not None and len(options) == 1
        prefixes = OPEN_PREFIXES if key is None else {}
        console.print(_one(options[0]) if is_one else option_table(options, prefixes))
        return 0

    raise typer.Exit(exit_status(action, Console(stderr=True), verbose=False))


def options_of(key: str) -> Sequence[ConfigOption[Any]]:
    """Return the option of a key, or else those whose keys begin with it."""
    exact = [option for option in ALL_OPTIONS if key in option.keys]
    options = exact or [
        option for option in ALL_OPTIONS if any(name.startswith(key) for name in option.keys)
    ]
    if not options:
        names = tuple(name for option in ALL_OPTIONS for name in option.keys)
        raise ConfigError(
            f"there is no option {key!r}{did_you_mean(key, names)}",
            hint="`penstock config` lists all of them.",
        )
    return options


def option_table(
    options: Sequence[ConfigOption[Any]] = ALL_OPTIONS, prefixes: dict[str, str] = OPEN_PREFIXES
) -> Table:
    """Return the table of options, and of the prefixes of Spark's and Flink's options."""
    table = Table(title="Options", title_justify="left", title_style="bold", show_lines=True)
    table.add_column("key", overflow="fold", style="cyan", ratio=4)
    table.add_column("default", overflow="fold", ratio=2)
    table.add_column("description", ratio=6)
    for option in options:
        table.add_row(Text(option.key), Text(_default(option)), _plain(option.description))
    for prefix, meaning in prefixes.items():
        table.add_row(Text(f"{prefix}*"), Text(""), _plain(meaning))
    return table


def _one(option: ConfigOption[Any]) -> Text:
    lines = [f"default: {_default(option)}"]
    if option.check is not ANY_VALUE:
        lines.append(f"the value {option.check.requirement}")
    if option.fallback_keys:
        lines.append(f"also: {', '.join(option.fallback_keys)}")
    text = Text(f"{option.key}\n", style="bold cyan")
    return text.append(
        "\n".join([*lines, "", _plain(option.description).plain]), style="not bold default"
    )


def _json(option: ConfigOption[Any]) -> dict[str, Any]:
    return {
        "key": option.key,
        "other_keys": [*option.fallback_keys],
        "default": None if option.default is None else to_text(option.default),
        "requirement": None if option.check is ANY_VALUE else option.check.requirement,
        "description": option.description,
    }


def _default(option: ConfigOption[Any]) -> str:
    return "unset" if option.default is None else to_text(option.default)


def _plain(markdown: str) -> Text:
    return Text(markdown.replace("`", ""))
