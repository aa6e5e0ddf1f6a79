"""SQL's aggregates as aggregates of columns: which have parts, and the selection, merge and results of a group.

    row ──arguments──▶ k0, a1, a2 ──parts──▶ k0, low(a1), high(a1), count(a2) ──merge, results──▶ a row of the group

An aggregate has parts or has not because of its name and its types alone, never because of where it is computed: the form of
its state depends on that. Columns between are named by their positions, so state does not depend on the names in the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.expressions import tree as columns
from penstock.expressions.aggregates import AggregateExpression
from penstock.expressions.keyed_aggregate import ChangelogOutput, KeyedAggregate, keyed_aggregate
from penstock.expressions.steps import ExpressionChain, SelectStep
from penstock.expressions.typing import RecordType, typed
from penstock.sql.functions.group_aggregate import AggregateCall
from penstock.types.records import RowTypeInfo
from penstock.types.sql_types import BIGINT, FLOATS, INT, WHOLE, SqlType

_ORDERED = frozenset({*WHOLE, "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ"})
"""Types whose values are compared in one way everywhere."""

_KEYS = _ORDERED | {"BOOLEAN"}

_Kind = tuple[str, tuple[int, ...]]
"""An aggregate of columns with its parameters."""


def _of_types(types: Iterable[str], how: str, *parameters: int) -> dict[str, _Kind]:
    return dict.fromkeys(types, (how, parameters))


_AGGREGATES: Mapping[str, Mapping[str, _Kind]] = {
    "COUNT": _of_types(_KEYS | {*FLOATS}, "count"),
    "SUM": _of_types(WHOLE, "wide_sum") | _of_types(FLOATS, "exact_sum"),
    "AVG": _of_types(WHOLE, "whole_mean") | _of_types(FLOATS, "exact_mean"),
    "MIN": _of_types(_ORDERED, "min") | _of_types(FLOATS, "first_float"),
    "MAX": _of_types(_ORDERED, "max") | _of_types(FLOATS, "last_float"),
    "VAR_POP": _of_types((*WHOLE, *FLOATS), "exact_variance", 0),
    "VAR_SAMP": _of_types((*WHOLE, *FLOATS), "exact_variance", 1),
    "STDDEV_POP": _of_types((*WHOLE, *FLOATS), "exact_stddev", 0),
    "STDDEV_SAMP": _of_types((*WHOLE, *FLOATS), "exact_stddev", 1),
}
"""Name and type of the values to an aggregate of columns: both are the same in any order of rows."""

_OF_CHANGES: Mapping[str, str | None] = {
    "count": "net_count",
    "wide_sum": "net_sum",
    "min": None,
    "max": None,
    "first_float": None,
    "last_float": None,
}
"""Replacement of an aggregate if rows may be taken back; None if there is none."""


def have_parts(
    keys: Sequence[SqlType], calls: Sequence[AggregateCall], *, is_insert_only: bool = True
) -> bool:
    """Return whether groups by some columns, and all their aggregates, are computed by parts."""
    found = (_kind(each, is_insert_only=is_insert_only) for each in calls)
    return all(each.name in _KEYS for each in keys) and None not in found


def _kind(call: AggregateCall, *, is_insert_only: bool) -> _Kind | None:
    """Return the aggregate of columns that is one of SQL, None if there is none."""
    if call.is_distinct or call.user is not None or call.function not in _AGGREGATES:
        return None
    how, parameters = _AGGREGATES[call.function].get(call.source.name, (None, ()))
    found = how if how is None or is_insert_only else _OF_CHANGES.get(how, how)
    return None if found is None else (found, parameters)


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
    found = {
        f"r{at}": _aggregate(call, is_insert_only=is_insert_only) for at, call in enumerate(calls)
    }
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


def _aggregate(call: AggregateCall, *, is_insert_only: bool) -> AggregateExpression:
    of_all = not call.arguments and call.filter is None
    kind = _kind(call, is_insert_only=is_insert_only)
    assert kind is not None, "have_parts has said so"
    how, parameters = kind
    return AggregateExpression(how, None if of_all else columns.Field(_name(call)), parameters)
