"""Relations in Spark SQL: a DataFrame of the rows of each that is legal there (`plan.placement.legality`).

The columns of every step are called by their positions, so no name of the user is resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as sf

from penstock.connectors.spark_source import by_position, column_name
from penstock.errors import CallSite
from penstock.expressions.facts import spark_type
from penstock.expressions.tree import Expression, Field, Literal
from penstock.graph.query_source import QueryRead, WholeQuery
from penstock.plan.placement.legality import narrowed
from penstock.program.join import JoinKind
from penstock.relation.groups import GroupBy, WindowGroupBy, WindowTable
from penstock.relation.joins import Join
from penstock.relation.ordered import Over, OverCall, Rank, RowNumber, total_order
from penstock.relation.parts import AggregateCall
from penstock.relation.tree import Delayed, Filter, Project, Relation, Scan, SqlColumn, Union
from penstock.spark.expressions.aggregates import NUMBER, by_keys, numbered_sessions
from penstock.spark.expressions.builders import BUILDERS, constant
from penstock.spark.expressions.first_rows import ordered
from penstock.spark.expressions.projection import check_session, selected
from penstock.spark.expressions.timestamps import millis_later, millis_of, timestamp_of_millis
from penstock.types.row_order import SortColumn

_HALF_BITS = 32
_LOW = (1 << _HALF_BITS) - 1
_SMALL = frozenset({"TINYINT", "SMALLINT", "INT"})
_WIDE = "decimal(38,0)"


def rows_of_query(
    query: WholeQuery, frames: Sequence[DataFrame], origin: CallSite | None
) -> DataFrame:
    """Return the rows of a query of DataFrames, which are those of its sources in order."""
    check_session(frames[0].sparkSession, origin)
    return _rows(query, query.sources, frames)


def _rows(
    query: WholeQuery, sources: Sequence[QueryRead], frames: Sequence[DataFrame]
) -> DataFrame:
    def scanned(scan: Scan) -> DataFrame:
        query_read = query.read(scan)
        assert not isinstance(query_read.rows, str), "the plan has seen that it is columns"
        if isinstance(query_read.rows, WholeQuery):
            rows = _rows(query_read.rows, sources, frames)
        else:
            source, pairs = query_read.rows.source, zip(frames, sources, strict=True)
            rows = next(frame for frame, read in pairs if read.source is source)
        if query_read.chain is not None:
            rows = selected(rows, query_read.chain)
        return rows if query_read.required is None else _required(scan, query_read.required, rows)

    return computed(query.relation, scanned)


def computed(relation: Relation, rows_of: Callable[[Scan], DataFrame]) -> DataFrame:
    """Return the rows of a relation, given those of its scans: columns `c0`, `c1`, … with the types of the relation."""
    if isinstance(relation, Scan):
        return _typed(by_position(rows_of(relation)), relation)
    rows = [computed(source, rows_of) for source in relation.inputs]
    frame: DataFrame = _COMPUTED[type(relation)](relation, *rows)
    return frame


def _types(columns: Sequence[SqlColumn]) -> list[str]:
    """Return Spark's names of the types of columns."""
    return [str(spark_type(column.type)) for column in columns]


def _typed(frame: DataFrame, relation: Scan) -> DataFrame:
    """Return rows whose columns have exactly the types of a table, without extras such as a collation."""
    types = _types(relation.columns)
    if [kind for _, kind in frame.dtypes] == types:
        return frame
    pairs = zip(frame.columns, types, strict=True)
    return frame.select(*[sf.col(name).cast(kind).alias(name) for name, kind in pairs])


def _column(position: int) -> Column:
    return sf.col(column_name(position))


def _built(expression: Expression) -> Column:
    if isinstance(expression, Field):
        return _column(expression.position)
    if isinstance(expression, Literal):
        return constant(expression)
    return BUILDERS[expression.function](expression, *map(_built, expression.arguments))


def _selected(frame: DataFrame, columns: Sequence[Column], relation: Relation) -> DataFrame:
    typed = zip(columns, _types(relation.columns), strict=True)
    outputs = [
        column.cast(kind).alias(column_name(position))
        for position, (column, kind) in enumerate(typed)
    ]
    return frame.select(*outputs)


def _narrowed(expression: Expression) -> Column:
    return _built(narrowed(expression))


def _required(scan: Scan, position: int, rows: DataFrame) -> DataFrame:
    """Return rows of which one without a value in a column is an error."""
    checked: DataFrame = by_position(rows)
    name = scan.columns[position].name
    refused = sf.raise_error(f"a row has no time: {name!r} is NULL").cast("boolean")
    return checked.where(sf.when(_column(position).isNull(), refused).otherwise(sf.lit(True)))  # noqa: FBT003


def _filter(relation: Filter, rows: DataFrame) -> DataFrame:
    return rows.where(_narrowed(relation.condition))


def _project(relation: Project, rows: DataFrame) -> DataFrame:
    return _selected(rows, list(map(_narrowed, relation.outputs)), relation)


def _group(relation: GroupBy, rows: DataFrame) -> DataFrame:
    keys = [_column(position) for position in range(relation.group)]
    aggregates = [
        _aggregate(call, None).alias(column_name(position))
        for position, call in enumerate(relation.calls, relation.group)
    ]
    if not relation.group:
        # Spark aggregates no rows to one row
        counted = rows.agg(*aggregates, sf.count(sf.lit(1)).alias("rows"))
        groups = counted.where(sf.col("rows") > 0)
    else:
        groups = by_keys(rows, keys, aggregates)
    return _all(relation, groups)


def _all(relation: Relation, rows: DataFrame) -> DataFrame:
    """Return rows of all columns of a relation, in its types."""
    return _selected(
        rows, [_column(position) for position in range(len(relation.columns))], relation
    )


_OverFrame = Callable[[Column], Column]


def _aggregate(call: AggregateCall, window: WindowSpec | None) -> Column:
    """Return an aggregate of a group, or of a frame."""

    def over(column: Column) -> Column:
        return column if window is None else column.over(window)

    value = _column(call.arguments[0]) if call.arguments else sf.lit(1)
    kind, result = call.source.name, str(spark_type(call.result))
    if call.filter is not None:
        value = sf.when(_column(call.filter), value)
    if call.function == "COUNT":
        return over(sf.count_distinct(value) if call.is_distinct else sf.count(value))
    if call.function in _LEAST_OR_GREATEST:
        return over(_LEAST_OR_GREATEST[call.function](value))
    if kind == "DECIMAL":
        return over(sf.sum(value)).cast(result)
    if call.function == "SUM":
        return _total(value, kind, over).cast(result)
    total, count = _total(value, kind, over), over(sf.count(value))
    if kind in _SMALL:
        return sf.when(count > 0, sf.call_function("div", total, count)).cast(result)
    wide = count.cast(_WIDE)
    whole = (total - total % wide) / wide  # the quotient of a division of decimals is rounded
    return sf.when(count > 0, whole).cast(result)


_LEAST_OR_GREATEST: dict[str, Callable[[Column], Column]] = {"MIN": sf.min, "MAX": sf.max}


def _total(value: Column, kind: str, over: _OverFrame) -> Column:
    """Return an exact sum: one of 64-bit numbers may leave 64 bits before it comes back, so its halves are added."""
    if kind in _SMALL:
        return over(sf.sum(value.cast("bigint")))
    high = over(sf.sum(sf.shiftright(value, _HALF_BITS)))
    low = over(sf.sum(value.bitwiseAND(sf.lit(_LOW))))
    return (high.cast("decimal(20,0)") * sf.lit(1 << _HALF_BITS).cast("decimal(11,0)")).cast(
        _WIDE
    ) + low.cast("decimal(20,0)")


def _join(relation: Join, left: DataFrame, right: DataFrame) -> DataFrame:
    width = len(left.columns)
    names = [column_name(width + position) for position in range(len(right.columns))]
    other = right.toDF(*names)
    conditions = list(map(_narrowed, relation.conditions))
    on = reduce(Column.__and__, conditions) if conditions else sf.lit(True)  # noqa: FBT003
    return left.join(other, on, _MATCHING[relation.type])


_MATCHING = {
    JoinKind.INNER: "inner",
    JoinKind.LEFT: "left_outer",
    JoinKind.RIGHT: "right_outer",
    JoinKind.FULL: "full_outer",
    JoinKind.SEMI: "left_semi",
    JoinKind.ANTI: "left_anti",
}


def _union(_: Union, *parts: DataFrame) -> DataFrame:
    return reduce(DataFrame.unionAll, parts)


def _by(columns: Sequence[SortColumn]) -> list[Column]:
    return [ordered(column, _column(column.position)) for column in columns]


def _partition(positions: Sequence[int]) -> WindowSpec:
    return Window.partitionBy(*map(_column, positions))


def _orders(relation: Rank | RowNumber | Over) -> tuple[WindowSpec, WindowSpec]:
    """Return the partition in order of all columns, and in that of ORDER BY."""
    partition, order = _partition(relation.partition), relation.order
    width = len(relation.input.columns)
    by_row = partition.orderBy(*_by(total_order(order, width)))
    return by_row, partition.orderBy(*_by(order))


def _rank(relation: Rank, rows: DataFrame) -> DataFrame:
    by_row, _ = _orders(relation)
    number = column_name(len(rows.columns))
    numbered = rows.withColumn(number, sf.row_number().over(by_row))
    ranked = numbered.where(sf.col(number) <= relation.end)
    if relation.start:
        ranked = ranked.where(sf.col(number) > relation.start)
    return _all(relation, ranked)


def _row_number(relation: RowNumber, rows: DataFrame) -> DataFrame:
    by_row, _ = _orders(relation)
    return _beside(relation, rows, [sf.row_number().over(by_row)])


def _over(relation: Over, rows: DataFrame) -> DataFrame:
    return _beside(relation, rows, [_over_call(relation, call) for call in relation.calls])


def _beside(relation: Relation, rows: DataFrame, more: Sequence[Column]) -> DataFrame:
    """Return rows beside the values of further columns."""
    columns = [_column(position) for position in range(len(rows.columns))]
    return _selected(rows, [*columns, *more], relation)


def _over_call(relation: Over, over: OverCall) -> Column:
    call, frame = over.call, over.frame
    by_row, by_order = _orders(relation)
    if call.function == "ROW_NUMBER":
        return sf.row_number().over(by_row)
    if call.function in _RANKS:
        return _RANKS[call.function]().over(by_order)
    if frame.is_whole or not (frame.counts_rows or relation.order):
        whole = Window.unboundedPreceding, Window.unboundedFollowing
        return _aggregate(call, _partition(relation.partition).rowsBetween(*whole))
    if not frame.counts_rows:
        window = by_order.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    else:
        back = Window.unboundedPreceding if frame.preceding is None else -frame.preceding
        window = by_row.rowsBetween(back, Window.currentRow)
    return _aggregate(call, window)


_RANKS: dict[str, Callable[[], Column]] = {"RANK": sf.rank, "DENSE_RANK": sf.dense_rank}


def _windows(relation: WindowTable, rows: DataFrame) -> DataFrame:
    spec = relation.spec
    timed = rows.where(_column(spec.time).isNotNull())
    columns = [_column(position) for position in range(len(rows.columns))]
    if spec.function == "SESSION":
        start, end, windowed = _sessions(relation, timed)
    else:
        size, step, offset = (
            f"{millis} milliseconds" for millis in (spec.size_ms, spec.step_ms, spec.offset_ms)
        )
        window = sf.window(_column(spec.time), size, step, offset)
        windowed = timed.select(*columns, window.alias("window"))
        start, end = sf.col("window.start"), sf.col("window.end")
    last = millis_later(end, -1, is_instant=spec.is_instant)
    return _selected(windowed, [*columns, start, end, last], relation)


def _sessions(relation: WindowTable, rows: DataFrame) -> tuple[Column, Column, DataFrame]:
    """Return begin and end of the session of a row, and the rows with what these are made of."""
    spec, gap = relation.spec, relation.spec.size_ms
    millis = millis_of(_column(spec.time), is_instant=spec.is_instant)
    timed, millis_column = rows.withColumn("millis", millis), sf.col("millis")
    partition = [_column(position) for position in relation.partition]
    numbered = numbered_sessions(timed, partition, millis_column, millis_column, gap)
    session = Window.partitionBy(*partition, sf.col(NUMBER))
    sessions = numbered.withColumn("first", sf.min("millis").over(session)).withColumn(
        "last", sf.max("millis").over(session)
    )
    start = timestamp_of_millis(sf.col("first"), is_instant=spec.is_instant)
    end = timestamp_of_millis(sf.col("last") + gap, is_instant=spec.is_instant)
    return start, end, sessions


def _same(_: Delayed, rows: DataFrame) -> DataFrame:
    return rows


_COMPUTED: dict[type[Relation], Callable[..., Any]] = {
    Filter: _filter,
    Project: _project,
    Union: _union,
    GroupBy: _group,
    WindowGroupBy: _group,
    Join: _join,
    Rank: _rank,
    RowNumber: _row_number,
    Over: _over,
    WindowTable: _windows,
    Delayed: _same,
}
"""Class of a relation to what computes it of the rows of those that it reads."""
