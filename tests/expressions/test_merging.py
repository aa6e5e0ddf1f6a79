"""Kernels that merge parts, where versions of Arrow differ."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from penstock.expressions.arrow import merging

NAN = float("nan")


@pytest.mark.parametrize("how", ["min", "max"])
@pytest.mark.parametrize(
    "values", [[None, NAN, None, None, 1.0, None], [NAN, None, None, None, None, 1.0]]
)
def test_null_beside_nan_and_null_in_other_groups(how, values):
    columns = {
        "v": pa.chunked_array([values], pa.float64()),
        "k": pa.chunked_array([[1, 1, 2, 2, 3, 3]]),
    }
    asked: list[tuple[str, str]] = []
    finish = merging._extreme_float(columns, "v", how, asked)
    found = finish(pa.table(columns).group_by("k", use_threads=False).aggregate(asked)).to_pylist()
    assert math.isnan(found[0])
    assert found[1:] == [None, 1.0]
