"""`python -m benchmarks`: programs against their peers, verified and measured in turn."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.catalog import PROGRAMS
from benchmarks.measuring.runner import NONE, BenchRequest, chosen_systems, run_program
from benchmarks.model.measurement import PROFILE
from benchmarks.model.program import BenchProgram
from benchmarks.reporting.profile_table import profile_table
from benchmarks.reporting.results import BenchResult
from penstock.cli.failures import exit_status
from penstock.cli.parameters import Definitions, Verbose
from penstock.cli.script import parse_definitions
from penstock.metrics.profile import JobProfile

_MIB = 1 << 20


app = typer.Typer(
    add_completion=False,
    rich_markup_mode="markdown",
    # What a program raises is reported by `penstock.cli.failures`, once.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(epilog="Example: python -m benchmarks live-state --keys 200000 --json")
def bench(  # noqa: PLR0913, PLR0917 - the options of a command line
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", show_default=False, help="Programs; see --list."),
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(min=1, show_default="the program's", help="Measured records of a round."),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option(
            metavar="K",
            show_default="the program's",
            help="Number of keys; repeat it, or separate several by commas.",
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PEER",
            show_default="the program's",
            help=f"A peer to compare with, or {NONE}. Repeatable.",
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(metavar="SYSTEM", show_default="all", help="One of our systems. Repeatable."),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Measured rounds of every system.")] = 3,
    parallelism: Annotated[
        int | None,
        typer.Option(min=1, show_default="one per core", help="Cores and subtasks of all systems."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            metavar="NAME=NUMBER",
            show_default=False,
            help="An option of the program; see --list. Repeatable.",
        ),
    ] = None,
    definitions: Definitions = None,
    append: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Append the result to this file, one JSON line each."),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            writable=True,
            show_default="a temporary directory",
            help="Where input and checkpoints go while it runs.",
        ),
    ] = None,
    *,
    profile: Annotated[
        bool, typer.Option("--profile", help="Show where the time of our systems went.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a program.")] = False,
    listing: Annotated[
        bool, typer.Option("--list", help="List the programs, their systems and options.")
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Measure programs against their peers; outputs are compared before times count.

    The status is 0 if all outputs agree, whatever the figures are.
    """
    console = _standard_output()
    if listing:
        console.print(program_table())
        return
    programs = [_program(name) for name in names or ()]
    if not programs:
        raise typer.BadParameter(f"name a program: {', '.join(PROGRAMS)}", param_hint="'NAME...'")
    request = BenchRequest(
        records=records,
        keys=[_number(part, "--keys") for text in keys or () for part in text.split(",")],
        peers=against or (),
        systems=system or (),
        rounds=runs,
        parallelism=parallelism,
        options={
            name: _number(value, f"-o {name}") for name, value in parse_definitions(option).items()
        },
        settings=parse_definitions(definitions),
        directory=directory and directory.absolute(),
    )
    errors = Console(stderr=True)

    def action() -> int:
        for program in programs:
            chosen_systems(program, request)  # refused before an hour has passed
        return max(
            _run(program, request, console, errors, append=append, json=json, profile=profile)
            for program in programs
        )

    status = exit_status(
        action, errors, verbose=verbose, advice=lambda _: "stopped; nothing was recorded"
    )
    raise typer.Exit(status)


def _run(
    program: BenchProgram,
    request: BenchRequest,
    console: Console,
    errors: Console,
    *,
    append: Path | None,
    json: bool,
    profile: bool,
) -> int:
    with errors.status(program.name) as status:

        def say(line: str) -> None:
            text = Text(line)
            status.update(text)
            errors.print(text, soft_wrap=True)

        result = run_program(program, request, say)
    line = json_text.dumps(result.to_json())
    if append is not None:
        with append.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    if json:
        typer.echo(line)
    else:
        for table in result_tables(result):
            console.print(table)
        for table in profile_tables(result) if profile else ():
            console.print(table)
    return result.exit_status


def program_table() -> Table:
    """Return all programs with their systems and options."""
    table = _table("Programs", "name", "what", "systems", "options")
    for program in PROGRAMS.values():
        systems = [
            f"{s.name}{' (peer)' if s.is_peer else ''}{'' if s.by_default else ' (if named)'}"
            for s in program.systems
        ]
        options = [f"{name}={value}" for name, value in program.options.items()]
        table.add_row(program.name, program.summary, "\n".join(systems), "\n".join(options))
    return table


def result_tables(result: BenchResult) -> list[Table]:
    """Return a result for people: systems, figures, what was left out."""
    found = result.to_json()
    systems = _table(
        result.program.name, "system", "keys", "records/ms", "s of a round", "workers", "outputs"
    )
    for each in found["results"]:
        systems.add_row(
            each["system"],
            f"{each['options']['keys']:,}",
            f"{each['records_per_ms']:,.1f}",
            _spread(each["seconds"]),
            f"{each['peak_memory_bytes']['workers'] / _MIB:,.0f} MiB",
            "equal" if each["outputs_equal"] else Text("WRONG", style="bold red"),
        )
    figures = _table("Figures", "figure", "ratio", "value", "goal", "reached")
    for each in found["figures"]:
        reached = "yes" if each["reached"] else "no"
        figures.add_row(
            each["id"], each["ratio"], f"{each['value']:,.2f}", f"{each['goal']:g}", reached
        )
    skipped = _table("Left out", "system", "keys", "reason")
    for each in found["skipped"]:
        skipped.add_row(each["system"], f"{each['keys']:,}", each["reason"])
    tables = (_latencies(found["results"]), _per_row(found["results"]), figures, skipped)
    return [systems, *(table for table in tables if table.row_count)]


def profile_tables(result: BenchResult) -> list[Table]:
    """Return where the time of our systems went, of each in its median round."""
    found = [each for each in result.to_json()["results"] if PROFILE in each]
    return [
        profile_table(
            JobProfile.from_json(each[PROFILE]),
            f"{each['system']}, {each['options']['keys']:,} keys",
        )
        for each in found
    ]


def _latencies(results: list[dict[str, Any]]) -> Table:
    """Return the quantiles of latency: medians of rounds."""
    table = _table("From event to sink", "system", "p50 ms", "p99 ms")
    for each in results:
        if "latency_ms" in each:
            found = each["latency_ms"]
            table.add_row(each["system"], *(f"{found[name]:,.0f}" for name in ("p50", "p99")))
    return table


def _per_row(results: list[dict[str, Any]]) -> Table:
    """Return what a micro benchmark of encodings found for a row: medians of rounds."""
    table = _table("A row", "system", "bytes", "ns to encode", "ns to decode")
    for each in results:
        details = each["details"]
        if "bytes_per_row" in details:
            names = ("bytes_per_row", "encode_ns_per_row", "decode_ns_per_row")
            table.add_row(each["system"], *(f"{median(details[name]):,.0f}" for name in names))
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _spread(values: dict[str, Any]) -> str:
    return f"{values['median']:.2f} ({values['min']:.2f} to {values['max']:.2f})"


def _standard_output() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=140)


def _program(name: str) -> BenchProgram:
    if name not in PROGRAMS:
        raise typer.BadParameter(
            f"there is no program {name!r}; there are {', '.join(PROGRAMS)}", param_hint="'NAME...'"
        )
    return PROGRAMS[name]


def _number(text: str, hint: str) -> int:
    try:
        number = int(text.replace("_", ""))
    except ValueError:
        number = 0
    if number < 1:
        raise typer.BadParameter(f"{text!r} is not a number of 1 or more", param_hint=f"'{hint}'")
    return number
