"""The table of functions: every row has a meaning in Python, and an executor that may compute a call has the same one.

Catches: a fact that claims more than an executor does; a row without a test; a function of SQL that needs more than one row.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.common import Configuration, Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.expressions.arrow.evaluation import Batch, evaluation
from penstock.expressions.arrow.kernels import KERNELS
from penstock.expressions.facts import everywhere
from penstock.expressions.functions import FUNCTIONS, LOGIC, FunctionRow, ScalarExecutor
from penstock.expressions.tree import named
from penstock.testing import Schedule, collect
from penstock.types.arrow import arrow_array, columns_to_lists
from tests.expressions.generated import same
from tests.sql.function_rows import (
    COLUMNS,
    calls,
    claimed,
    functions_of,
    rows,
    values_in_python,
)
from tests.sql.generated import materialized

NAMES = [each.name for each in COLUMNS]


def test_every_row_has_a_meaning_in_python_or_is_one_of_columns_only() -> None:
    for name, row in FUNCTIONS.items():
        assert row.python is not None or name in LOGIC or row.rule is not None, name


def batch_of(numbers: list[int]) -> Batch:
    def column(name: str) -> pa.Array:
        at = NAMES.index(name)
        values = [rows()[n][at] for n in numbers]
        return arrow_array(name, COLUMNS[at].type.type_info, values)

    return Batch(len(numbers), column)


def test_arrow_has_the_meaning_of_python_where_it_may_compute() -> None:
    made = list(calls(ScalarExecutor.ARROW))
    assert claimed(ScalarExecutor.ARROW) <= functions_of(made)
    wrong = []
    for each in made:
        values, evaluate = values_in_python(each), evaluation(named(each, NAMES))
        good = list(values)
        batch = pa.RecordBatch.from_arrays([evaluate(batch_of(good))], names=["x"])
        found = columns_to_lists(batch)[0]
        wrong += [
            (str(each), rows()[n], value, values[n])
            for n, value in zip(good, found, strict=True)
            if not same(value, values[n])
        ]
        for n in sorted(set(range(len(rows()))) - set(good))[:2]:
            with pytest.raises(pa.ArrowInvalid):
                evaluate(batch_of([n]))
    assert not wrong, wrong[:5]


def _vowels(text: str) -> int:
    return sum(letter in "aeiou" for letter in text)


@pytest.mark.parametrize(
    ("mode", "schedule"), [("BATCH", Schedule()), ("STREAMING", Schedule(batch_sizes=(1,)))]
)
def test_a_function_of_sql_is_one_row(
    monkeypatch: pytest.MonkeyPatch, mode: str, schedule: Schedule
) -> None:
    row = FunctionRow(python=lambda _: _vowels, sql="VOWELS(STRING) INT")
    monkeypatch.setitem(FUNCTIONS, "vowels", row)
    settings = {"execution.runtime-mode": mode, "parallelism.default": 2}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    kind = Types.ROW_NAMED(["k"], [Types.STRING()])
    env.create_view("t", env.from_collection([Row(k=k) for k in ("aeon", "sky", None)], kind))
    query = "SELECT k, VOWELS(k) + 1 AS n FROM t WHERE VOWELS(k) IS DISTINCT FROM 7"
    found = materialized(collect(env.sql(query), schedule))
    assert sorted(found, key=repr) == sorted([("aeon", 4), ("sky", 1), (None, None)], key=repr)
    assert "rows in Python: vowels" in env.execute_sql(f"EXPLAIN {query}").text


def test_a_kernel_belongs_to_a_function_by_the_name_of_its_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(_: str) -> int:
        raise AssertionError("Arrow computes it")

    def kernel(_: object, found: pa.Array) -> pa.Array:
        return pc.cast(pc.count_substring_regex(found, "[aeiou]"), pa.int32())

    row = FunctionRow(python=lambda _: refused, arrow=everywhere, sql="VOWELS(STRING) INT")
    monkeypatch.setitem(FUNCTIONS, "vowels", row)
    monkeypatch.setitem(KERNELS, "vowels", kernel)
    env = StreamExecutionEnvironment.get_execution_environment()
    kind = Types.ROW_NAMED(["k"], [Types.STRING()])
    env.create_view("t", env.from_collection([Row(k=k) for k in ("aeon", "sky")], kind))
    query = "SELECT k, VOWELS(k) AS n FROM t"
    assert sorted(materialized(collect(env.sql(query)))) == [("aeon", 3), ("sky", 0)]
    assert "rows in Python" not in env.execute_sql(f"EXPLAIN {query}").text
