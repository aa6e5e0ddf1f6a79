"""`delayed-deploy`: `aggregate` feeds one side of a connected stream, the other is a live source.

    record i of the history   (i % K, 1.0)    summed by key at its end
    record i of the live one  (i % K, i)      gives (key, sum of the key, i)

Without the cut behind the aggregate (FLIP-331) live records would wait in state for the end of the
history. With it they find every sum, and the history leaves nothing behind but its results; so
what workers need is independent of the number of records. Memory is measured in every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.answers.aggregate_records import combine, key_of, record_maker
from benchmarks.inputs.sources import storing_nothing
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs, Point
from benchmarks.model.shape import MIXED, STREAMING, Shape
from benchmarks.programs.pipeline import LIVE_RECORDS, Pipeline, ours
from penstock.common import WatermarkStrategy
from penstock.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import DataGeneratorSource
from penstock.datastream.window import EndOfStreamWindows

STREAM_RECORDS = "stream-records"
"""Option: records of the live source."""

_RECORDS_PER_KEY = 100
_NOTE = "Records/ms count the history; the live source has stream-records more."


class WithSum(KeyedCoProcessFunction):
    """Gives live records the sum of their key; 0 if it is not there yet."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def process_element1(
        self, value: tuple[int, float], ctx: KeyedCoProcessFunction.Context
    ) -> None:
        """Keep a result of the history."""
        self._sum.update(int(value[1]))

    def process_element2(
        self, value: tuple[int, int], ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[tuple[int, int, int]]:
        """Answer a live record."""
        yield value[0], self._sum.value() or 0, value[1]


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return a row per live record."""
    keys, count = shape.keys, shape.parameters[STREAM_RECORDS]
    no_time = WatermarkStrategy.no_watermarks()
    history = DataGeneratorSource(storing_nothing(record_maker(keys)), shape.records)
    sums = (
        env.from_source(history, no_time, "history")
        .key_by(key_of)
        .window(EndOfStreamWindows.get())
        .reduce(combine)
    )
    stream = DataGeneratorSource(storing_nothing(lambda i: (i % keys, i)), count)
    live = env.from_source(stream, no_time, "live")
    return sums.connect(live).key_by(key_of, key_of).process(WithSum())


def expected(shape: Shape) -> Outputs:
    """Compute the row of every live record."""
    records = np.arange(shape.parameters[STREAM_RECORDS], dtype=np.int64)
    keys = records % shape.keys
    sums = shape.records // shape.keys + (keys < shape.records % shape.keys)
    return Outputs(len(records), as_text(digest_of(keys, sums, records)))


PROGRAM = Pipeline(
    name="delayed-deploy",
    summary="aggregate feeds one side of a connected stream, the other is live; memory is bounded",
    build=build,
    expected=expected,
    systems=(ours(STREAMING, note=_NOTE), ours(MIXED, note=_NOTE)),
    reference="penstock mixed",
    records=10_000_000,
    keys=lambda records: max(1, records // _RECORDS_PER_KEY),
    options={STREAM_RECORDS: 100_000, LIVE_RECORDS: 0},
    points=tuple(
        Point(records, records // _RECORDS_PER_KEY) for records in (1_000_000, 10_000_000)
    ),
).program()
