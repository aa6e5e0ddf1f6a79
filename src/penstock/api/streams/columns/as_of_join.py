"""As-of join: each record with the newest one of its key on another stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.api.environment.setting_values import length_of, milliseconds_of
from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.key_selectors import column_keys, given_columns
from penstock.api.functions.two_input_functions import KeyedCoProcessFunction
from penstock.api.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from penstock.api.streams.columns.column_joins import united_columns
from penstock.errors import ArgumentError, TimestampUnsupportedError
from penstock.expressions.column import ColumnExpression
from penstock.expressions.typing import record_type
from penstock.program.join import is_null_key
from penstock.program.windows import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.types import Row, RowKind, TypeInformation, Types
from penstock.types.row import row_factory

if TYPE_CHECKING:
    from penstock.api.environment.setting_values import Length
    from penstock.api.streams.data_stream import DataStream


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
        equal_times: True if a record of the same time is joined.
        right_positions: Fields of the right row that the result has, behind those of the left row.
        names: Names of the fields of the result.
        times: Functions that return the time of a record of each side, None to drop the record; by default the timestamp.
        are_versions: True if the right records are the changes of versions, as those of FOR SYSTEM_TIME AS OF: a removal ends
            one, and a key with NULL has none.
        keeps_unmatched: True if a left record without a right one stays, beside NULL.
        condition: Condition for pairs; None accepts all.
    """

    direction: Direction
    tolerance_ms: int | None
    equal_times: bool
    left: TypeInformation
    right: TypeInformation
    right_positions: tuple[int, ...]
    names: tuple[str, ...]
    times: tuple[Callable[[Any], int | None], ...] | None = None
    are_versions: bool = False
    keeps_unmatched: bool = True
    condition: Callable[[Any, Any], bool] | None = None

    def reaches(self, distance_ms: int) -> bool:
        """Return whether two times are near enough."""
        return self.tolerance_ms is None or distance_ms <= self.tolerance_ms


class Waiting(NamedTuple):
    """A left record that waits for a later right one.

    Attributes:
        due: Time at which nothing nearer can come.
        candidate: The earlier right record that it is joined with then, if any.
    """

    time: int
    due: int
    left: Any
    candidate: Any
    distance_ms: int | None


class AsOfJoinFunction(KeyedCoProcessFunction[Any, Any, Any, Row]):
    """The function of `DataStream.as_of_join`, and of FOR SYSTEM_TIME AS OF.

    A left record waits until the watermark has reached its time: then nothing can come that would be nearer. Timers are set
    at the times of both sides, so what happens at a time does not depend on the order of arrival.
    """

    def __init__(self, spec: AsOf) -> None:
        """Make the function."""
        self._spec = spec
        # Among records of one time, the nearest to the left record if they are in a row.
        self._of_equal = 0 if spec.direction is Direction.FORWARD else -1

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        spec, times = self._spec, Types.LONG()
        self._make = row_factory(spec.names)
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
        self._keep(self._lefts, 0, value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> None:
        """Keep a right record until its time."""
        if not self._spec.are_versions or value.get_row_kind() is not RowKind.UPDATE_BEFORE:
            self._keep(self._rights, 1, value, ctx)

    def _keep(self, records: Any, side: int, value: Any, ctx: Any) -> None:
        if self._spec.times is not None:
            time = self._spec.times[side](value)
            if time is None:
                return
        else:
            time = ctx.timestamp()
            if time == MIN_TIMESTAMP:
                raise TimestampUnsupportedError(
                    f"as_of_join got {value!r:.200}, which has no timestamp",
                    hint="Assign timestamps and watermarks to both streams before.",
                )
        timers = ctx.timer_service()
        if time <= timers.current_watermark():
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
                self._renew(timestamp, rights)
        for left in lefts:
            earlier, later = self._looked_back(timestamp, left, ctx)
            if later is None:
                yield from self._joined(left, earlier)
            else:
                waiting = [*waiting, later]
                ctx.timer_service().register_event_time_timer(later.due)
        if rights and not self._spec.equal_times:
            self._renew(timestamp, rights)
        for entry in waiting:
            if entry.due <= timestamp:
                yield from self._joined(entry.left, entry.candidate)
        waiting = [entry for entry in waiting if entry.due > timestamp]
        if waiting != before:
            self._keep_waiting(waiting)

    def _renew(self, time: int, rights: list[Any]) -> None:
        newest = rights[self._of_equal]
        if self._spec.are_versions and newest.get_row_kind() is RowKind.DELETE:
            self._newest.clear()
        else:
            self._newest.update((time, newest))

    def _keep_waiting(self, waiting: list[Waiting]) -> None:
        if waiting:
            self._waiting.update(waiting)
        else:
            self._waiting.clear()

    def _looked_back(self, time: int, left: Any, ctx: Any) -> tuple[Any, Waiting | None]:
        """Return the earlier right record, or what waits for a later one."""
        spec = self._spec
        matches_none = spec.are_versions and is_null_key(ctx.get_current_key())
        newest: Any = None if matches_none else self._newest.value()
        distance = None if newest is None else time - newest[0]
        near = distance is not None and spec.reaches(distance)
        forward = spec.direction is Direction.FORWARD
        # Looking forward, only a record of the same time is not too early.
        earlier = newest[1] if near and not (forward and distance) else None
        if spec.direction is Direction.BACKWARD or (earlier is not None and distance == 0):
            return earlier, None
        due = (
            MAX_TIMESTAMP
            if spec.tolerance_ms is None
            else min(time + spec.tolerance_ms, MAX_TIMESTAMP)
        )
        if earlier is None:
            return None, Waiting(time, due, left, None, None)
        assert distance is not None, "it is in time"
        return None, Waiting(time, min(time + distance, due), left, earlier, distance)

    def _answered_by(self, waiting: list[Waiting], time: int, right: Any) -> Iterator[Row]:
        """Yield the answers of what waits, given the first right record behind it."""
        for entry in waiting:
            distance = time - entry.time
            is_nearer = entry.distance_ms is None or distance < entry.distance_ms
            chosen = right if is_nearer and self._spec.reaches(distance) else entry.candidate
            yield from self._joined(entry.left, chosen)

    def _joined(self, left: Any, right: Any) -> list[Row]:
        spec = self._spec
        if right is not None and spec.condition is not None and not spec.condition(left, right):
            right = None
        if right is None and not spec.keeps_unmatched:
            return []
        fields = [None if right is None else right[position] for position in spec.right_positions]
        return self._make([[*left, *fields]])


def _taken(records: Any, time: int) -> list[Any]:
    values = records.get(time)
    if values is None:
        return []
    records.remove(time)
    return values  # type: ignore[no-any-return]


_NAME = "as_of_join"


def as_of_joined(
    left: DataStream[Any],
    right: DataStream[Any],
    by: ColumnExpression | Sequence[ColumnExpression],
    *,
    tolerance: Length | None,
    direction: str,
    allow_exact_matches: bool,
) -> DataStream[Row]:
    """Return the stream of `ColumnOperations.as_of_join`, which has the arguments."""
    columns = given_columns(by, _NAME)
    if not columns:
        raise ArgumentError.here(f"{_NAME} got no columns", hint="Pass by=col.name.")
    sides = tuple(record_type(stream.get_type(), _NAME) for stream in (left, right))
    keyed = [
        stream.key_by(column_keys(columns, side, _NAME))
        for stream, side in zip((left, right), sides, strict=True)
    ]
    result, rest = united_columns(sides, columns, _NAME)
    if not isinstance(direction, str) or direction not in {member.value for member in Direction}:
        raise ArgumentError.here(
            f"{_NAME} got the direction {direction!r}",
            hint=f"Pass one of {', '.join(member.value for member in Direction)}.",
        )
    reach: timedelta | None = None if tolerance is None else length_of(tolerance, _NAME)
    spec = AsOf(
        direction=Direction(direction),
        tolerance_ms=None if reach is None else milliseconds_of(reach),
        equal_times=allow_exact_matches,
        left=sides[0],
        right=sides[1],
        right_positions=rest,
        names=tuple(result.field_names),
    )
    joined = keyed[0].connect(keyed[1]).process(AsOfJoinFunction(spec), result)
    return joined.name(_NAME)
