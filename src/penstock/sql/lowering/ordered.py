"""Operators of OVER."""

from __future__ import annotations

from typing import Any

from penstock.relation.ordered import Frame, Over, OverCall, RowNumber, total_order
from penstock.relation.parts import AggregateCall
from penstock.relation.tree import Delayed
from penstock.sql.functions.late_watermark import LateWatermark
from penstock.sql.functions.over import OverFunction, OverSpec
from penstock.sql.functions.timed_over import TimedOver
from penstock.sql.lowering.evaluated import Rows, row_type
from penstock.sql.lowering.keyed import by_columns, changes_of
from penstock.types.sql_types import BIGINT

_NUMBER = OverCall(
    AggregateCall("ROW_NUMBER", (), BIGINT, BIGINT), Frame(counts_rows=True, preceding=None)
)


def lower_row_number(lowering: Any, relation: RowNumber) -> Rows:
    """Return the stream of rows with their numbers, all of them."""
    return _over(lowering, relation, (_NUMBER,))


def lower_delayed(lowering: Any, relation: Delayed) -> Rows:
    """Return the stream of rows whose watermark stays behind."""
    rows = lowering.stream(relation.input)
    made: Rows = rows.transform(
        "late watermark", row_type(relation.columns), LateWatermark(relation.lag_ms)
    )
    return made


def lower_over(lowering: Any, relation: Over) -> Rows:
    """Return the stream of rows with the values of functions."""
    return _over(lowering, relation, relation.calls)


def _over(lowering: Any, relation: Over | RowNumber, calls: tuple[OverCall, ...]) -> Rows:
    spec = OverSpec(
        calls=calls,
        order=total_order(relation.order, len(relation.input.columns)),
        ordered=len(relation.order),
        names=tuple(each.name for each in relation.columns),
        ttl_ms=lowering.ttl_ms,
    )
    rows = by_columns(lowering.stream(relation.input), relation.partition)
    if relation.time is None:
        made = changes_of(rows, OverFunction(spec), relation.columns, "over")
    else:
        operator = TimedOver(spec, relation.time, row_type(relation.input.columns))
        made = rows.transform("over", row_type(relation.columns), operator)
    return lowering.stateful(made, relation)  # type: ignore[no-any-return]
