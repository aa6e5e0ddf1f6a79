"""The kernels give every record the value of the reference, and fail on the records on which it fails.

Catches: a kernel with other rules for NULL, NaN, overflow or code points; an argument that is evaluated for
records that do not need it; records mixed up by masks. Spark SQL is compared in tests/spark.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common import Row
from penstock.errors import ExpressionError
from penstock.expressions.arrow.evaluation import EVALUATED
from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.facts import nowhere
from penstock.expressions.functions import FUNCTIONS
from penstock.expressions.signatures import CASTS
from penstock.expressions.steps import ExpressionChain, SelectStep, WhereStep
from penstock.expressions.tree import Call, Expression, Field
from penstock.expressions.typing import typed
from penstock.types.arrow import arrow_columns, arrow_schema
from tests.expressions.generated import BASIC, FIELDS, ROW, expressions, records, same
from tests.expressions.reference import EVALUATED as REFERENCED
from tests.expressions.reference import NoValueError, evaluate


def chain(*steps: Any) -> ChainEvaluation:
    return ChainEvaluation(ExpressionChain(ROW, steps), "test", None)


def expected(expression: Expression, rows: list[Row]) -> tuple[list[Row], list[Any], list[Row]]:
    """Return the records that have a value, these values, and the other records."""
    good, values, bad = [], [], []
    for row in rows:
        try:
            values.append(evaluate(expression, row.as_dict()))
        except NoValueError:
            bad.append(row)
        else:
            good.append(row)
    return good, values, bad


def test_all_functions_have_a_kernel_and_a_reference() -> None:
    evaluated = {name for name, row in FUNCTIONS.items() if row.arrow is not nowhere}
    assert evaluated == EVALUATED
    typed_by_columns = {name for name, row in FUNCTIONS.items() if row.rule is not None}
    assert typed_by_columns == REFERENCED | OF_AGGREGATES


OF_AGGREGATES = {
    "bucket",
    "joined",
    "quotient",
    "weight",
    "tally",
    "tally_size",
    "quantile",
    "variance",
    "limbs",
    "times",
    "limb_quotient",
    "limb_variance",
    "ordinal",
    "of_ordinal",
    "decimal_limbs",
    "decimal_quotient",
    "packed",
    "folded",
    "user_result",
    "of_values",
    "over_values",
}
"""The law of aggregates compares them (`test_aggregates`)."""


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(expressions(), st.lists(records(), min_size=1, max_size=8))
def test_kernels_agree_with_the_reference(tree: Expression, rows: list[Row]) -> None:
    expression = typed(tree, ROW, "test")
    good, values, bad = expected(expression, rows)
    select = chain(SelectStep((("x", expression), ("kept", Field("texts", FIELDS["texts"])))))
    if good:
        found, stamps = select.of_records(good, list(range(len(good))))
        assert stamps == list(range(len(good)))
        for row, value, record in zip(found, values, good, strict=True):
            assert same(row.x, value), (expression, record)
            assert row.kept == record.texts
    for record in bad:
        with pytest.raises(ExpressionError):
            select.of_records([*good, record], None)


@pytest.mark.parametrize("function", ["add", "subtract"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_large_decimal_beside_null_is_not_added(function: str, swapped: bool) -> None:
    fields = (Field("bigdecimal_1"), Field("byte_1"))
    tree = Call(function, fields[::-1] if swapped else fields)
    rows = [
        Row(**(dict.fromkeys(FIELDS) | {"bigdecimal_1": Decimal(10**19 + digit), "byte_1": None}))
        for digit in range(2)
    ]
    made, _ = chain(SelectStep((("x", typed(tree, ROW, "test")),))).of_records(rows, None)
    assert [row.x for row in made] == [None, None]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(expressions("Boolean"), expressions(), st.lists(records(), min_size=1, max_size=8))
def test_steps_of_records_and_of_columns(
    condition: Expression, tree: Expression, rows: list[Row]
) -> None:
    where, made = typed(condition, ROW, "test"), typed(tree, ROW, "test")
    good, chosen, _ = expected(where, rows)
    kept = [row for row, is_chosen in zip(good, chosen, strict=True) if is_chosen]
    kept, values, bad = expected(made, kept)
    good = [row for row in good if not any(row is each for each in bad)]
    if not good:
        return
    steps = (
        WhereStep(where),
        SelectStep((("x", made), ("y", made))),
        SelectStep((("z", Field("y", made.type_info)),)),
    )
    found, _ = chain(*steps).of_records(good, None)
    assert all(same(row.z, value) for row, value in zip(found, values, strict=True))
    only, _ = chain(WhereStep(where)).of_records(good, None)
    assert all(a is b for a, b in zip(only, kept, strict=True))
    batch = pa.RecordBatch.from_arrays(arrow_columns(ROW, good), schema=arrow_schema(ROW))
    columns, _ = chain(*steps).of_columns(batch)
    assert all(same(row.z, value) for row, value in zip(columns, values, strict=True))


@pytest.mark.parametrize(
    ("source", "target"), [(s, t) for s, targets in CASTS.items() for t in sorted(targets)]
)
def test_every_cast_has_a_rule(source: str, target: str) -> None:
    tree = Call("cast", (Field(f"{source.lower()}_1"),), (BASIC[target],))
    empty = Row(**dict.fromkeys(FIELDS))
    (row,), _ = chain(SelectStep((("x", typed(tree, ROW, "test")),))).of_records([empty], None)
    assert row.x is None
