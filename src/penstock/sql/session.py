"""Session of a script: names in a catalogue, settings, and jobs.

Functions of the user: from what `udf`, `udtf` and `udaf` make to functions of a catalogue.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from penstock.api.streams.data_stream import DataStream
from penstock.config.configuration import is_secret
from penstock.errors import HIDDEN, ArgumentError, ConfigError, SqlError, did_you_mean
from penstock.relation.tree import Changelog
from penstock.sql.catalogue import SqlFunction, SqlTable, SqlView
from penstock.sql.grammar import ends_statement, parse_script
from penstock.sql.insertions import SqlJob
from penstock.sql.place import TextPlace
from penstock.sql.results import SqlResult, described, text_of_table
from penstock.sql.scalar_binding.zone import in_zone_of
from penstock.sql.statements import (
    CreateFunction,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    Insert,
    Name,
    Select,
    SetOption,
    Show,
    Statement,
    StatementSet,
)
from penstock.sql.streams import StreamTable
from penstock.sql.tables.table import ConnectorTable
from penstock.sql.udf import UserDefinedFunction

_HOW = "Make it with udf, udtf or udaf of penstock.sql.udf, which take the type of its result."


def named_function(name: str, function: Any) -> SqlFunction:
    """Return a function of a catalogue."""
    if not isinstance(function, UserDefinedFunction):
        raise ArgumentError.here(f"the function {name!r} is {function!r}", hint=_HOW)
    return SqlFunction(
        name,
        function.kind,
        function.called,
        function.result_type,
        is_deterministic=function.is_deterministic,
        takes_batches=function.takes_batches,
    )


def declared_function(name: str, target: str, place: TextPlace) -> SqlFunction:
    """Return the function that CREATE FUNCTION names."""
    module_name, _, attribute = target.replace(":", ".").rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except (ImportError, ValueError) as cause:
        raise SqlError.here(
            f"the function {name!r} is {target!r}, and {module_name!r} cannot be imported: {cause} ({place})",
            hint="Write AS 'module.name', with a module beside the script or among those that are installed.",
        ) from cause
    function = getattr(module, attribute, None)
    if function is None:
        raise SqlError.here(
            f"the module {module_name!r} has no {attribute!r} ({place}){did_you_mean(attribute, tuple(vars(module)))}",
            hint="Correct the name.",
        )
    if not isinstance(function, UserDefinedFunction):
        raise SqlError.here(f"the function {name!r} is {function!r} ({place})", hint=_HOW)
    return named_function(name, function)


P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_NAMES = ("default_catalog", "default_database")
"""Catalogue and database that the name of a table may begin with, as in Flink."""


def _by_recursion(call: Callable[P, T]) -> Callable[P, T]:
    """Return a call that raises a `SqlError` for statements too deep for Python's stack."""

    @wraps(call)
    def checked(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return call(*arguments, **named)
        except RecursionError:
            raise SqlError.here(
                "a statement is nested too deeply",
                hint="Write IN in place of many ORs, and views in place of queries within queries.",
            ) from None

    return checked


@dataclass(slots=True, eq=False)
class SqlSession:
    """The names and jobs of one environment; a `SqlCatalogue`.

    Attributes:
        environment: The `StreamExecutionEnvironment`.
    """

    environment: Any
    _tables: dict[str, SqlTable | SqlView] = field(default_factory=dict)
    _functions: dict[str, SqlFunction] = field(default_factory=dict)
    _job: SqlJob | None = None

    # A catalogue

    def find(self, name: Name) -> SqlTable | SqlView | None:
        """Return the table or view of a name, None if there is none."""
        return self._tables.get(_simple(name))

    def find_function(self, name: str) -> SqlFunction | None:
        """Return a function of the user, None if there is none of that name."""
        return self._functions.get(name.lower())

    def names(self) -> tuple[str, ...]:
        """Return the names of all tables and views."""
        return tuple(self._tables)

    # Methods for programs

    def create_stream_view(self, name: str, stream: Any, primary_key: Sequence[str]) -> None:
        """Give a stream a name; see `StreamExecutionEnvironment.create_view`."""
        if not isinstance(stream, DataStream):
            raise ArgumentError.here(
                f"create_view got {type(stream).__name__}", hint="Pass a stream of rows or tuples."
            )
        changelog = Changelog.UPSERT if primary_key else Changelog.INSERT_ONLY
        self.create_view(name, StreamTable(stream, changelog, primary_key))

    def create_view(self, name: str, table: SqlTable) -> None:
        """Give a table a name."""
        if not isinstance(name, str) or not name:
            raise ArgumentError.here(f"create_view got the name {name!r}", hint="Pass a name.")
        if name in self._tables:
            raise ArgumentError.here(
                f"there is a table or view {name!r} already", hint="Use another name, or drop it."
            )
        self._tables[name] = table

    def create_function(self, name: str, function: Any) -> None:
        """Give a function of the user a name."""
        self._functions[name.lower()] = named_function(name, function)

    @_by_recursion
    def execute(
        self, script: str, file: str | None = None, show: Callable[[SqlResult], None] | None = None
    ) -> SqlResult:
        """Carry out the statements of a script.

        INSERTs that follow each other are one job, which runs before the next SELECT and at the end of the script.
        """
        self._job = None
        result = SqlResult.done("nothing")
        for statement in parse_script(script, file):
            if not isinstance(statement, _ADDS_TO_JOB):
                self._run(show)
            result = self.apply(statement)
            if show is not None:
                show(result)
        ran = self._run(show)
        return result if ran is None else ran

    @_by_recursion
    def add(self, script: str, file: str | None = None) -> None:
        """Carry out the statements of a script, but start no job: INSERTs become sinks of the program."""
        self._job = None
        for statement in parse_script(script, file):
            if isinstance(statement, Select):
                raise SqlError.here(
                    f"a SELECT whose rows go nowhere ({statement.place})",
                    hint="INSERT INTO a table.",
                )
            self.apply(statement)
        job, self._job = self._job, None
        if job is not None:
            with in_zone_of(self.environment):
                job.build()

    @_by_recursion
    def explained(self, script: str, file: str | None = None) -> str:
        """Return the plan of a script as text, without running it: relations, then the plan of the job.

        Its INSERTs and SELECTs are planned as one job.
        """
        job = SqlJob(self.environment, self)
        parts: list[str] = []
        for statement in parse_script(script, file):
            if isinstance(statement, Select | Insert | StatementSet):
                with self._binding(statement):
                    parts.append(job.explained(statement))
                    job.add_all(statement)
            else:
                result = self.apply(statement)
                parts += [result.text] if result.is_answer and result.text else []
        with in_zone_of(self.environment):
            job.build()
        if self.environment.graph.has_sink():
            parts.append(self.environment.explain())
        return "\n\n".join(parts)

    @staticmethod
    def is_complete(text: str) -> bool:
        """Return whether a typed text ends with a whole statement."""
        return ends_statement(text)

    def apply(self, statement: Statement) -> SqlResult:
        """Carry out one statement; an INSERT is added to the job that runs next."""
        with self._binding(statement):
            return _APPLY[type(statement)](self, statement)

    @contextmanager
    def _binding(self, statement: Statement) -> Iterator[None]:
        """Bind a statement: in the zone of the session, and errors have its line."""
        with in_zone_of(self.environment), statement.place.as_line_of_user():
            yield

    def _run(self, show: Callable[[SqlResult], None] | None) -> SqlResult | None:
        """Run the job of the INSERTs so far, if there are some."""
        job, self._job = self._job, None
        if job is None:
            return None
        with in_zone_of(self.environment):
            job.build()
        result = SqlResult.of_job(self.environment.execute(job.name))
        if show is not None:
            show(result)
        return result

    # Statements

    def create_table(self, statement: CreateTable) -> SqlResult:
        """Make a table of a connector."""
        name = _simple(statement.name)
        if name in self._tables:
            if statement.if_not_exists:
                return SqlResult.done(f"table {name} is there")
            raise _exists("table or view", name, statement.place)
        self._tables[name] = ConnectorTable(self._like(statement), self)
        return SqlResult.done(f"table {name} created")

    def _like(self, statement: CreateTable) -> CreateTable:
        """Return a statement with the columns and options of the table that it is like."""
        if statement.like is None:
            return statement
        other = self._tables.get(_simple(statement.like))
        if not isinstance(other, ConnectorTable):
            raise self._unknown("table", statement.like, statement.place)
        return statement.merged_with(other.statement)

    def create_view_of(self, statement: CreateView) -> SqlResult:
        """Give a query a name."""
        name = _simple(statement.name)
        if name in self._tables and not statement.is_replacing:
            if statement.if_not_exists:
                return SqlResult.done(f"view {name} is there")
            raise _exists("table or view", name, statement.place)
        if name in self._tables and not isinstance(self._tables[name], SqlView):
            raise _exists("table", name, statement.place)
        view = SqlView(statement.query, statement.columns)
        former = self._tables.pop(name, None)  # a view cannot read itself, nor views that read it
        try:
            SqlJob(self.environment, self).check_view(view, statement.place)  # now, or never
        except BaseException:
            if former is not None:
                self._tables[name] = former
            raise
        self._tables[name] = view
        return SqlResult.done(f"view {name} created")

    def create_function_of(self, statement: CreateFunction) -> SqlResult:
        """Give a function of a module a name."""
        name = _simple(statement.name)
        if name.lower() in self._functions and not statement.is_replacing:
            if statement.if_not_exists:
                return SqlResult.done(f"function {name} is there")
            raise _exists("function", name, statement.place)
        self._functions[name.lower()] = declared_function(name, statement.target, statement.place)
        return SqlResult.done(f"function {name} created")

    def drop(self, statement: Drop) -> SqlResult:
        """Forget a table, view or function."""
        name = _simple(statement.name)
        kind = statement.kind.lower()
        owner: dict[str, Any] = self._functions if kind == "function" else self._tables
        known = [
            key
            for key, entry in owner.items()
            if kind == "function" or _is_table(entry) == (kind == "table")
        ]
        key = name.lower() if kind == "function" else name
        if key not in known:
            if statement.if_exists:
                return SqlResult.done(f"there is no {kind} {name}")
            if key in owner:
                other = "table" if kind == "view" else "view"
                raise SqlError.here(
                    f"{name!r} is a {other} ({statement.place})",
                    hint=f"DROP {other.upper()} {name}.",
                )
            raise self._unknown(kind, statement.name, statement.place)
        del owner[key]
        return SqlResult.done(f"{kind} {name} dropped")

    def insert(self, statement: Insert) -> SqlResult:
        """Add an insertion to the job that runs next."""
        self._next_job().add(statement)
        return SqlResult.done(f"insertion into {_simple(statement.target)} planned")

    def insert_all(self, statement: StatementSet) -> SqlResult:
        """Add insertions to the job that runs next."""
        self._next_job().add_all(statement)
        return SqlResult.done(f"{len(statement.inserts)} insertions planned")

    def _next_job(self) -> SqlJob:
        if self._job is None:
            self._job = SqlJob(self.environment, self)
        return self._job

    def select(self, statement: Select) -> SqlResult:
        """Return the rows of a query, which a job computes lazily."""
        job = SqlJob(self.environment, self)
        relation = job.relation(statement.query)
        return SqlResult.of_rows(*job.selected(relation), relation)

    def explain(self, statement: Explain) -> SqlResult:
        """Return the plan of a statement as text."""
        job = SqlJob(self.environment, self)
        return SqlResult.of_text(job.explained_with_plan(statement.statement))

    def describe(self, statement: Describe) -> SqlResult:
        """Return the columns of a table or view."""
        job = SqlJob(self.environment, self)
        schema = job.schema_of(statement.name, statement.place)
        return described(schema)

    def show(self, statement: Show) -> SqlResult:
        """Return names, or the text of a table or view."""
        if statement.name is not None:
            table = self._tables.get(_simple(statement.name))
            if table is None:
                raise self._unknown("table", statement.name, statement.place)
            return SqlResult.of_text(text_of_table(table, _simple(statement.name)))
        names = {
            "TABLES": self._tables,
            "VIEWS": [key for key, entry in self._tables.items() if not _is_table(entry)],
            "FUNCTIONS": self._functions,
        }[statement.what]
        heading = f"{statement.what.lower()[:-1]} name"
        return SqlResult.of_values((heading,), [(name,) for name in sorted(names)])

    def set_option(self, statement: SetOption) -> SqlResult:
        """Set or reset an option, or return all."""
        configuration = self.environment.get_configuration()
        key, value = statement.key, statement.value
        if key is None:
            return SqlResult.of_values(("key", "value"), sorted(configuration.shown().items()))
        former = configuration.get_string(key, None)
        try:
            if value is None:
                configuration.remove_config(key)
            else:
                configuration.set_string(key, value)
                configuration.validate()
        except ConfigError as cause:
            configuration.remove_config(key)
            if former is not None:
                configuration.set_string(key, former)
            raise SqlError.here(
                f"SET of {key!r} at {statement.place}: {cause.problem}", hint=cause.hint
            ) from cause
        shown = HIDDEN if is_secret(key) else value
        return SqlResult.done(f"{key} reset" if value is None else f"{key} = {shown}")

    def _unknown(self, kind: str, name: Name, place: TextPlace) -> SqlError:
        known = tuple(self._functions if kind == "function" else self._tables)
        shown = _simple(name)
        return SqlError.here(
            f"there is no {kind} {shown!r} ({place}){did_you_mean(shown, known)}",
            hint=f"Use one of: {', '.join(known) or 'none'}.",
        )


_ADDS_TO_JOB = (Insert, StatementSet, CreateTable, CreateView, CreateFunction)
"""Statements before which the job of the INSERTs so far does not have to run."""

_APPLY: Mapping[type, Callable[[SqlSession, Any], SqlResult]] = {
    CreateTable: SqlSession.create_table,
    CreateView: SqlSession.create_view_of,
    CreateFunction: SqlSession.create_function_of,
    Drop: SqlSession.drop,
    Insert: SqlSession.insert,
    StatementSet: SqlSession.insert_all,
    Select: SqlSession.select,
    Explain: SqlSession.explain,
    Describe: SqlSession.describe,
    Show: SqlSession.show,
    SetOption: SqlSession.set_option,
}
"""Class of a statement to what carries it out."""


def _simple(name: Name) -> str:
    """Return a name without the catalogue and database that every name has."""
    parts = name
    for begin in (DEFAULT_NAMES, DEFAULT_NAMES[1:]):
        if len(name) > len(begin) and name[: len(begin)] == begin:
            parts = name[len(begin) :]
            break
    return ".".join(parts)


def _is_table(table: SqlTable | SqlView) -> bool:
    return isinstance(table, ConnectorTable)


def _exists(kind: str, name: str, place: TextPlace) -> SqlError:
    return SqlError.here(
        f"there is a {kind} {name!r} already ({place})",
        hint="Drop it before, write IF NOT EXISTS, or use another name.",
    )
