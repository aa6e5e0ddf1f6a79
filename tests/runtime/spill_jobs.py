"""Jobs over (key, time, value, number) records whose keys see their records in a known order.

Every result begins with the key, and tells in which order the function saw what.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from penstock.common import Time, Types
from penstock.datastream import (
    BroadcastProcessFunction,
    CoGroupFunction,
    CoMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapStateDescriptor,
    OneInputStreamOperator,
    OperatorAttributesBuilder,
    OutputTag,
    ProcessWindowFunction,
    ValueStateDescriptor,
)
from penstock.datastream.window import (
    EndOfStreamWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

ms = Time.milliseconds
SIDE = OutputTag("side", Types.PICKLED_BYTE_ARRAY())
RULES = MapStateDescriptor("rules", Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY())


def key_of(record):
    return record[0]


def other_key_of(record):
    return record[0] % 7


def folded(left, right):
    """Not commutative, not associative: another order is another result."""
    return (left[0], right[1], (left[2] * 31 + right[2]) % 1_000_003, right[3])


class Seen(KeyedProcessFunction):
    """Numbers the records of a key, and sets timers that say what came before them."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if value[2] % 5 == 0:
            ctx.timer_service().register_event_time_timer(value[1] + 3)
        yield (value[0], "seen", value[3], count, ctx.timestamp())
        if value[2] % 3 == 0:
            yield SIDE, (value[0], "side", value[3])

    def on_timer(self, timestamp, ctx):
        yield (ctx.get_current_key(), "timer", timestamp, self.count.value())


class Both(KeyedCoProcessFunction):
    """As `Seen`, of two inputs."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def _next(self):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return count

    def process_element1(self, value, ctx):
        yield (value[0], 1, value[3], self._next(), ctx.timestamp())

    def process_element2(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1])
        yield (value[0], 2, value[3], self._next(), ctx.timestamp())

    def on_timer(self, timestamp, ctx):
        yield (ctx.get_current_key(), "timer", timestamp, self.count.value())


class BothMapped(CoMapFunction):
    def map1(self, value):
        return (value[0], 1, value[3])

    def map2(self, value):
        return (value[0], 2, value[3])


class WithRules(KeyedBroadcastProcessFunction):
    """Says of each record how many rules there are, and what they add up to."""

    def process_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        known = [rules.get(number) for number in sorted(rules.keys())]
        yield (value[0], value[3], len(known), sum(known))

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[3], value[2])


class AsItComes(OneInputStreamOperator):
    """Numbers the records of a key; may have said that it sorts them itself."""

    def __init__(self, *, sorts_itself):
        self.sorts_itself = sorts_itself

    def get_operator_attributes(self):
        return OperatorAttributesBuilder().set_internal_sorter_supported(self.sorts_itself).build()

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.output.collect((value[0], value[3], count))


class AddRules(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value

    def process_broadcast_element(self, value, ctx):
        pass


class Contents(ProcessWindowFunction):
    """Reads the contents of a window several times, also nested."""

    def process(self, key, context, elements):
        numbers = [record[3] for record in elements]
        assert [record[3] for record in elements] == numbers
        assert len(elements) == len(numbers)
        nested = sum(1 for _ in zip(elements, elements, strict=True))
        yield (key, str(context.window()), nested, *numbers)


class Pairs(CoGroupFunction):
    """Reads both sides several times."""

    def co_group(self, first, second):
        left, right = [r[3] for r in first], [r[3] for r in second]
        assert [r[3] for r in second] == right
        key = next(iter([*first, *second]))[0]
        yield (key, "left", *left)
        yield (key, "right", *right, len(first), len(second))


def half(stream):
    return stream.filter(lambda record: record[3] % 2 == 0)


def third(stream):
    return stream.filter(lambda record: record[3] % 3 != 0)


def two(stream):
    return half(stream).connect(third(stream)).key_by(key_of, key_of)


def with_side(stream):
    main = stream.key_by(key_of).process(Seen())
    return main.union(main.get_side_output(SIDE))


def windowed(stream, assigner):
    return stream.key_by(key_of).window(assigner)


def tagged(result):
    return (result[0], "folded", *result[1:])


JOBS: dict[str, Any] = {
    "map": lambda s: s.key_by(key_of).map(lambda r: (r[0], r[3])),
    "filter": lambda s: s.key_by(key_of).filter(lambda r: r[2] % 3 != 1),
    "flat_map": lambda s: s.key_by(key_of).flat_map(lambda r: [r] * (r[2] % 3)),
    "reduce": lambda s: s.key_by(key_of).reduce(folded),
    "sum": lambda s: s.key_by(key_of).sum(2).map(lambda r: (r[0], r[2])),
    "process": with_side,
    # Results of several keys have no order among each other.
    "twice": lambda s: (
        s.key_by(key_of).process(Seen()).map(lambda r: (other_key_of(r), 1)).key_by(key_of).sum(1)
    ),
    "two keyed": lambda s: (
        s.key_by(key_of).reduce(folded).union(s.key_by(other_key_of).process(Seen()))
    ),
    "co_process": lambda s: two(s).process(Both()),
    "co_map": lambda s: two(s).map(BothMapped()),
    "broadcast": lambda s: s.key_by(key_of).connect(half(s).broadcast(RULES)).process(WithRules()),
    "own": lambda s: s.key_by(key_of).transform("own", None, AsItComes(sorts_itself=False)),
    "own sorter": lambda s: s.key_by(key_of).transform("own", None, AsItComes(sorts_itself=True)),
    "whole": lambda s: windowed(s, EndOfStreamWindows.get()).process(Contents()),
    "whole reduced": lambda s: windowed(s, EndOfStreamWindows.get()).reduce(folded).map(tagged),
    "tumbling": lambda s: windowed(s, TumblingEventTimeWindows.of(ms(10))).process(Contents()),
    "sliding": lambda s: windowed(s, SlidingEventTimeWindows.of(ms(10), ms(5))).reduce(folded),
    "session": lambda s: windowed(s, EventTimeSessionWindows.with_gap(ms(4))).process(Contents()),
    "co_group": lambda s: (
        half(s)
        .co_group(third(s))
        .where(key_of)
        .equal_to(key_of)
        .window(EndOfStreamWindows.get())
        .apply(Pairs())
    ),
    "co_group windows": lambda s: (
        half(s)
        .co_group(third(s))
        .where(key_of)
        .equal_to(key_of)
        .window(TumblingEventTimeWindows.of(ms(10)))
        .apply(Pairs())
    ),
}
"""Name to stream."""


def per_key(results: list[Any]) -> dict[Any, list[Any]]:
    """Return the results of each key in order, those of different kinds apart."""
    found: dict[Any, list[Any]] = defaultdict(list)
    for result in results:
        kind = result[1] if isinstance(result[1], str) else None
        found[result[0], kind].append(result)
    return found
