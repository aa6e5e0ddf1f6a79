"""Top-N: the first rows of each key by columns, kept as state."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cmp_to_key
from heapq import nsmallest
from typing import Any

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.function_classes import KeyedProcessFunction, ReduceFunction
from penstock.api.functions.key_selectors import given_columns
from penstock.api.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from penstock.errors import ArgumentError, TypeMismatchError
from penstock.expressions.column import ColumnExpression
from penstock.expressions.kinds import COMPUTED, FLOATS
from penstock.expressions.tree import Field
from penstock.expressions.typing import RecordType, record_type, typed
from penstock.program.folding.fold import Promises
from penstock.types import Row, RowKind, TypeInformation, Types
from penstock.types.scalars import BasicTypeInfo


class RowOrder:
    """Compares rows column by column. NaN is greater than any number; NULL is behind all, in both directions.

    Attributes:
        key: Makes a row a key for `sorted` and `bisect`.
    """

    def __init__(self, columns: tuple[tuple[int, bool], ...]) -> None:
        """Make an order."""
        self._columns = columns
        self.key = cmp_to_key(self.compare)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowOrder, (self._columns,)

    def compare(self, first: Any, second: Any) -> int:
        """Return a negative number if `first` comes first, a positive one if `second` does, else 0."""
        for position, is_descending in self._columns:
            one, other = first[position], second[position]
            if one is None or other is None:
                if one is not other:
                    return 1 if one is None else -1
            elif decided := _compared(one, other):
                return -decided if is_descending else decided
        return 0


def _compared(one: Any, other: Any) -> int:
    if one < other:
        return -1
    if one > other:
        return 1
    return int(one != one) - int(other != other)  # noqa: PLR0124 - only NaN differs from itself


_ADDED = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER})


class LastValueFunction(ReduceFunction[Any]):
    """The function of `KeyedStream.last_value`: the row that comes first in an order, the newest first."""

    def __init__(self, order: RowOrder) -> None:
        """Make the function."""
        self._order = order

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the newer row."""
        for each in (value1, value2):
            if isinstance(each, Row) and each.get_row_kind() not in _ADDED:
                raise TypeMismatchError(
                    f"last_value got the change {each.get_row_kind()} {each!r:.200}, which removes a row",
                    hint="Take the last value before the stream becomes a changelog.",
                )
        return value1 if self._order.compare(value1, value2) <= 0 else value2


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
        """Make the function."""
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


Columns = ColumnExpression | Sequence[ColumnExpression]


def top_n_function(
    type_info: object, n: int, by: Columns, key: Columns, *, descending: bool | Sequence[bool]
) -> TopNFunction:
    """Return the function of `KeyedStream.top_n`, which has the arguments."""
    records = record_type(type_info, "top_n")
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise ArgumentError.here(f"top_n got n={n!r}", hint="Pass a whole number from 1.")
    ranked = _positions(records, by, "top_n")
    if not ranked:
        raise ArgumentError.here("top_n got no columns", hint="Pass by=col.name.")
    identity = _positions(records, key, "top_n")
    for at in identity:
        if _kind(records.field_types[at]) in FLOATS:
            raise ArgumentError.here(
                f"top_n got the key {records.field_names[at]!r}, which is a float",
                hint="Identify rows by columns of whole numbers, texts or times.",
            )
    directions = _directions(descending, len(ranked))
    order = _order(records, tuple(zip(ranked, directions, strict=True)), identity)
    names, types = tuple(records.field_names), list(records.field_types)
    return TopNFunction(
        TopN(
            n=n,
            order=order,
            row_type=Types.ROW_NAMED(list(names), types),
            names=names,
            identity=identity,
            identity_type=Types.TUPLE([types[at] for at in identity]) if identity else None,
        )
    )


def last_value_function(type_info: object, by: Columns) -> tuple[LastValueFunction, Promises]:
    """Return the function of `KeyedStream.last_value`, and why it may be called in any order."""
    records = record_type(type_info, "last_value")
    ranked = _positions(records, by, "last_value")
    if not ranked:
        raise ArgumentError.here("last_value got no columns", hint="Pass by=col.name.")
    order = _order(records, tuple((at, True) for at in ranked), ())
    is_total = all(map(_kind, records.field_types))
    return LastValueFunction(order), Promises(
        associative="the newest of the newest rows is the newest",
        commutative="all columns of its rows have an order" if is_total else None,
    )


def _order(
    records: RecordType, ranked: tuple[tuple[int, bool], ...], identity: tuple[int, ...]
) -> RowOrder:
    """Return the order by ranked columns; then `identity` decides, then the other columns."""
    named = {at for at, _ in ranked}
    rest = [*identity, *(at for at, kind in enumerate(records.field_types) if _kind(kind))]
    ties = tuple((at, False) for at in dict.fromkeys(rest) if at not in named)
    return RowOrder((*ranked, *ties))


def _positions(records: RecordType, columns: Any, operation: str) -> tuple[int, ...]:
    found = []
    for each in given_columns(columns, operation):
        assert isinstance(each.tree, Field), "it is a column"
        kind = typed(each.tree, records, operation).type_info
        if _kind(kind) is None:
            raise ArgumentError.here(
                f"{operation} got the column {each.tree} of type {kind!r}, whose values have no order",
                hint="Pass columns of numbers, texts, booleans, dates or timestamps.",
            )
        found.append(records.field_names.index(each.tree.name))
    return tuple(found)


def _kind(type_info: TypeInformation | None) -> str | None:
    """Return the name of a type whose values have an order, None for others."""
    is_ordered = isinstance(type_info, BasicTypeInfo) and type_info.name in COMPUTED
    return type_info.name if is_ordered else None  # type: ignore[union-attr]


def _directions(descending: Any, count: int) -> tuple[bool, ...]:
    found = tuple(descending) if isinstance(descending, Sequence) else (descending,) * count
    if len(found) == count and all(isinstance(each, bool) for each in found):
        return found
    raise ArgumentError.here(
        f"top_n got descending={descending!r} for {count} columns",
        hint="Pass True or False, or one of them for each column of `by`.",
    )
