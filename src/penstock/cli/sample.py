"""`penstock sample`: the first records of a program's sources, as files for `penstock check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from penstock.cli.failures import exit_status
from penstock.cli.parameters import ScriptArguments, ScriptPath, Verbose
from penstock.cli.plan import NoJobError
from penstock.cli.script import run_script
from penstock.testing.law.outcomes import CheckedProgram
from penstock.testing.law.sample_files import SampleFiles, write_samples
from penstock.testing.law.script import checked_programs


def sample(
    script: ScriptPath,
    arguments: ScriptArguments = None,
    *,
    records: Annotated[
        int, typer.Option(min=1, metavar="N", help="Most records to read from each source.")
    ] = 10_000,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Where to write; made if it is not there, and must be empty.",
        ),
    ] = Path("samples"),
    mask: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            help="Mask the values of a column in all sources. Repeatable. Columns named like passwords and tokens "
            "are always masked.",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Write the first records of a program's sources as files, for `penstock check --input`.

    The program runs up to its first execute(), and no job starts. Files and logs such as Kafka are read from where the
    program begins; nothing is confirmed to them.

    Equal values have equal masks, in all columns and sources, so keys still meet. Masks cannot be undone: their key is
    drawn anew and not kept.
    """
    console = Console(stderr=True)
    written: list[SampleFiles] = []

    def look(program: CheckedProgram) -> None:
        written.append(write_samples(program.graph, out, records, mask or ()))

    def action() -> int:
        with checked_programs(look):
            run_script(script, arguments)
        if not written:
            raise NoJobError.of(script, "nothing to sample")
        (files,) = written
        for source in files.sources:
            if source.path is not None:
                typer.echo(f"{source.path}  {source.records} records")
            else:
                note = f"note: source {source.name!r} is not sampled: {source.problem}"
                console.print(Text(note), soft_wrap=True)
            for part in source.left_out:
                note = f"note: the sample of source {source.name!r} lacks {part}, which cannot be read outside of a job"
                console.print(Text(note), soft_wrap=True)
        if files.masked:
            console.print(Text(f"masked: {', '.join(files.masked)}"), soft_wrap=True)
        return 0

    raise typer.Exit(exit_status(action, console, verbose=verbose, advice=lambda _: "stopped"))
