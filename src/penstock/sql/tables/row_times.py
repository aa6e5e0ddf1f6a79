"""Event time of a table: WATERMARK FOR as a strategy."""

from __future__ import annotations

from penstock.api.functions.watermark import WatermarkStrategy
from penstock.program.timestamps import ColumnTimestamps
from penstock.sql.binding.intervals import milliseconds
from penstock.sql.catalogue import SqlColumn
from penstock.sql.column_types import TIMESTAMPS
from penstock.sql.place import unsupported, wrong
from penstock.sql.sqlglot_source import exp
from penstock.sql.statements import WatermarkDefinition
from penstock.types.time import Duration


def strategy_of(
    watermark: WatermarkDefinition, columns: tuple[SqlColumn, ...]
) -> WatermarkStrategy:
    """Return how rows get timestamps and watermarks.

    Args:
        watermark: The clause.
        columns: Of the table, in order.

    Raises:
        SqlError: It names no column of time, or is not a column less an interval.
    """
    names = [column.name for column in columns]
    if watermark.column not in names:
        raise wrong(
            f"WATERMARK FOR {watermark.column!r} is of no column ({watermark.place})",
            None,
            hint=f"Use one of: {', '.join(names)}.",
        )
    kind = columns[names.index(watermark.column)].type
    if kind.name not in TIMESTAMPS:
        raise wrong(
            f"WATERMARK FOR {watermark.column!r} is of {kind} ({watermark.place})",
            None,
            hint="Use a column of TIMESTAMP or TIMESTAMP_LTZ; a computed column may make one.",
        )
    delay = Duration.of_millis(_delay(watermark))
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(delay)
    return bounded.with_timestamp_assigner(ColumnTimestamps(watermark.column, watermark.column))


def _delay(watermark: WatermarkDefinition) -> int:
    node = watermark.expression
    column, interval = (node.this, node.expression) if isinstance(node, exp.Sub) else (node, None)
    if not isinstance(column, exp.Column) or column.name != watermark.column:
        raise unsupported(
            "WATERMARK FOR of another expression than the column less an interval",
            node,
            hint=f"Write WATERMARK FOR {watermark.column} AS {watermark.column} - INTERVAL '5' SECOND.",
        )
    return 0 if interval is None else milliseconds(interval, "the delay of a watermark")
