"""The table of relations: which operators compute each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.api.streams.data_stream import DataStream
from penstock.expressions.steps import ExpressionChain, SelectStep, Step, WhereStep
from penstock.expressions.typing import record_type
from penstock.sql.catalogue import SqlColumn
from penstock.sql.lowering.rows import KeepRows, ProjectRows
from penstock.sql.relations.tree import Filter, Project, Scan, SqlRelation
from penstock.sql.scalars.columns import as_columns, columns_because, reader_of
from penstock.types import Types
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row

Rows = DataStream[Row]


def row_type(columns: tuple[SqlColumn, ...]) -> RowTypeInfo:
    """Return the type of rows of some columns."""
    return Types.ROW_NAMED(
        [each.name for each in columns], [each.type.type_info for each in columns]
    )


class Lowering:
    """Makes the streams of relations; equal relations are one stream.

    Attributes:
        environment: Of the program.
    """

    def __init__(self, environment: Any) -> None:
        """Make a lowering.

        Args:
            environment: The `StreamExecutionEnvironment`.
        """
        self.environment = environment
        self._made: dict[int, tuple[SqlRelation, Rows]] = {}

    def stream(self, relation: SqlRelation) -> Rows:
        """Return the stream of the rows of a relation, whose type has its columns."""
        found = self._made.get(id(relation))
        if found is None:
            found = self._made[id(relation)] = (relation, LOWER[type(relation)](self, relation))
        return found[1]


def _scan(lowering: Lowering, relation: Scan) -> Rows:
    return relation.table.make_stream(lowering.environment, relation.name)


def _filter(lowering: Lowering, relation: Filter) -> Rows:
    rows = lowering.stream(relation.input)
    because = columns_because(relation.condition)
    if because is not None:
        return rows.filter(KeepRows(relation.condition)).name(in_python("where", because))
    condition = as_columns(relation.condition, reader_of(_names(relation.input)))
    return evaluated(rows, WhereStep(condition), "where")


def _project(lowering: Lowering, relation: Project) -> Rows:
    rows = lowering.stream(relation.input)
    names = _names(relation)
    reasons = (columns_because(each) for each in relation.outputs)
    because = next((each for each in reasons if each is not None), None)
    if because is not None:
        made = rows.map(ProjectRows(relation.outputs, names), row_type(relation.columns))
        return made.name(in_python("select", because))
    read = reader_of(_names(relation.input))
    outputs = zip(names, (as_columns(each, read) for each in relation.outputs), strict=True)
    return evaluated(rows, SelectStep(tuple(outputs)), "select")


def evaluated(rows: Rows, step: Step, name: str) -> Rows:
    """Return the results of a step of expressions of columns."""
    chain = ExpressionChain(record_type(rows.get_type(), name), (step,))
    return rows._evaluate(chain, name)  # noqa: SLF001 - as the methods of streams do


def in_python(name: str, because: str) -> str:
    """Return the name of an operator that computes rows in Python, for the plan."""
    return f"{name} (rows in Python: {because})"


def _names(relation: SqlRelation) -> list[str]:
    return [each.name for each in relation.columns]


LOWER: Mapping[type[SqlRelation], Callable[[Lowering, Any], Rows]] = {
    Scan: _scan,
    Filter: _filter,
    Project: _project,
}
"""Class of a relation to what makes its stream."""
