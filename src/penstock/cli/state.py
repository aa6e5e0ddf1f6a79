"""`penstock state`: the state in a checkpoint or savepoint."""

from __future__ import annotations

import json as json_module
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.failures import exit_status
from penstock.cli.parameters import JobDir, Json, PlainCommand, PlainGroup, Verbose
from penstock.cli.script import settings
from penstock.config.configuration import set_process_overrides

READ_STATE = "penstock.spark.inspect.state_reader:read_state"
READ_NAMES = "penstock.spark.inspect.state_reader:read_state_names"
SMALL_STATE = "penstock.spark.inspect.small_state:small_state"
IN_ORDER = "penstock.spark.inspect.small_state:in_order"
DIFFERENCES = "penstock.spark.inspect.state_diff:state_differences"
DROPPED_UIDS = "penstock.spark.upgrade.dropped_state:dropped_uids"
FORGET_DROPPED = "penstock.spark.upgrade.dropped_state:forget_dropped"
"""The functions that read state. They are imported by name when a command needs them: importing
Spark takes longer than printing a help text."""

NAMES = ("uid", "name", "kind", "type", "ttl", "entries", "keys", "bytes")
"""The columns of `penstock state ls`."""

_PIPE_WIDTH = 200
_SOLE_KEYS = ("key_group", "last_access_ms")
_TRUST = "Reading state runs code stored in it: only open what your own jobs wrote."

state_app = typer.Typer(
    name="state",
    cls=PlainGroup,
    no_args_is_help=True,
    help=f"Look into the state of a checkpoint or savepoint.\n\n{_TRUST}",
)

StatePath = Annotated[
    Path,
    typer.Argument(
        metavar="PATH",
        show_default=False,
        help="The checkpoint directory of a job, running or not, or a savepoint.",
    ),
]
Uid = Annotated[
    str | None, typer.Argument(metavar="UID", show_default=False, help="The uid of the operator.")
]
StateName = Annotated[
    str | None, typer.Argument(metavar="NAME", show_default=False, help="The name of its state.")
]


@state_app.command(
    "ls", cls=PlainCommand, epilog="Example: penstock state ls /data/checkpoints/visits"
)
def ls(path: StatePath, *, json: Json = False, verbose: Verbose = False) -> None:
    """List all states, with their types and sizes.

    Only open what your own jobs wrote: reading state runs code stored in it. Classes of stored
    values must be importable: put the directory of the job's modules on PYTHONPATH.
    """

    def action() -> None:
        show_rows(_names(path), json=json, empty=f"{path} has no state")

    _run(action, verbose=verbose)


@state_app.command(
    "show",
    cls=PlainCommand,
    epilog="Example: penstock state show /data/checkpoints/visits totals reduce --key AA",
)
def show(
    path: StatePath,
    uid: Uid = None,
    name: StateName = None,
    *,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="KEY",
            show_default=False,
            help="Only this key, as it is shown; quotes around text may be left out.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Most entries to show.")] = 20,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show the entries of one state, in order of the keys' text; `state ls` lists UID and NAME.

    Values are shown as JSON, or as Python prints them if they have none. Those that have
    outlived their time-to-live and are not removed yet are shown too.

    Only open what your own jobs wrote: reading state runs code stored in it. Classes of stored
    values must be importable: put the directory of the job's modules on PYTHONPATH.
    """
    if uid is None or name is None:
        raise typer.BadParameter(
            f"which state? This lists them: penstock state ls {shlex.quote(str(path))}",
            param_hint="'UID NAME'" if uid is None else "'NAME'",
        )

    def action() -> None:
        small = resolve_name(SMALL_STATE)(path)
        read = _entries_with_spark if small is None else partial(_entries_here, small)
        entries = read(_Selection(path, uid, name, key, limit + 1))
        show_rows(entries[:limit], json=json, empty="no entries", texts={"key", "map_key", "value"})
        if len(entries) > limit:
            note(f"there are more than {limit:,} entries; --limit shows more")

    _run(action, verbose=verbose)


@state_app.command(
    "drop", cls=PlainCommand, epilog="Example: penstock state drop /checkpoints/visits --yes"
)
def drop(
    job_dir: JobDir,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove it; without this it is only listed.")
    ] = False,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List the state of operators that an upgrade has dropped; --yes removes it.

    It is a savepoint in JOB_DIR/dropped, which the job does not read.
    """

    def action() -> None:
        rows = [{"uid": uid, "is_removed": yes} for uid in resolve_name(DROPPED_UIDS)(job_dir)]
        if yes:
            resolve_name(FORGET_DROPPED)(job_dir)
        show_rows(rows, json=json, empty=f"{job_dir} keeps no state of dropped operators")
        if rows and not yes:
            note("nothing was removed; --yes removes it")

    _run(action, verbose=verbose)


@state_app.command(
    "diff", cls=PlainCommand, epilog="Example: penstock state diff savepoint-1 savepoint-2 totals"
)
def diff(
    path_a: Annotated[
        Path,
        typer.Argument(metavar="PATH_A", show_default=False, help="The earlier one."),
    ],
    path_b: Annotated[
        Path, typer.Argument(metavar="PATH_B", show_default=False, help="The later one.")
    ],
    uid: Annotated[
        str | None,
        typer.Argument(metavar="UID", show_default=False, help="Only this operator."),
    ] = None,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", show_default=False, help="Only this state.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, metavar="N", help="Most entries to show of each state.")
    ] = 5,
    *,
    verbose: Verbose = False,
) -> None:
    """Compare the entries of two checkpoints or savepoints.

    Entries are the same if their values are; when they were last accessed does not count.

    Only open what your own jobs wrote: reading state runs code stored in it. Classes of stored
    values must be importable: put the directory of the job's modules on PYTHONPATH.
    """

    def action() -> None:
        changes, entries = resolve_name(DIFFERENCES)(path_a, path_b, uid, name, limit)
        counts = ("uid", "name", "before", "after", "added", "removed", "changed")
        rows = [{column: getattr(change, column) for column in counts} for change in changes]
        show_rows(rows, json=False, empty="neither has any state")
        for entry in entries:
            address = " ".join(filter(None, (entry.key, entry.subkey)))
            show_change(f"{entry.uid}/{entry.name} {address}", entry.before, entry.after)
        if not any(c.added or c.removed or c.changed for c in changes):
            note("no difference")

    _run(action, verbose=verbose)


@dataclass(frozen=True, slots=True)
class _Selection:
    """Selection of the entries to show.

    Attributes:
        key: The only key, None for all.
    """

    path: Path
    uid: str
    name: str
    key: str | None
    limit: int

    def keys(self) -> tuple[str, ...]:
        """Return the texts of the only key, which may be text without its quotes."""
        key = self.key
        return () if key is None else (key, json_module.dumps(key, ensure_ascii=False))


def _names(path: Path) -> list[dict[str, Any]]:
    small = resolve_name(SMALL_STATE)(path)
    if small is None:
        return [row.asDict() for row in resolve_name(READ_NAMES)(path).collect()]
    return [dict(zip(NAMES, row, strict=True)) for row in small.names()]


def _entries_with_spark(selection: _Selection) -> list[dict[str, Any]]:
    entries = resolve_name(READ_STATE)(selection.path, selection.uid, selection.name, as_text=True)
    columns = [column for column in entries.columns if column not in _SOLE_KEYS]
    if selection.keys() and "key" in columns:
        entries = entries.where(entries["key"].isin(*selection.keys()))
    order = [column for column in columns if column != "value"]
    return [row.asDict() for row in entries.orderBy(*order).limit(selection.limit).collect()]


def _entries_here(small: Any, selection: _Selection) -> list[dict[str, Any]]:
    columns, rows = small.entries(selection.uid, selection.name)
    keys = selection.keys()
    if keys and "key" in columns:
        position = columns.index("key")
        rows = (row for row in rows if row[position] in keys)
    order = [index for index, column in enumerate(columns) if column not in (*_SOLE_KEYS, "value")]
    chosen = resolve_name(IN_ORDER)(rows, order)
    return [dict(zip(columns, row, strict=True)) for row in chosen[: selection.limit]]


def _run(action: Callable[[], None], *, verbose: bool) -> None:
    set_process_overrides("cli", settings((), verbose=verbose))

    def run() -> int:
        action()
        return 0

    status = exit_status(
        run, Console(stderr=True), verbose=verbose, advice=lambda _: "stopped reading"
    )
    raise typer.Exit(status)


def show_rows(
    rows: list[dict[str, Any]],
    *,
    json: bool,
    empty: str,
    texts: set[str] | frozenset[str] = frozenset(),
) -> None:
    """Print rows as a table, or as one JSON object per line; those of `texts` are JSON already."""
    if json:
        for row in rows:
            typer.echo(
                json_module.dumps(
                    {n: from_json(v) if n in texts else v for n, v in row.items()},
                    ensure_ascii=False,
                )
            )
        return
    if not rows:
        note(empty)
        return
    table = Table()
    for name, value in rows[0].items():
        number = isinstance(value, int) and not isinstance(value, bool)
        table.add_column(name, overflow="fold", justify="right" if number else "left")
    for row in rows:
        table.add_row(*(Text(_cell(value, of_entry=bool(texts))) for value in row.values()))
    _console().print(table)


def _cell(value: Any, *, of_entry: bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and not of_entry:
        return f"{value:,}"  # counts; times and positions are for copying
    return "" if value is None else str(value)


def from_json(text: str | None) -> Any:
    """Return the value of a JSON text; a text that is none stays as it is."""
    try:
        return None if text is None else json_module.loads(text)
    except ValueError:
        return text  # what Python prints of a value without JSON


def show_change(where: str, before: str | None, after: str | None) -> None:
    """Print a difference; None is a value that is not there."""
    if before is None:
        text = Text(f"+ {where}: {after}", style="green")
    elif after is None:
        text = Text(f"- {where}: {before}", style="red")
    else:
        text = Text(f"~ {where}: {before} → {after}", style="yellow")
    _console().print(text, soft_wrap=True)


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=_PIPE_WIDTH)


def note(text: str) -> None:
    """Print a remark to stderr."""
    Console(stderr=True).print(Text(text, style="dim"), soft_wrap=True)
