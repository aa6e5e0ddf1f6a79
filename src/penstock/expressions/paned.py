"""Aggregates of windows as aggregates by key and pane, for engines without windows.

    key, parts ──▶ key, begin of the pane, parts, timestamp ──merge by key and pane──▶ … greatest timestamp

The pane is a column of the key; aggregates without windows have one. Records less than a gap apart are of one session, so panes as long
as its gap are pieces of sessions, from their least timestamp to their greatest.

The greatest timestamp is one more part, from which the watermark is made if the plan needs one. The records
that a condition drops have timestamps too. So they are not dropped, but merged into one row of their own, whose key is NULL:

    where n > 0     key  pane  kept   parts  time           key   pane  kept   parts  time
    n=5 at 1002     a    1000  true   5      1002    ──▶    a     1000  true   5      1002
    n=0 at 7003     a    7000  true   0      7003           NULL  0     false  NULL   7003
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.expressions.kinds import BOOLEAN, LONG, WHOLE, name_of
from penstock.expressions.steps import (
    ExpressionChain,
    SelectStep,
    WhereStep,
    chosen,
    if_kept,
    kept_by,
)
from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.expressions.typing import RecordType, typed
from penstock.types.base import TypeInformation

PANE, KEPT, TIME, FIRST = "$pane", "$kept", "$time", "$first"
"""Names of the columns that are added; the one of BOOLEAN only if there are conditions, the least timestamp only of sessions."""


def by_pane(
    chain: ExpressionChain,
    aggregate: KeyedAggregate,
    column: str,
    panes: tuple[int, int] | None,
    *,
    keeps_time: bool,
    keeps_first: bool = False,
) -> tuple[ExpressionChain, KeyedAggregate]:
    """Return a selection of parts with their pane, and what merges them by key and pane.

    `panes` has the width and the offset of panes in milliseconds; without it, a key has one pane.
    """
    steps: list[SelectStep] = []
    time = time_of(chain.records, column)
    kept: Expression | None = None
    fields = list(_fields(chain.records))
    for step in chain.steps:
        if isinstance(step, WhereStep):
            assert keeps_time, "dropped records have a row for their timestamps only"
            kept = kept_by(kept, step.condition)
        else:
            fields = [(name, if_kept(kept, expression)) for name, expression in step.outputs]
        marks = () if kept is None else ((KEPT, kept),)
        steps.append(SelectStep((*fields, *marks, (TIME, time))))
        fields = [(name, Field(name, expression.type_info)) for name, expression in fields]
        time, kept = Field(TIME, LONG), None if kept is None else Field(KEPT, BOOLEAN)
    keys, parts = fields[: aggregate.keys], fields[aggregate.keys :]
    pane = _none_or_zero(time)
    if panes is not None:
        pane = typed(_pane(*panes), steps[-1].type_info, "window")
    added: tuple[tuple[str, Expression], ...] = ((PANE, pane),)
    if kept is not None:
        keys = [
            (name, chosen(kept, expression, Literal(None, expression.type_info)))
            for name, expression in keys
        ]
        added = ((PANE, chosen(kept, pane, _none_or_zero(time))), (KEPT, kept))
    times = [((TIME, time), "max")] if keeps_time else []
    times += [((FIRST, time), "min")] if keeps_first else []
    last = SelectStep((*keys, *added, *parts, *(output for output, _ in times)))
    of_keys, of_parts = aggregate.merges[: aggregate.keys], aggregate.merges[aggregate.keys :]
    merges = (*of_keys, *(None for _ in added), *of_parts, *(how for _, how in times))
    return (
        replace(chain, steps=(*steps, last)),
        KeyedAggregate(last.type_info, merges, aggregate.results),
    )


def by_piece(
    chain: ExpressionChain, aggregate: KeyedAggregate, column: str, gap_ms: int
) -> tuple[ExpressionChain, KeyedAggregate]:
    """Return a selection of parts with the piece of a session, and what merges them by key and piece."""
    return by_pane(chain, aggregate, column, (gap_ms, 0), keeps_time=True, keeps_first=True)


def _pane(width_ms: int, offset_ms: int) -> Expression:
    behind = Call(
        "modulo", (Call("subtract", (Field(TIME), Literal(offset_ms))), Literal(width_ms))
    )
    return Call("subtract", (Field(TIME), behind))


def _none_or_zero(time: Expression) -> Expression:
    """Return one pane of all records, except of those without a timestamp, which must be seen."""
    is_absent = Call("is_null", (time,), kind=BOOLEAN)
    return chosen(is_absent, Literal(None, LONG), Literal(0, LONG))


def time_of(records: RecordType, column: str) -> Expression:
    """Return the epoch milliseconds of a column of times, or of such numbers."""
    field = typed(Field(column), records, "window")
    if name_of(field) in WHOLE:
        return typed(Call("cast", (Field(column),), (LONG,)), records, "window")
    return typed(Call("epoch_millis", (Field(column),)), records, "window")


def _fields(records: RecordType) -> Iterable[tuple[str, Expression]]:
    named: Iterable[tuple[str, TypeInformation]]
    named = zip(records.field_names, records.field_types, strict=True)
    return ((name, Field(name, kind)) for name, kind in named)
