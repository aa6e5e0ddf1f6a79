"""The first rows of a key in an order: of `top_n`, of ROW_NUMBER with a bound, and of LIMIT.

State of a key:

    top     the first rows, in order
    rows    all rows, if one of them can be replaced or taken back: by the columns that identify it, or with its count

All rows are only read if one of the first gets worse than the last of them, or goes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.state.descriptors import MapStateDescriptor, ValueStateDescriptor, expiring
from penstock.errors import TypeMismatchError
from penstock.types import TypeInformation, Types
from penstock.types.records import RowTypeInfo
from penstock.types.row import SIGN, Row, RowKind, row_factory, values_of_row
from penstock.types.row_order import RowOrder

Values = list[Any]
"""Values of a row, in order of its columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopN:
    """Order and number of first rows.

    Attributes:
        end: Position behind the last row.
        order: Order of the rows; behind the columns that were named, others decide.
        row_type: Type of the rows in state.
        names: Names of the columns of the results.
        start: Number of rows to skip before.
        has_number: True if results have the number of the row, from 1, as their last column.
        are_counted: True if rows that are taken back have the values of one that was added.
        identity: Positions of the columns by which a row replaces another; empty if none does.
        identity_type: Type of the tuple of these; None if there are none.
        ttl_ms: Time after which state is forgotten; None is never.
        has_timestamps: True if a change has the timestamp of the last row that it was computed from.
    """

    end: int
    order: RowOrder
    row_type: RowTypeInfo
    names: tuple[str, ...]
    start: int = 0
    has_number: bool = False
    are_counted: bool = False
    identity: tuple[int, ...] = ()
    identity_type: TypeInformation | None = None
    ttl_ms: int | None = None
    has_timestamps: bool = False


class FirstRows:
    """Keeps the first rows of keys; the operator emits how they changed."""

    def __init__(self, spec: TopN) -> None:
        """Make the function."""
        self.spec = spec

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        spec = self.spec
        self._stored = row_factory(spec.row_type.field_names)
        self._results = row_factory(spec.names)
        top = ValueStateDescriptor("top", Types.LIST(spec.row_type))
        self._top = runtime_context.get_state(expiring(top, spec.ttl_ms))
        if spec.are_counted:
            counts = MapStateDescriptor("rows", Types.PICKLED_BYTE_ARRAY(), Types.LONG())
            self._counts = runtime_context.get_map_state(expiring(counts, spec.ttl_ms))
        elif spec.identity_type is not None:
            rows = MapStateDescriptor("rows", spec.identity_type, spec.row_type)
            self._rows = runtime_context.get_map_state(expiring(rows, spec.ttl_ms))

    def first(self) -> list[Values]:
        """Return the first rows of the current key, those that are left out included."""
        return list(map(values_of_row, self._top.value() or ()))

    def put(self, rows: Sequence[Any]) -> tuple[list[Values], list[Values]]:
        """Apply rows to those of the current key, and return the first ones before and after."""
        before, spec = self.first(), self.spec
        if spec.are_counted:
            gone, come = self._counted(rows)
        elif spec.identity:
            gone, come = self._replaced(rows)
        else:
            gone, come = [], _added(rows)
        after = self._after(before, gone, come)
        if after != before:
            if after:
                self._top.update(self._stored(list(map(list, after))))
            else:
                self._top.clear()
        return before, after

    def clear(self) -> None:
        """Forget the first rows of the current key."""
        self._top.clear()

    def changes(self, before: list[Values], after: list[Values]) -> list[Row]:
        """Return the changes from first rows to others: what goes comes first."""
        spec = self.spec
        before, after = before[spec.start :], after[spec.start :]
        if spec.has_number:
            return self._renumbered(before, after)
        gone, come = spec.order.only_in(before, after, by_order=False)
        if not spec.identity:
            return [*self._of_kind(gone, RowKind.DELETE), *self._of_kind(come)]
        former = {self._identity(row): row for row in gone}
        kept = set(map(self._identity, come)) & former.keys()
        goes = [row for key, row in former.items() if key not in kept]
        rows = self._of_kind(goes, RowKind.DELETE)
        for row in come:
            key = self._identity(row)
            if key in kept:
                rows += self._of_kind([former[key]], RowKind.UPDATE_BEFORE)
                rows += self._of_kind([row], RowKind.UPDATE_AFTER)
            else:
                rows += self._of_kind([row])
        return rows

    def _renumbered(self, before: list[Values], after: list[Values]) -> list[Row]:
        compare, number = self.spec.order.compare, self.spec.start + 1
        same = {
            index
            for index, pair in enumerate(zip(before, after, strict=False))
            if not compare(*pair)
        }
        gone, come = (
            [[*row, number + index] for index, row in enumerate(rows) if index not in same]
            for rows in (before, after)
        )
        return [*self._of_kind(gone, RowKind.DELETE), *self._of_kind(come)]

    def _of_kind(self, values: list[Values], kind: RowKind = RowKind.INSERT) -> list[Row]:
        rows = self._results(list(map(list, values)))
        if kind is not RowKind.INSERT:
            for row in rows:
                row.set_row_kind(kind)
        return rows

    def _after(self, before: list[Values], gone: list[Any], come: list[Any]) -> list[Values]:
        end, order = self.spec.end, self.spec.order
        if self.spec.are_counted and self.spec.ttl_ms is not None:
            # Rows expire one by one, and then they are not among the first: these may be older.
            return nsmallest(end, self._all(), key=order.key)
        kept = before
        if gone:
            kept, _ = order.only_in(before, sorted(gone, key=order.key), by_order=True)
        after = self._with(kept, come)
        if len(kept) == len(before) or len(before) < end:
            return after
        if len(after) == end and order.compare(after[-1], before[-1]) <= 0:
            return after
        return nsmallest(end, self._all(), key=order.key)

    def _with(self, kept: list[Values], come: list[Any]) -> list[Values]:
        """Return the first ones of some rows and further ones, which are behind equal ones."""
        end, order = self.spec.end, self.spec.order
        if kept and len(kept) == end:
            come = [row for row in come if order.compare(row, kept[-1]) < 0]
        if len(come) > 1:
            come = nsmallest(end, come, key=order.key)
        if not kept:
            return come[:end]
        after = kept.copy()
        for row in come:
            after.insert(bisect_right(after, order.key(row), key=order.key), row)
        return after[:end]

    def _all(self) -> Iterable[Values]:
        """Return all rows of the current key."""
        if not self.spec.are_counted:
            return map(values_of_row, self._rows.values())
        most = self.spec.end
        counts = self._counts.items()
        return (list(row) for row, count in counts for _ in range(min(count, most)))

    def _counted(self, rows: Sequence[Row]) -> tuple[list[Any], list[Any]]:
        net = Counter[tuple[Any, ...]]()
        for row in rows:
            net[tuple(values_of_row(row))] += SIGN[row.get_row_kind()]
        gone: list[Any] = []
        come: list[Any] = []
        for values, change in net.items():
            if change:
                former = self._counts.get(values) or 0
                now = former + change
                if now:
                    self._counts.put(values, now)
                else:
                    self._counts.remove(values)
                # A row may be taken back before it comes: then its count is negative.
                added = max(now, 0) - max(former, 0)
                (come if added > 0 else gone).extend([list(values)] * abs(added))
        return gone, come

    def _replaced(self, rows: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        last: dict[tuple[Any, ...], Any] = {}
        for row in rows:
            key = self._identity(row)
            last.pop(key, None)
            last[key] = row
        gone: list[Any] = []
        come: list[Any] = []
        for key, row in last.items():
            former = self._rows.get(key)
            if former is not None:
                gone.append(values_of_row(former))
            if not isinstance(row, Row) or SIGN[row.get_row_kind()] > 0:
                come.append(_values(row))
                self._rows.put(key, self._stored([list(come[-1])])[0])
            elif former is not None:
                self._rows.remove(key)
        return gone, come

    def _identity(self, row: Any) -> tuple[Any, ...]:
        return tuple(row[position] for position in self.spec.identity)


def _values(row: Any) -> Values:
    return values_of_row(row) if isinstance(row, Row) else list(row)


def _added(rows: Sequence[Any]) -> list[Values]:
    for row in rows:
        if isinstance(row, Row) and row.get_row_kind() is not RowKind.INSERT:
            raise TypeMismatchError(
                f"top_n got the change {row.get_row_kind()} {row!r:.200}, but it has no key by which rows replace each other",
                hint="Pass key=…, the columns that identify a row.",
            )
    return list(map(_values, rows))
