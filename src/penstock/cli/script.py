"""Running the user's program inside the process of the command line."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.cli.statements.results import print_results
from penstock.errors import SqlError

_ENVIRONMENT = ("PYTHONPATH", "PYSPARK_PYTHON")
"""Attributes of `sys` that are restored after a program has ended."""

SQL_SUFFIX = ".sql"
"""Suffix of the names of SQL scripts."""

SPARK_LOG_LEVEL = "spark.log.level"
"""Spark's own setting, off unless someone sets it."""

ScriptPath = Annotated[
    Path,
    typer.Argument(
        metavar="JOB.PY",
        exists=True,
        dir_okay=False,
        readable=True,
        show_default=False,
        help="The program.",
    ),
]
"""The program to run, as every command that runs one declares it."""

ScriptArguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ARGS",
        show_default=False,
        help="Arguments of the program; those that start with a dash follow `--`.",
    ),
]
"""The arguments after the program."""

Definitions = Annotated[
    list[str] | None,
    typer.Option(
        "-D",
        metavar="KEY=VALUE",
        show_default=False,
        help="Set an option; wins over what the program sets. Repeatable. "
        "`penstock config` lists the options.",
    ),
]
"""Settings of the command line."""

Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Show whole tracebacks and Spark's log, and progress as plain lines.",
    ),
]
"""True if to show all details."""


def parse_definitions(definitions: Sequence[str] | None) -> dict[str, str]:
    """Return `KEY=VALUE` settings by key; the last one of a key counts.

    Raises:
        BadParameter: A definition has no `=` or no key.
    """
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
    """Return the settings of the command line: the definitions, and those that `--verbose` implies.

    Raises:
        BadParameter: See `parse_definitions`.
    """
    log = {SPARK_LOG_LEVEL: "INFO"} if verbose else {}
    return log | parse_definitions(definitions)


@contextlib.contextmanager
def importable(directory: Path) -> Iterator[None]:
    """Let this process and Spark's Python workers import modules of a directory inside the context.

    The workers run the interpreter of this process, also in a session that the program makes itself,
    unless PYSPARK_PYTHON names another.
    """
    path, variables = list(sys.path), {name: os.environ.get(name) for name in _ENVIRONMENT}
    sys.path.insert(0, str(directory))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(directory), before]))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        yield
    finally:
        sys.path[:] = path
        for name, value in variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def script_text(path: Path) -> str:
    """Return the text of a script of SQL, without the mark with which some editors begin a file.

    Raises:
        SqlError: It is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as cause:
        raise SqlError(
            f"the script {path} is not UTF-8: {cause}", hint="Save it as UTF-8."
        ) from cause


def run_script(path: Path, arguments: Sequence[str] | None) -> None:
    """Run a program as `python path arguments...` would, in this process; of SQL its statements.

    `sys.argv` and the import paths are the program's while it runs. Spark's Python workers get
    the program's directory too, so a program may consist of several modules; see `importable`.

    Raises:
        BaseException: The program raised it, `SystemExit` included.
    """
    kept = sys.argv
    sys.argv = [str(path), *(arguments or ())]
    try:
        with importable(path.resolve().parent):
            if path.suffix == SQL_SUFFIX:
                environment = StreamExecutionEnvironment.get_execution_environment()
                print_results(environment, script_text(path), str(path), sys.stdout)
            else:
                runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv = kept
