"""The user's program inside the process of the command line, and results of SQL statements as lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TextIO

import typer
from rich.console import Console

from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.api.environment.program_file import importable, run_program
from penstock.cli.progress import job_progress
from penstock.config.configuration import set_process_overrides
from penstock.errors import ArgumentError, SqlError


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    r"""Yield a heading and rows, one line each, each row as soon as it is there.

    The first row decides how wide columns are. A longer text makes its column wider from there on.

    Example:
        >>> print("\n".join(table_lines(["n", "name"], [["1", "tea"], ["12", "cup"]])))
        n | name
        --+-----
        1 | tea
        12 | cup
    """
    widths = [*map(len, columns)]
    has_heading = False
    for row in rows:
        widths = [*map(max, widths, map(len, row))]
        if not has_heading:
            yield from _heading(columns, widths)
            has_heading = True
        yield _line(row, widths)
    if not has_heading:
        yield from _heading(columns, widths)


def _heading(columns: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    yield _line(columns, widths)
    yield "-+-".join("-" * width for width in widths)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return " | ".join(map(str.ljust, cells, widths)).rstrip()


def print_results(
    environment: StreamExecutionEnvironment, script: str, file: str | None, out: TextIO
) -> None:
    """Carry out a script, and print what its statements return as it comes.

    A job whose rows are printed is stopped when this call is interrupted.
    """

    def show(result: Any) -> None:
        if result.text and result.is_answer:
            out.write(f"{result.text}\n")
        if result.columns:
            with closing(result.collect()) as rows:
                heading = (*(("op",) if result.changes else ()), *result.columns)
                for line in table_lines(heading, map(result.cells, rows)):
                    out.write(f"{line}\n")
                    out.flush()
        out.flush()

    environment.sql_session.execute(script, file, show)


SQL_SUFFIX = ".sql"
"""Suffix of the names of SQL scripts."""

SPARK_LOG_LEVEL = "spark.log.level"
"""Spark's own setting, off unless someone sets it."""


def parse_definitions(definitions: Sequence[str] | None) -> dict[str, str]:
    """Return `KEY=VALUE` settings by key; the last one of a key counts."""
    values: dict[str, str] = {}
    for definition in definitions or ():
        key, equals, value = definition.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter(
                f"{definition!r} is not of the form KEY=VALUE; write for example "
                f"-D parallelism.default=4",
                param_hint="'-D'",
            )
        values[key.strip()] = value.strip()
    return values


def settings(definitions: Sequence[str] | None, *, verbose: bool) -> dict[str, str]:
    """Return the settings of the command line: the definitions, and those that `--verbose` implies."""
    log = {SPARK_LOG_LEVEL: "INFO"} if verbose else {}
    return log | parse_definitions(definitions)


def script_text(path: Path) -> str:
    """Return the text of a script of SQL, without the mark with which some editors begin a file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as cause:
        raise SqlError(
            f"the script {path} is not UTF-8: {cause}", hint="Save it as UTF-8."
        ) from cause


def run_script(path: Path, arguments: Sequence[str] | None) -> None:
    """Run a program as `python path arguments...` would, in this process; of SQL its statements.

    Whatever the program raises is raised, `SystemExit` included.
    """
    if path.suffix != SQL_SUFFIX:
        run_program(path, arguments or ())
        return
    with importable(path.resolve().parent):
        environment = StreamExecutionEnvironment.get_execution_environment()
        print_results(environment, script_text(path), str(path), sys.stdout)


def run_to_end(
    given: Mapping[str, str],
    script: Path,
    arguments: Sequence[str] | None,
    console: Console,
    *,
    verbose: bool,
) -> int:
    """Run a program with settings, show its progress, and return the exit status of success."""
    set_process_overrides("cli", given)
    with job_progress(console, plain=verbose, shows_metrics=verbose):
        run_script(script, arguments)
    return 0


def write_text(option: str, path: Path, text: str) -> None:
    """Write the file that an option names."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as cause:
        raise ArgumentError(
            f"{option} {path} cannot be written: {cause}",
            hint="Name a file in a directory that is there.",
        ) from cause
