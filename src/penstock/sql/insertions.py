"""A job of statements: their relations, and the sinks that take their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from penstock.api.streams.data_stream import DataStream
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.errors import SqlError, did_you_mean
from penstock.expressions.tree import Expression, Field, Literal
from penstock.relation.identity import digest_of
from penstock.relation.ordered import unique_by
from penstock.relation.tree import Changelog, Project, Relation, SqlColumn
from penstock.sql.catalogue import SqlCatalogue, SqlTable, SqlView, TableSchema
from penstock.sql.lowering.lower import Lowering, runs_as_batch
from penstock.sql.place import TextPlace
from penstock.sql.query_binding.explain import explained
from penstock.sql.query_binding.select import QueryTranslator, final_rows
from penstock.sql.scalar_binding.conversions import converted
from penstock.sql.statements import Insert, Name, Select, StatementSet
from penstock.sql.tables.table import ConnectorTable
from penstock.types.row import Row
from penstock.types.sql_types import SqlType, common_type


class SqlJob:
    """The statements of one job. Tables and views that several of them read are read once."""

    def __init__(self, environment: Any, catalogue: SqlCatalogue) -> None:
        """Begin a job."""
        self._catalogue = catalogue
        self._translator = QueryTranslator(catalogue)
        self._lowering = Lowering(environment)
        self._writes: list[tuple[Insert, SqlTable, Relation]] = []
        self._shown: list[Relation] = []

    @property
    def name(self) -> str:
        """Name of the written table, for progress and messages."""
        names = dict.fromkeys(".".join(statement.target) for statement, _, _ in self._writes)
        return f"insert into {', '.join(names)}"

    def relation(self, query: Any) -> Relation:
        """Return the relation of a query."""
        return self._translator.relation(query)

    def check_view(self, view: SqlView, place: TextPlace) -> None:
        """Refuse a view whose query is wrong, or has more or fewer columns than the view names."""
        count = len(self.relation(view.query).columns)
        if view.columns and len(view.columns) != count:
            raise SqlError.here(
                f"{len(view.columns)} names for {count} columns of the view ({place})",
                hint="Name all columns.",
            )

    def stream(self, relation: Relation) -> DataStream[Row]:
        """Return the stream of a relation."""
        return self._lowering.stream(relation)

    def selected(self, relation: Relation) -> tuple[DataStream[Row], Changelog]:
        """Return the rows of a SELECT, and how they change those before."""
        is_batch = runs_as_batch(self._lowering.environment, [relation])
        if is_batch:
            return self.stream(final_rows(relation)), Changelog.INSERT_ONLY
        return self.stream(relation), relation.changelog

    def add(self, statement: Insert) -> None:
        """Plan an INSERT; `build` adds its sink to the program."""
        self._writes.append((statement, *self._insertion(statement)))

    def add_all(self, statement: Select | Insert | StatementSet) -> None:
        """Plan all that a statement computes; the rows of a SELECT go nowhere."""
        if isinstance(statement, Select):
            self._shown.append(self.relation(statement.query))
        elif isinstance(statement, Insert):
            self.add(statement)
        else:
            for insertion in statement.inserts:
                self.add(insertion)

    def build(self) -> None:
        """Add the sinks of all statements to the program."""
        relations = [*self._shown, *(relation for _, _, relation in self._writes)]
        is_batch = runs_as_batch(self._lowering.environment, relations)
        if is_batch:
            self._shown = [final_rows(relation) for relation in self._shown]
            self._writes = [
                (statement, table, final_rows(relation))
                for statement, table, relation in self._writes
            ]
        for write in self._writes:
            with write[0].place.as_line_of_user():
                _check_accepted(*write, is_batch=is_batch)
        for relation in self._shown:
            self.stream(relation).sink_to(DiscardingSink()).name("rows")
        written = Counter(statement.target for statement, _, _ in self._writes)
        taken = set[str]()
        for statement, table, relation in self._writes:
            changelog = Changelog.INSERT_ONLY if is_batch else relation.changelog
            name = ".".join(statement.target)
            with statement.place.as_line_of_user():
                sink = table.write(self.stream(relation), changelog, _key_of(relation), name)
            # A number would pass to another statement when one is added before it.
            digest = digest_of(relation)
            uid = f"into-{name}" if written[statement.target] == 1 else f"into-{name}-{digest}"
            if uid not in taken:  # else an equal statement has it
                taken.add(uid)
                sink.uid(uid).version(digest)
        self._lowering.name_operators()

    def schema_of(self, name: Name, place: TextPlace) -> TableSchema:
        """Return the schema of a table or view."""
        table = self._table(name, place)
        if not isinstance(table, SqlView):
            return table.schema
        relation = self.relation(table.query)
        names = table.columns or tuple(column.name for column in relation.columns)
        columns = zip(names, relation.columns, strict=True)
        return TableSchema(
            tuple(SqlColumn(name, column.type, column.is_time) for name, column in columns),
            _key_of(relation),
            relation.changelog,
        )

    def explained(self, statement: Select | Insert | StatementSet) -> str:
        """Return the relations of a statement as text, with changelog modes and what is kept."""
        placement = self._lowering.placement()
        if isinstance(statement, Select):
            return explained(self.relation(statement.query), placement)
        inserts = statement.inserts if isinstance(statement, StatementSet) else (statement,)
        return "\n".join(
            f"Sink {'.'.join(insertion.target)}\n{explained(self._insertion(insertion)[1], placement, 1)}"
            for insertion in inserts
        )

    def explained_with_plan(self, statement: Select | Insert | StatementSet) -> str:
        """Return the relations of a statement, and the plan of the job that it would be, as text."""
        environment = self._lowering.environment
        with environment.graph.draft():
            self.add_all(statement)
            self.build()
            placement = self._lowering.placement(environment.plan().graph)
            shown = [explained(relation, placement) for relation in self._shown]
            shown += [
                f"Sink {'.'.join(statement.target)}\n{explained(relation, placement, 1)}"
                for statement, _, relation in self._writes
            ]
            return "\n".join([*shown, "", environment.explain()])

    def _table(self, name: Name, place: TextPlace) -> SqlTable | SqlView:
        table = self._catalogue.find(name)
        if table is None:
            names = self._catalogue.names()
            shown = ".".join(name)
            raise SqlError.here(
                f"there is no table {shown!r} ({place}){did_you_mean(shown, names)}",
                hint=f"Use one of: {', '.join(names) or 'none'}.",
            )
        return table

    def _insertion(self, statement: Insert) -> tuple[SqlTable, Relation]:
        """Return the table, and the rows with its columns and types."""
        with statement.place.as_line_of_user():
            return self._bound(statement)

    def _bound(self, statement: Insert) -> tuple[SqlTable, Relation]:
        table = self._table(statement.target, statement.place)
        if isinstance(table, SqlView):
            raise SqlError.here(
                f"{'.'.join(statement.target)!r} is a view ({statement.place})",
                hint="INSERT INTO a table.",
            )
        if statement.options:
            if not isinstance(table, ConnectorTable):
                raise SqlError.here(
                    f"{'.'.join(statement.target)!r} has no options ({statement.place})",
                    hint="Remove the hint.",
                )
            table = table.with_options(statement.options)
        columns = _written(table.schema)
        relation = self.relation(statement.query)
        fitted = _fitted(relation, columns, statement)
        names = [column.name for column in columns]
        return table, unique_by(
            fitted, tuple(names.index(name) for name in table.schema.primary_key)
        )


def _check_accepted(
    statement: Insert, table: SqlTable, relation: Relation, *, is_batch: bool
) -> None:
    """Refuse rows that a table cannot take."""
    changelog = Changelog.INSERT_ONLY if is_batch else relation.changelog
    refusal = table.accepts(changelog, _key_of(relation))
    if refusal is None:
        return
    final = (
        ""
        if is_batch
        else "SET 'execution.runtime-mode' = 'BATCH' before it: then its rows are final. Or write"
    )
    raise SqlError.here(
        f"table {'.'.join(statement.target)!r} cannot take rows that are {changelog.value}: {refusal} ({statement.place})",
        hint=f"{final or 'Write'} to a table that can; docs/sql.md lists them.",
    )


def _written(schema: TableSchema) -> tuple[SqlColumn, ...]:
    names = schema.written
    return tuple(column for column in schema.columns if names is None or column.name in names)


def _key_of(relation: Relation) -> tuple[str, ...]:
    """Return the names of the smallest set of columns by which rows are unique."""
    if not relation.keys:
        return ()
    key = min(relation.keys, key=lambda key: (len(key), sorted(key)))
    return tuple(relation.columns[position].name for position in sorted(key))


def _fitted(relation: Relation, columns: Sequence[SqlColumn], statement: Insert) -> Relation:
    """Return the rows of a query with the columns of a table, in its order and types."""
    names = [column.name for column in columns]
    chosen = statement.columns or tuple(names)
    for name in chosen:
        if name not in names:
            raise _no_insertion(
                statement,
                f"there is no column {name!r} to write{did_you_mean(name, tuple(names))}",
                f"Its columns are {', '.join(names)}.",
            )
    if len(chosen) != len(relation.columns):
        raise _no_insertion(
            statement,
            f"the query has {len(relation.columns)} columns, and the table takes {len(chosen)}",
            f"Select a column for each of {', '.join(chosen)}.",
        )
    sources = {name: position for position, name in enumerate(chosen)}
    outputs: list[Expression] = []
    for column in columns:
        position = sources.get(column.name)
        if position is None:
            outputs.append(Literal(None, column.type))
            continue
        column_of_query = relation.columns[position]
        if not _is_assignable(column_of_query.type, column.type):
            raise _no_insertion(
                statement,
                f"the column {column.name!r} is {column.type}, and the query has {column_of_query.type} for it",
                f"CAST it: CAST({column_of_query.name} AS {column.type}).",
            )
        outputs.append(
            converted(Field(column_of_query.name, column_of_query.type, position), column.type)
        )
    places = {
        output.position: position
        for position, output in enumerate(outputs)
        if isinstance(output, Field)
    }
    keys = frozenset(
        frozenset(places[position] for position in key)
        for key in relation.keys
        if key <= places.keys()
    )
    return Project(
        input=relation,
        outputs=tuple(outputs),
        columns=tuple(SqlColumn(column.name, column.type) for column in columns),
        keys=keys,
        changelog=relation.changelog,
    )


def _is_assignable(given: SqlType, column_type: SqlType) -> bool:
    if given == column_type or common_type(given, column_type) == column_type:
        return True
    return given.name == column_type.name == "DECIMAL"


def _no_insertion(statement: Insert, problem: str, hint: str) -> SqlError:
    return SqlError.here(
        f"INSERT INTO {'.'.join(statement.target)}: {problem} ({statement.place})", hint=hint
    )
