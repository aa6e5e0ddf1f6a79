"""GROUP BY in BATCH mode, by aggregates that are merged before rows are sent.

    rows ─ select of parts ─ key_by ─ merge of parts ─ newest result per group ─ complete changelog

It is `key_by(…).aggregate(…)` of columns: tasks merge the rows of a group before they send them, and Spark SQL does, directly
behind files or a DataFrame. The last operator adds what an upsert replaces; in a batch run there is one per group. A live run would
pay for its exchange with every micro-batch, so other modes fold changes per group.
"""

from __future__ import annotations

from typing import Any

from penstock.expressions import tree as columns
from penstock.expressions.aggregates import AggregateExpression
from penstock.expressions.column import ColumnExpression
from penstock.expressions.steps import SelectStep
from penstock.sql.column_types import BIGINT, INT, WHOLE
from penstock.sql.functions.group_aggregate import AggregateCall
from penstock.sql.functions.normalize import NormalizeFunction, NormalizeSpec
from penstock.sql.lowering.evaluated import Rows, evaluated, row_type
from penstock.sql.lowering.keyed import by_columns, changes_of
from penstock.sql.relations.keyed import GroupBy
from penstock.sql.relations.tree import SqlRelation

_EXACT = frozenset({*WHOLE, "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ"})
"""Types whose values are merged in any order with one result, and compared in one way everywhere."""

_KEYS = _EXACT | {"BOOLEAN"}
_PARTS = {"COUNT": "count", "SUM": "sum", "MIN": "min", "MAX": "max"}
_KEY = "$key"


def is_merged(relation: GroupBy) -> bool:
    """Return whether the aggregates of a relation have parts that are merged in any order."""
    keys = relation.input.columns[: relation.group]
    return (
        bool(relation.calls)
        and relation.input.is_insert_only
        and all(each.type.name in _KEYS for each in keys)
        and all(map(_is_merged, relation.calls))
    )


def _is_merged(call: AggregateCall) -> bool:
    if call.is_distinct or call.user is not None or call.function not in _PARTS:
        return False
    if call.function == "COUNT":
        return not call.arguments or call.source.name in _KEYS
    return call.source.name in (WHOLE if call.function == "SUM" else _EXACT)


def merged_groups(lowering: Any, relation: GroupBy) -> Rows:
    """Return the stream of an aggregation, as a changelog."""
    rows = _with_arguments(lowering.stream(relation.input), relation)
    made = row_type(relation.columns).field_names
    keys = list(made[: relation.group]) or [_KEY]
    names = made[relation.group :]
    calls = {
        name: _aggregate(at, call)
        for at, (name, call) in enumerate(zip(names, relation.calls, strict=True))
    }
    first, *others = (ColumnExpression(columns.Field(name)) for name in keys)
    newest = rows.key_by(first, *others).aggregate(**calls)
    kinds = row_type(relation.columns)
    if not relation.group:
        outputs = zip(names, kinds.field_types, strict=True)
        kept = tuple((name, columns.Field(name, kind)) for name, kind in outputs)
        newest = evaluated(newest, SelectStep(kept), "columns")
    spec = NormalizeSpec(tuple(made), kinds)
    keyed = by_columns(newest, tuple(range(relation.group)))
    return changes_of(keyed, NormalizeFunction(spec), relation.columns, "group by")


def _with_arguments(rows: Rows, relation: GroupBy) -> Rows:
    """Return rows of the group and of one column per aggregate: NULL where its filter is not true."""
    inside: SqlRelation = relation.input
    kind = row_type(inside.columns)
    fields = [
        columns.Field(name, of) for name, of in zip(kind.field_names, kind.field_types, strict=True)
    ]
    made = row_type(relation.columns).field_names
    outputs: list[tuple[str, columns.Expression]] = list(
        zip(made[: relation.group], fields[: relation.group], strict=True)
    )
    if not relation.group:
        outputs.append((_KEY, columns.Literal(0, INT.type_info)))
    for at, call in enumerate(relation.calls):
        value: columns.Expression = columns.Literal(1, BIGINT.type_info)
        if call.arguments:
            value = fields[call.arguments[0]]
        if call.filter is not None:
            absent = columns.Literal(None, value.type_info)
            pair = (fields[call.filter], value, absent)
            value = columns.Call("case", pair, (), value.type_info)
        outputs.append((f"$argument{at}", value))
    return evaluated(rows, SelectStep(tuple(outputs)), "arguments")


def _aggregate(at: int, call: AggregateCall) -> AggregateExpression:
    value = ColumnExpression(columns.Field(f"$argument{at}"))
    made: AggregateExpression = getattr(value, _PARTS[call.function])()
    return made
