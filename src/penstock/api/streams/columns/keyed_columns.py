"""Aggregates of the columns of a keyed stream of rows, and the first rows of each key by columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic

from penstock.api.functions.first_rows import FirstRows, TopN
from penstock.api.functions.function_classes import ReduceFunction
from penstock.api.functions.key_selectors import given_columns
from penstock.api.streams.stream_base import StreamBase, key_selector_of, merged_parts
from penstock.api.user_code import called_as
from penstock.api.windows.column_aggregates import checked_aggregates, key_columns
from penstock.errors import ArgumentError, TypeMismatchError
from penstock.expressions.aggregates import AggregateExpression
from penstock.expressions.column import ColumnExpression
from penstock.expressions.keyed_aggregate import keyed_aggregate
from penstock.expressions.kinds import COMPUTED, FLOATS
from penstock.expressions.tree import Field
from penstock.expressions.typing import RecordType, record_type, typed
from penstock.program.fold import Promises
from penstock.program.operators import KEYED_REDUCE, KEYED_TOP_N
from penstock.types import TypeInformation, Types
from penstock.types.row import Row, RowKind
from penstock.types.row_order import RowOrder, SortColumn
from penstock.types.scalars import BasicTypeInfo
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream


class KeyedColumns(StreamBase[T], Generic[T]):
    """Base of `KeyedStream`: operations on columns of records with a key."""

    @called_as("aggregate(n=col.count(), total=col.amount.sum()): every result has a name")
    def aggregate(self, **aggregates: AggregateExpression) -> DataStream[Row]:
        """Aggregate columns of the records of each key, and emit the newest results of a key.

        A micro-batch emits each of its keys once; a batch run emits each key once, in the end. How many results
        came before the last one of a key is not defined; the last one is the same in every mode. For the last ones
        only, write to a sink that keeps one row per key, with `upsert_to`.

        Args:
            aggregates: Names of results with aggregates, such as `n=col.count(), total=col.amount.sum()`.

        Returns:
            Rows of the columns of the key and the results, without a key and without timestamps.

        Raises:
            ArgumentError: The key is not made of columns, an aggregate does not take values of its column,
                or a result has the name of a column of the key.
            UnknownFieldError: There is no such column; it names the near ones.

        Example:
            >>> totals = orders.key_by(col.f0).aggregate(n=col.count(), cents=(col.f1 * 100).sum())
            >>> sorted(collect(totals), key=str)
            [Row(f0='ann', n=2, cents=1200), Row(f0='bob', n=1, cents=300)]
        """
        records = record_type(self.get_type(), "aggregate")
        keys = key_columns(key_selector_of(self), records.field_names)
        chain, function = keyed_aggregate(records, keys, checked_aggregates(aggregates, keys))
        return merged_parts(self, chain, function, "aggregate", function.results.type_info)

    @called_as("top_n(3, by=col.amount)")
    def top_n(
        self,
        n: int,
        *,
        by: ColumnExpression | Sequence[ColumnExpression],
        descending: bool | Sequence[bool] = True,
        key: ColumnExpression | Sequence[ColumnExpression] = (),
    ) -> DataStream[Row]:
        """Keep the first `n` rows of each key in an order, and emit how they change.

        Rows of equal `by` are in order of `key`, then of their other columns that have an order; of rows without any
        difference there, the first that arrived is the first. So the rows are the same in every mode. NULL is behind all
        values, NaN is greater than any number.

        State is the first rows; with `key` it is all rows, because one of the first may get worse.

        Args:
            n: Number of rows, from 1.
            by: Columns that decide; a later one decides if those before are equal.
            descending: True if great values come first; one for all columns, or one per column.
            key: Columns that identify a row: a later one replaces it, and one of kind `-U` or `-D` removes it. Without
                them every row counts, and such changes are an error.

        Returns:
            A changelog: rows of kind `+I` and `-D`, and with `key` also `-U` and `+U`, without a key. A micro-batch emits
            the difference that its rows make, with the timestamp of the last one of the key. BATCH mode, and history that
            is read as a batch run, emit the last rows of each key, all `+I`.

        Raises:
            ArgumentError: The stream has no columns, one of the columns has no order, or an argument is wrong.
            UnknownFieldError: There is no such column; it names the near ones.

        Example:
            >>> best = orders.key_by(col.f0).top_n(1, by=col.f1)
            >>> [f"{row.get_row_kind()} {row.f0} {row.f1}" for row in collect(best) if row.f0 == "ann"]
            ['+I ann 7']
        """
        function = top_n_function(self.get_type(), n, by, key, descending=descending)
        return self._derive(
            KEYED_TOP_N, "top_n", function.spec.row_type, function=function, method="put"
        )

    @called_as("last_value(by=col.time)")
    def last_value(self, *, by: ColumnExpression | Sequence[ColumnExpression]) -> DataStream[T]:
        """Emit the newest row of each key so far: that with the greatest `by`, in whatever order rows arrive.

        A late row does not replace a newer one, as it would with `upsert_to` alone. In BATCH mode only the newest row of
        each key is emitted, else one per record.

        Args:
            by: Columns that order rows by age, such as a time; NULL is older than any value. Among rows of equal
                `by` the one whose other columns, in order, are smaller counts as newer.

        Returns:
            Rows of the type of this stream, without a key.

        Raises:
            ArgumentError: The stream has no columns, or one of the columns has no order.
            UnknownFieldError: There is no such column; it names the near ones.

        Example:
            >>> newest = orders.key_by(col.f0).last_value(by=col.f2)
            >>> sorted(collect(newest))
            [('ann', 5, 1000), ('ann', 7, 12000), ('bob', 3, 2000)]
        """
        function, promises = last_value_function(self.get_type(), by)
        return self._derive(
            KEYED_REDUCE,
            "last_value",
            self.get_type(),
            function=function,
            method="reduce",
            promises=promises,
        )


_ADDED = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER})


class LastValueFunction(ReduceFunction[Any]):
    """The function of `KeyedStream.last_value`: the row that comes first in an order, the newest first."""

    def __init__(self, order: RowOrder) -> None:
        """Make the function."""
        self._order = order

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the newer row."""
        for value in (value1, value2):
            if isinstance(value, Row) and value.get_row_kind() not in _ADDED:
                raise TypeMismatchError(
                    f"last_value got the change {value.get_row_kind()} {value!r:.200}, which removes a row",
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
    for index in identity:
        if _kind(records.field_types[index]) in FLOATS:
            raise ArgumentError.here(
                f"top_n got the key {records.field_names[index]!r}, which is a float",
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
            identity_type=Types.TUPLE([types[index] for index in identity]) if identity else None,
            has_timestamps=True,
        )
    )


def last_value_function(type_info: object, by: Columns) -> tuple[LastValueFunction, Promises]:
    """Return the function of `KeyedStream.last_value`, and why it may be called in any order."""
    records = record_type(type_info, "last_value")
    ranked = _positions(records, by, "last_value")
    if not ranked:
        raise ArgumentError.here("last_value got no columns", hint="Pass by=col.name.")
    order = _order(records, tuple((index, True) for index in ranked), ())
    is_total = all(map(_kind, records.field_types))
    return LastValueFunction(order), Promises(
        associative="the keeping the newest row is associative",
        commutative="all columns of its rows have an order" if is_total else None,
    )


def _order(
    records: RecordType, ranked: tuple[tuple[int, bool], ...], identity: tuple[int, ...]
) -> RowOrder:
    """Return the order by ranked columns; then `identity` decides, then the other columns."""
    named = {index for index, _ in ranked}
    rest = [*identity, *(index for index, kind in enumerate(records.field_types) if _kind(kind))]
    ties = tuple((index, False) for index in dict.fromkeys(rest) if index not in named)
    return RowOrder(SortColumn(*pair, nulls_first=False) for pair in (*ranked, *ties))


def _positions(records: RecordType, columns: Any, operation: str) -> tuple[int, ...]:
    positions = []
    for column in given_columns(columns, operation):
        assert isinstance(column.tree, Field), "it is a column"
        kind = typed(column.tree, records, operation).type_info
        if _kind(kind) is None:
            raise ArgumentError.here(
                f"{operation} got the column {column.tree} of type {kind!r}, whose values have no order",
                hint="Pass columns of numbers, texts, booleans, dates or timestamps.",
            )
        positions.append(records.field_names.index(column.tree.name))
    return tuple(positions)


def _kind(type_info: TypeInformation | None) -> str | None:
    """Return the name of a type whose values have an order, None for others."""
    is_ordered = isinstance(type_info, BasicTypeInfo) and type_info.name in COMPUTED
    return type_info.name if is_ordered else None  # type: ignore[union-attr]


def _directions(descending: Any, count: int) -> tuple[bool, ...]:
    directions = tuple(descending) if isinstance(descending, Sequence) else (descending,) * count
    if len(directions) == count and all(isinstance(direction, bool) for direction in directions):
        return directions
    raise ArgumentError.here(
        f"top_n got descending={descending!r} for {count} columns",
        hint="Pass True or False, or one of them for each column of `by`.",
    )
