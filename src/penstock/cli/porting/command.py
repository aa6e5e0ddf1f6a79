"""`penstock port`: changes the imports of PyFlink programs, and says what differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.failures import FAILED, exit_status
from penstock.cli.porting.program import PortedProgram, ported
from penstock.errors import ArgumentError


def port(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            exists=True,
            show_default=False,
            help="Programs, or directories with programs.",
        ),
    ],
    *,
    diff: Annotated[bool, typer.Option("--diff", help="Print the changes as a diff.")] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Change the files; without this nothing is changed.")
    ] = False,
) -> None:
    """Change the imports of PyFlink programs to Penstock's, and say what differs.

    The programs are read, not run. A line about a program says what has to be changed by hand,
    what differs, or what has no effect. The exit status is 1 if something has to be changed by hand.
    """

    def action() -> int:
        programs = [ported(str(path), _read(path)) for path in _programs(files)]
        for each in programs:
            _report(each, diff=diff)
            if write and each.after != each.before:
                _write(Path(each.name), each.after)
        _sum_up(programs, written=write)
        return FAILED if any(each.needs_a_hand for each in programs) else 0

    raise typer.Exit(exit_status(action, Console(stderr=True), verbose=False))


def _programs(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _report(program: PortedProgram, *, diff: bool) -> None:
    if diff:
        typer.echo(program.diff(), nl=False)
    for each in program.remarks:
        typer.echo(f"{program.name}:{each.line}: {each.weight.value}: {each.text}")


def _sum_up(programs: list[PortedProgram], *, written: bool) -> None:
    changed = sum(each.after != each.before for each in programs)
    by_hand = sum(each.needs_a_hand for each in programs)
    verb = "changed" if written else "to change (--write changes, --diff shows)"
    typer.echo(f"{len(programs)} programs: {changed} {verb}, {by_hand} need a hand")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise ArgumentError(
            f"{path} cannot be read: {cause}", hint="Name a file of Python in UTF-8."
        ) from cause


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8"))
    except OSError as cause:
        raise ArgumentError(
            f"{path} cannot be written: {cause}", hint="Make it writable, or copy it elsewhere."
        ) from cause
