"""`window-reduce`: sums by key over event-time tumbling windows of two records per key.

    record v = (v % K, v, 1) at v milliseconds      window of 2K ms: each key twice

Each of P subtasks reads the numbers that are equal modulo P, in order, so that event time is the
same in all of them and few windows are open at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.inputs.sources import generated
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs, Point
from benchmarks.model.shape import Shape
from benchmarks.programs.pipeline import Pipeline, all_modes, peer
from benchmarks.systems.flink_peers import flink_java
from penstock.common import Time, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows

RECORDS = 10_000_000
Triple = tuple[int, int, int]


class VAsTime(TimestampAssigner):
    """The second field, in milliseconds."""

    def extract_timestamp(self, value: Triple, record_timestamp: int) -> int:
        """Return it."""
        return value[1]


def add(a: Triple, b: Triple) -> Triple:
    """Add two records of a key, which is the same in both: in any order."""
    return a[0], a[1] + b[1], a[2] + b[2]


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return the sums of every key and window."""
    keys, lanes = shape.keys, shape.lanes
    length, records = shape.records // lanes, shape.records

    def record(i: int) -> Triple:
        v = i % length * lanes + i // length if i < records else i
        return v % keys, v, 1

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(VAsTime())
    return (
        generated(env, shape, record, strategy)
        .key_by(lambda r: r[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(2 * keys)))
        .reduce(add, associative=True, commutative=True)
    )


def expected(shape: Shape) -> Outputs:
    """Compute the sums: in a window a key has v and, unless the input ends before, v + K."""
    first = np.arange(shape.total, dtype=np.int64)
    first = first[first % (2 * shape.keys) < shape.keys]
    second = first + shape.keys
    is_full = second < shape.total
    sums, counts = first + is_full * second, 1 + is_full
    return Outputs(len(first), as_text(digest_of(first % shape.keys, sums, counts)))


PROGRAM = Pipeline(
    name="window-reduce",
    summary="(v % K, v, 1) summed by key over event-time tumbling windows of 2K ms",
    build=build,
    expected=expected,
    systems=(
        *all_modes("Python lambdas; the generator and the timestamps are two of them."),
        peer(
            "sql",
            "sql.py",
            note="groupBy(key, v DIV 2K).agg(sum, count) in a batch: no Python, no event time.",
        ),
        *flink_java(),
    ),
    reference="penstock mixed",
    records=RECORDS,
    keys=1000,
    points=(Point(RECORDS, 1000), Point(RECORDS, 1_000_000)),
).program()
