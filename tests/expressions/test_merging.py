"""Kernels that merge parts in batches, compared with the merge of two parts in Python."""

from __future__ import annotations

import math
import random
from collections import Counter
from functools import reduce
from itertools import combinations, pairwise, product
from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource
from penstock.expressions.arrow.merging import ColumnMerge
from penstock.expressions.column import col
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.expressions.steps import ExpressionChain
from penstock.testing import Schedule, collect
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


KEYS: dict[str, tuple[Any, list[Any]]] = {
    "texts": (Types.STRING(), [f"a{n}" for n in range(400)]),
    "whole numbers": (Types.LONG(), list(range(400))),
    "truth": (Types.BOOLEAN(), [True, False, None]),
}


@pytest.mark.parametrize("names", [*combinations(KEYS, 1), *combinations(KEYS, 2)])
def test_keys_stay_in_the_order_in_which_they_first_come(names: tuple[str, ...]) -> None:
    rng = random.Random(0)  # noqa: S311 - examples, not secrets
    kinds = Types.ROW_NAMED([*names, "n"], [*(KEYS[name][0] for name in names), Types.LONG()])
    merges = (*(None for _ in names), "sum")
    merge = ColumnMerge(KeyedAggregate(kinds, merges, ExpressionChain(kinds, ())))
    rows = [(*(rng.choice(KEYS[name][1]) for name in names), 1) for _ in range(1000)]
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    made, _ = merge.merged([pa.RecordBatch.from_arrays(columns, schema=merge.schema)])
    found = list(zip(*(column.to_pylist() for column in made.columns[:-1]), strict=True))
    assert found == list(dict.fromkeys(row[:-1] for row in rows))


@pytest.mark.parametrize("names", list(combinations(KEYS, 1)))
def test_state_of_many_keys_is_that_of_each(names: tuple[str, ...]) -> None:
    """State is written by position: keys of columns and merged rows have one order."""
    (name,) = names
    kind, values = KEYS[name]
    rng = random.Random(1)  # noqa: S311 - examples, not secrets
    rows = [Row(rng.choice(values), 1) for _ in range(2000)]
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": "STREAMING"})
    )
    source = CollectionSource.of(rows, Types.ROW_NAMED(["k", "n"], [kind, Types.LONG()]))
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "t")
    counted = stream.key_by(col.k).aggregate(n=col.n.sum())
    results = collect(counted, Schedule(batch_sizes=(500,)))
    assert {row[0]: row[1] for row in results} == Counter(row[0] for row in rows)
