"""Spark SQL has the meaning of Python for every call of the table of functions that it may compute, over values of every type.

Catches: a fact that claims more than Spark SQL does, and a builder that has another meaning for some value.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from penstock.expressions.facts import everywhere
from penstock.expressions.functions import FUNCTIONS, FunctionRow, ScalarExecutor
from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.relation.tree import Project, Scan, SqlColumn
from penstock.spark.expressions.builders import BUILDERS
from penstock.spark.expressions.queries import computed
from penstock.types.arrow import arrow_array, columns_to_lists
from penstock.types.sql_types import BIGINT, BOOLEAN, SqlType
from tests.expressions.generated import same
from tests.spark.conftest import Environment
from tests.sql.function_rows import (
    COLUMNS,
    calls,
    claimed,
    functions_of,
    rows,
    values_in_python,
)

PER_JOB = 150
NUMBER = Field("n", BIGINT, len(COLUMNS))


def column(at: int, kind: SqlType) -> pa.Array:
    values = [row[at] for row in rows()]
    if kind.name == "DECIMAL":
        return pa.array(values, pa.decimal128(kind.precision, kind.scale))
    return arrow_array(COLUMNS[at].name, kind.type_info, values)


def where(numbers: list[int], made: Expression) -> Expression:
    """Return an expression that is computed only of rows of some numbers."""
    chosen = Call("isin", (NUMBER,), tuple(numbers) or (-1,), BOOLEAN)
    return Call("case", (chosen, made, Literal(None, made.type)), kind=made.type)


def test_spark_sql_has_the_meaning_of_python_where_it_may_compute(session: SparkSession) -> None:
    made = list(calls(ScalarExecutor.SPARK_SQL))
    assert claimed(ScalarExecutor.SPARK_SQL) <= functions_of(made)
    arrays = [column(at, each.type) for at, each in enumerate(COLUMNS)]
    numbers = pa.array(range(len(rows())), pa.int64())
    names = [*(each.name for each in COLUMNS), "n"]
    frame = session.createDataFrame(pa.Table.from_arrays([*arrays, numbers], names=names))
    read = Scan(name="t", table=None, columns=(*COLUMNS, SqlColumn("n", BIGINT)))
    wrong = []
    for start in range(0, len(made), PER_JOB):
        part = made[start : start + PER_JOB]
        expected = [values_in_python(each) for each in part]
        outputs = [where(list(good), each) for each, good in zip(part, expected, strict=True)]
        made_of = tuple(SqlColumn("", each.type) for each in (NUMBER, *part))
        query = Project(input=read, outputs=(NUMBER, *outputs), columns=made_of)
        found = computed(query, lambda _: frame).toArrow().combine_chunks().to_batches()[0]
        places, *columns = columns_to_lists(found)
        for each, good, values in zip(part, expected, columns, strict=True):
            wrong += [
                (str(each), rows()[n], value, good[n])
                for n, value in zip(places, values, strict=True)
                if n in good and not same(value, good[n])
            ]
    assert not wrong, wrong[:5]


def test_a_builder_belongs_to_a_function_by_the_name_of_its_row(
    session: SparkSession, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers do not have the row, so only Spark SQL can compute it."""
    row = FunctionRow(python=lambda _: str.count, spark=everywhere, sql="VOWELS(STRING) INT")
    monkeypatch.setitem(FUNCTIONS, "vowels", row)
    monkeypatch.setitem(
        BUILDERS, "vowels", lambda _, text: sf.regexp_count(text, sf.lit("[aeiou]"))
    )
    env = environment("batch")
    rows = env.from_dataframe(session.createDataFrame([("aeon",), ("sky",), (None,)], "k string"))
    env.create_view("t", rows)
    made = env.sql("SELECT k, VOWELS(k) + 1 AS n FROM t WHERE VOWELS(k) IS DISTINCT FROM 7")
    found = {row.k: row.n for row in made.to_dataframe().collect()}
    assert found == {"aeon": 4, "sky": 1, None: None}
