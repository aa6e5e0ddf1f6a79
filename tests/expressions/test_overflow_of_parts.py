"""Overflow of aggregates: the aggregate and the key are named, and not the parts that are kept."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Configuration, Row, Types
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import DiscardingSink
from penstock.errors import ExpressionError
from penstock.testing import Schedule, run_in_process

ROW = Types.ROW_NAMED(["k", "n"], [Types.INT(), Types.LONG()])


def refused(mode: str, numbers: list[int], size: int, **aggregates: Any) -> ExpressionError:
    settings = Configuration().set_string("execution.runtime-mode", mode)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    rows = env.from_collection([Row(k=7, n=n) for n in numbers], ROW)
    rows.key_by(col.k).aggregate(**aggregates).sink_to(DiscardingSink())
    with pytest.raises(ExpressionError) as caught:
        run_in_process(env, Schedule(batch_sizes=(size,)))
    return caught.value


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("count", [3, 3000])
def test_a_sum_that_leaves_its_type(mode: str, size: int, count: int) -> None:
    error = refused(mode, [2**62] * count, size if count == 3 else count, total=col.n.sum())
    assert "failed on key 7: the sum of n is " in error.problem
    assert "more than LONG" in error.problem
    assert "Row(" not in error.problem
    assert __file__ in str(error.origin)


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
@pytest.mark.parametrize("how", ["variance", "stddev"])
def test_squares(mode: str, how: str) -> None:
    words = "the sum of the squares of n, which variance and stddev need"
    merged = refused(mode, [2**31 + 2**29] * 3, 1, spread=getattr(col.n, how)())
    assert f"failed on key 7: {words}, is " in merged.problem
    assert "squares(n)" not in merged.problem
    one = refused(mode, [2**32], 1, spread=getattr(col.n, how)())
    assert f"failed on record Row(k=7, n={2**32}): {words}: overflow" in one.problem
