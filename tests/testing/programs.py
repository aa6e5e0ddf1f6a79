"""Random programs and their answers.

A program is a value: what happens to the records before the sinks (`steps`), which sinks
follow, whether records have timestamps, and what functions say of themselves (`Form`). `build`
turns it into streams, `expected` replays it with plain lists and dictionaries; the two share
nothing but the arithmetic of single records.

A record is (key, time, value, number).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from penstock.common import Configuration, Duration, Time, Types
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.datastream.connectors import Sink, Source
from penstock.datastream.window import (
    EndOfStreamWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.testing.law.samples import Sample
from tests.runtime.jobs import Splits
from tests.testing.laws import LAST_OF_KEY, sample_of

WINDOW = 10
SLIDE = 4
GAP = 3

RECORD = Types.TUPLE([Types.LONG()] * 4)
"""The declared type of records and of what steps make of them."""


class Form(Enum):
    """What the functions of the steps say of themselves; none of it may change the answer."""

    PLAIN = auto()
    """Nothing."""

    TYPED = auto()
    """The type of their results."""

    PROMISING = auto()
    """That they keep and change nothing (FLIP-329)."""


def tripled(record):
    key, time, value, number = record
    return (key, time, value * 3 + 1, number)


def is_kept(record):
    return record[2] % 4 != 0


def doubled(record):
    key, time, value, number = record
    return [record, (key + 1, time, value, number)] if value % 2 else [record]


class Promise:
    """Neither keeps nor changes values that it was given or emitted."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def is_output_value_stored(self) -> bool:
        return False


class PromisingMap(Promise, MapFunction):
    def map(self, value):
        return self.function(value)


class PromisingFilter(Promise, FilterFunction):
    def filter(self, value):
        return self.function(value)


class PromisingFlatMap(Promise, FlatMapFunction):
    def flat_map(self, value):
        return self.function(value)


class WindowTotal(AggregateFunction):
    def create_accumulator(self):
        return (None, 0, 0)

    def add(self, value, accumulator):
        return (value[0], accumulator[1] + value[2], accumulator[2] + 1)

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        key = acc_a[0] if acc_b[0] is None else acc_b[0]
        return (key, acc_a[1] + acc_b[1], acc_a[2] + acc_b[2])


class WindowContents(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield (key, context.window().start, context.window().end, sorted(elements))


class WithEnd(ProcessWindowFunction):
    """Adds a window's end to what was folded."""

    def process(self, key, context, elements):
        (total,) = elements
        yield (key, context.window().end, total)


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
    is_timed: bool = True
    form: Form = Form.PLAIN

    @property
    def keeps_order(self) -> bool:
        """Whether records of one key stay in order on their way to the sinks."""
        return not {"union", "fork", "exchange"} & set(self.steps)


def _key(record):
    return record[0]


def _parity(record):
    return record[0] % 2


def _added(left, right):
    """Add totals: which key they have is not told, as it depends on the order."""
    return (min(left[0], right[0]), left[1] + right[1], left[2] + right[2])


def _mapped(stream, form):
    if form is Form.PROMISING:
        return stream.map(PromisingMap(tripled))
    return stream.map(tripled, RECORD if form is Form.TYPED else None)


def _filtered(stream, form):
    return stream.filter(PromisingFilter(is_kept) if form is Form.PROMISING else is_kept)


def _flat_mapped(stream, form):
    if form is Form.PROMISING:
        return stream.flat_map(PromisingFlatMap(doubled))
    return stream.flat_map(doubled, RECORD if form is Form.TYPED else None)


STEPS = {
    "map": _mapped,
    "filter": _filtered,
    "flat_map": _flat_mapped,
    "fork": lambda s, form: s.union(_mapped(s, form)),
    "exchange": lambda s, _: s.rebalance(),
}


def _windows(stream, assigner):
    return stream.key_by(_key).window(assigner)


def _tumbling():
    return TumblingEventTimeWindows.of(Time.milliseconds(WINDOW))


def _sliding():
    return SlidingEventTimeWindows.of(Time.milliseconds(WINDOW), Time.milliseconds(SLIDE))


def _session():
    return EventTimeSessionWindows.with_gap(Time.milliseconds(GAP))


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
    "tumbling_max": lambda s: _windows(s, _tumbling()).reduce(max, WithEnd()),
    "tumbling_total": lambda s: _windows(s, _tumbling()).aggregate(WindowTotal()),
    "sliding_total": lambda s: _windows(s, _sliding()).aggregate(WindowTotal(), WithEnd()),
    "session_total": lambda s: _windows(s, _session()).aggregate(WindowTotal(), WithEnd()),
    "session_contents": lambda s: _windows(s, _session()).process(WindowContents()),
    "total_at_end": lambda s: _windows(s, EndOfStreamWindows.get()).aggregate(WindowTotal()),
    "windows_of_windows": lambda s: (
        _windows(s, _tumbling())
        .aggregate(WindowTotal())
        .key_by(_parity)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(3 * WINDOW)))
        .reduce(_added, WithEnd())
    ),
}
"""Name to stream; what `expected` replays independently."""

TIMED = {
    "windows", "twice", "alarms", "late", "twice_late", "tumbling_max", "tumbling_total",
    "sliding_total", "session_total", "session_contents", "windows_of_windows",
}  # fmt: skip
"""Sinks that look at timestamps."""

RULES = dict.fromkeys(("sum", "min", "max_by", "reduce", "sum_then_max"), LAST_OF_KEY)
"""Rules of the sinks that receive rolling results."""


def reads_columns(program: Program) -> bool:
    """Return whether all that is done with records of files is to aggregate a field."""
    return not program.steps and {"sum", "min"} >= set(program.sinks)


def disorder(records: list[Any]) -> int:
    """Return by how much the latest record was overtaken."""
    worst, greatest = 0, records[0][1] if records else 0
    for record in records:
        greatest = max(greatest, record[1])
        worst = max(worst, greatest - record[1])
    return worst


def in_one_split(records: list[Any]) -> Source:
    return Splits((tuple(records),))


def build(
    program: Program,
    records: list[Any],
    settings: Configuration | None = None,
    *,
    source: Callable[[list[Any]], Source] = in_one_split,
    sink_named: Callable[[str], Sink] = lambda _: DiscardingSink(),
    has_rows: bool = False,
    env: StreamExecutionEnvironment | None = None,
    prefix: str = "",
) -> StreamExecutionEnvironment:
    """Return the program.

    Args:
        program: What to build.
        records: What it reads.
        settings: Of the job.
        source: Makes the source of some records.
        sink_named: Name to sink.
        has_rows: Whether sources give rows, of which the program makes tuples.
        env: Where to build it; None makes an environment.
        prefix: Of the names of sources and sinks.
    """
    env = env or StreamExecutionEnvironment.get_execution_environment(settings)
    strategy = WatermarkStrategy.no_watermarks()
    if program.is_timed:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_millis(disorder(records))
        ).with_timestamp_assigner(lambda record, _: record[1])
    declared = RECORD if program.form is Form.TYPED else None

    def read(of: list[Any], name: str) -> DataStream:
        return env.from_source(source(of), strategy, f"{prefix}{name}", type_info=declared)

    stream = read(records, NUMBERS)
    if has_rows and not reads_columns(program):
        stream = stream.map(tuple)
    for step in program.steps:
        if step == "union":
            other = read(records[::2], OTHER_NUMBERS)
            stream = stream.union(other.map(tuple) if has_rows else other)
        else:
            stream = STEPS[step](stream, program.form)
    for sink in program.sinks:
        SINKS[sink](stream).sink_to(sink_named(sink)).name(f"{prefix}{sink}")
    return env


NUMBERS, OTHER_NUMBERS = "numbers", "other numbers"
"""Names of the sources."""


def samples(records: list[Any], splits: int = 1, prefix: str = "") -> dict[str, Sample]:
    """Return name of a source to its sample."""
    return {
        f"{prefix}{NUMBERS}": sample_of(records, splits),
        f"{prefix}{OTHER_NUMBERS}": sample_of(records[::2], splits),
    }


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
        elif step == "fork":
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


def _per_window(records, size, slide):
    found = defaultdict(list)
    for record in records:
        last = record[1] - record[1] % slide
        for start in range(last, record[1] - size, -slide):
            found[record[0], start + size].append(record)
    return found


def _sessions(records):
    found = []
    for key, of_key in _per_key(records).items():
        session: list[Any] = []
        for record in sorted(of_key, key=lambda r: r[1]):
            # Windows [t, t + gap) that only touch are one, as in Flink.
            if session and record[1] > session[-1][1] + GAP:
                found.append((key, session))
                session = []
            session.append(record)
        found.append((key, session))
    return found


def _total(key, records):
    return (key, sum(r[2] for r in records), len(records))


def _replay_windows_of_windows(records):
    found = defaultdict(list)
    for (key, end), inside in _per_window(records, WINDOW, WINDOW).items():
        # The result of a window has the last millisecond of the window.
        outer = (end - 1) - (end - 1) % (3 * WINDOW) + 3 * WINDOW
        found[key % 2, outer].append(_total(key, inside))
    return [
        (odd, end, (min(t[0] for t in ts), sum(t[1] for t in ts), sum(t[2] for t in ts)))
        for (odd, end), ts in found.items()
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
    "tumbling_max": lambda records: [
        (k, end, max(inside)) for (k, end), inside in _per_window(records, WINDOW, WINDOW).items()
    ],
    "tumbling_total": lambda records: [
        _total(k, inside) for (k, _), inside in _per_window(records, WINDOW, WINDOW).items()
    ],
    "sliding_total": lambda records: [
        (k, end, _total(k, inside))
        for (k, end), inside in _per_window(records, WINDOW, SLIDE).items()
    ],
    "session_total": lambda records: [
        (k, inside[-1][1] + GAP, _total(k, inside)) for k, inside in _sessions(records)
    ],
    "session_contents": lambda records: [
        (k, inside[0][1], inside[-1][1] + GAP, sorted(inside)) for k, inside in _sessions(records)
    ],
    "total_at_end": lambda records: [_total(k, of_key) for k, of_key in _per_key(records).items()],
    "windows_of_windows": _replay_windows_of_windows,
}
