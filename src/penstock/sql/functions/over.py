"""OVER: values of each row that depend on the rows of its partition, in order, as a changelog.

State of a partition: row -> count, of all rows. When rows come or go, the results of the partition before and after are compared, and the
difference is emitted. So any order, frame and function is right whatever rows are taken back, at the cost of the whole
partition per micro-batch that changes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.state.descriptors import MapStateDescriptor, expiring
from penstock.expressions.python.times import millis_of
from penstock.relation.ordered import Frame, OverCall
from penstock.relation.parts import AggregateCall
from penstock.sql.functions.accumulators import ACCUMULATORS, OF_VALUES, Accumulator
from penstock.sql.functions.changes import RowMaker, signed
from penstock.types import TypeInformation, Types
from penstock.types.row import Row, RowKind
from penstock.types.row_order import RowOrder, SortColumn
from penstock.types.sql_types import FLOATS

Rows = list[tuple[Any, ...]]
Bounds = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class OverSpec:
    """Functions of one partition and order.

    Attributes:
        order: All columns, those of ORDER BY first.
        ttl_ms: Time after which rows are forgotten; None is never.
    """

    calls: tuple[OverCall, ...]
    order: tuple[SortColumn, ...]
    ordered: int
    names: tuple[str, ...]
    ttl_ms: int | None = None


class OverFunction:
    """Returns the changes of rows with the values of functions."""

    def __init__(self, spec: OverSpec) -> None:
        """Make the function."""
        self._spec = spec

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        spec = self._spec
        self._maker = RowMaker(spec.names)
        self._sorter = RowOrder(spec.order)
        self._peers = RowOrder(spec.order[: spec.ordered])
        rows = MapStateDescriptor("rows", Types.PICKLED_BYTE_ARRAY(), Types.LONG())
        self._rows = runtime_context.get_map_state(expiring(rows, spec.ttl_ms))

    def process_changes(self, key: Any, rows: list[Row]) -> list[Row]:
        """Return the changes that rows of a partition make."""
        net = Counter[tuple[Any, ...]]()
        for of_row, sign in signed(rows):
            net[tuple(of_row)] += sign
        counts = dict(self._rows.items())
        before = Counter(self._results(counts))
        for values, change in net.items():
            if not change:
                continue
            now = counts.get(values, 0) + change
            if now:
                counts[values] = now
                self._rows.put(values, now)
            else:
                del counts[values]
                self._rows.remove(values)
        after = Counter(self._results(counts))
        gone = [list(fields) for fields in (before - after).elements()]
        come = [list(fields) for fields in (after - before).elements()]
        return [*self._maker.rows(gone, RowKind.DELETE), *self._maker.rows(come)]

    def _results(self, counts: dict[tuple[Any, ...], int]) -> Rows:
        rows = [values for values, count in counts.items() for _ in range(max(count, 0))]
        rows.sort(key=self._sorter.key)
        if not rows:
            return []
        results = [
            values_over(call, rows, bounds_of(call.frame, rows, self._spec.order, self._peers))
            for call in self._spec.calls
        ]
        return [(*row, *more) for row, more in zip(rows, zip(*results, strict=True), strict=True)]


def bounds_of(frame: Frame, rows: Rows, order: Sequence[SortColumn], peers: RowOrder) -> Bounds:
    """Return, for each row, the first row of its frame and the position behind the last one."""
    count = len(rows)
    if frame.is_whole:
        return [(0, count)] * count
    if frame.counts_rows:
        back = frame.preceding
        return [(0 if back is None else max(0, index - back), index + 1) for index in range(count)]
    ends, starts = [count] * count, [0] * count
    for index in range(count - 1, 0, -1):
        ends[index - 1] = index if peers.compare(rows[index - 1], rows[index]) else ends[index]
    for index in range(1, count):
        starts[index] = index if peers.compare(rows[index - 1], rows[index]) else starts[index - 1]
    if frame.preceding is None:
        return [(0, end) for end in ends]
    first = 0
    bounds = []
    for index, row in enumerate(rows):
        while not _reaches(rows[first], row, order[0], frame.preceding):
            first += 1
        bounds.append((min(first, starts[index]), ends[index]))
    return bounds


def _reaches(early: Sequence[Any], late: Sequence[Any], column: SortColumn, distance: int) -> bool:
    one, other = early[column.position], late[column.position]
    if one is None or other is None:
        return one is other
    if isinstance(one, date):
        one, other = millis_of(one), millis_of(other)
    return bool(abs(other - one) <= distance)


def values_over(over: OverCall, rows: Rows, bounds: Bounds) -> list[Any]:
    """Return the value of a function for each row."""
    positional = POSITIONAL.get(over.call.function)
    if positional is not None:
        return positional(over, rows, bounds)
    sliding = FrameAggregate(over.call)
    first = last = 0
    values = []
    for start, end in bounds:
        while last < end:
            sliding.change(rows[last], 1)
            last += 1
        while first < start:
            sliding.change(rows[first], -1)
            first += 1
        values.append(sliding.result())
    return values


class FrameAggregate:
    """An aggregate of rows that enter and leave a frame.

    Attributes:
        parts: Its partial result; the value of a MIN or MAX that only grows.
        counts: Number of each value, if it needs the values; floats as texts.
        needs_values: True if it needs the values.
    """

    def __init__(self, call: AggregateCall, *, only_grows: bool = False) -> None:
        """Begin without rows."""
        self._call = call
        self._is_float = call.source.name in FLOATS
        self._choose = OF_VALUES.get(call.function)
        self._accumulator: Accumulator | None = None
        self.types: tuple[TypeInformation, ...] = (call.source.type_info,)
        start: tuple[Any, ...] = (None,)
        if self._choose is None:
            self._accumulator = ACCUMULATORS[call.function](call.source, call.result)
            self.types, start = self._accumulator.types, self._accumulator.start
        self.parts = list(start)
        self.counts: Any = Counter()
        self.needs_values = call.is_distinct or (self._choose is not None and not only_grows)

    def change(self, row: Sequence[Any], sign: int) -> None:
        """Add a row (1), or take it out (-1)."""
        call = self._call
        if call.filter is not None and row[call.filter] is not True:
            return
        value = row[call.arguments[0]] if call.arguments else True
        if value is None or (self.needs_values and not self._is_other(value, sign)):
            return
        if self._accumulator is not None:
            self._accumulator.add(self.parts, value, sign)
        elif self._choose is not None and not self.needs_values:
            known = self.parts if self.parts[0] is not None else []
            self.parts = [self._choose([*known, value])]

    def _is_other(self, value: Any, sign: int) -> bool:
        """Count a value, and return whether it is the first or was the last of its kind."""
        key = repr(value) if self._is_float else value
        before = self.counts[key] or 0
        if before + sign:
            self.counts[key] = before + sign
        else:
            del self.counts[key]
        return (before > 0) is not (before + sign > 0)

    def result(self) -> Any:
        """Return the value of the rows that are there."""
        if self._accumulator is not None:
            return self._accumulator.result(self.parts)
        if not self.needs_values or self._choose is None:
            return self.parts[0]
        return self._choose(float(value) if self._is_float else value for value in self.counts)


def _neighbour(direction: int) -> Callable[[OverCall, Rows, Bounds], list[Any]]:
    def neighbours(over: OverCall, rows: Rows, _: Bounds) -> list[Any]:
        (position, *_rest), count = over.call.arguments, len(rows)
        values = []
        for number, row in enumerate(rows):
            other = number + direction * over.offset
            if 0 <= other < count:
                values.append(rows[other][position])
            else:
                values.append(None if over.default is None else row[over.default])
        return values

    return neighbours


def _ranked(over: OverCall, rows: Rows, bounds: Bounds) -> list[int]:
    number, ranks = RANK_OF[over.call.function], []
    first = groups = 0
    for position in range(len(rows)):
        if position and bounds[position][1] != bounds[position - 1][1]:
            first, groups = position, groups + 1
        ranks.append(number(first, groups, position - first))
    return ranks


RANK_OF: dict[str, Callable[[int, int, int], int]] = {
    "ROW_NUMBER": lambda rows, _, place: rows + place + 1,
    "RANK": lambda rows, _, __: rows + 1,
    "DENSE_RANK": lambda _, groups, __: groups + 1,
}
"""Function to the number of a row: of the rows and the groups of peers before, and its place among its peers."""

POSITIONAL: dict[str, Callable[[OverCall, Rows, Bounds], list[Any]]] = {
    **dict.fromkeys(RANK_OF, _ranked),
    "LAG": _neighbour(-1),
    "LEAD": _neighbour(1),
    "FIRST_VALUE": lambda over, rows, bounds: [
        rows[start][over.call.arguments[0]] for start, _ in bounds
    ],
    "LAST_VALUE": lambda over, rows, bounds: [
        rows[end - 1][over.call.arguments[0]] for _, end in bounds
    ],
}
"""Functions of the position of a row: name to the values of all rows."""
