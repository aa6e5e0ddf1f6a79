"""Top-N: the first rows of each key by columns, kept as state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.api.functions.first_rows import FirstRows, TopN
from penstock.api.functions.function_classes import ReduceFunction
from penstock.api.functions.key_selectors import given_columns
from penstock.errors import ArgumentError, TypeMismatchError
from penstock.expressions.column import ColumnExpression
from penstock.expressions.kinds import COMPUTED, FLOATS
from penstock.expressions.tree import Field
from penstock.expressions.typing import RecordType, record_type, typed
from penstock.program.folding.fold import Promises
from penstock.types import Row, RowKind, TypeInformation, Types
from penstock.types.row_order import RowOrder, SortColumn
from penstock.types.scalars import BasicTypeInfo

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


Columns = ColumnExpression | Sequence[ColumnExpression]


def top_n_function(
    type_info: object, n: int, by: Columns, key: Columns, *, descending: bool | Sequence[bool]
) -> FirstRows:
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
    names, types = tuple(records.field_names), list(records.field_types)
    return FirstRows(
        TopN(
            end=n,
            order=_order(records, tuple(zip(ranked, directions, strict=True)), identity),
            row_type=Types.ROW_NAMED(list(names), types),
            names=names,
            identity=identity,
            identity_type=Types.TUPLE([types[at] for at in identity]) if identity else None,
            has_timestamps=True,
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
    return RowOrder(SortColumn(*each, nulls_first=False) for each in (*ranked, *ties))


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
