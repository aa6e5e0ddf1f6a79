"""Random programs and their answers.

A program is a value: what happens to the records before the sinks (`steps`), and which sinks
follow. `build` turns it into streams, `expected` replays it with plain lists and dictionaries;
the two share nothing but the arithmetic of single records.

A record is (key, time, value, number).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.common import Configuration, Duration
from penstock.connectors.discard import DiscardingSink
from penstock.datastream import (
    KeyedProcessFunction,
    MapFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.datastream.connectors import HybridSource, Sink
from tests.runtime.jobs import Splits

WINDOW = 10


def tripled(record):
    key, time, value, number = record
    return (key, time, value * 3 + 1, number)


def is_kept(record):
    return record[2] % 4 != 0


def doubled(record):
    key, time, value, number = record
    return [record, (key + 1, time, value, number)] if value % 2 else [record]


class CountPerKey(MapFunction):
    """Numbers the records of each key from 1."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def map(self, value):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return (value[0], count)


class WindowSums(KeyedProcessFunction):
    """Sums per key and window, by hand: state for the sums, a timer per window."""

    def __init__(self, size: int) -> None:
        self.size = size

    def open(self, runtime_context):
        self.sums = runtime_context.get_state(ValueStateDescriptor("sums"))

    def process_element(self, value, ctx):
        end = (ctx.timestamp() // self.size + 1) * self.size
        sums = dict(self.sums.value() or {})
        sums[end] = sums.get(end, 0) + value[2]
        self.sums.update(sums)
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp, ctx):
        sums = dict(self.sums.value())
        total = sums.pop(timestamp)
        self.sums.update(sums or None)
        yield (ctx.get_current_key(), timestamp, total)


class Alarms(KeyedProcessFunction):
    """Sets an alarm 5 after each odd value; an even value of the same time cancels it."""

    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        if value[2] % 2:
            timers.register_event_time_timer(ctx.timestamp() + 5)
        else:
            timers.delete_event_time_timer(ctx.timestamp() + 5)

    def on_timer(self, timestamp, ctx):
        return [(ctx.get_current_key(), timestamp)]


class Late(KeyedProcessFunction):
    """Keeps the records that the watermark has overtaken; and timers that came before it."""

    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        timers.register_event_time_timer(ctx.timestamp())
        return [value] if ctx.timestamp() <= timers.current_watermark() else None

    def on_timer(self, timestamp, ctx):
        return [timestamp] if timestamp > ctx.timer_service().current_watermark() else None


@dataclass(frozen=True)
class Program:
    """One random program."""

    steps: tuple[str, ...]
    sinks: tuple[str, ...]

    @property
    def keeps_order(self) -> bool:
        """Whether records of one key stay in order on their way to the sinks."""
        return not {"union", "fork"} & set(self.steps)


def _key(record):
    return record[0]


def _parity(record):
    return record[0] % 2


STEPS = {
    "map": lambda s: s.map(tripled),
    "filter": lambda s: s.filter(is_kept),
    "flat_map": lambda s: s.flat_map(doubled),
    "fork": lambda s: s.union(s.map(tripled)),
}

SINKS = {
    "all": lambda s: s,
    "sum": lambda s: s.key_by(_key).sum(2).map(lambda r: (r[0], r[2])),
    "min": lambda s: s.key_by(_key).min(2).map(lambda r: (r[0], r[2])),
    "max_by": lambda s: s.key_by(_key).max_by(2).map(lambda r: (r[0], r[2])),
    "reduce": lambda s: s.key_by(_key).reduce(max),
    "count": lambda s: s.key_by(_key).map(CountPerKey()),
    "windows": lambda s: s.key_by(_key).process(WindowSums(WINDOW)),
    "twice": lambda s: (
        s.key_by(_key).process(WindowSums(WINDOW)).key_by(_parity).process(WindowSums(WINDOW * 3))
    ),
    "sum_then_max": lambda s: (
        s.key_by(_key).sum(2).key_by(_parity).max(2).map(lambda r: (r[0] % 2, r[2]))
    ),
    "alarms": lambda s: s.key_by(_key).process(Alarms()),
    "late": lambda s: s.key_by(_key).process(Late()),
    "twice_late": lambda s: (
        s.key_by(_key).process(WindowSums(WINDOW)).key_by(_parity).process(Late())
    ),
}
"""Name to stream; what `expected` replays independently."""

UPDATING = {"sum", "min", "max_by", "reduce", "sum_then_max"}
"""Sinks that receive rolling results: only the last one per key is the answer."""


def configuration(
    mode: RuntimeExecutionMode, parallelism: int, *, backlog: bool, chaining: bool = True
) -> Configuration:
    made = Configuration()
    made.set("execution.runtime-mode", mode.name)
    made.set("parallelism.default", parallelism)
    made.set("pipeline.operator-chaining.enabled", chaining)
    if backlog:
        made.set("execution.checkpointing.interval-during-backlog", "0")
    return made


def disorder(records: list[Any]) -> int:
    """Return by how much the latest record was overtaken."""
    worst, greatest = 0, records[0][1] if records else 0
    for record in records:
        greatest = max(greatest, record[1])
        worst = max(worst, greatest - record[1])
    return worst


def build(
    program: Program,
    records: list[Any],
    cut: int,
    settings: Configuration,
    splits: int = 1,
    sink_named: Callable[[str], Sink] = lambda _: DiscardingSink(),
) -> StreamExecutionEnvironment:
    """Return the program over history `records[:cut]` and then the rest, live."""
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(disorder(records))
    ).with_timestamp_assigner(lambda record, _: record[1])

    def part(of):
        return Splits(tuple(tuple(of[number::splits]) for number in range(splits)))

    def source(of):
        return HybridSource.builder(part(of[:cut])).add_source(part(of[cut:])).build()

    stream = env.from_source(source(records), strategy, "numbers")
    for step in program.steps:
        if step == "union":
            other = env.from_source(source(records[::2]), strategy, "other numbers")
            stream = stream.union(other)
        else:
            stream = STEPS[step](stream)
    for sink in program.sinks:
        SINKS[sink](stream).sink_to(sink_named(sink)).name(sink)
    return env


def expected(program: Program, records: list[Any]) -> dict[str, list[Any]]:
    """Replay the program: the answer of each sink."""
    now = list(records)
    for step in program.steps:
        if step == "map":
            now = [(k, t, v * 3 + 1, n) for k, t, v, n in now]
        elif step == "filter":
            now = [r for r in now if r[2] % 4 != 0]
        elif step == "flat_map":
            now += [(k + 1, t, v, n) for k, t, v, n in now if v % 2]
        elif step == "union":
            now += records[::2]
        else:
            now += [(k, t, v * 3 + 1, n) for k, t, v, n in now]
    return {sink: _REPLAY[sink](now) for sink in program.sinks}


def _per_key(records):
    groups = defaultdict(list)
    for record in records:
        groups[record[0]].append(record)
    return groups


def _sums(records, size):
    sums: dict[Any, int] = defaultdict(int)
    for record in records:
        sums[record[0], record[1] - record[1] % size + size] += record[2]
    return [(key, end, total) for (key, end), total in sums.items()]


def _replay_alarms(records):
    last = {(r[0], r[1]): r[2] % 2 for r in records}
    return [(key, time + 5) for (key, time), is_set in last.items() if is_set]


def _replay_count(records):
    return [(k, i + 1) for k, of_key in _per_key(records).items() for i in range(len(of_key))]


def _replay_sum_then_max(records):
    sums = {k: sum(r[2] for r in of_key) for k, of_key in _per_key(records).items()}
    return [
        (odd, max(total for k, total in sums.items() if k % 2 == odd))
        for odd in {k % 2 for k in sums}
    ]


_REPLAY = {
    "all": lambda records: records,
    "sum": lambda records: [
        (k, sum(r[2] for r in of_key)) for k, of_key in _per_key(records).items()
    ],
    "min": lambda records: [
        (k, min(r[2] for r in of_key)) for k, of_key in _per_key(records).items()
    ],
    "max_by": lambda records: [
        (k, max(r[2] for r in of_key)) for k, of_key in _per_key(records).items()
    ],
    "reduce": lambda records: [max(of_key) for of_key in _per_key(records).values()],
    "count": _replay_count,
    "windows": lambda records: _sums(records, WINDOW),
    # The result of a window has the time of its timer, which is the window's end.
    "twice": lambda records: _sums(
        [(k % 2, end, total) for k, end, total in _sums(records, WINDOW)], WINDOW * 3
    ),
    "sum_then_max": _replay_sum_then_max,
    "alarms": _replay_alarms,
    "late": lambda _: [],
    "twice_late": lambda _: [],
}
