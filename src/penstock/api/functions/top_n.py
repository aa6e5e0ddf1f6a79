"""The first rows of a key in an order, as a changelog.

State of a key:

    top     the first n rows, in order
    rows    identity -> row, of all rows; only if rows have an identity, because one that gets worse or goes makes
            room for one that was not among the first

All rows are read only if a row of the top gets worse than the last of it, or goes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.function_classes import KeyedProcessFunction
from penstock.api.functions.row_order import RowOrder
from penstock.api.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from penstock.errors import TypeMismatchError
from penstock.types import Row, RowKind, TypeInformation, Types

_REMOVALS = frozenset({RowKind.DELETE, RowKind.UPDATE_BEFORE})


@dataclass(frozen=True, slots=True)
class TopN:
    """Order and number of the first rows.

    Attributes:
        n: How many.
        order: Which come first.
        row_type: Type of the rows.
        names: Names of their fields.
        identity: Positions of the fields by which a row replaces another; empty if none does.
        identity_type: Type of the tuple of these; None if there are none.
    """

    n: int
    order: RowOrder
    row_type: TypeInformation
    names: tuple[str, ...]
    identity: tuple[int, ...]
    identity_type: TypeInformation | None


class TopNFunction(KeyedProcessFunction[Any, Any, Row]):
    """The function of `KeyedStream.top_n`."""

    def __init__(self, spec: TopN) -> None:
        """Make the function.

        Args:
            spec: Which rows are the first ones.
        """
        self._spec = spec

    @property
    def rows(self) -> TypeInformation:
        """Type of the rows that it emits."""
        return self._spec.row_type

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        spec = self._spec
        self._top = runtime_context.get_state(
            ValueStateDescriptor("top", Types.LIST(spec.row_type))
        )
        if spec.identity_type is not None:
            self._rows = runtime_context.get_map_state(
                MapStateDescriptor("rows", spec.identity_type, spec.row_type)
            )

    def process_element(self, value: Any, ctx: Any) -> Iterator[Row]:
        """Yield the changes that a row makes."""
        kind = value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT
        row = Row(*value)
        row.set_field_names(self._spec.names)
        if self._spec.identity:
            return self._replace(row, is_removed=kind in _REMOVALS)
        if kind is not RowKind.INSERT:
            raise TypeMismatchError(
                f"top_n got the change {kind} {value!r:.200}, and its rows replace none",
                hint="Pass key=…, the columns by which a row replaces another.",
            )
        return self._add(row)

    def first_rows(self) -> list[Row]:
        """Return the first rows of the current key, in order."""
        return [copy(row) for row in self._top.value() or ()]

    def _add(self, row: Row) -> Iterator[Row]:
        spec, before = self._spec, self._top.value() or []
        if len(before) == spec.n and spec.order.compare(row, before[-1]) >= 0:
            return
        after = self._with(before, row)
        self._top.update(after)
        if len(before) == spec.n:
            yield _changed(before[-1], RowKind.DELETE)
        yield row

    def _with(self, rows: list[Row], row: Row) -> list[Row]:
        """Return the first rows of some and one more, which is behind equal ones."""
        at = bisect_right(rows, self._spec.order.key(row), key=self._spec.order.key)
        return [*rows[:at], row, *rows[at:]][: self._spec.n]

    def _replace(self, row: Row, *, is_removed: bool) -> Iterator[Row]:
        identity = self._identity(row)
        former = self._rows.get(identity)
        if former == (None if is_removed else row):
            return
        if is_removed:
            self._rows.remove(identity)
        else:
            self._rows.put(identity, row)
        before: list[Row] = self._top.value() or []
        after = self._after(before, identity, None if is_removed else row)
        if after != before:
            if after:
                self._top.update(after)
            else:
                self._top.clear()
            yield from self._changes(before, after)

    def _after(self, before: list[Row], identity: tuple[Any, ...], row: Row | None) -> list[Row]:
        spec = self._spec
        others = [each for each in before if self._identity(each) != identity]
        makes_room = len(others) < len(before) == spec.n
        if makes_room and (row is None or spec.order.compare(row, before[-1]) > 0):
            return nsmallest(spec.n, self._rows.values(), key=spec.order.key)
        return others if row is None else self._with(others, row)

    def _changes(self, before: list[Row], after: list[Row]) -> Iterator[Row]:
        old = {self._identity(each): each for each in before}
        new = {self._identity(each): each for each in after}
        for identity, row in old.items():
            if identity not in new:
                yield _changed(row, RowKind.DELETE)
        for identity, row in new.items():
            former = old.get(identity)
            if former is None:
                yield copy(row)
            elif former != row:
                yield _changed(former, RowKind.UPDATE_BEFORE)
                yield _changed(row, RowKind.UPDATE_AFTER)

    def _identity(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[at] for at in self._spec.identity)


def _changed(row: Row, kind: RowKind) -> Row:
    made = copy(row)
    made.set_row_kind(kind)
    return made
