"""`penstock prepare`: makes an archive of Spark's classes, with which jobs start faster."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.failures import exit_status
from penstock.errors import EnvironmentSetupError

_PROGRAM = """
import json, pathlib, sys
from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, FileSource, HybridSource
from penstock.spark.session.factory import end_jvm

java_options, directory = sys.argv[1], pathlib.Path(sys.argv[2])

def environment(**settings):
    config = {"spark.driver.extraJavaOptions": java_options, **settings}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(config))

# Files: history as a batch, then in epochs until all are read.
order = Types.ROW_NAMED(["customer", "amount"], [Types.STRING(), Types.LONG()])
rows = "".join(json.dumps({"customer": f"c{n % 7}", "amount": n}) + "\\n" for n in range(100))
for part in ("history", "live"):
    (directory / part).mkdir()
    (directory / part / "orders.json").write_text(rows)
history, live = [FileSource.json(directory / part, type_info=order) for part in ("history", "live")]
checkpoint = {"execution.checkpointing.dir": str(directory / "checkpoint")}
env = environment(**checkpoint, **{"execution.history": "batch"})
source = HybridSource.builder(history).add_source(live).build()
orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
totals = orders.map(lambda row: (row.customer, row.amount)).key_by(lambda pair: pair[0]).sum(1)
totals.map(str, Types.STRING()).sink_to(FileSink.text(directory / "totals"))
env.execute("files")

# A collection.
env = environment(**{"execution.runtime-mode": "BATCH"})
pairs = env.from_collection([(n % 7, n) for n in range(1000)])
pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).print()
env.execute("collection")

end_jvm()
"""
"""Jobs whose JVM loads the classes of Spark that small jobs need, and writes them at its end."""
_FIND_JAVA = "penstock.spark.session.java_runtime:find_java"
_ARCHIVE_PATH = "penstock.spark.session.factory:archive_path"
_WRITING = "penstock.spark.session.factory:writing_options"
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1"


def prepare(
    *,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the archive; jobs start without it.")
    ] = False,
) -> None:
    """Make an archive of Spark's classes on this machine, so that jobs start in about two thirds of the time.

    It runs a small job, and takes about half a minute, a gigabyte of memory and 160 MB of disk. Do it
    once, and again after a new version of Spark or Java: an archive that does not fit is not used. Sessions
    that Penstock makes use it, unless spark.driver.extraJavaOptions is set.
    """

    def action() -> int:
        java = resolve_name(_FIND_JAVA)(os.environ)
        path: Path = resolve_name(_ARCHIVE_PATH)(java, os.environ)
        if remove:
            path.unlink(missing_ok=True)
            typer.echo(f"{path}: removed")
            return 0
        if path.exists():
            typer.echo(f"{path}: is there already")
            return 0
        _make(path)
        typer.echo(f"{path}: {path.stat().st_size / 1e6:.0f} MB")
        return 0

    raise typer.Exit(exit_status(action, Console(stderr=True), verbose=False))


def _make(path: Path) -> None:
    """Write an archive; it is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="making-", dir=path.parent) as directory:
        archive = Path(directory, path.name)
        options = f"{_JAVA_OPTIONS} {resolve_name(_WRITING)(archive)}"
        command = [sys.executable, "-P", "-c", _PROGRAM, options, directory]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
        if ran.returncode or not archive.exists():
            raise EnvironmentSetupError(
                f"the archive of Spark's classes was not made: {ran.stderr.strip()[-500:]}",
                hint="Run penstock doctor --job. Jobs run without the archive, they only start later.",
            )
        archive.replace(path)
