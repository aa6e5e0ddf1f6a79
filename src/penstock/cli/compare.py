"""`penstock compare`: the differences between the outputs of two jobs."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import typer
from rich.console import Console

from penstock.cli.compare_page import comparison_page
from penstock.cli.failures import exit_status
from penstock.cli.parameters import Json, Verbose, writable_file
from penstock.cli.script import parse_definitions, write_text
from penstock.cli.state import from_json, note, show_change, show_rows
from penstock.spark.job.observed_job import ObservedJob

COMPARE = "penstock.spark.inspect.output_diff:compare_outputs"
POSITIONS = "penstock.spark.upgrade.position_diff:compare_positions"
HOW = "penstock.spark.inspect.row_differences:OutputComparison"
DIFFERING = "penstock.spark.inspect.row_differences:columns_differing"
VALUE_TEXT = "penstock.spark.inspect.state_columns:value_text"
"""They are imported when the command needs them."""

_EQUAL, _DIFFERENT, _FAILED = 0, 1, 2
"""Exit statuses."""

_COUNTS = ("rows_a", "rows_b", "only_in_a", "only_in_b", "different")
_JOB_DIR = "The checkpoint directory of a job; none if --sink has all directories."
_STATUS = {"equal": _EQUAL, "not compared": _FAILED}


def compare(  # noqa: PLR0913 - the options of a command line
    dir_a: Annotated[
        Path | None, typer.Argument(metavar="DIR_A", show_default=False, help=_JOB_DIR)
    ] = None,
    dir_b: Annotated[
        Path | None, typer.Argument(metavar="DIR_B", show_default=False, help=_JOB_DIR)
    ] = None,
    *,
    sink: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=PATH_A,PATH_B]",
            show_default=False,
            help="Only this sink, by its uid or name, and where its outputs are. Repeatable.",
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            help="Compare the last row of each key. Repeatable; by default the keys of the sink.",
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", show_default=False, help="Show the first time of a difference."
        ),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBER",
            show_default=False,
            help="Numbers with at most this difference are equal. Repeatable.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", show_default=False, help="Leave this column out. Repeatable."
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            callback=writable_file,
            show_default=False,
            help="Write a page with the differences, too.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, metavar="N", help="Most rows to show of each sink.")
    ] = 5,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Compare what two jobs have written, sink by sink.

    Files of the file sink and Delta tables are read back. The exit status is 0 if all are equal, 1 if some differ, and 2 if
    some cannot be compared.
    """
    sinks = dict(map(_sink, sink or ()))
    tolerances = parse_definitions(tolerance)

    def action() -> int:
        apart = _apart(dir_a, dir_b)
        differences = resolve_name(COMPARE)(
            dir_a,
            dir_b,
            sinks=sinks or None,
            how=resolve_name(HOW)(key or (), tolerances, ignore or (), time, limit),
        )
        if page is not None:
            title = f"{dir_a or 'a'} and {dir_b or 'b'}"
            text = comparison_page(title, list(map(_json_of, differences)), apart)
            write_text("--page", page, text)
        if json:
            for difference in differences:
                record = {**_json_of(difference), "positions": apart}
                typer.echo(json_module.dumps(record, ensure_ascii=False))
        else:
            _show(differences)
        return max(_STATUS.get(difference.verdict, _DIFFERENT) for difference in differences)

    raise typer.Exit(exit_status(action, Console(stderr=True), verbose=verbose, failed=_FAILED))


def _apart(dir_a: Path | None, dir_b: Path | None) -> list[str]:
    """Return how far two jobs are apart, a line for each source, and report it."""
    if dir_a is None or dir_b is None:
        return []
    gaps = resolve_name(POSITIONS)(dir_a, dir_b)
    lines = [
        f"source {gap.source}: {directory} has read {ahead:,} {gap.unit} more"
        for gap in gaps or ()
        for directory, ahead in ((dir_a, gap.ahead_a), (dir_b, gap.ahead_b))
        if ahead
    ]
    running = [d for d in (dir_a, dir_b) if ObservedJob.at(d).is_running()]
    lines += [f"the job in {path} is running: it may read more meanwhile" for path in running]
    for line in lines:
        note(line)
    return lines


def _sink(text: str) -> tuple[str, tuple[str, str] | None]:
    """Return a sink, and its directories if they are given."""
    name, has_paths, paths = text.partition("=")
    if not has_paths:
        return name, None
    one, _, other = paths.partition(",")
    if not one or not other or "," in other:
        raise typer.BadParameter(
            f"{text!r} is not of the form NAME=PATH_A,PATH_B", param_hint="'--sink'"
        )
    return name, (one, other)


def _json_of(difference: Any) -> dict[str, Any]:
    common = {
        "sink": difference.sink,
        "verdict": difference.verdict,
        "keys": list(difference.how.keys),
    }
    if difference.problem is not None:
        return common | {
            name: getattr(difference.problem, name) for name in ("code", "problem", "hint")
        }
    sides = ("key", "before", "after")
    return (
        common
        | {count: getattr(difference, count) for count in _COUNTS}
        | {
            "first_time": _value(difference.first_time),
            "first_epochs": [difference.first_epoch_a, difference.first_epoch_b],
            "digests": difference.digests,
            "examples": [
                {side: _value(getattr(change, side)) for side in sides}
                for change in difference.examples
            ],
        }
    )


def _value(value: Any) -> Any:
    """Return a value, a row too, as JSON has it."""
    if isinstance(value, dict):
        return {name: _value(content) for name, content in value.items()}
    return from_json(resolve_name(VALUE_TEXT)(value))


def _show(differences: Sequence[Any]) -> None:
    text = resolve_name(VALUE_TEXT)
    table = []
    for difference in differences:
        is_compared = difference.problem is None
        key = ", ".join(difference.how.keys)
        row = {"sink": difference.sink, "verdict": difference.verdict, "key": key}
        counts = {name: getattr(difference, name) if is_compared else None for name in _COUNTS}
        table.append(row | {name.replace("_", " "): count for name, count in counts.items()})
    show_rows(table, json=False, empty="")
    for difference in differences:
        sink, problem = difference.sink, difference.problem
        if problem is not None:
            note(f"{sink}: {problem.problem}\n  fix: {problem.hint}")
            continue
        for change in difference.examples:
            one, other = change.before, change.after
            if one is not None and other is not None:
                # The columns that are equal in both would hide the others.
                one, other = resolve_name(DIFFERING)(difference.how, one, other)
            where = sink if change.key is None else f"{sink} {text(change.key)}"
            show_change(where, *(None if row is None else text(row) for row in (one, other)))
        for line in _first(difference):
            typer.echo(f"{sink}: {line}")


def _first(difference: Any) -> list[str]:
    """Return where the first difference of a sink is, one line each."""
    if difference.digests is not None and difference.verdict == "different":
        return [f"digests {difference.digests[0]} and {difference.digests[1]}"]
    epochs = ("a", difference.first_epoch_a), ("b", difference.first_epoch_b)
    lines = [f"{side} has it in epoch {epoch}" for side, epoch in epochs if epoch is not None]
    time = (
        []
        if difference.first_time is None
        else [f"first difference at {_value(difference.first_time)}"]
    )
    return [*time, *([f"first difference: {', '.join(lines)}"] if lines else [])]
