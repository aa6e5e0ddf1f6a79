"""Random programs that look at timestamps in some places and not in others.

A record is (key, time, value); what a function saw of time becomes part of the value, so that a
timestamp that is missing, or an order that changed, shows in the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common import Duration, Time, Types
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.datastream.functions import ProcessWindowFunction
from penstock.datastream.window import TumblingEventTimeWindows

Step = Callable[[DataStream], DataStream]

ODD = OutputTag("odd")


def key_of(record: tuple[int, Any]) -> int:
    return record[0]


def hashed(*parts: Any) -> int:
    """Return a small number that depends on everything, the same in every process."""
    number = 7
    for part in parts:
        number = (number * 31 + int(part)) % 10_007
    return number


class Stamp(ProcessFunction):
    """Puts the timestamp it sees into the value; odd values go aside as well."""

    def process_element(self, value, ctx):
        stamped = (value[0], value[1], hashed(value[2], ctx.timestamp()))
        yield stamped
        if value[2] % 2:
            yield ODD, stamped


class Folded(MapFunction):
    """Depends on the order of the records of a key."""

    def open(self, runtime_context):
        self.before = runtime_context.get_state(ValueStateDescriptor("before"))

    def map(self, value):
        now = hashed(self.before.value() or 0, value[2])
        self.before.update(now)
        return (value[0], value[1], now)


class Reminders(KeyedProcessFunction):
    """A timer per record; results have the time of the timer, which a function behind sees."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 3)

    def on_timer(self, timestamp, ctx):
        yield (ctx.get_current_key(), timestamp, hashed(timestamp))


class Sum(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield (key, context.window().start, sum(value for _, _, value in elements))


class Both(CoMapFunction):
    def map1(self, value):
        return (value[0], value[1], value[2] + 1)

    def map2(self, value):
        return (value[0], value[1], value[2] * 2)


class BothStamped(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield (value[0], value[1], hashed(value[2], ctx.timestamp()))

    def process_element2(self, value, ctx):
        yield (value[0], value[1], hashed(1, value[2], ctx.timestamp()))


def raised(record):
    return (record[0], record[1], record[2] + 1)


PLAIN: dict[str, Step] = {
    "map": lambda s: s.map(raised),
    "filter": lambda s: s.filter(lambda r: r[2] % 5 != 0),
    "flat_map": lambda s: s.flat_map(lambda r: [r, raised(r)] if r[2] % 2 else [r]),
    "rebalance": lambda s: s.rebalance(),
    "apart": lambda s: s.map(raised).disable_chaining(),
    "fork": lambda s: s.union(s.map(raised)),
    "co_map": lambda s: s.connect(s.map(raised)).map(Both()),
}
"""Steps that look at no timestamp and keep no state."""

KEYED: dict[str, Step] = {
    "fold": lambda s: s.key_by(key_of).map(Folded()),
    "sum": lambda s: s.key_by(key_of).sum(2),
}
"""Steps that read each key in order of time, in a batch run."""

LOOKING: dict[str, Step] = {
    "stamp": lambda s: s.process(Stamp()),
    "aside": lambda s: s.process(Stamp()).get_side_output(ODD),
    "co_stamp": lambda s: s.connect(s.map(raised)).process(BothStamped()),
    "restamp": lambda s: s.assign_timestamps_and_watermarks(strategy_of(lambda r, _: r[1] + 1)),
}
"""Steps that look at timestamps."""

TIMING: dict[str, Step] = {
    "remind": lambda s: s.key_by(key_of).process(Reminders()),
    "window": lambda s: (
        s.key_by(key_of).window(TumblingEventTimeWindows.of(Time.milliseconds(10))).process(Sum())
    ),
}
"""Steps whose results have a time of their own."""

ALL = PLAIN | KEYED | LOOKING | TIMING


def strategy_of(assigner: Any = None) -> WatermarkStrategy:
    made = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1_000))
    return made.with_timestamp_assigner(assigner or (lambda record, _: record[1]))


def build(steps: tuple[str, ...], strategy: WatermarkStrategy) -> StreamExecutionEnvironment:
    """Return the program: the steps one after the other, then a sink."""
    env = StreamExecutionEnvironment.get_execution_environment()
    source = CollectionSource.of([], Types.PICKLED_BYTE_ARRAY())
    stream = env.from_source(source, strategy, "numbers")
    for step in steps:
        stream = ALL[step](stream)
    stream.sink_to(DiscardingSink()).name("out")
    return env
