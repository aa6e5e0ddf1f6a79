"""OVER of rows in order of their event time: each row is emitted once, when the watermark has reached its time.

State of a partition:

    ahead       rows whose time the watermark has not reached
    passed      rows that frames still reach: the last ones, or those of the last milliseconds
    running     rows and peers so far, and the parts of what frames without a begin have
    values-<i>  value -> count, of such a function with DISTINCT

All rows that are due are applied at once, at the first of their timers: a frame costs one walk along its rows, however
many times are due. Peers have one time, so they are due together. A row behind the watermark is late, and dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.stream_operators import OneInputStreamOperator
from penstock.api.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
    expiring,
)
from penstock.expressions.python.times import millis_of
from penstock.relation.ordered import OverCall, reach_of
from penstock.sql.functions.changes import RowMaker
from penstock.sql.functions.over import (
    RANK_OF,
    FrameAggregate,
    OverSpec,
    Rows,
    bounds_of,
    values_over,
)
from penstock.types import TypeInformation, Types
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row, values_of_row
from penstock.types.row_order import RowOrder
from penstock.types.sql_types import FLOATS


class _Running:
    """A function whose frames begin with the partition: it needs what it made of the rows so far, not the rows."""

    def __init__(self, over: OverCall) -> None:
        self.over = over
        self.aggregate: FrameAggregate | None = None
        self.types: tuple[TypeInformation, ...] = ()
        self.start: list[Any] = []
        call = over.call
        if call.function == "FIRST_VALUE":
            self.types, self.start = (call.result.type_info,), [None]
        elif call.function not in RANK_OF:
            self.aggregate = FrameAggregate(call, only_grows=True)
            self.start = list(self.aggregate.parts)
            self.types = self.aggregate.types

    def results(
        self, parts: list[Any], peers: Sequence[Sequence[Any]], rows: int, groups: int
    ) -> list[Any]:
        """Add peers, and return their values."""
        aggregate, count = self.aggregate, len(peers)
        if aggregate is None:
            number = RANK_OF.get(self.over.call.function)
            if number is not None:
                return [number(rows, groups, place) for place in range(count)]
            if not rows:
                parts[0] = peers[0][self.over.call.arguments[0]]
            return [parts[0]] * count
        aggregate.parts = parts
        values = []
        for value in peers:
            aggregate.change(value, 1)
            values.append(aggregate.result() if self.over.frame.counts_rows else None)
        parts[:] = aggregate.parts
        return values if self.over.frame.counts_rows else [aggregate.result()] * count


class TimedOver(OneInputStreamOperator[Row, Row]):
    """Emits rows with the values of functions, each when the watermark has reached its time."""

    def __init__(self, spec: OverSpec, time: int, kind: RowTypeInfo) -> None:
        """Make the operator."""
        self._spec = spec
        self._time = time
        self._kind = kind

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        spec = self._spec
        self._maker, self._inside = RowMaker(spec.names), RowMaker(self._kind.field_names)
        self._sorter = RowOrder(spec.order)
        self._peers = RowOrder(spec.order[: spec.ordered])
        self._reach = reach_of(spec.calls)
        self._running = {
            index: _Running(call) for index, call in enumerate(spec.calls) if call.is_running
        }
        ttl_ms = spec.ttl_ms if self._reach.is_endless else None
        get = runtime_context
        self._ahead = get.get_list_state(ListStateDescriptor("ahead", self._kind))
        self._passed = get.get_list_state(
            expiring(ListStateDescriptor("passed", self._kind), ttl_ms)
        )
        types = [kind for running in self._running.values() for kind in running.types]
        names = ["rows", "groups", *(f"p{index}" for index in range(len(types)))]
        parts = Types.ROW_NAMED(names, [Types.LONG(), Types.LONG(), *types])
        self._so_far = get.get_state(expiring(ValueStateDescriptor("running", parts), ttl_ms))
        self._part_rows = RowMaker(names)
        for index, running in self._running.items():
            if running.aggregate is not None and running.aggregate.needs_values:
                source = running.over.call.source
                key = Types.STRING() if source.name in FLOATS else source.type_info
                values = MapStateDescriptor(f"values-{index}", key, Types.LONG())
                running.aggregate.counts = get.get_map_state(expiring(values, ttl_ms))
        self._late = get.get_metrics_group().counter("numLateRecordsDropped")

    def process_element(self, value: Row, ctx: Any) -> None:
        """Keep a row until its time has come; one without a time has no place in the order."""
        moment = value[self._time]
        if moment is None:
            return
        timers, time = self.keys.timer_service(), millis_of(moment)
        if time <= timers.current_watermark():
            self._late.inc()
            return
        self._ahead.add(value)
        timers.register_event_time_timer(time)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        """Emit the rows that are due, and forget those that no frame reaches any more."""
        watermark = ctx.timer_service().current_watermark()
        passed: Rows = [tuple(values_of_row(row)) for row in self._passed.get() or ()]
        ahead = list(self._ahead.get() or ())
        due = [tuple(values_of_row(row)) for row in ahead if self._millis(row) <= watermark]
        if due:
            due.sort(key=self._sorter.key)
            self._set(self._ahead, [row for row in ahead if self._millis(row) > watermark])
            self._emit(passed, due)
        rows = [*passed, *due]
        rows_kept = self._kept(rows, watermark)
        if len(rows_kept) < len(rows) or due:
            self._set(self._passed, self._inside.rows([list(row) for row in rows_kept]))

    def _millis(self, row: Row | Sequence[Any]) -> int:
        return millis_of(row[self._time])

    def _emit(self, passed: Rows, due: Rows) -> None:
        rows = [*passed, *due]
        columns: list[Sequence[Any]] = [()] * len(self._spec.calls)
        for index, call in enumerate(self._spec.calls):
            if index not in self._running:
                bounds = bounds_of(call.frame, rows, self._spec.order, self._peers)
                columns[index] = values_over(call, rows, bounds)[len(passed) :]
        if self._running:
            for index, values in zip(self._running, self._added(due), strict=True):
                columns[index] = values
        results = [[*row, *more] for row, more in zip(due, zip(*columns, strict=True), strict=True)]
        for row in self._maker.rows(results):
            self.output.collect(row, self._millis(row))

    def _added(self, due: Rows) -> list[list[Any]]:
        """Add rows to the functions that run on, and return their values."""
        stored = self._so_far.value()
        rows, groups, *flat = (0, 0) if stored is None else values_of_row(stored)
        running = list(self._running.values())
        stored_parts: list[list[Any]] = []
        for call in running:
            width = len(call.types)
            stored_parts.append(list(call.start) if stored is None else flat[:width])
            flat = flat[width:]
        results: list[list[Any]] = [[] for _ in running]
        for peers in self._groups(due):
            for call, parts, values in zip(running, stored_parts, results, strict=True):
                values.extend(call.results(parts, peers, rows, groups))
            rows, groups = rows + len(peers), groups + 1
        state = [rows, groups, *(part for parts in stored_parts for part in parts)]
        self._so_far.update(self._part_rows.rows([state])[0])
        return results

    def _groups(self, due: Rows) -> Iterator[Rows]:
        """Yield the rows that are equal in the order."""
        first = 0
        for end in range(1, len(due) + 1):
            if end == len(due) or self._peers.compare(due[end - 1], due[end]):
                yield due[first:end]
                first = end

    def _kept(self, rows: Rows, watermark: int) -> Rows:
        """Return the rows that frames of later rows reach; a timer comes when none does by its time."""
        reach = self._reach
        first = max(len(rows) - reach.rows, 0)
        if reach.ms is not None:
            while first and self._millis(rows[first - 1]) > watermark - reach.ms:
                first -= 1
            if first < len(rows) - reach.rows:
                last = self._millis(rows[len(rows) - reach.rows - 1])
                self.keys.timer_service().register_event_time_timer(last + reach.ms)
        return rows[first:]

    @staticmethod
    def _set(state: Any, rows: list[Row]) -> None:
        if rows:
            state.update(rows)
        else:
            state.clear()


class LateWatermark(OneInputStreamOperator[Row, Row]):
    """Emits rows as they are, and watermarks of some milliseconds before; the last one stays the last one."""

    def __init__(self, lag_ms: int) -> None:
        """Make the operator."""
        self._lag_ms = lag_ms

    def process_element(self, value: Row, ctx: Any) -> None:
        """Emit a row."""
        self.output.collect(value)

    def process_watermark(self, watermark: int) -> None:
        """Emit an earlier watermark."""
        self.output.emit_watermark(watermark - self._lag_ms)
