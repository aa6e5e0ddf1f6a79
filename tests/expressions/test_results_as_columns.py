"""A selection behind aggregates reads their results as columns, and returns what it returns of rows.

Catches: results that reach a selection twice or in another order, values that change on the way, an output without its records
because another one gets columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings

from penstock.common import Row
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import DiscardingSink
from penstock.runtime.operators.expressions import ExpressionOperator
from penstock.runtime.task.chain import OperatorChain
from penstock.testing import Schedule, run_in_process
from tests.expressions import test_aggregates, test_window_aggregates
from tests.expressions.test_aggregates import AGGREGATED, COLUMNS, MODES, SCHEDULES
from tests.expressions.test_window_aggregates import MADE, RECORDS

AS_ROWS = mock.patch.object(OperatorChain, "_only_reader", return_value=None)
SHAPES = ["tumbling", "sliding", "gaps", "keys"]


def without_time(row: Row) -> Row:
    return Row(**{name: row[name] for name in COLUMNS})


def program(
    mode: str, shape: str, history: list[Row], live: list[Row], aggregates: dict[str, Any]
) -> StreamExecutionEnvironment:
    def select(results: Any) -> Any:
        # One field as it is, one that kernels compute, and a condition.
        computed = {name: col[name] for name in aggregates} | {"more": col.n + 1}
        return results.where(col.n != 2).select(col.k, **computed)

    if shape == "keys":
        before, behind = ([without_time(row) for row in part] for part in (history, live))
        return test_aggregates.program(MODES[mode], before, behind, aggregates, select)
    return test_window_aggregates.program(
        MODES[mode], shape, history, live, aggregates, select=select
    )


@contextmanager
def counted() -> Iterator[list[int]]:
    """Collect the numbers of rows that a selection got as columns."""
    rows: list[int] = []

    def collect_columns(self: ExpressionOperator, batch: Any, timestamps: Any = None) -> None:
        rows.append(batch.num_rows)
        original(self, batch, timestamps)

    original = ExpressionOperator.collect_columns
    with mock.patch.object(ExpressionOperator, "collect_columns", collect_columns):
        yield rows


def results_of(
    env: StreamExecutionEnvironment, schedule: Schedule
) -> tuple[list[str], dict[str, list[str]]]:
    """Return all results, and those of each key in their order, as text: NaN is equal to itself."""
    of_key: dict[str, list[str]] = {}
    results = run_in_process(env, schedule).of()
    for row in results:
        of_key.setdefault(str(row.k), []).append(repr(row))
    return sorted(map(repr, results)), of_key


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", SHAPES)
@given(history=RECORDS, live=RECORDS, schedule=SCHEDULES)
@settings(max_examples=10, deadline=None)
def test_a_selection_returns_of_columns_what_it_returns_of_rows(
    mode: str, shape: str, history: list[Row], live: list[Row], schedule: Schedule
) -> None:
    env = program(mode, shape, history, live, AGGREGATED)
    as_columns = results_of(env, schedule)
    with AS_ROWS:
        assert results_of(env, schedule) == as_columns


@pytest.mark.parametrize("shape", SHAPES)
def test_a_selection_reads_results_as_columns(shape: str) -> None:
    rows = [Row(**dict.fromkeys(MADE) | {"at_ms": at, "k": "abc"[at % 3]}) for at in range(20)]
    env = program("batch", shape, rows, [], {"n": col.count()})
    with counted() as read:
        results, _ = results_of(env, Schedule())
    assert sum(read) >= len(results) > 0
    with counted() as read, AS_ROWS:
        assert results_of(env, Schedule())[0] == results
    assert read == []


def test_an_operator_with_two_readers_sends_rows() -> None:
    rows = [Row(**dict.fromkeys(COLUMNS) | {"k": "a"})]
    outputs: list[Any] = []

    def select(results: Any) -> Any:
        outputs.append(results.select(col.k, twice=col.n * 2))
        return results.select(col.k, col.n)

    env = test_aggregates.program(MODES["batch"], rows, [], {"n": col.count()}, select)
    outputs[0].sink_to(DiscardingSink())
    with counted() as read:
        results = run_in_process(env)
    assert read == []
    assert {tuple(row) for sink in (0, 1) for row in results.of(sink)} == {("a", 1), ("a", 2)}
