"""The first rows of a partition in an order, with or without their numbers, as a changelog.

State of a partition:

    top     the first rows, in order
    rows    row -> count, of all rows; only if rows can be taken back

The order is total: behind the columns of ORDER BY all other columns decide, so the rows are the same in every mode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from heapq import nsmallest
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from penstock.sql.functions.changes import RowMaker, signed
from penstock.sql.functions.state_ttl import expiring
from penstock.types import Types
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row, RowKind


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column of ORDER BY.

    Attributes:
        position: Of the column.
        is_descending: Whether great values come first.
        nulls_first: Whether NULL comes first.
    """

    position: int
    is_descending: bool
    nulls_first: bool

    def __str__(self) -> str:
        return f"#{self.position}{' DESC' if self.is_descending else ''}"


class RowSorter:
    """Orders lists of values. NaN is greater than any number.

    Attributes:
        key: Makes a list a key for `sorted`.
    """

    def __init__(self, columns: Sequence[SortColumn]) -> None:
        """Make an order."""
        self._columns = tuple(columns)
        self.key = cmp_to_key(self.compare)

    def compare(self, first: Sequence[Any], second: Sequence[Any]) -> int:
        """Return a negative number if `first` comes first, a positive one if `second` does, else 0."""
        for each in self._columns:
            one, other = first[each.position], second[each.position]
            if one is None or other is None:
                if one is not other:
                    return -1 if (one is None) is each.nulls_first else 1
            elif one != other:
                less = one < other if one == one and other == other else other != other  # noqa: PLR0124
                if one == one or other == other:  # noqa: PLR0124 - two NaN are equal
                    return -1 if less is not each.is_descending else 1
        return 0


@dataclass(frozen=True, slots=True)
class RankSpec:
    """Order and number of the first rows.

    Attributes:
        start: How many rows are left out before.
        end: Position behind the last row.
        order: All columns, those of ORDER BY first.
        row_type: Type of the input rows.
        names: Names of the columns of the result.
        has_number: Whether the result has the number of the row, from 1, as its last column.
        is_insert_only: Whether no row is ever taken back.
        ttl_ms: Time after which state is forgotten; None is never.
    """

    start: int
    end: int
    order: tuple[SortColumn, ...]
    row_type: RowTypeInfo
    names: tuple[str, ...]
    has_number: bool
    is_insert_only: bool
    ttl_ms: int | None = None


class RankFunction:
    """Returns the changes of the first rows."""

    def __init__(self, spec: RankSpec) -> None:
        """Make the function."""
        self._spec = spec

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        spec = self._spec
        self._maker = RowMaker(spec.names)
        self._sorter = RowSorter(spec.order)
        kind = spec.row_type
        self._inside = RowMaker(kind.field_names)
        top = ValueStateDescriptor("top", Types.LIST(kind))
        self._top = runtime_context.get_state(expiring(top, spec.ttl_ms))
        if not spec.is_insert_only:
            rows = MapStateDescriptor("rows", Types.PICKLED_BYTE_ARRAY(), Types.LONG())
            self._rows = runtime_context.get_map_state(expiring(rows, spec.ttl_ms))

    def process_changes(self, key: Any, rows: list[Row]) -> list[Row]:
        """Return the changes that rows of a partition make."""
        before = [list(row) for row in self._top.value() or ()]
        changes = signed(rows)
        after = self._added(before, changes) if self._spec.is_insert_only else self._ranked(changes)
        if after == before:
            return []
        if after:
            self._top.update(self._inside.rows([list(each) for each in after]))
        else:
            self._top.clear()
        start = self._spec.start
        return self._changes(before[start:], after[start:])

    def add(self, row: Row) -> None:
        """Add a row to the current partition, without a result."""
        before = [list(each) for each in self._top.value() or ()]
        after = nsmallest(self._spec.end, [*before, list(row)], key=self._sorter.key)
        if after != before:
            self._top.update(self._inside.rows(after))

    def take(self) -> list[Row]:
        """Return the first rows of the current partition, and forget them."""
        rows = [list(each) for each in self._top.value() or ()]
        self._top.clear()
        return self._changes([], rows[self._spec.start :])

    def _added(self, before: list[Any], changes: list[tuple[Any, int]]) -> list[Any]:
        new = [values for values, _ in changes]
        return nsmallest(self._spec.end, [*before, *new], key=self._sorter.key)

    def _ranked(self, changes: list[tuple[Any, int]]) -> list[Any]:
        net = Counter[tuple[Any, ...]]()
        for values, sign in changes:
            net[tuple(values)] += sign
        for values, change in net.items():
            if change:
                now = (self._rows.get(values) or 0) + change
                if now:
                    self._rows.put(values, now)
                else:
                    self._rows.remove(values)
        end = self._spec.end
        first = nsmallest(
            end, (each for each in self._rows.items() if each[1] > 0), key=self._of_entry
        )
        return [list(values) for values, count in first for _ in range(count)][:end]

    def _of_entry(self, entry: tuple[Any, int]) -> Any:
        return self._sorter.key(entry[0])

    def _changes(self, before: list[list[Any]], after: list[list[Any]]) -> list[Row]:
        if self._spec.has_number:
            start = self._spec.start + 1
            before = [[*each, at] for at, each in enumerate(before, start)]
            after = [[*each, at] for at, each in enumerate(after, start)]
        old = Counter(map(tuple, before))
        new = Counter(map(tuple, after))
        gone = [list(each) for each in (old - new).elements()]
        come = [list(each) for each in (new - old).elements()]
        return [*self._maker.rows(gone, RowKind.DELETE), *self._maker.rows(come)]
