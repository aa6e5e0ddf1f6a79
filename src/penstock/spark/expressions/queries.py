"""Whole queries in Spark SQL: a DataFrame of the rows of a query.

The columns of every step are called by their positions, so no name of the user is resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as sf

from penstock.connectors.column_positions import by_position, column_name
from penstock.errors import CallSite
from penstock.expressions import queries
from penstock.expressions.steps import ExpressionChain
from penstock.expressions.tree import Expression, Field, Literal
from penstock.spark.expressions.builders import BUILDERS
from penstock.spark.expressions.constants import constant
from penstock.spark.expressions.projection import check_session, projected

_HALF_BITS = 32
_LOW = (1 << _HALF_BITS) - 1
_SMALL = frozenset({"tinyint", "smallint", "int"})
_WIDE = "decimal(38,0)"


def rows_of_query(
    query: queries.Query,
    frames: Sequence[DataFrame],
    chains: Sequence[ExpressionChain | None],
    origin: CallSite | None,
) -> DataFrame:
    """Return the rows of a query of DataFrames, of which chains select columns first.

    Raises:
        ConfigError: The session does not raise errors of arithmetic.
    """
    check_session(frames[0].sparkSession, origin)
    pairs = zip(frames, chains, strict=True)
    read = [rows if chain is None else projected(rows, chain, origin) for rows, chain in pairs]
    return computed(query, read)


def computed(query: queries.Query, frames: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of a query.

    Returns:
        A DataFrame whose columns are called `c0`, `c1`, … and have the types of the query.
    """
    if isinstance(query, queries.QueryInput):
        return _typed(by_position(frames[query.number]), query)
    rows = [computed(each, frames) for each in query.inputs]
    made: DataFrame = _COMPUTED[type(query)](query, *rows)
    return made


def _typed(frame: DataFrame, query: queries.Query) -> DataFrame:
    """Return rows whose columns have the types of a query; Spark may know more, such as a collation."""
    if [kind for _, kind in frame.dtypes] == list(query.types):
        return frame
    pairs = zip(frame.columns, query.types, strict=True)
    return frame.select(*[sf.col(name).cast(kind).alias(name) for name, kind in pairs])


def _column(position: int) -> Column:
    return sf.col(column_name(position))


def _built(expression: Expression) -> Column:
    if isinstance(expression, Field):
        return _column(expression.position)
    if isinstance(expression, Literal):
        return constant(expression)
    return BUILDERS[expression.function](expression, *map(_built, expression.arguments))


def _selected(frame: DataFrame, columns: Sequence[Column], query: queries.Query) -> DataFrame:
    typed = zip(columns, query.types, strict=True)
    made = [each.cast(kind).alias(column_name(at)) for at, (each, kind) in enumerate(typed)]
    return frame.select(*made)


def _required(query: queries.Required, rows: DataFrame) -> DataFrame:
    refused = sf.raise_error(f"a row has no time: {query.name!r} is NULL").cast("boolean")
    return rows.where(sf.when(_column(query.column).isNull(), refused).otherwise(sf.lit(True)))  # noqa: FBT003


def _where(query: queries.WhereOf, rows: DataFrame) -> DataFrame:
    return rows.where(_built(query.condition))


def _select(query: queries.SelectOf, rows: DataFrame) -> DataFrame:
    return _selected(rows, list(map(_built, query.outputs)), query)


def _group(query: queries.Group, rows: DataFrame) -> DataFrame:
    kinds = [kind for _, kind in rows.dtypes]
    keys = [_column(at) for at in range(query.keys)]
    width = len(query.types)
    made = [
        _aggregate(each, kinds, None).alias(column_name(at))
        for at, each in enumerate(query.calls, query.keys)
    ]
    if not query.keys:
        # Of no rows Spark makes a row
        counted = rows.agg(*made, sf.count(sf.lit(1)).alias("rows"))
        found = counted.where(sf.col("rows") > 0)
    else:
        found = rows.groupBy(*keys).agg(*made) if made else rows.select(*keys).distinct()
    return _selected(found, [_column(at) for at in range(width)], query)


Over = Callable[[Column], Column]


def _aggregate(
    call: queries.QueryAggregate, kinds: Sequence[str], window: WindowSpec | None
) -> Column:
    """Return an aggregate of a group, or of a frame."""

    def over(column: Column) -> Column:
        return column if window is None else column.over(window)

    value = sf.lit(1) if call.argument is None else _column(call.argument)
    kind = "int" if call.argument is None else kinds[call.argument]
    if call.filter is not None:
        value = sf.when(_column(call.filter), value)
    if call.function == "count":
        return over(sf.count_distinct(value) if call.is_distinct else sf.count(value))
    if call.function in _LEAST_OR_GREATEST:
        return over(_LEAST_OR_GREATEST[call.function](value))
    if kind.startswith("decimal"):
        return over(sf.sum(value)).cast(call.type)
    if call.function == "sum":
        return _total(value, kind, over).cast(call.type)
    total, count = _total(value, kind, over), over(sf.count(value))
    if kind in _SMALL:
        return sf.when(count > 0, sf.call_function("div", total, count)).cast(call.type)
    wide = count.cast(_WIDE)
    whole = (total - total % wide) / wide  # the quotient of a division of decimals is rounded
    return sf.when(count > 0, whole).cast(call.type)


_LEAST_OR_GREATEST: dict[str, Callable[[Column], Column]] = {"min": sf.min, "max": sf.max}


def _total(value: Column, kind: str, over: Over) -> Column:
    """Return an exact sum: one of 64-bit numbers may leave 64 bits before it comes back, so its halves are added."""
    if kind in _SMALL:
        return over(sf.sum(value.cast("bigint")))
    high = over(sf.sum(sf.shiftright(value, _HALF_BITS)))
    low = over(sf.sum(value.bitwiseAND(sf.lit(_LOW))))
    return (high.cast("decimal(20,0)") * sf.lit(1 << _HALF_BITS).cast("decimal(11,0)")).cast(
        _WIDE
    ) + low.cast("decimal(20,0)")


def _join(query: queries.JoinOf, left: DataFrame, right: DataFrame) -> DataFrame:
    width = len(left.columns)
    names = [column_name(width + at) for at in range(len(right.columns))]
    other = right.toDF(*names)
    conditions = list(map(_built, query.conditions))
    on = reduce(Column.__and__, conditions) if conditions else sf.lit(True)  # noqa: FBT003
    return left.join(other, on, query.matching.value)


def _union(query: queries.UnionOf, *parts: DataFrame) -> DataFrame:
    del query
    return reduce(DataFrame.unionAll, parts)


def _ordered(columns: Sequence[queries.Ordering]) -> list[Column]:
    return [
        _ORDERS[each.is_descending, each.nulls_first](_column(each.position)) for each in columns
    ]


_ORDERS: dict[tuple[bool, bool], Callable[[Column], Column]] = {
    (False, True): Column.asc_nulls_first,
    (False, False): Column.asc_nulls_last,
    (True, True): Column.desc_nulls_first,
    (True, False): Column.desc_nulls_last,
}
"""(descending, NULL first) to the order of a column."""


def _partition(positions: Sequence[int]) -> WindowSpec:
    return Window.partitionBy(*map(_column, positions))


def _first(query: queries.FirstOf, rows: DataFrame) -> DataFrame:
    window = _partition(query.partition).orderBy(*_ordered(query.order))
    number = column_name(len(rows.columns))
    numbered = rows.withColumn(number, sf.row_number().over(window))
    found = numbered.where(sf.col(number) <= query.end)
    if query.start:
        found = found.where(sf.col(number) > query.start)
    return _selected(found, [_column(at) for at in range(len(query.types))], query)


def _over(query: queries.OverOf, rows: DataFrame) -> DataFrame:
    kinds = [kind for _, kind in rows.dtypes]
    columns = [_column(at) for at in range(len(rows.columns))]
    columns += [_over_call(query, call, frame, kinds) for call, frame in query.calls]
    return _selected(rows, columns, query)


def _over_call(
    query: queries.OverOf,
    call: queries.QueryAggregate,
    frame: queries.FrameOf,
    kinds: Sequence[str],
) -> Column:
    partition = _partition(query.partition)
    by_row = partition.orderBy(*_ordered(query.order))
    by_order = partition.orderBy(*_ordered(query.order[: query.ordered] or query.order[:0]))
    if call.function == "row_number":
        return sf.row_number().over(by_row)
    if call.function in _RANKS:
        return _RANKS[call.function]().over(by_order)
    if frame.is_whole or (frame.with_equals and not query.ordered):
        window = partition.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    elif frame.with_equals:
        window = by_order.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    else:
        back = Window.unboundedPreceding if frame.preceding is None else -frame.preceding
        window = by_row.rowsBetween(back, Window.currentRow)
    return _aggregate(call, kinds, window)


_RANKS: dict[str, Callable[[], Column]] = {"rank": sf.rank, "dense_rank": sf.dense_rank}


def _windows(query: queries.WindowsOf, rows: DataFrame) -> DataFrame:
    known = rows.where(_column(query.time).isNotNull())
    columns = [_column(at) for at in range(len(rows.columns))]
    if query.step_ms is None:
        start, end, found = _sessions(query, known)
    else:
        size, step, offset = (
            f"{each} milliseconds" for each in (query.size_ms, query.step_ms, query.offset_ms)
        )
        window = sf.window(_column(query.time), size, step, offset)
        found = known.select(*columns, window.alias("window"))
        start, end = sf.col("window.start"), sf.col("window.end")
    last = sf.timestamp_add("MILLISECOND", sf.lit(-1), end)
    return _selected(found, [*columns, start, end, last], query)


def _sessions(query: queries.WindowsOf, rows: DataFrame) -> tuple[Column, Column, DataFrame]:
    """Return begin and end of the session of a row: it begins where the row before is more than a gap away."""
    epoch = sf.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
    micros = sf.timestamp_diff("MICROSECOND", epoch, _column(query.time))
    millis = sf.call_function("div", micros - sf.pmod(micros, sf.lit(1000)), sf.lit(1000))
    timed = rows.withColumn("millis", millis)
    in_order = _partition(query.partition).orderBy("millis")
    before = sf.lag("millis").over(in_order)
    begins = before.isNull() | (sf.col("millis") - before > query.size_ms)
    marked = timed.withColumn("begins", sf.when(begins, 1).otherwise(0))
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    numbered = marked.withColumn("session", sf.sum("begins").over(so_far))
    session = Window.partitionBy(*map(_column, query.partition), sf.col("session"))
    found = numbered.withColumn("first", sf.min("millis").over(session)).withColumn(
        "last", sf.max("millis").over(session)
    )
    start = sf.timestamp_add("MILLISECOND", sf.col("first"), epoch)
    end = sf.timestamp_add("MILLISECOND", sf.col("last") + query.size_ms, epoch)
    return start, end, found


_COMPUTED: dict[type[queries.Query], Callable[..., Any]] = {
    queries.Required: _required,
    queries.WhereOf: _where,
    queries.SelectOf: _select,
    queries.Group: _group,
    queries.JoinOf: _join,
    queries.UnionOf: _union,
    queries.FirstOf: _first,
    queries.OverOf: _over,
    queries.WindowsOf: _windows,
}
"""Class of a query to what computes it of the rows of those that it reads."""
