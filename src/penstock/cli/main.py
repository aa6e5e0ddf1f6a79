"""The entry point of the command line and its table of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.completion import completion, enable_completion
from penstock.cli.config import config
from penstock.cli.demo import demo
from penstock.cli.doctor import doctor
from penstock.cli.drop import drop
from penstock.cli.init import init
from penstock.cli.plan import plan
from penstock.cli.porting.command import port
from penstock.cli.prepare import prepare
from penstock.cli.run import run
from penstock.cli.savepoint import savepoint
from penstock.cli.state import state_app
from penstock.cli.statements.command import sql
from penstock.cli.status import status, top
from penstock.cli.ui import ui
from penstock.version import __version__

app = typer.Typer(
    name="penstock",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    # `penstock.cli.failures` reports exceptions; typer would report them a second time.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        typer.echo(f"penstock {__version__}")
        raise typer.Exit


@app.callback(epilog="Example: penstock run job.py -D parallelism.default=4")
def penstock(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """PyFlink-style DataStream programs on Apache Spark.

    History first at batch speed, then live, in one program with one state.
    """


app.command(epilog="Example: penstock run job.py -D parallelism.default=4 -- --since 2013-10-01")(
    run
)
app.command(epilog="Example: penstock plan job.py --mermaid > plan.mmd")(plan)
app.command(epilog="Example: penstock sql job.sql -D parallelism.default=4")(sql)
app.command(epilog="Example: penstock demo --compare")(demo)
app.command(epilog="Example: penstock savepoint /data/checkpoints/visits --stop")(savepoint)
app.command(epilog="Example: penstock drop job.py /data/checkpoints/visits --yes")(drop)
app.command(epilog="Example: penstock doctor --directory /data/checkpoints")(doctor)
app.command(epilog="Example: penstock prepare")(prepare)
app.command(epilog="Example: penstock init spent")(init)
app.command(epilog="Example: penstock port job.py --diff")(port)
app.command(epilog='Example: eval "$(penstock completion bash)"')(completion)
app.command(epilog="Example: penstock status /data/checkpoints/visits --max-behind 1min")(status)
app.command(epilog="Example: penstock top /data/checkpoints/visits")(top)
app.command(epilog="Example: penstock ui /data/checkpoints/visits")(ui)
app.command(epilog="Example: penstock config execution.checkpointing.interval")(config)
app.add_typer(state_app)


def main() -> None:
    """Run the command line and exit with its status."""
    enable_completion()
    app()
