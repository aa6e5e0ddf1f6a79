"""Kernels that merge parts in batches, compared with the merge of two parts in Python."""

from __future__ import annotations

import math
from functools import reduce
from itertools import pairwise, product
from typing import Any

import pyarrow as pa
import pytest

from penstock.expressions.arrow.merging import ColumnMerge
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.expressions.steps import ExpressionChain
from penstock.types import Row, Types

NAN = math.nan
PARTS = Types.ROW_NAMED(["k", "low", "high"], [Types.LONG(), Types.DOUBLE(), Types.DOUBLE()])
EXTREMES: Any = KeyedAggregate(PARTS, (None, "min", "max"), ExpressionChain(PARTS, ()))


def expected(records: list[Row]) -> dict[int, str]:
    groups: dict[int, list[Row]] = {}
    for record in records:
        groups.setdefault(record[0], []).append(record)
    return {key: repr(list(reduce(EXTREMES, rows))[1:]) for key, rows in groups.items()}


@pytest.mark.parametrize("length", [2, 3])
def test_extremes_are_those_of_python_however_records_are_split_into_batches(length):
    """Up to version 24, Arrow's `any` of groups reads a slice with NULL from the wrong place."""
    merge = ColumnMerge(EXTREMES)
    for keys in product((1, 2), repeat=length):
        for values in product((None, NAN, 1.0), repeat=length):
            records = [Row(*each) for each in zip(keys, values, values, strict=True)]
            for cut in range(length):
                ends = [0, cut, length] if cut else [0, length]
                batches = [
                    pa.RecordBatch.from_arrays(
                        [pa.array(keys[a:b]), *[pa.array(values[a:b], pa.float64())] * 2],
                        schema=merge.schema,
                    )
                    for a, b in pairwise(ends)
                ]
                found, _ = merge.merged(batches)
                made = {row["k"]: repr([row["low"], row["high"]]) for row in found.to_pylist()}
                assert made == expected(records), (keys, values, cut)
