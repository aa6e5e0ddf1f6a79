"""`delayed-deploy`: `aggregate` feeds one side of a connected stream, the other is a live source.

    record i of the history   (i % K, 1.0)    summed by key at its end
    record i of the live one  (i % K, i)      gives (key, sum of the key, i)

The live source brings a record per ten of the history. With the cut behind the aggregate (FLIP-331) it is
not read before the sums are there, and the history leaves nothing behind but its results.

`uncut` is the program that one writes without it: the sums come out of a timer at the end of the history, and
live records wait for them in state. Both sources are read side by side, so what waits is as long as the history:
the case of the proposal in which memory ends. Memory is measured in every run.
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
    KeyedProcessFunction,
    ListStateDescriptor,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import DataGeneratorSource
from penstock.datastream.window import EndOfStreamWindows

STREAM_PERCENT = "stream-percent"
"""Option: records of the live source, in percent of those of the history."""

UNCUT = "penstock streaming uncut"
_END = (1 << 63) - 1
_KEYS = 10_000
_NOTE = "Records/ms count the history; the live source has stream-percent of it more."


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


class SumAtEnd(KeyedProcessFunction):
    """Gives the sum of a key at the end of the input, as far as the engine knows at any time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def process_element(self, value: tuple[int, float], ctx: KeyedProcessFunction.Context) -> None:
        """Add to the sum."""
        found = self._sum.value()
        if found is None:
            ctx.timer_service().register_event_time_timer(_END)
        self._sum.update(value if found is None else combine(found, value))

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[tuple[int, float]]:
        """Give the sum."""
        yield self._sum.value()


class WithSumAwaited(KeyedCoProcessFunction):
    """Gives live records the sum of their key, once it is there; at the end 0."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum"))
        self._waiting = runtime_context.get_list_state(ListStateDescriptor("waiting"))

    def process_element1(
        self, value: tuple[int, float], ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[tuple[int, int, int]]:
        """Keep a result of the history, and answer what waits for it."""
        self._sum.update(int(value[1]))
        yield from self._answers()

    def process_element2(
        self, value: tuple[int, int], ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[tuple[int, int, int]]:
        """Answer a live record, or let it wait."""
        found = self._sum.value()
        if found is None:
            self._waiting.add(value)
            ctx.timer_service().register_event_time_timer(_END)
        else:
            yield value[0], found, value[1]

    def on_timer(
        self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext
    ) -> Iterator[tuple[int, int, int]]:
        """Answer what has waited for a key that has no history."""
        yield from self._answers()

    def _answers(self) -> Iterator[tuple[int, int, int]]:
        found = self._sum.value() or 0
        for key, number in self._waiting.get():
            yield key, found, number
        self._waiting.clear()


def stream_records(shape: Shape) -> int:
    """Return the number of live records, at least one."""
    return max(1, shape.records * shape.parameters[STREAM_PERCENT] // 100)


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return a row per live record."""
    history, live = _sources(env, shape)
    sums = history.key_by(key_of).window(EndOfStreamWindows.get()).reduce(combine)
    return sums.connect(live).key_by(key_of, key_of).process(WithSum())


def build_uncut(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return the same rows, of a program in which nothing ends before the live source is read."""
    history, live = _sources(env, shape)
    sums = history.key_by(key_of).process(SumAtEnd())
    return sums.connect(live).key_by(key_of, key_of).process(WithSumAwaited())


def _sources(
    env: StreamExecutionEnvironment, shape: Shape
) -> tuple[DataStream[Any], DataStream[Any]]:
    keys, no_time = shape.keys, WatermarkStrategy.no_watermarks()
    history = DataGeneratorSource(storing_nothing(record_maker(keys)), shape.records)
    stream = DataGeneratorSource(storing_nothing(lambda i: (i % keys, i)), stream_records(shape))
    return (
        env.from_source(history, no_time, "history"),
        env.from_source(stream, no_time, "live"),
    )


def expected(shape: Shape) -> Outputs:
    """Compute the row of every live record."""
    records = np.arange(stream_records(shape), dtype=np.int64)
    keys = records % shape.keys
    sums = shape.records // shape.keys + (keys < shape.records % shape.keys)
    return Outputs(len(records), as_text(digest_of(keys, sums, records)))


PROGRAM = Pipeline(
    name="delayed-deploy",
    summary="aggregate feeds one side of a connected stream, the other is live; memory with and without the cut",
    build=build,
    expected=expected,
    systems=(
        ours(STREAMING, note=_NOTE),
        ours(MIXED, note=_NOTE),
        ours(STREAMING, "uncut", note=f"No operator says that it answers at the end. {_NOTE}"),
    ),
    builds={UNCUT: build_uncut},
    reference="penstock mixed",
    records=10_000_000,
    keys=lambda _: _KEYS,
    options={STREAM_PERCENT: 10, LIVE_RECORDS: 0},
    points=tuple(Point(records, _KEYS) for records in (10_000_000, 40_000_000)),
).program()
