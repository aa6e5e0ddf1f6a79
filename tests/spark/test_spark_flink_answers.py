"""Functions over edge values in Spark SQL: the answers are those of rows in Python, which are compared with Flink's.

Catches: a function that is in the table of those that Spark SQL has with the same meaning, and has another one for some value.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from penstock.expressions.facts import spark_type
from penstock.expressions.functions import ScalarExecutor, because
from penstock.expressions.tree import Call, Expression, Literal
from penstock.plan.placement.legality import narrowed
from penstock.relation.tree import Project, Scan, SqlColumn
from penstock.spark.expressions.queries import computed
from penstock.types.arrow_lists import columns_to_lists
from penstock.types.sql_types import STRING, SqlType
from tests.sql.flink_answers.aggregates import scalar_answers
from tests.sql.flink_answers.penstock_answers import (
    Answer,
    edge,
    python_text,
    shown,
    stored,
    typed,
)

TOGETHER = 400
ERRORS = 12
"""Expressions with an error that are computed: each of them is a job."""

Case = tuple[Answer, Expression, SqlType, Any]


@pytest.fixture(scope="module")
def edge_rows(session) -> tuple[Any, Scan]:
    """Return the row of edge values, and the table of it; a type that Spark SQL does not have is a text."""
    arrays, columns = [], []
    for column, value in zip(*edge(), strict=True):
        kind = spark_type(column.type)
        columns.append(SqlColumn(column.name, column.type if kind else STRING))
        arrays.append(stored(column, value) if kind else pa.nulls(1, pa.string()))
    table = pa.Table.from_arrays(arrays, names=[each.name for each in columns])
    return session.createDataFrame(table), Scan(name="edge", table=None, columns=tuple(columns))


@cache
def cases() -> tuple[Case, ...]:
    """Return what Spark SQL computes of the recorded expressions: with its type and the text in Python."""
    return tuple(_cases())


def _cases() -> Iterator[Case]:
    for answer in scalar_answers():
        scalar = typed(answer)
        if scalar is None or isinstance(scalar, Literal) or not _has_spark_types(scalar):
            continue
        expression = narrowed(scalar)
        if because(expression, ScalarExecutor.SPARK_SQL) is None:
            yield answer, expression, scalar.type, python_text(answer, scalar)


def _has_spark_types(scalar: Expression) -> bool:
    """Return whether queries have the types of an expression and of what it reads."""
    inside = scalar.arguments if isinstance(scalar, Call) else ()
    return spark_type(scalar.type) is not None and all(map(_has_spark_types, inside))


def texts(edge_rows, part: list[Case]) -> list[Any]:
    frame, rows = edge_rows
    columns = tuple(SqlColumn("", kind) for _, _, kind, _ in part)
    query = Project(input=rows, outputs=tuple(each for _, each, _, _ in part), columns=columns)
    found = computed(query, lambda _: frame).toArrow().to_batches()[0]
    values = [column[0] for column in columns_to_lists(found)]
    made = zip(part, values, strict=True)
    return [shown(kind, each.zone).of((value,))[0] for (each, _, kind, _), value in made]


def test_spark_sql_has_the_answers_of_rows_in_python(edge_rows) -> None:
    wanted = [each for each in cases() if each[3] is not False]
    assert len(wanted) > TOGETHER
    wrong = []
    for start in range(0, len(wanted), TOGETHER):
        part = wanted[start : start + TOGETHER]
        for (answer, *_, ours), found in zip(part, texts(edge_rows, part), strict=True):
            if found != ours:
                wrong.append((answer.expression, ours, found))
    assert not wrong, wrong[:20]


def test_spark_sql_fails_where_rows_in_python_do(edge_rows) -> None:
    failing = [each for each in cases() if each[3] is False]
    different = {each[1].function: each for each in failing if isinstance(each[1], Call)}
    assert different
    for each in list(different.values())[:ERRORS]:
        with pytest.raises(Exception, match=r"OVERFLOW|ZERO|INVALID|OUT_OF_RANGE"):
            texts(edge_rows, [each])
