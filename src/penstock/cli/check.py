"""`penstock check`: a program in many ways over a sample of its inputs, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from os import devnull
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from penstock.cli.failures import exit_status
from penstock.cli.parameters import Definitions, ScriptArguments, ScriptPath, Verbose, writable_file
from penstock.cli.plan import NoJobError
from penstock.cli.script import SQL_SUFFIX, parse_definitions, run_script, script_text, write_text
from penstock.errors import EnvironmentSetupError
from penstock.extras import EXTRAS
from penstock.testing.law.effects import parse_stubs, stubbed
from penstock.testing.law.engine import WAYS, WaysSoFar, judge
from penstock.testing.law.input_directory import samples_in
from penstock.testing.law.outcomes import CheckedProgram
from penstock.testing.law.own_samples import MOST_RECORDS, Samples, samples_of
from penstock.testing.law.script import checked_programs
from penstock.testing.law.verdict import LawVerdict
from penstock.testing.law.ways import SPARK_WAYS
from penstock.testing.law.written_test import text_of_test

_DIFFERS = 1
_UNCHECKED = 2
_COMPARED = "penstock.testing.law.sql_script:compared_with_duckdb"
"""Imported for scripts of SQL only, because it imports SQL."""


def check(  # noqa: PLR0913 - the options of a command line
    script: ScriptPath,
    arguments: ScriptArguments = None,
    definitions: Definitions = None,
    *,
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--input",
            metavar="DIR",
            exists=True,
            file_okay=False,
            show_default=False,
            help="Samples of sources: files NAME.jsonl, .csv, .parquet or .txt, or directories NAME of them. "
            "Sources without one are read.",
        ),
    ] = None,
    ways: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of ways to try, at most.")
    ] = WAYS,
    seconds: Annotated[
        float, typer.Option(min=1, metavar="N", help="Seconds after which no further way begins.")
    ] = 60.0,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of the ways and of generated records.")
    ] = 0,
    records: Annotated[
        int, typer.Option(min=1, metavar="N", help="Most records to read from each source.")
    ] = MOST_RECORDS,
    write_test: Annotated[
        Path | None,
        typer.Option(
            "--write-test",
            metavar="FILE",
            callback=writable_file,
            show_default=False,
            help="Write a difference as a test for pytest.",
        ),
    ] = None,
    stub: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            show_default=False,
            help="Let a function return a value, JSON or a text, and not run. Repeatable. Functions that call services "
            "or start processes are refused otherwise.",
        ),
    ] = None,
    duckdb: Annotated[
        bool | None,
        typer.Option(
            "--duckdb/--no-duckdb",
            show_default="if it is installed",
            help="Compare the final rows of a SQL script with those of DuckDB.",
        ),
    ] = None,
    spark: Annotated[
        bool,
        typer.Option(
            "--spark",
            help="Run three more ways on Spark, local[2]: BATCH with a killed worker, STREAMING with a killed driver, "
            "and history, then live.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
    verbose: Verbose = False,
) -> None:
    """Run a program in many ways over a sample of its inputs, and compare the answers.

    The program runs up to its first execute(), in this process and without Spark; no sink writes. The ways differ
    in mode, in the cut between history and live, in parallelism, micro-batches, restarts, failures and settings. None
    of these may change the answer. --spark adds ways on Spark.

    The exit status is 0 for one answer, 1 for two, and 2 for a program that cannot be checked or an option that
    is wrong, such as a file for the test that cannot be written. The output of the program while it is checked is
    dropped.
    """
    console = Console(stderr=True)
    verdicts: list[LawVerdict] = []
    is_sql = script.suffix == SQL_SUFFIX
    _require_possible(stub, write_test, is_sql=is_sql, spark=spark, duckdb=duckdb)

    def look(program: CheckedProgram) -> None:
        defined = program.with_settings(parse_definitions(definitions))
        given = {} if inputs is None else samples_in(inputs, program.graph, records)
        samples = samples_of(program.graph, given, records, seed)
        more = SPARK_WAYS if spark else ()
        with (
            _progress(console, ways + len(more)) as progress,
            _silence(),
            stubbed(parse_stubs(stub)),
        ):
            verdict = judge(
                defined, samples, ways, seed=seed, seconds=seconds, progress=progress, more=more
            )
            if is_sql and duckdb is not False and verdict.is_same:
                verdict = _with_duckdb(verdict, script, samples, program, is_needed=bool(duckdb))
        verdicts.append(verdict)

    def action() -> int:
        with checked_programs(look):
            run_script(script, arguments)
        if not verdicts:
            raise NoJobError.of(script, "nothing to check")
        (verdict,) = verdicts
        typer.echo(json.dumps(verdict.to_json(), indent=2) if as_json else str(verdict))
        if verdict.disagreement is None:
            return 0
        if write_test is None:
            return _DIFFERS
        text = text_of_test(script, write_test, arguments or (), verdict.disagreement)

        def write() -> int:
            write_text("--write-test", write_test, text)
            console.print(Text(f"wrote {write_test}"), soft_wrap=True)
            return _DIFFERS

        return exit_status(write, console, verbose=verbose, failed=_DIFFERS)

    status = exit_status(
        action, console, verbose=verbose, advice=lambda _: "stopped", failed=_UNCHECKED
    )
    raise typer.Exit(status)


def _require_possible(
    stub: list[str] | None,
    write_test: Path | None,
    *,
    is_sql: bool,
    spark: bool,
    duckdb: bool | None,
) -> None:
    """Refuse options that do not go together."""
    if spark and stub:
        raise typer.BadParameter("a stub does not reach Spark's workers", param_hint="--stub")
    if is_sql and write_test is not None:
        raise typer.BadParameter("tests are of programs in Python", param_hint="--write-test")
    if duckdb and not is_sql:
        raise typer.BadParameter("DuckDB reads scripts of SQL only", param_hint="--duckdb")


def _with_duckdb(
    verdict: LawVerdict,
    script: Path,
    samples: Samples,
    program: CheckedProgram,
    *,
    is_needed: bool,
) -> LawVerdict:
    try:
        EXTRAS["duckdb"].check_installed()
    except EnvironmentSetupError as missing:
        if is_needed:
            raise
        note = f"not compared with DuckDB: {missing.problem}. {missing.hint}"
        return replace(verdict, notes=(*verdict.notes, note))
    compared: Callable[..., LawVerdict] = resolve_name(_COMPARED)
    names = {node.id: node.name for node in program.sources}
    return compared(verdict, script_text(script), str(script), samples, names)


@contextmanager
def _progress(console: Console, total: int) -> Iterator[WaysSoFar]:
    """Show a bar on a terminal, and nothing elsewhere."""
    if not console.is_terminal or console.is_dumb_terminal:
        yield lambda _: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("ways"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("check", total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def _silence() -> Iterator[None]:
    """Drop what functions of the program print, hundreds of times."""
    with Path(devnull).open("w", encoding="utf-8") as nothing, redirect_stdout(nothing):
        yield
