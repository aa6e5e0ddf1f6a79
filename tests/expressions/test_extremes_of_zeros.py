"""Extremes of 0.0 and -0.0: of columns the first one, as in Spark and Python; of SQL in Java's order, as in Flink.

Catches: a kernel that takes the second of equal values, an order that depends on the place of an argument.
"""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from penstock.expressions.arrow.kernels import KERNELS
from penstock.expressions.tree import Call
from penstock.sql.scalars import arithmetic
from penstock.types import Types


@pytest.mark.parametrize("name", ["greatest", "least"])
@pytest.mark.parametrize("pair", [(0.0, -0.0), (-0.0, 0.0)])
def test_the_first_of_equal_zeros(name: str, pair: tuple[float, float]) -> None:
    columns = [pa.array([value], pa.float64()) for value in pair]
    found = KERNELS[name](Call(name, (), (), Types.DOUBLE()), *columns)[0].as_py()
    assert math.copysign(1.0, found) == math.copysign(1.0, pair[0])
    in_sql = getattr(arithmetic, name)(*pair)
    assert math.copysign(1.0, in_sql) == (1.0 if name == "greatest" else -1.0)
