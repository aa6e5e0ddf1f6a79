"""Joins each record with the record of another stream that is nearest to it in time, as of its own time.

A left record waits until no right record can come that would be nearer: the watermark tells. Timers are set at the times of
records of both sides, so what happens at a time does not depend on the order of arrival:

    timer at t:  1. right records of t answer what waits for a later one
                 2. the last of them is the newest right record   (behind 3, if equal times do not match)
                 3. left records of t are answered, or wait for a later right record
                 4. what has waited long enough is answered
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.two_input_functions import KeyedCoProcessFunction
from penstock.api.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from penstock.errors import TimestampUnsupportedError
from penstock.program.windows import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.types import Row, TypeInformation, Types


class Direction(Enum):
    """Place of the joined record in time, seen from the left one."""

    BACKWARD = "backward"
    """Not later."""

    FORWARD = "forward"
    """Not earlier."""

    NEAREST = "nearest"
    """Nearest; of two as near, the earlier one."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """Form of an as-of join.

    Attributes:
        direction: Where the joined record is.
        tolerance_ms: Greatest difference of times; None is any.
        equal_times: Whether a record of the same time is joined.
        left: Type of the left records.
        right: Type of the right ones.
        right_positions: Fields of the right row that the result has, behind those of the left row.
        names: Names of the fields of the result.
    """

    direction: Direction
    tolerance_ms: int | None
    equal_times: bool
    left: TypeInformation
    right: TypeInformation
    right_positions: tuple[int, ...]
    names: tuple[str, ...]

    def reaches(self, distance_ms: int) -> bool:
        """Return whether two times are near enough."""
        return self.tolerance_ms is None or distance_ms <= self.tolerance_ms


class Waiting(NamedTuple):
    """A left record that waits for a later right one.

    Attributes:
        time: Its time.
        due: Time at which nothing nearer can come.
        left: The record.
        candidate: The earlier right record that it is joined with then, if any.
        distance_ms: How far that is.
    """

    time: int
    due: int
    left: Any
    candidate: Any
    distance_ms: int | None


class AsOfJoinFunction(KeyedCoProcessFunction[Any, Any, Any, Row]):
    """The function of `DataStream.as_of_join`."""

    def __init__(self, spec: AsOf) -> None:
        """Make the function.

        Args:
            spec: What is joined.
        """
        self._spec = spec
        # Of records of one time the nearest to the left record, if they are in a row.
        self._of_equal = 0 if spec.direction is Direction.FORWARD else -1

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        spec, times = self._spec, Types.LONG()
        self._lefts = runtime_context.get_map_state(
            MapStateDescriptor("lefts", times, Types.LIST(spec.left))
        )
        self._rights = runtime_context.get_map_state(
            MapStateDescriptor("rights", times, Types.LIST(spec.right))
        )
        self._newest = runtime_context.get_state(
            ValueStateDescriptor("newest", Types.TUPLE([times, spec.right]))
        )
        self._waiting = runtime_context.get_state(ValueStateDescriptor("waiting"))
        self._late = runtime_context.get_metrics_group().counter("numLateRecordsDropped")

    def process_element1(self, value: Any, ctx: Any) -> None:
        """Keep a left record until its time."""
        self._keep(self._lefts, value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> None:
        """Keep a right record until its time."""
        self._keep(self._rights, value, ctx)

    def _keep(self, records: Any, value: Any, ctx: Any) -> None:
        time = ctx.timestamp()
        if time == MIN_TIMESTAMP:
            raise TimestampUnsupportedError(
                f"as_of_join got {value!r:.200}, which has no timestamp",
                hint="Assign timestamps and watermarks to both streams before.",
            )
        timers = ctx.timer_service()
        if time < timers.current_watermark():
            self._late.inc()
            return
        same = records.get(time)
        records.put(time, [value] if same is None else [*same, value])
        timers.register_event_time_timer(time)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Row]:
        """Answer what can be answered at a time."""
        rights, lefts = _taken(self._rights, timestamp), _taken(self._lefts, timestamp)
        waiting: list[Waiting] = self._waiting.value() or []
        before = waiting
        if rights:
            yield from self._answered_by(waiting, timestamp, rights[0])
            waiting = []
            if self._spec.equal_times:
                self._newest.update((timestamp, rights[self._of_equal]))
        for left in lefts:
            found, later = self._looked_back(timestamp, left)
            if later is None:
                yield self._joined(left, found)
            else:
                waiting = [*waiting, later]
                ctx.timer_service().register_event_time_timer(later.due)
        if rights and not self._spec.equal_times:
            self._newest.update((timestamp, rights[self._of_equal]))
        for each in waiting:
            if each.due <= timestamp:
                yield self._joined(each.left, each.candidate)
        waiting = [each for each in waiting if each.due > timestamp]
        if waiting != before:
            self._keep_waiting(waiting)

    def _keep_waiting(self, waiting: list[Waiting]) -> None:
        if waiting:
            self._waiting.update(waiting)
        else:
            self._waiting.clear()

    def _looked_back(self, time: int, left: Any) -> tuple[Any, Waiting | None]:
        """Return the earlier right record, or what waits for a later one."""
        spec, newest = self._spec, self._newest.value()
        distance = None if newest is None else time - newest[0]
        near = distance is not None and spec.reaches(distance)
        forward = spec.direction is Direction.FORWARD
        # Looking forward, only a record of the same time is not too early.
        found = newest[1] if near and not (forward and distance) else None
        if spec.direction is Direction.BACKWARD or (found is not None and distance == 0):
            return found, None
        due = (
            MAX_TIMESTAMP
            if spec.tolerance_ms is None
            else min(time + spec.tolerance_ms, MAX_TIMESTAMP)
        )
        if found is None:
            return None, Waiting(time, due, left, None, None)
        assert distance is not None, "found is in time"
        return None, Waiting(time, min(time + distance, due), left, found, distance)

    def _answered_by(self, waiting: list[Waiting], time: int, right: Any) -> Iterator[Row]:
        """Yield the answers of what waits, given the first right record behind it."""
        for each in waiting:
            distance = time - each.time
            is_nearer = each.distance_ms is None or distance < each.distance_ms
            chosen = right if is_nearer and self._spec.reaches(distance) else each.candidate
            yield self._joined(each.left, chosen)

    def _joined(self, left: Any, right: Any) -> Row:
        spec = self._spec
        fields = [None if right is None else right[at] for at in spec.right_positions]
        row = Row(*left, *fields)
        row.set_field_names(spec.names)
        return row


def _taken(records: Any, time: int) -> list[Any]:
    found = records.get(time)
    if found is None:
        return []
    records.remove(time)
    return found  # type: ignore[no-any-return]
