"""`co-group`: two inputs of unique keys, grouped over an end-of-stream window.

Record i of either side is (2i, 2i + 1, 1.0); the function is called once per key and emits 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from benchmarks.inputs.sources import generated
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs
from benchmarks.model.shape import BATCH, STREAMING, Shape
from benchmarks.programs.pipeline import Pipeline, ours, peer
from benchmarks.programs.windows import STREAMING_NOTE, over_everything
from benchmarks.systems.flink_peers import flink_java
from penstock.datastream import CoGroupFunction, DataStream, StreamExecutionEnvironment

Triple = tuple[int, int, float]


class EmitOne(CoGroupFunction):
    """Emits 1 for every key."""

    def co_group(self, first: Iterable[Triple], second: Iterable[Triple]) -> Iterator[int]:
        """Take the records of a key."""
        yield 1


def record(i: int) -> Triple:
    """Return a record of either side."""
    return 2 * i, 2 * i + 1, 1.0


def key_of(triple: Triple) -> int:
    """Return the key."""
    return triple[0]


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return a 1 per key."""
    left, right = (generated(env, shape, record, name=name) for name in ("left", "right"))
    keys = left.co_group(right).where(key_of).equal_to(key_of)
    ones: DataStream[Any] = over_everything(keys, shape).apply(EmitOne())
    return ones


def expected(shape: Shape) -> Outputs:
    """Compute a 1 per key."""
    return Outputs(shape.total, as_text(digest_of(np.ones(shape.total, dtype=np.int64))))


PROGRAM = Pipeline(
    name="co-group",
    summary="coGroup of (2i, 2i + 1, 1.0) with itself over an end-of-stream window; N per side",
    build=build,
    expected=expected,
    systems=(
        ours(BATCH, note="Python functions; records/ms are of one side."),
        ours(STREAMING, note=STREAMING_NOTE),
        peer("rdd", "rdd.py", note="RDD cogroup, with as many partitions as keep both cores busy."),
        peer("sql", "sql.py", note="Two aggregations by key and a full join: no Python at all."),
        *flink_java(),
    ),
    reference="penstock batch",
    records=10_000_000,
    keys=lambda records: records,
).program()
