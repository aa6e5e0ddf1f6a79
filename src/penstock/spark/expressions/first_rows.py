"""First rows of each key in Spark SQL, for an operator that keeps them (`plan.placement.first_rows`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from penstock.connectors.spark_source import by_position
from penstock.errors import CallSite
from penstock.expressions.kinds import FLOATS, name_of
from penstock.expressions.paned import time_of
from penstock.expressions.steps import ExpressionChain, inlined
from penstock.expressions.tree import Expression, Field
from penstock.expressions.typing import RecordType
from penstock.spark.expressions.projection import built, check_session, fields
from penstock.types.row_order import RowOrder, SortColumn

_NUMBER, _LAST = "$number", "$last"


def ordered(how: SortColumn, column: Column) -> Column:
    """Return the order of a column."""
    return _ORDERS[how.is_descending, how.nulls_first](column)


_ORDERS: dict[tuple[bool, bool], Callable[[Column], Column]] = {
    (False, True): Column.asc_nulls_first,
    (False, False): Column.asc_nulls_last,
    (True, True): Column.desc_nulls_first,
    (True, False): Column.desc_nulls_last,
}
"""(descending, NULL first) to the order of a column."""


@dataclass(frozen=True, slots=True)
class FirstOfKeys:
    """First rows of each key.

    Attributes:
        chain: Expressions of which the rows are results; None if they are those of the source.
        time: Name of the column from which timestamps are taken; None without timestamps.
    """

    records: RecordType
    chain: ExpressionChain | None
    keys: tuple[int, ...]
    order: RowOrder
    end: int
    time: str | None

    def results(self) -> tuple[Expression | None, Sequence[Expression]]:
        """Return whether a row of the source is kept, None without a condition, and the results that are ranked."""
        if self.chain is not None:
            return inlined(self.chain)
        named = zip(self.records.field_names, self.records.field_types, strict=True)
        return None, [Field(*pair) for pair in named]


def first_of_keys(
    frame: DataFrame, first_rows: FirstOfKeys, tasks: int, origin: CallSite | None
) -> DataFrame:
    """Return the rows of a source whose results are the first ones of their key, or the last one in order of time."""
    if first_rows.chain is not None:
        check_session(frame.sparkSession, origin)
    rows: DataFrame = by_position(frame)
    known = fields(rows, first_rows.records)
    kept, results = first_rows.results()
    values = [built(result, known) for result in results]
    signs = [
        _is_below_zero(values[position])
        for position, result in enumerate(results)
        if name_of(result) in FLOATS
    ]
    time = (
        None
        if first_rows.time is None
        else built(time_of(first_rows.records, first_rows.time), known)
    )
    marks = [] if kept is None else [built(kept, known)]
    # columns, so that both windows have one exchange and one order
    added = [*(values[position] for position in first_rows.keys), *signs, *marks]
    names = [f"$key{position}" for position in range(len(added))]
    ranked = rows.select(
        "*", *[column.alias(name) for column, name in zip(added, names, strict=True)]
    )
    by = [ordered(order, values[order.position]) for order in first_rows.order.columns]
    window = Window.partitionBy(*names)
    number = sf.row_number().over(window.orderBy(*by, *([] if time is None else [time])))
    ranked = ranked.withColumn(_NUMBER, number)
    is_left = sf.col(_NUMBER) <= first_rows.end
    if kept is not None:
        is_left &= sf.col(names[-1])
    if time is not None:
        # a row without a time is the last one: its error must not get lost
        last = sf.max(sf.struct(time.isNull(), time, sf.col(_NUMBER).alias("number"))).over(window)
        ranked = ranked.withColumn(_LAST, last["number"])
        is_left |= sf.col(_NUMBER) == sf.col(_LAST)
    left = ranked.where(is_left).select(*rows.columns).toDF(*frame.columns)
    return left.coalesce(tasks)


def _is_below_zero(value: Column) -> Column:
    """Return whether a float is the zero below zero: rows that differ in it are equal, but they are not the same."""
    is_negative = (value == sf.lit(0)) & value.cast("string").startswith("-")
    return sf.coalesce(is_negative, sf.lit(False))  # noqa: FBT003
