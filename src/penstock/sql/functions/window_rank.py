"""The first rows of partitions of windows: emitted once, when the watermark has reached the end of the window.

Its state is that of `ranking`; it is removed then. A row of a window that is over is late, and dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.function_classes import KeyedProcessFunction
from penstock.sql.functions.ranking import RankFunction, RankSpec
from penstock.sql.scalars.times import millis_of
from penstock.types.row import Row


class WindowRankFunction(KeyedProcessFunction[Any, Any, Row]):
    """Emits the first rows of partitions at the ends of their windows."""

    def __init__(self, spec: RankSpec, end: int) -> None:
        """Make the function."""
        self._ranking = RankFunction(spec)
        self._end = end

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        self._ranking.open(runtime_context)
        self._late = runtime_context.get_metrics_group().counter("numLateRecordsDropped")

    def process_element(self, value: Row, ctx: Any) -> None:
        """Add a row to its partition."""
        last = millis_of(value[self._end]) - 1
        timers = ctx.timer_service()
        if last <= timers.current_watermark():
            self._late.inc()
            return
        self._ranking.add(value)
        timers.register_event_time_timer(last)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Row]:
        """Emit the rows of the partition."""
        yield from self._ranking.take()
