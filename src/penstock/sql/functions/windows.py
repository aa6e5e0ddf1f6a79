"""Windows of table functions: TUMBLE, HOP and CUMULATE give a row once per window that it is in, SESSION when its session is over.

    TUMBLE      [start, start + size)                          one window per row
    HOP         [start, start + size), starts `slide` apart    several
    CUMULATE    [start, start + n * step), up to `size`        several
    SESSION     rows a gap apart, or less                      one

Window columns: `window_start`, `window_end`, and `window_time`, the last millisecond of the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.function_classes import KeyedProcessFunction
from penstock.api.functions.stream_operators import OneInputStreamOperator
from penstock.api.state.descriptors import MapStateDescriptor
from penstock.config.parse import zone_named
from penstock.expressions.python.times import instant_at, local_of, millis_of, timestamp_of
from penstock.relation.groups import TableWindows
from penstock.sql.functions.changes import RowMaker
from penstock.types import Types
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row, values_of_row

_MILLISECOND = timedelta(milliseconds=1)


def _moments(spec: TableWindows) -> Callable[[int], datetime]:
    if spec.is_instant:
        zone = zone_named(spec.zone)
        return lambda millis: instant_at(timestamp_of(millis), zone)
    return timestamp_of


def _millis(spec: TableWindows) -> Callable[[Any], int]:
    """Return the function of the milliseconds of a time, of an instant those of its time in the zone."""
    if not spec.is_instant or spec.zone == "UTC":
        return millis_of
    zone = zone_named(spec.zone)
    return lambda time: millis_of(local_of(time, zone))


class AssignWindows:
    """Makes a row per window of a row, of its kind; a row without a time is in no window."""

    def __init__(self, spec: TableWindows, names: tuple[str, ...]) -> None:
        """Make the function."""
        self._spec = spec
        self._maker = RowMaker(names)
        self._windows = spec.regular.of
        self._moment = _moments(spec)
        self._millis = _millis(spec)

    def __call__(self, row: Row) -> list[Row]:
        """Return the rows."""
        values = values_of_row(row)
        time = values[self._spec.time]
        if time is None:
            return []
        moment = self._moment
        rows = [
            [*values, moment(start), moment(end), moment(end) - _MILLISECOND]
            for start, end in self._windows(self._millis(time))
        ]
        return self._maker.rows(rows, row.get_row_kind())

    def __reduce__(self) -> tuple[Any, ...]:
        return AssignWindows, (self._spec, self._maker.names)


class AtWindowEnd(OneInputStreamOperator[Row, Row]):
    """Emits rows as they are, with the last millisecond of their window as their timestamp."""

    def __init__(self, end: int) -> None:
        """Make the operator."""
        self._end = end

    def process_element(self, value: Row, ctx: Any) -> None:
        """Emit a row."""
        self.output.collect(value, millis_of(value[self._end]) - 1)


class SessionFunction(KeyedProcessFunction[Any, Any, Row]):
    """Emits the rows of a session with its window, when the watermark has reached its end.

    As in Flink, windows that touch are merged, and a row is late if the session that it would be in is over: one behind
    the watermark is taken into a session that is open.
    """

    def __init__(self, spec: TableWindows, kind: RowTypeInfo, names: tuple[str, ...]) -> None:
        """Make the function."""
        self._spec = spec
        self._kind = kind
        self._maker = RowMaker(names)

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        self._moment = _moments(self._spec)
        self._rows = runtime_context.get_map_state(
            MapStateDescriptor("rows", Types.LONG(), Types.LIST(self._kind))
        )
        self._late = runtime_context.get_metrics_group().counter("numLateRecordsDropped")

    def process_element(self, value: Row, ctx: Any) -> None:
        """Keep a row until its session is over."""
        time = value[self._spec.time]
        if time is None:
            return
        millis = millis_of(time)
        end = millis + self._spec.size_ms
        timers = ctx.timer_service()
        is_over = end - 1 <= timers.current_watermark()
        if is_over and not self._meets_open_session(millis):
            self._late.inc()
            return
        same = self._rows.get(millis)
        self._rows.put(millis, [value] if same is None else [*same, value])
        if not is_over:
            timers.register_event_time_timer(end - 1)

    def _meets_open_session(self, millis: int) -> bool:
        """Return whether the window of a time touches that of a row that waits: its session is open."""
        return any(abs(time - millis) <= self._spec.size_ms for time in self._rows.keys())  # noqa: SIM118 - a state

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Row]:
        """Emit the session that ends behind a time, if one does."""
        gap = self._spec.size_ms
        last = timestamp + 1 - gap
        times = sorted(self._rows.keys())
        if last not in times:
            return
        index = times.index(last)
        if index + 1 < len(times) and times[index + 1] - last <= gap:
            return  # the session goes on
        first = index
        while first and times[first] - times[first - 1] <= gap:
            first -= 1
        window = (times[first], last + gap)
        moment = self._moment
        shown = [moment(window[0]), moment(window[1]), moment(window[1] - 1)]
        for time in times[first : index + 1]:
            rows = self._rows.get(time)
            yield from self._maker.rows([[*row, *shown] for row in rows])
            self._rows.remove(time)
