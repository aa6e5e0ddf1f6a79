"""`penstock doctor`: checks of this machine, each with what to do, and their table."""

from __future__ import annotations

import json as json_module
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.doctor import files, machine, software
from penstock.cli.doctor.files import job, store
from penstock.cli.doctor.finding import Finding, Situation, Verdict
from penstock.cli.failures import FAILED

Check = Callable[[Situation], Finding]

CHECKS: dict[str, Check] = {
    "package": software.package,
    "python": software.python,
    "libraries": software.libraries,
    "extras": software.extras,
    "java": software.java,
    "spark": software.spark,
    "workers": software.workers,
    "directory": files.directory,
    "rename": files.rename,
    "fsync": files.fsync,
    "locks": files.locks,
    "file times": files.file_times,
    "memory map": files.memory_map,
    "disk": files.disk,
    "ports": machine.ports,
    "host name": machine.host_name,
    "clock": machine.clock,
    "open files": machine.open_files,
    "memory": machine.memory,
}
"""Name to check, in the order in which they are made and shown."""


def examine(
    situation: Situation, *, with_job: bool = False, with_store: str | None = None
) -> Iterator[Finding]:
    """Yield the finding of each check."""
    for check in CHECKS.values():
        yield check(situation)
    if with_store is not None:
        yield store(with_store)
    if with_job:
        yield job(situation)


_PIPE_WIDTH = 200
_STYLES = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAIL: "bold red"}


def doctor(
    directory: Annotated[
        Path,
        typer.Option(
            "--directory",
            exists=True,
            file_okay=False,
            metavar="DIR",
            show_default="the current one",
            help="Planned checkpoint directory, whose file system is checked.",
        ),
    ] = Path(),
    *,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="Planned place of checkpoints or output in a store: s3://, gs://, abfss://.",
        ),
    ] = None,
    job: Annotated[bool, typer.Option("--job", help="Run a small job too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Check whether jobs can run here: software, file system, ports, clock, memory.

    Each line has what was found, and what to do about it. The exit status is 1 if a check fails;
    warnings do not change it.
    """
    situation = Situation(directory.absolute(), dict(os.environ))
    findings: list[Finding] = []
    for finding in examine(situation, with_job=job, with_store=store):
        findings.append(finding)
        if json:
            typer.echo(json_module.dumps(asdict(finding) | {"verdict": finding.verdict.value}))
    if not json:
        _console().print(table_of(findings))
    failed = any(finding.verdict is Verdict.FAIL for finding in findings)
    raise typer.Exit(FAILED if failed else 0)


def table_of(findings: list[Finding]) -> Table:
    """Return the findings as a table: the check, how it ended, what was found, what to do."""
    table = Table(show_header=False, box=None)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        text = Text(finding.text)
        if finding.fix is not None:
            text.append(f"\n→ {finding.fix}", style="bold")
        verdict = Text(finding.verdict.value, style=_STYLES[finding.verdict])
        table.add_row(verdict, finding.name, text)
    return table


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=_PIPE_WIDTH)
