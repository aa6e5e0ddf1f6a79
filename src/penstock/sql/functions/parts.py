"""SQL's aggregates as aggregates of columns: which have parts, and the selection, merge and results of a group.

    row ──arguments──▶ k0, a1, a2 ──parts──▶ k0, low(a1), high(a1), count(a2) ──merge, results──▶ a row of the group

An aggregate has parts or has not because of its name and its types alone, never because of where it is computed: the form of
its state depends on that. Columns between are named by their positions, so state does not depend on the names in the query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.expressions import tree as columns
from penstock.expressions.aggregates import AggregateExpression
from penstock.expressions.keyed_aggregate import ChangelogOutput, KeyedAggregate, keyed_aggregate
from penstock.expressions.steps import ExpressionChain, SelectStep
from penstock.expressions.typing import RecordType, typed
from penstock.sql.column_types import BIGINT, INT, WHOLE, SqlType
from penstock.sql.functions.group_aggregate import AggregateCall
from penstock.types.records import RowTypeInfo

_EXACT = frozenset({*WHOLE, "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ"})
"""Types whose values are merged in any order with one result, and compared in one way everywhere."""

_KEYS = _EXACT | {"BOOLEAN"}

_AGGREGATES: Mapping[str, tuple[str, frozenset[str]]] = {
    "COUNT": ("count", _KEYS),
    "SUM": ("wide_sum", frozenset(WHOLE)),
    "AVG": ("whole_mean", frozenset(WHOLE)),
    "MIN": ("min", _EXACT),
    "MAX": ("max", _EXACT),
}
"""Name to that of an aggregate of columns, and the types of the values for which both are the same."""

_OF_CHANGES = {"COUNT": "net_count", "SUM": "net_sum", "AVG": "whole_mean"}
"""The same of rows that may be taken back."""


def have_parts(
    keys: Sequence[SqlType], calls: Sequence[AggregateCall], *, is_insert_only: bool = True
) -> bool:
    """Return whether groups by some columns, and all their aggregates, are computed by parts."""
    known = _AGGREGATES if is_insert_only else _OF_CHANGES
    return all(each.name in _KEYS for each in keys) and all(
        each.function in known and _has_parts(each) for each in calls
    )


def _has_parts(call: AggregateCall) -> bool:
    if call.is_distinct or call.user is not None:
        return False
    return not call.arguments or call.source.name in _AGGREGATES[call.function][1]


@dataclass(frozen=True, slots=True)
class GroupParts:
    """Steps of a group whose aggregates have parts.

    Attributes:
        arguments: Selects the columns of the group, and of the arguments: NULL where a filter is not true.
        chain: Selects the parts of what `arguments` makes.
        aggregate: Merges parts, and makes the rows of groups; without changes.
    """

    arguments: SelectStep
    chain: ExpressionChain
    aggregate: KeyedAggregate

    @property
    def keys(self) -> int:
        """Number of columns of the key of the parts: one at least."""
        return self.aggregate.keys


def group_parts(
    records: RecordType,
    group: int,
    calls: Sequence[AggregateCall],
    made: RowTypeInfo,
    *,
    is_insert_only: bool = True,
) -> GroupParts:
    """Return the steps of a group; the first part of rows that may be taken back counts them."""
    arguments = _arguments(records, group, calls)
    inside = SelectStep(tuple(arguments.items()))
    keys = tuple(arguments)[: max(group, 1)]
    names = {name: how for name, (how, _) in _AGGREGATES.items()} if is_insert_only else _OF_CHANGES
    found = {f"r{at}": _aggregate(call, names) for at, call in enumerate(calls)}
    rows = AggregateExpression("count")
    if not is_insert_only or not calls:
        found = {"rows": rows, **found}
    chain, aggregate = keyed_aggregate(
        inside.type_info, keys, found, is_weighted=not is_insert_only
    )
    (results,) = aggregate.results.steps
    assert isinstance(results, SelectStep), "results are one selection"
    kept = [each for name, each in results.outputs if name != "rows"]
    if not group:
        kept = kept[1:]
    outputs = zip(made.field_names, kept, made.field_types, strict=True)
    last = SelectStep(
        tuple(
            (name, each if each.type_info == kind else _cast(each, kind, aggregate.parts))
            for name, each, kind in outputs
        )
    )
    emitted = replace(aggregate.results, steps=(last,))
    changes = ChangelogOutput(rows=None if is_insert_only else len(keys))
    return GroupParts(inside, chain, replace(aggregate, results=emitted, changes=changes))


def _cast(value: columns.Expression, kind: object, records: RecordType) -> columns.Expression:
    return typed(columns.Call("cast", (value,), (kind,)), records, "group by")


def _arguments(
    records: RecordType, group: int, calls: Sequence[AggregateCall]
) -> dict[str, columns.Expression]:
    """Return the columns that aggregates read; equal arguments are one column."""
    pairs = zip(records.field_names, records.field_types, strict=True)
    fields = [columns.Field(name, kind) for name, kind in pairs]
    made: dict[str, columns.Expression] = {f"k{at}": fields[at] for at in range(group)}
    if not group:
        made["k0"] = columns.Literal(0, INT.type_info)
    for call in calls:
        if not call.arguments and call.filter is None:
            continue
        value: columns.Expression = columns.Literal(1, BIGINT.type_info)
        if call.arguments:
            value = fields[call.arguments[0]]
        if call.filter is not None:
            absent = columns.Literal(None, value.type_info)
            kept = (fields[call.filter], value, absent)
            value = columns.Call("case", kept, (), value.type_info)
        made[_name(call)] = value
    return made


def _name(call: AggregateCall) -> str:
    """Return the name of the argument of an aggregate, which is in the names of its parts."""
    read = f"a{call.arguments[0]}" if call.arguments else "row"
    return read if call.filter is None else f"{read}_if_{call.filter}"


def _aggregate(call: AggregateCall, names: Mapping[str, str]) -> AggregateExpression:
    of_all = not call.arguments and call.filter is None
    return AggregateExpression(names[call.function], None if of_all else columns.Field(_name(call)))
