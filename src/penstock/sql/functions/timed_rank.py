"""First rows that come when the watermark has reached a time, and never change: of windows, and in order of event time.

A row behind the watermark is late, and dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.first_rows import FirstRows, TopN
from penstock.api.functions.function_classes import KeyedProcessFunction
from penstock.api.state.descriptors import ValueStateDescriptor, expiring
from penstock.expressions.python.times import millis_of
from penstock.types import Types
from penstock.types.row import Row


class WindowRank(KeyedProcessFunction[Any, Any, Row]):
    """Emits the first rows of partitions at the ends of their windows, and forgets them."""

    def __init__(self, spec: TopN, end: int) -> None:
        """Make the function."""
        self._first = FirstRows(spec)
        self._end = end

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        self._first.open(runtime_context)
        self._late = runtime_context.get_metrics_group().counter("numLateRecordsDropped")

    def process_element(self, value: Row, ctx: Any) -> None:
        """Add a row to its partition."""
        last = millis_of(value[self._end]) - 1
        timers = ctx.timer_service()
        if last <= timers.current_watermark():
            self._late.inc()
            return
        self._first.put([value])
        timers.register_event_time_timer(last)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Row]:
        """Emit the rows of the partition."""
        rows = self._first.first()
        self._first.clear()
        yield from self._first.changes([], rows)


class FirstInTime(KeyedProcessFunction[Any, Any, Row]):
    """Emits the first row of each partition in order of event time, as Flink's deduplication that keeps the first row.

    Its state is the first row until it is emitted, then a mark.
    """

    def __init__(self, spec: TopN, time: int) -> None:
        """Make the function."""
        self._first = FirstRows(spec)
        self._time = time

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        self._first.open(runtime_context)
        mark = ValueStateDescriptor("emitted", Types.BOOLEAN())
        self._emitted = runtime_context.get_state(expiring(mark, self._first.spec.ttl_ms))
        self._late = runtime_context.get_metrics_group().counter("numLateRecordsDropped")

    def process_element(self, value: Row, ctx: Any) -> None:
        """Keep a row if it is the first so far; one without a time has no place in the order."""
        moment = value[self._time]
        if moment is None or self._emitted.value():
            return
        timers, time = ctx.timer_service(), millis_of(moment)
        if time <= timers.current_watermark():
            self._late.inc()
            return
        before, after = self._first.put([value])
        if before and before != after:
            timers.delete_event_time_timer(millis_of(before[0][self._time]))
        if before != after:
            timers.register_event_time_timer(time)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Row]:
        """Emit the row that is the first, and mark its partition."""
        rows = self._first.first()
        self._first.clear()
        self._emitted.update(True)  # noqa: FBT003 - the value
        yield from self._first.changes([], rows)
