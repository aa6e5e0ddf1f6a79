"""Folds the records of a key in Spark SQL, before Python makes records of columns (batch runs).

`plan.folding.columns` decides where the result is the same. Two differences depend on the values: NULL,
which SQL ignores and Python refuses or keeps, and a sum that overflows 64 bits on its way. Then the
report of the task refuses the column, and the run starts again and reads records. A sum of 64-bit
numbers is computed as two sums, of their upper and their lower halves, which overflow only after two
thousand million records of a key.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.connectors.column_positions import by_position, column_name
from penstock.metrics.task_clock import ARROW
from penstock.program.folding.fold import ColumnFold
from penstock.runtime.task.level_zero import LevelZero
from penstock.spark.worker.level_zero_tasks import ColumnsTask
from penstock.types.arrow import columns_to_lists
from penstock.wire.row_columns import rows_of_lists

_SMALL = frozenset({"tinyint", "smallint", "int"})
_NUMBERS = _SMALL | {"bigint"}
_KEYS = _NUMBERS | {"string", "boolean"}
"""Spark's names of the types; text with a collation has another name."""

_HALF_BITS = 32


def combined(frame: DataFrame, columns: ColumnFold, tasks: int) -> DataFrame | None:
    """Return a row per key: key, number of records, number of values that are not NULL, folded value.

    Args:
        frame: The DataFrame of the source.
        columns: The fold.
        tasks: Greatest number of tasks that read the result.

    Returns:
        Rows in a deterministic order. None if the columns do not have the declared types.
    """
    if frame.columns != list(columns.names):
        return None
    kinds = dict(frame.dtypes)
    if kinds[columns.key] not in _KEYS or kinds[columns.field] not in _NUMBERS:
        return None
    key, value = (
        sf.col(column_name(columns.names.index(name))) for name in (columns.key, columns.field)
    )
    grouped = (
        by_position(frame)
        .groupBy(key.alias("key"))
        .agg(
            sf.count(sf.lit(1)).alias("records"),
            sf.count(value).alias("present"),
            *_together(columns.how, value, is_small=kinds[columns.field] in _SMALL),
        )
    )
    return grouped.coalesce(tasks).sortWithinPartitions("key")  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class CombinedColumnsTask(ColumnsTask):
    """Feeds the result of `combined` to level 0.

    Attributes:
        columns: The fold.
    """

    columns: ColumnFold | None = None

    def _feed(self, level: LevelZero, batch: pa.RecordBatch) -> None:
        assert self.columns is not None
        before = level.clock.switch(ARROW)
        keys, records, present, *parts = columns_to_lists(batch)
        if records != present or any(None in part for part in parts):
            level.refuse_columns(self.columns.field)
            level.clock.switch(before)
            return
        values, *halves = parts
        if halves:
            values = [(high << _HALF_BITS) + low for high, low in zip(*parts, strict=True)]
        at_key = self.columns.names.index(self.columns.key)
        rows = rows_of_lists(list(self.columns.names), [values, keys] if at_key else [keys, values])
        level.clock.switch(before)
        level.count_combined(self.source, sum(records) - len(records))
        level.collect(self.source, rows, None)


def _together(how: str, value: Column, *, is_small: bool) -> list[Column]:
    if how != "sum":
        return [{"min": sf.min, "max": sf.max}[how](value).alias("value")]
    if is_small:
        return [sf.try_sum(value.cast("bigint")).alias("value")]
    low = value.bitwiseAND(sf.lit((1 << _HALF_BITS) - 1))
    return [
        sf.try_sum(sf.shiftright(value, _HALF_BITS)).alias("high"),
        sf.try_sum(low).alias("low"),
    ]
