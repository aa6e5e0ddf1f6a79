"""The queries of a SQL script as a program with one more way: DuckDB, over the rows of their tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pyarrow as pa

from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.config.configuration import Configuration
from penstock.config.options import RUNTIME_MODE, RuntimeExecutionMode
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.extras import EXTRAS
from penstock.graph.logical import LogicalGraph
from penstock.program.operators import SINK
from penstock.sql.catalogue import SqlView
from penstock.sql.duckdb_text import (
    Kinds,
    NotInDuckDbError,
    ViewText,
    all_rows,
    duckdb_text,
    tables_in,
)
from penstock.sql.grammar import parse_script
from penstock.sql.insertions import SqlJob
from penstock.sql.place import TextPlace
from penstock.sql.scalar_binding.zone import in_zone_of
from penstock.sql.statements import (
    CreateFunction,
    CreateTable,
    CreateView,
    Drop,
    Insert,
    Select,
    SetOption,
    Statement,
    StatementSet,
)
from penstock.testing.law.comparison import Received
from penstock.testing.law.engine import judge
from penstock.testing.law.outcomes import CheckedProgram, WayOutcome
from penstock.testing.law.own_samples import Samples
from penstock.testing.law.rules import SinkAnswer, SinkRule
from penstock.testing.law.samples import Inputs
from penstock.testing.law.verdict import LawVerdict
from penstock.testing.law.ways import Way
from penstock.types import Row, RowTypeInfo
from penstock.types.arrow import arrow_columns, arrow_schema


@cache
def connection() -> Any:
    """Return the connection of this process: one costs more than most queries of tests."""
    return EXTRAS["duckdb"].load().connect(config={"threads": 1})


def duckdb_rows(query: str, tables: Mapping[str, pa.Table]) -> list[tuple[Any, ...]]:
    """Return the rows of a query, in the dialect of DuckDB, over tables."""
    there = connection()
    for name, table in tables.items():
        there.register(name, table)
    try:
        rows: list[tuple[Any, ...]] = there.execute(query).fetchall()
        return rows
    finally:
        for name in tables:
            there.unregister(name)


_NAMES = (CreateTable, CreateView, CreateFunction)
_BEFORE = (*_NAMES, Drop, SetOption)
_NOWHERE = TextPlace(1, 1)
_FINAL = SinkRule(SinkAnswer.NET_CHANGES)


class _DuckDbFailure(Exception):  # noqa: N818 - a note, and no error
    """DuckDB refuses a query."""


@dataclass(frozen=True, slots=True)
class ComparedQuery:
    """A query of the script.

    Attributes:
        name: Name of the table that it is inserted into.
    """

    name: str
    text: str
    tables: tuple[str, ...]


def compared_with_duckdb(
    verdict: LawVerdict, script: str, file: str, samples: Samples, names: Mapping[int, str]
) -> LawVerdict:
    """Return a verdict of the first job of a script to which the comparison of its final rows with DuckDB is added.

    `names` has the names of the sources of the samples.
    """
    reader = _ScriptReader(script, file)
    by_name = {names[source]: sample for source, sample in samples.inputs.items()}
    notes = [f"{name} is not compared with DuckDB: {why}" for name, why in reader.refused.items()]
    if not reader.queries:
        return replace(verdict, notes=(*verdict.notes, *notes))
    program = reader.program()
    inputs = {node.id: by_name[node.name] for node in program.sources}
    try:
        other = judge(program, Samples(inputs), [Way(), Way(on_duckdb=True)])
    except _DuckDbFailure as failure:
        return replace(verdict, notes=(*verdict.notes, *notes, str(failure)))
    shown = ", ".join(query.name for query in reader.queries)
    if other.is_same:
        notes.append(f"DuckDB has the same final rows: {shown}")
    return replace(
        verdict,
        ways=verdict.ways + 1,
        disagreement=other.disagreement,
        notes=(*verdict.notes, *notes),
    )


class _ScriptReader:
    """The first job of a script, in an environment of its own: queries that DuckDB can express, and the reasons of others."""

    def __init__(self, script: str, file: str) -> None:
        self.refused: dict[str, str] = {}
        self.queries: list[ComparedQuery] = []
        self._environment = StreamExecutionEnvironment.get_execution_environment()
        self._session = self._environment.sql_session
        queries = list(self._queries(parse_script(script, file)))
        self._environment.get_configuration().set(RUNTIME_MODE, RuntimeExecutionMode.BATCH)
        self._job = SqlJob(self._environment, self._session)
        for name, query in queries:
            try:
                self.queries.append(self._compared(name, query))
            except NotInDuckDbError as part:
                self.refused[name] = f"it has no counterpart of {part}"
        self._trees = dict(queries)

    def _queries(self, statements: Sequence[Statement]) -> Iterator[tuple[str, Any]]:
        """Carry out what is before the first job, and yield the queries of the job."""
        count = 0
        for statement in statements:
            if isinstance(statement, Select):
                if count == 0:
                    yield "SELECT", statement.query
                return
            if isinstance(statement, Insert | StatementSet):
                inserts = statement.inserts if isinstance(statement, StatementSet) else (statement,)
                for insert in inserts:
                    count += 1
                    yield f"INSERT {count} INTO {'.'.join(insert.target)}", insert.query
            elif count and not isinstance(statement, _NAMES):
                return
            elif isinstance(statement, _BEFORE):
                self._session.apply(statement)

    def _compared(self, name: str, query: Any) -> ComparedQuery:
        views: dict[str, ViewText] = {}
        tables: dict[str, None] = {}
        self._add_names(query, views, tables)
        kinds = self._kinds([*tables, *views])
        text = duckdb_text(query, kinds, tuple(views.values()))
        return ComparedQuery(name, text, tuple(tables))

    def _add_names(self, query: Any, views: dict[str, ViewText], tables: dict[str, None]) -> None:
        """Add the tables below a query, and the views, those first that others read."""
        for name in tables_in(query):
            relation = self._session.find((name,))
            if isinstance(relation, SqlView):
                self._add_names(relation.query, views, tables)
                views.setdefault(name, ViewText(name, relation.columns, relation.query))
            else:
                tables[name] = None

    def _kinds(self, names: Sequence[str]) -> Kinds:
        kinds: dict[str, frozenset[Any]] = {}
        for name in names:
            for column in self._job.schema_of((name,), _NOWHERE).columns:
                kinds[column.name] = kinds.get(column.name, frozenset()) | {column.type}
        return kinds

    def program(self) -> _SqlProgram:
        """Return the program of the queries, and of the rows of their tables."""
        tables = tuple(dict.fromkeys(name for query in self.queries for name in query.tables))
        with in_zone_of(self._environment):
            for name in tables:
                self._add(name, all_rows(name))
            for query in self.queries:
                self._add(query.name, self._trees[query.name])
        graph = self._environment.graph.logical_graph()
        configuration = self._environment.get_configuration()
        return _SqlProgram(graph, configuration, tables, tuple(self.queries))

    def _add(self, name: str, query: Any) -> None:
        rows, _ = self._job.selected(self._job.relation(query))
        rows.sink_to(DiscardingSink()).name(name)


class _SqlProgram(CheckedProgram):
    """A program whose first sinks get the rows of tables, and the others those of queries, which DuckDB can compute."""

    def __init__(
        self,
        graph: LogicalGraph,
        configuration: Configuration,
        tables: tuple[str, ...],
        queries: tuple[ComparedQuery, ...],
    ) -> None:
        rules = {node.name: _FINAL for node in graph.of_kind(SINK)}
        super().__init__(graph, configuration, rules)
        self._tables = tables
        self._queries = queries

    def run(self, inputs: Inputs, way: Way) -> WayOutcome:
        outcome = super().run(inputs, Way())
        if not way.on_duckdb or outcome.failure is not None:
            return outcome
        own = outcome.received[: len(self._tables)]
        kinds = [self.graph.node(node.inputs[0]).type_info for node in self.graph.of_kind(SINK)]
        tables = {
            name: _arrow_table(kind, received.answer)
            for name, kind, received in zip(self._tables, kinds, own, strict=False)
        }
        of_queries = zip(self._queries, kinds[len(own) :], strict=True)
        return WayOutcome(
            (
                *own,
                *(Received(way, _rows(query, kind, tables), _FINAL) for query, kind in of_queries),
            )
        )


def _arrow_table(kind: Any, rows: Sequence[Any]) -> pa.Table:
    assert isinstance(kind, RowTypeInfo), "rows of a table have a declared type"
    columns = arrow_columns(kind, kind.coerce_batch(list(rows)))
    return pa.Table.from_arrays(columns, schema=arrow_schema(kind))


def _rows(query: ComparedQuery, kind: Any, tables: Mapping[str, pa.Table]) -> list[Row]:
    assert isinstance(kind, RowTypeInfo), "rows of a query have a declared type"
    try:
        rows = duckdb_rows(query.text, {name: tables[name] for name in query.tables})
    except EXTRAS["duckdb"].load().Error as cause:
        first = str(cause).partition("\n")[0]
        raise _DuckDbFailure(
            f"no query is compared with DuckDB: {query.name} fails there: {first}"
        ) from cause
    return [Row(**dict(zip(kind.field_names, row, strict=True))) for row in rows]
