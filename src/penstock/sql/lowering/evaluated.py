"""Steps of expressions of columns on streams."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.api.streams.data_stream import DataStream
from penstock.expressions.steps import ExpressionChain, Step
from penstock.expressions.tree import Expression
from penstock.expressions.typing import RecordType, record_type
from penstock.program.function_calls import BatchSpec
from penstock.program.operators import MAP_ROWS
from penstock.relation.tree import SqlColumn
from penstock.sql.functions.of_columns import ProjectColumns
from penstock.types import Types
from penstock.types.batch_forms import arrow_form
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row

Rows = DataStream[Row]


def row_type(columns: tuple[SqlColumn, ...]) -> RowTypeInfo:
    """Return the type of rows of some columns."""
    return Types.ROW_NAMED(
        [column.name for column in columns], [column.type.type_info for column in columns]
    )


def column_types(columns: tuple[SqlColumn, ...]) -> RowTypeInfo:
    """Return the type of rows of some columns, whose decimals have their digits."""
    return RowTypeInfo(
        [column.type.column_type for column in columns], [column.name for column in columns]
    )


def evaluated(rows: Rows, step: Step, name: str, records: RecordType | None = None) -> Rows:
    """Return the results of a step of expressions of columns, of records whose decimals may have digits."""
    chain = ExpressionChain(records or record_type(rows.get_type(), name), (step,))
    return rows._evaluate(chain, name)  # noqa: SLF001 - as the methods of streams do


_MOST_ROWS = 10_000
"""Rows of one call of functions of columns."""


def projected_by_columns(
    rows: Rows, width: int, outputs: Sequence[Expression], columns: tuple[SqlColumn, ...], name: str
) -> Rows:
    """Return rows of expressions, of which some call functions of columns of many rows at once."""
    result_type = row_type(columns)
    read = record_type(rows.get_type(), name)
    return rows._add(  # noqa: SLF001 - as the methods of streams do
        MAP_ROWS,
        f"{name} (functions of columns)",
        (rows.node_id,),
        result_type,
        function=ProjectColumns(width, outputs, result_type.field_names),
        batches=BatchSpec(read, result_type, arrow_form, _MOST_ROWS),
    )


def in_python(name: str, because: str) -> str:
    """Return the name of an operator that computes rows in Python, for the plan."""
    return f"{name} (rows in Python: {because})"
