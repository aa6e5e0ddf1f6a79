"""GROUP BY of windows: the row of a group is emitted once, when the watermark has reached the end of its window.

Its state is that of `group_aggregate`; it is removed then. A row of a window that is over is late, and dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.function_classes import KeyedProcessFunction
from penstock.api.state.descriptors import ValueStateDescriptor
from penstock.errors import TypeMismatchError
from penstock.expressions.python.times import millis_of
from penstock.sql.functions.group_aggregate import GroupAggregateFunction, GroupSpec
from penstock.types import Types
from penstock.types.row import Row, RowKind


class WindowAggregateFunction(KeyedProcessFunction[Any, Any, Row]):
    """Emits the rows of groups at the ends of their windows."""

    def __init__(self, spec: GroupSpec, end: int) -> None:
        """Make the function."""
        self._groups = GroupAggregateFunction(spec)
        self._keys = spec.keys
        self._end = end

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        self._groups.open(runtime_context)
        key = ValueStateDescriptor("group", Types.PICKLED_BYTE_ARRAY())
        self._key = runtime_context.get_state(key)
        self._late = runtime_context.get_metrics_group().counter("numLateRecordsDropped")

    def process_element(self, value: Row, ctx: Any) -> None:
        """Add a row to its group."""
        if value.get_row_kind() is not RowKind.INSERT:
            raise TypeMismatchError(
                f"a window got the change {value.get_row_kind()} {value!r:.200}",
                hint="Declare the changelog mode of the table; only insert-only tables have windows that end.",
            )
        last = millis_of(value[self._end]) - 1
        timers = ctx.timer_service()
        if last <= timers.current_watermark():
            self._late.inc()
            return
        if self._key.value() is None:
            self._key.update(list(value)[: self._keys])
            timers.register_event_time_timer(last)
        self._groups.add([value])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Row]:
        """Emit the row of the group."""
        group = self._key.value()
        if group is not None:
            self._key.clear()
            yield from self._groups.take(group)
