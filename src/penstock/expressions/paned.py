"""Aggregates of windows as aggregates by key and pane, for engines that know no windows.

    key, parts ──▶ key, begin of the pane, parts, timestamp ──merge by key and pane──▶ … greatest timestamp

The pane is a column of the key, and the greatest timestamp one more part, from which the watermark is made, if anybody needs one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.expressions.kinds import LONG, WHOLE, name_of
from penstock.expressions.steps import ExpressionChain, SelectStep
from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.expressions.typing import RecordType, typed
from penstock.types.base import TypeInformation
from penstock.types.records import RowTypeInfo

PANE, TIME = "$pane", "$time"
"""Names of the columns that are added."""


def by_pane(
    chain: ExpressionChain,
    aggregate: KeyedAggregate,
    column: str,
    width_ms: int,
    offset_ms: int,
    *,
    keeps_time: bool,
) -> tuple[ExpressionChain, KeyedAggregate]:
    """Return a selection of parts with their pane, and what merges them by key and pane.

    Args:
        chain: The selection of parts: selections only, because records that a condition drops have timestamps too.
        aggregate: How the parts of a key are merged.
        column: The column of timestamps.
        width_ms: Length of a pane.
        offset_ms: Begin of some pane.
        keeps_time: Whether the greatest timestamp is a part.
    """
    steps: list[SelectStep] = []
    time = _time(chain.records, column)
    for step in chain.steps:
        assert isinstance(step, SelectStep), "the plan asks for selections only"
        steps.append(replace(step, outputs=(*step.outputs, (TIME, time))))
        time = Field(TIME, LONG)
    made = steps[-1].type_info
    behind = Call(
        "modulo", (Call("subtract", (Field(TIME), Literal(offset_ms))), Literal(width_ms))
    )
    pane = typed(Call("subtract", (Field(TIME), behind)), made, "window")
    kept = [(name, Field(name, kind)) for name, kind in _fields(aggregate.parts)]
    keys, parts = kept[: aggregate.keys], kept[aggregate.keys :]
    times = [((TIME, time), "max")] if keeps_time else []
    last = SelectStep((*keys, (PANE, pane), *parts, *(each for each, _ in times)))
    of_keys, of_parts = aggregate.merges[: aggregate.keys], aggregate.merges[aggregate.keys :]
    merges = (*of_keys, None, *of_parts, *(how for _, how in times))
    return (
        replace(chain, steps=(*steps, last)),
        KeyedAggregate(last.type_info, merges, aggregate.results),
    )


def _time(records: RecordType, column: str) -> Expression:
    field = typed(Field(column), records, "window")
    if name_of(field) in WHOLE:
        return typed(Call("cast", (Field(column),), (LONG,)), records, "window")
    return typed(Call("epoch_millis", (Field(column),)), records, "window")


def _fields(parts: RowTypeInfo) -> Iterable[tuple[str, TypeInformation]]:
    return zip(parts.field_names, parts.field_types, strict=True)
