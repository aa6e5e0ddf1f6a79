"""`co-process`: two hybrid sources, a keyed two-input function with a value state per side.

Record v of either side is (v % K, 1); a result is (key, records of the left, of the right).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.answers.aggregate_records import Pair, key_of
from benchmarks.inputs.sources import generated
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs, Point
from benchmarks.model.shape import Shape
from benchmarks.programs.pipeline import Pipeline, all_modes
from penstock.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)

RECORDS = 10_000_000


class CountSides(KeyedCoProcessFunction):
    """Counts the records of either side, and emits both counts for every record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the states."""
        self._left = runtime_context.get_state(ValueStateDescriptor("left"))
        self._right = runtime_context.get_state(ValueStateDescriptor("right"))

    def process_element1(
        self, value: Pair, ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[tuple[int, int, int]]:
        """Count a record of the left side."""
        count = (self._left.value() or 0) + 1
        self._left.update(count)
        yield value[0], count, self._right.value() or 0

    def process_element2(
        self, value: Pair, ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[tuple[int, int, int]]:
        """Count a record of the right side."""
        count = (self._right.value() or 0) + 1
        self._right.update(count)
        yield value[0], self._left.value() or 0, count


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return a row per record of either side."""
    keys = shape.keys
    left, right = (
        generated(env, shape, lambda v: (v % keys, 1), name=name) for name in ("left", "right")
    )
    return left.connect(right).key_by(key_of, key_of).process(CountSides())


def is_output(shape: Shape, columns: Any) -> Any:
    """Return which rows have counted all records of their keys, or more."""
    return columns[1] + columns[2] >= 2 * _counts(shape, columns[0])


def expected(shape: Shape) -> Outputs:
    """Compute the last row of every key."""
    keys = np.arange(min(shape.keys, shape.total), dtype=np.int64)
    counts = _counts(shape, keys)
    return Outputs(len(keys), as_text(digest_of(keys, counts, counts)))


def _counts(shape: Shape, keys: Any) -> Any:
    return shape.total // shape.keys + (keys < shape.total % shape.keys)


PROGRAM = Pipeline(
    name="co-process",
    summary="two hybrid sources, keyed co-process with a value state per side; N per side",
    build=build,
    expected=expected,
    is_output=is_output,
    systems=all_modes("KeyedCoProcessFunction; a row per record. Records/ms are of one side."),
    reference="penstock mixed",
    records=RECORDS,
    keys=1000,
    points=(Point(RECORDS, 1000), Point(RECORDS, 1_000_000)),
).program()
