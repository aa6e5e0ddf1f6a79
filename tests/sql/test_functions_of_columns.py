"""Functions that take columns: called for many rows at once, with the values of a call per row."""

from __future__ import annotations

import pickle

import pyarrow.compute as pc
import pytest

from penstock.common import Configuration, Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import PenstockError
from penstock.expressions.tree import Call, Field, Literal
from penstock.sql.functions.of_columns import ProjectColumns, calls_of_columns
from penstock.sql.udf import ScalarFunction, udf
from penstock.testing import Schedule, collect
from penstock.types.sql_types import BIGINT
from tests.sql.generated import materialized

ROW = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
ROWS = [Row(k=k, n=n) for k, n in [("a", 1), ("b", None), ("c", (1 << 53) + 1), ("a", -4)]]
CALLS = [  # how rows are cut
    ("BATCH", Schedule()),
    ("STREAMING", Schedule(batch_sizes=(1,))),
    ("STREAMING", Schedule(batch_sizes=(3,), restart_every=2)),
]


@udf(result_type="BIGINT", func_type="arrow")
def twice(column):
    return pc.multiply(column, 2)


@udf(result_type="STRING", func_type="pandas")
def shown(numbers, keys):
    return numbers.astype("string") + keys


@udf(result_type="BIGINT", func_type="arrow")
def only_positive(column):
    if pc.any(pc.less(column, 0)).as_py():
        raise ValueError("it is negative")
    return column


@udf(result_type="BIGINT", func_type="arrow")
def too_few(column):
    return column[:-1]


class Counted(ScalarFunction):
    """Notes how many rows it is given."""

    sizes: list[int] = []  # noqa: RUF012 - shared on purpose: the function is pickled

    def eval(self, column):
        Counted.sizes.append(len(column))
        return column


counted = udf(Counted(), result_type="BIGINT", func_type="arrow")


def answer(query: str, mode: str = "BATCH", schedule: Schedule | None = None):
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": mode, "parallelism.default": 2})
    )
    for name, function in (
        ("twice", twice),
        ("shown", shown),
        ("only_positive", only_positive),
        ("too_few", too_few),
        ("counted", counted),
    ):
        env.create_function(name, function)
    found = env.sql(query, {"t": env.from_collection(ROWS, ROW)})
    return sorted(materialized(collect(found, schedule)), key=repr)


@pytest.mark.parametrize(("mode", "schedule"), CALLS)
def test_how_rows_are_cut_changes_nothing(mode: str, schedule: Schedule) -> None:
    query = "SELECT k, twice(n + 1) + 1 AS m, shown(twice(n), k) AS s FROM t WHERE twice(n) > 0 OR k = 'b'"
    assert answer(query, mode, schedule) == [
        ("a", 5, "2a"),
        ("b", None, None),
        ("c", (1 << 54) + 5, "18014398509481986c"),
    ]


def test_rows_that_are_taken_back_keep_their_kinds() -> None:
    query = (
        "SELECT k, twice(total) AS total FROM (SELECT k, SUM(n) AS total FROM t GROUP BY k) AS s"
    )
    wanted = [("a", -6), ("b", None), ("c", (1 << 54) + 2)]
    assert answer(query, "STREAMING", Schedule(batch_sizes=(1,))) == wanted


def test_it_is_called_once_for_the_rows_of_a_task() -> None:
    Counted.sizes.clear()
    function = pickle.loads(pickle.dumps(_projection()))
    assert [tuple(row) for row in function(ROWS)] == [(row.n,) for row in ROWS]
    assert Counted.sizes == [len(ROWS)]


def _projection() -> ProjectColumns:
    call = Call("user:counted", (Field("", BIGINT, 1),), (counted.called,), BIGINT)
    return ProjectColumns(2, [call], ["m"])


def test_what_case_leaves_out_is_not_called() -> None:
    assert answer("SELECT CASE WHEN n > 0 THEN only_positive(n) END AS m FROM t WHERE k = 'a'") == [
        (1,),
        (None,),
    ]
    with pytest.raises(PenstockError, match=r"only_positive failed for \d rows"):
        answer("SELECT only_positive(n) AS m FROM t WHERE k = 'a'")


def test_calls_in_lazy_places_are_made_row_by_row() -> None:
    call = Call("user:counted", (Field("", BIGINT, 1),), (counted.called,), BIGINT)
    zero = Literal(0, BIGINT)
    assert calls_of_columns(Call("add", (zero, call), kind=BIGINT))
    assert calls_of_columns(Call("coalesce", (call, zero), kind=BIGINT))
    assert not calls_of_columns(Call("coalesce", (zero, call), kind=BIGINT))


def test_too_few_values_are_an_error() -> None:
    with pytest.raises(PenstockError, match=r"returned .* values for .* rows"):
        answer("SELECT too_few(n) AS m FROM t")
