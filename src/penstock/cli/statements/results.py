"""Results of SQL statements, as lines that are written while rows come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, TextIO

from penstock.api.environment.environment import StreamExecutionEnvironment


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

    Raises:
        SqlError: A statement is wrong.
        PenstockError: A job failed.
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
