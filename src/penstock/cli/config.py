"""`penstock config`: the reference of all options."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.config.options import ALL_OPTIONS, OPEN_PREFIXES
from penstock.config.parse import to_text

_PIPE_WIDTH = 220


def config() -> None:
    """Print every option with its default and meaning.

    Set them in the program, or with -D KEY=VALUE on the command line.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PIPE_WIDTH)
    console.print(option_table())


def option_table() -> Table:
    """Return the table of all options and of the prefixes of Spark's and Flink's options."""
    table = Table(title="Options", title_justify="left", title_style="bold", show_lines=True)
    table.add_column("key", overflow="fold", style="cyan", ratio=4)
    table.add_column("default", overflow="fold", ratio=2)
    table.add_column("description", ratio=6)
    for option in ALL_OPTIONS:
        default = "unset" if option.default is None else to_text(option.default)
        table.add_row(Text(option.key), Text(default), _plain(option.description))
    for prefix, meaning in OPEN_PREFIXES.items():
        table.add_row(Text(f"{prefix}*"), Text(""), _plain(meaning))
    return table


def _plain(markdown: str) -> Text:
    return Text(markdown.replace("`", ""))
