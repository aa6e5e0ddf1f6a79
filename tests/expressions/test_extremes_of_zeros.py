"""Extremes of NaN and zeros: one order for columns and SQL, in Arrow and in Python. Spark is compared in tests/spark.

Catches: a kernel that leaves NaN out, a zero whose sign depends on the place of an argument or on the order of records.
"""

from __future__ import annotations

import math
from itertools import permutations

import pyarrow as pa
import pytest

from penstock.expressions.arrow.kernels import KERNELS
from penstock.expressions.python import arithmetic
from penstock.expressions.tree import Call
from penstock.sql.functions.accumulators import OF_VALUES
from penstock.types import Types

IN_ORDER = [-math.inf, -1.0, -0.0, 0.0, 1.0, math.inf, math.nan]
PAIRS = [(low, high) for at, low in enumerate(IN_ORDER) for high in IN_ORDER[at:]]


@pytest.mark.parametrize(("low", "high"), PAIRS)
@pytest.mark.parametrize("kind", [(Types.DOUBLE(), pa.float64()), (Types.FLOAT(), pa.float32())])
def test_the_order_is_that_of_java(low: float, high: float, kind) -> None:
    declared, stored = kind
    for pair in permutations((low, high)):
        columns = [pa.array([value], stored) for value in pair]
        for name, wanted in (("least", low), ("greatest", high)):
            found = KERNELS[name](Call(name, (), (), declared), *columns)[0].as_py()
            assert repr(found) == repr(wanted)
            assert repr(getattr(arithmetic, name)(*pair)) == repr(wanted)
            of_rows = OF_VALUES[{"least": "MIN", "greatest": "MAX"}[name]]
            assert repr(of_rows(pair)) == repr(wanted)


def test_null_stays() -> None:
    columns = [pa.array([None, 1.0]), pa.array([1.0, None])]
    for name in ("least", "greatest"):
        assert KERNELS[name](Call(name, (), (), Types.DOUBLE()), *columns).to_pylist() == [None] * 2
