"""Steps of expressions of columns on streams."""

from __future__ import annotations

from penstock.api.streams.data_stream import DataStream
from penstock.expressions.steps import ExpressionChain, Step
from penstock.expressions.typing import record_type
from penstock.sql.catalogue import SqlColumn
from penstock.types import Types
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row

Rows = DataStream[Row]


def row_type(columns: tuple[SqlColumn, ...]) -> RowTypeInfo:
    """Return the type of rows of some columns."""
    return Types.ROW_NAMED(
        [each.name for each in columns], [each.type.type_info for each in columns]
    )


def evaluated(rows: Rows, step: Step, name: str) -> Rows:
    """Return the results of a step of expressions of columns."""
    chain = ExpressionChain(record_type(rows.get_type(), name), (step,))
    return rows._evaluate(chain, name)  # noqa: SLF001 - as the methods of streams do


def in_python(name: str, because: str) -> str:
    """Return the name of an operator that computes rows in Python, for the plan."""
    return f"{name} (rows in Python: {because})"
