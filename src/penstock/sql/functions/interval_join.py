"""Joins of rows whose event times are close: each row is kept until the watermark says that no other one can match it.

Rows are kept by key in buckets of time, as long as the interval is wide. So a row finds the rows that can match it in two or three buckets:

    interval 0..4     buckets [0, 5)  [5, 10)  [10, 15)       a left row of time 7 matches right ones of 7 to 11
                               l 7
                               r 8     r 10

    right bucket: gone when the watermark has reached its last time + max(-lower, 0)
    left bucket:  gone when it has reached its last time + max(upper, 0); then rows that have not matched are padded with NULL

A row behind the watermark is late, and dropped. Which rows match depends on no order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.two_input_functions import KeyedCoProcessFunction
from penstock.api.state.descriptors import MapStateDescriptor
from penstock.api.streams.columns.as_of_join import has_null
from penstock.program.join import Existence, JoinKind
from penstock.sql.functions.changes import RowMaker
from penstock.sql.functions.join_condition import PairCondition
from penstock.sql.scalars.times import millis_of
from penstock.types import TypeInformation, Types
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row

_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True)
class TimeOf:
    """The time of the rows of a side.

    Attributes:
        position: Of the column that has it.
        offset_ms: What is added to its values.
    """

    position: int
    offset_ms: int


@dataclass(frozen=True, slots=True)
class TimeInterval:
    """Pairs of rows with `lower_ms <= right time - left time <= upper_ms`.

    Attributes:
        left: Time of left rows.
        right: Time of right rows.
        lower_ms: The least difference.
        upper_ms: The greatest one.
    """

    left: TimeOf
    right: TimeOf
    lower_ms: int
    upper_ms: int

    @property
    def reaches_ms(self) -> tuple[int, int]:
        """Longest time behind their own that left and right rows can be matched."""
        return max(self.upper_ms, 0), max(-self.lower_ms, 0)

    @property
    def width_ms(self) -> int:
        """Number of different distances."""
        return self.upper_ms - self.lower_ms + 1


@dataclass(frozen=True, slots=True)
class IntervalJoinSpec:
    """An interval join.

    Attributes:
        types: Of left and right rows.
        interval: How close times are.
        names: Of the columns of the result.
        kind: Which rows without a match are padded.
        existence: Whether results are left rows that match, or left rows that do not; None is pairs.
        condition: What rows of one key must satisfy to match, the interval among it; None is nothing more.
    """

    types: tuple[RowTypeInfo, RowTypeInfo]
    interval: TimeInterval
    names: tuple[str, ...]
    kind: JoinKind
    existence: Existence | None
    condition: PairCondition | None


class IntervalJoinFunction(KeyedCoProcessFunction[Any, Any, Any, Row]):
    """Joins rows of one key whose times are close."""

    def __init__(self, spec: IntervalJoinSpec) -> None:
        """Make the function."""
        self._spec = spec

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        spec, interval = self._spec, self._spec.interval
        self._maker = RowMaker(spec.names)
        self._times = (interval.left, interval.right)
        self._bounds = (
            (interval.lower_ms, interval.upper_ms),
            (-interval.upper_ms, -interval.lower_ms),
        )
        self._buckets = [
            runtime_context.get_map_state(
                MapStateDescriptor(side, Types.LONG(), Types.LIST(_entry(kind)))
            )
            for side, kind in zip(_SIDES, spec.types, strict=True)
        ]
        self._late = runtime_context.get_metrics_group().counter("numLateRecordsDropped")
        self._matches: Callable[[Row, Row], bool] = spec.condition or _always
        # Of SEMI and ANTI a left row is done with its first match.
        self._is_done = (spec.existence is not None, False)
        is_anti = spec.existence is Existence.ANTI
        is_pairs = spec.existence is None
        # Of other sides nobody asks whether a row has matched.
        self._pads = (is_anti or (is_pairs and spec.kind.pads(0)), is_pairs and spec.kind.pads(1))

        self._keeps_matches = (self._pads[0] or self._is_done[0], self._pads[1])

    def process_element1(self, value: Row, ctx: Any) -> Iterator[Row]:
        """Join a left row with the right rows so far."""
        return self._arrived(0, value, ctx)

    def process_element2(self, value: Row, ctx: Any) -> Iterator[Row]:
        """Join a right row with the left rows so far."""
        return self._arrived(1, value, ctx)

    def _arrived(self, side: int, value: Row, ctx: Any) -> Iterator[Row]:
        moment = value[self._times[side].position]
        if moment is None:
            yield from self._padded(side, [value])
            return
        time = millis_of(moment) + self._times[side].offset_ms
        timers = ctx.timer_service()
        if time <= timers.current_watermark():
            self._late.inc()
            return
        if has_null(ctx.get_current_key()):
            yield from self._padded(side, [value])
            return
        pairs = self._matched(side, value, time)
        yield from self._results(pairs)
        if pairs and self._is_done[side]:
            return
        width = self._spec.interval.width_ms
        bucket = time // width
        rows = self._buckets[side].get(bucket)
        entry = (value, time, bool(pairs))
        self._buckets[side].put(bucket, [entry] if rows is None else [*rows, entry])
        timers.register_event_time_timer(self._end(side, bucket))

    def _end(self, side: int, bucket: int) -> int:
        interval = self._spec.interval
        return (bucket + 1) * interval.width_ms - 1 + interval.reaches_ms[side]

    def _matched(self, side: int, value: Row, time: int) -> list[tuple[Row, Row]]:
        """Return the pairs of a row with rows of the other side, which have matched from now on."""
        other, width = 1 - side, self._spec.interval.width_ms
        low, high = (time + bound for bound in self._bounds[side])
        pairs: list[tuple[Row, Row]] = []
        for bucket in range(low // width, high // width + 1):
            rows = self._buckets[other].get(bucket)
            if rows is None:
                continue
            kept, before = [], len(pairs)
            for entry in rows:
                row, at, has_matched = entry
                if not low <= at <= high:
                    kept.append(entry)
                    continue
                pair = (row, value) if side else (value, row)
                if not self._matches(*pair):
                    kept.append(entry)
                    continue
                pairs.append(pair)
                if not self._is_done[other]:
                    kept.append(entry if has_matched else (row, at, True))
            if len(pairs) > before and self._keeps_matches[other]:
                self._buckets[other].put(bucket, kept)
        return pairs

    def _results(self, pairs: list[tuple[Row, Row]]) -> list[Row]:
        existence = self._spec.existence
        if existence is None:
            return self._maker.rows([[*left, *right] for left, right in pairs])
        if existence is Existence.ANTI:
            return []
        lefts = {id(left): left for left, _ in pairs}
        return self._maker.rows([list(left) for left in lefts.values()])

    def _padded(self, side: int, rows: list[Row]) -> list[Row]:
        """Return what rows without a match become."""
        if not self._pads[side]:
            return []
        if self._spec.existence is not None:
            return self._maker.rows([list(row) for row in rows])
        nulls = [None] * len(self._spec.types[1 - side].field_names)
        return self._maker.rows([[*nulls, *row] if side else [*row, *nulls] for row in rows])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Row]:
        """Forget the rows that nothing can match any more."""
        width, reaches = self._spec.interval.width_ms, self._spec.interval.reaches_ms
        for side in (0, 1):
            bucket, rest = divmod(timestamp + 1 - reaches[side], width)
            rows = None if rest else self._buckets[side].get(bucket - 1)
            if rows is not None:
                self._buckets[side].remove(bucket - 1)
                yield from self._padded(
                    side, [row for row, _, has_matched in rows if not has_matched]
                )


def _entry(kind: RowTypeInfo) -> TypeInformation:
    """Return the type of a row that is kept, with its time and whether it has matched."""
    return Types.TUPLE([kind, Types.LONG(), Types.BOOLEAN()])


def _always(_: Row, __: Row) -> bool:
    return True
