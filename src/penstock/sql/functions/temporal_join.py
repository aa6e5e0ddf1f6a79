"""FOR SYSTEM_TIME AS OF: each left row beside the version of the right row of its key that was valid at its time.

A left row waits until the watermark has reached its time: then no version can come that would be valid earlier. Timers are set at the times
of both sides, so what happens at a time does not depend on the order of arrival:

    timer at t:  1. the last right change of t is the version that is valid from t on; `-D` is none
                 2. left rows of t are joined with the version
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.two_input_functions import KeyedCoProcessFunction
from penstock.api.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from penstock.sql.functions.changes import RowMaker
from penstock.sql.functions.join_condition import PairCondition, is_null
from penstock.sql.scalars.times import millis_of
from penstock.types import Types
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row, RowKind


@dataclass(frozen=True, slots=True)
class TemporalSpec:
    """A temporal join.

    Attributes:
        left: Type of the left rows.
        right: Type of the right ones.
        left_time: Position of the time of left rows.
        right_time: Position of the time of right rows.
        names: Names of the columns of the result.
        keeps_unmatched: Whether a left row without a version stays, beside NULL.
        condition: What a row and its version must satisfy; None is nothing.
    """

    left: RowTypeInfo
    right: RowTypeInfo
    left_time: int
    right_time: int
    names: tuple[str, ...]
    keeps_unmatched: bool
    condition: PairCondition | None = None


class TemporalJoinFunction(KeyedCoProcessFunction[Any, Any, Any, Row]):
    """Joins rows with versions. A row behind the watermark is late, and dropped."""

    def __init__(self, spec: TemporalSpec) -> None:
        """Make the function."""
        self._spec = spec

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        spec, times = self._spec, Types.LONG()
        self._maker = RowMaker(spec.names)
        self._lefts = runtime_context.get_map_state(
            MapStateDescriptor("lefts", times, Types.LIST(spec.left))
        )
        self._changes = runtime_context.get_map_state(
            MapStateDescriptor("changes", times, Types.LIST(spec.right))
        )
        self._version = runtime_context.get_state(ValueStateDescriptor("version", spec.right))
        self._late = runtime_context.get_metrics_group().counter("numLateRecordsDropped")

    def process_element1(self, value: Row, ctx: Any) -> None:
        """Keep a left row until its time."""
        self._keep(self._lefts, value, self._spec.left_time, ctx)

    def process_element2(self, value: Row, ctx: Any) -> None:
        """Keep a change of the right row until its time."""
        if value.get_row_kind() is not RowKind.UPDATE_BEFORE:
            self._keep(self._changes, value, self._spec.right_time, ctx)

    def _keep(self, rows: Any, value: Row, position: int, ctx: Any) -> None:
        moment = value[position]
        if moment is None:
            return
        time = millis_of(moment)
        timers = ctx.timer_service()
        if time <= timers.current_watermark():
            self._late.inc()
            return
        same = rows.get(time)
        rows.put(time, [value] if same is None else [*same, value])
        timers.register_event_time_timer(time)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Row]:
        """Join what can be joined at a time."""
        changes = self._changes.get(timestamp)
        if changes is not None:
            self._changes.remove(timestamp)
            last = changes[-1]
            if last.get_row_kind() is RowKind.DELETE:
                self._version.clear()
            else:
                (newest,) = RowMaker(self._spec.right.field_names).rows([list(last)])
                self._version.update(newest)
        lefts = self._lefts.get(timestamp)
        if lefts is not None:
            self._lefts.remove(timestamp)
            version = None if is_null(ctx.get_current_key()) else self._version.value()
            yield from self._joined(lefts, version)

    def _joined(self, lefts: list[Row], version: Row | None) -> list[Row]:
        spec = self._spec
        width = len(spec.right.field_names)
        made = []
        for left in lefts:
            if version is not None and (spec.condition is None or spec.condition(left, version)):
                made.append([*left, *version])
            elif spec.keeps_unmatched:
                made.append([*left, *[None] * width])
        return self._maker.rows(made)
