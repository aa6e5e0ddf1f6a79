"""`penstock sql`: a script of SQL, or a shell that carries out statements as they are typed."""

from __future__ import annotations

import atexit
import readline
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.text import Text

from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.api.environment.program_file import importable
from penstock.cli.failures import error_text, exit_status
from penstock.cli.parameters import Definitions, Verbose
from penstock.cli.progress import job_progress
from penstock.cli.script import print_results, run_script, script_text, settings
from penstock.config.configuration import set_process_overrides
from penstock.errors import PenstockError


def sql(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE.SQL",
            exists=True,
            dir_okay=False,
            readable=True,
            show_default=False,
            help="The script; without it a shell.",
        ),
    ] = None,
    definitions: Definitions = None,
    *,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Print what the script would run, without starting Spark."),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Run a script of SQL, in Flink's dialect; without one a shell.

    Rows of a SELECT go to stdout as they come, progress to stderr. INSERTs that follow each other are one job, which is
    resumed by the same command if `execution.checkpointing.dir` is set. Functions of Python are found beside the script.

    In the shell a statement ends with a semicolon, Ctrl-C stops the job, and Ctrl-D or QUIT ends the shell.
    """
    if explain and file is None:
        raise typer.BadParameter("name the script to explain", param_hint="FILE.SQL")
    set_process_overrides("cli", settings(definitions, verbose=verbose))
    console = Console(stderr=True)

    def action() -> int:
        environment = StreamExecutionEnvironment.get_execution_environment()
        if file is None:
            with importable(Path.cwd()):
                return SqlShell(environment, console, verbose=verbose).run(stdin_lines())
        if explain:
            with importable(file.resolve().parent):
                typer.echo(environment.sql_session.explained(script_text(file), str(file)))
            return 0
        with job_progress(console, plain=verbose, shows_metrics=verbose):
            run_script(file, None)
        return 0

    raise typer.Exit(exit_status(action, console, verbose=verbose))


HISTORY = Path("~/.penstock_sql_history")
"""The file that keeps what was typed."""

_HISTORY_LINES = 2_000
_PROMPT, _MORE = "penstock> ", "       -> "
_HELP = """\
A statement ends with a semicolon and may have several lines. docs/sql-scripts.md lists them.
  SHOW TABLES;  DESCRIBE name;  EXPLAIN SELECT …;  SET 'key' = 'value';
  Ctrl-C        stops the job, or forgets what was typed
  QUIT or Ctrl-D ends the shell"""
_WORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN"),
    *("INSERT INTO", "CREATE TABLE", "CREATE VIEW", "CREATE FUNCTION", "DROP TABLE", "WITH"),
    *("SHOW TABLES", "SHOW VIEWS", "SHOW FUNCTIONS", "DESCRIBE", "EXPLAIN", "SET", "RESET", "QUIT"),
)


class SqlShell:
    """A session with a person."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        console: Console,
        out: TextIO | None = None,
        *,
        verbose: bool = False,
    ) -> None:
        self._environment = environment
        self._console = console
        self._out = out
        self._verbose = verbose

    def run(self, lines: TypedLines | PipedLines) -> int:
        """Carry out what is typed until the end, and return the exit status."""
        lines.complete_with(self._names)
        typed = ""
        self._say("SQL of Penstock. HELP; explains the shell.")
        while True:
            try:
                line = lines.next(_MORE if typed else _PROMPT)
            except KeyboardInterrupt:
                self._say("")
                typed = ""
                continue
            if line is None:
                if typed and lines.is_script:
                    self._carry_out(typed, lines)
                return 0
            typed = f"{typed}{line}\n"
            if not typed.strip():
                typed = ""
            elif _command(typed) in {"quit", "exit"}:
                return 0
            elif _command(typed) == "help":
                self._say(_HELP)
                typed = ""
            elif self._environment.sql_session.is_complete(typed):
                self._carry_out(typed, lines)
                typed = ""

    def _carry_out(self, text: str, lines: TypedLines | PipedLines) -> None:
        try:
            with job_progress(self._console, plain=self._verbose):
                print_results(self._environment, text, None, self._out or sys.stdout)
        except KeyboardInterrupt:
            if lines.is_script:
                raise
            self._say("stopped")
        except PenstockError as error:
            # Without the line of the program: there is none.
            shown = type(error)(error.problem, hint=error.hint)
            if lines.is_script:
                raise shown from error
            self._console.print(error_text(shown), soft_wrap=True)

    def _names(self) -> tuple[str, ...]:
        names: tuple[str, ...] = self._environment.sql_session.names()
        return (*names, *_WORDS)

    def _say(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)


class TypedLines:
    """Lines of a terminal, with editing, history and completion by readline."""

    is_script = False
    """True if the last statement needs no semicolon, and an error ends it; who types Ctrl-D forgets what was begun."""

    def __init__(self, history: Path) -> None:
        self._names: Any = tuple
        path = history.expanduser()
        with suppress(OSError):
            readline.read_history_file(path)
        readline.set_history_length(_HISTORY_LINES)
        atexit.register(_write_history, path)
        readline.set_completer(self._complete)
        readline.set_completer_delims(" \t\n(),;=")
        readline.parse_and_bind("tab: complete")

    def complete_with(self, names: Any) -> None:
        """Set what returns the words that Tab completes."""
        self._names = names

    def next(self, prompt: str) -> str | None:
        """Return a line, None at the end."""
        try:
            return input(prompt)
        except EOFError:
            return None

    def _complete(self, begin: str, number: int) -> str | None:
        names = [name for name in self._names() if name.upper().startswith(begin.upper())]
        return names[number] if number < len(names) else None


class PipedLines:
    """Lines of a pipe, without a prompt: a script, which ends with its first error."""

    is_script = True

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines

    def complete_with(self, names: Any) -> None:
        """Do nothing: the input is no terminal."""

    def next(self, prompt: str) -> str | None:
        """Return a line, None at the end."""
        return next(self._lines, None)


def stdin_lines() -> TypedLines | PipedLines:
    """Return the lines of standard input: typed ones, or those of a pipe."""
    return TypedLines(HISTORY) if sys.stdin.isatty() else PipedLines(iter(sys.stdin))


def _write_history(path: Path) -> None:
    with suppress(OSError):
        readline.write_history_file(path)


def _command(text: str) -> str:
    return text.strip().rstrip(";").strip().lower()
