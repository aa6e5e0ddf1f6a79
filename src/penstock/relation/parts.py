"""SQL's aggregates as aggregates of columns: the selection, merge and results of a group.

    row ──arguments──▶ k0, a1, a2 ──parts──▶ k0, low(a1), high(a1), count(a2) ──merge, results──▶ a row of the group

An aggregate has its parts because of its name, its types and whether rows are taken back, never because of where it is computed:
the form of its state depends on that. Columns between are named by their positions, so state does not depend on the names in the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.expressions import tree as columns
from penstock.expressions.aggregates import AggregateExpression
from penstock.expressions.functions import USER
from penstock.expressions.keyed_aggregate import WINDOW_BOUNDS, KeyedAggregate, keyed_aggregate
from penstock.expressions.steps import ExpressionChain, SelectStep
from penstock.expressions.typing import RecordType, typed
from penstock.types.records import RowTypeInfo
from penstock.types.sql_types import BIGINT, FLOATS, INT, NUMBERS, WHOLE, SqlType


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate.

    Attributes:
        function: Its name, such as `SUM`; of one of the user `user:` and its name.
        arguments: Positions of the columns it reads; none is COUNT(*).
        source: Type of the first argument.
        is_distinct: Whether equal values count once.
        filter: Position of a condition that rows must satisfy; None is none.
    """

    function: str
    arguments: tuple[int, ...]
    source: SqlType
    result: SqlType
    is_distinct: bool = False
    filter: int | None = None
    separator: str = ","
    user: Any = field(default=None, compare=False)

    def __str__(self) -> str:
        inside = ", ".join(f"#{position}" for position in self.arguments) or "*"
        distinct = "DISTINCT " if self.is_distinct else ""
        shown = "" if self.filter is None else f" FILTER #{self.filter}"
        return f"{self.function.removeprefix(USER)}({distinct}{inside}){shown}"


_ORDERED = frozenset({*WHOLE, "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ"})
"""Types whose values are compared in one way everywhere."""

_KEYS = _ORDERED | {"BOOLEAN", "TIME", "BYTES", "DECIMAL", *FLOATS}
"""Types whose values can be columns of a group, and be counted."""

_Kind = tuple[str, tuple[Any, ...]]
"""An aggregate of columns with its parameters."""


def _of_types(types: Iterable[str], how: str, *parameters: Any) -> dict[str, _Kind]:
    return dict.fromkeys(types, (how, parameters))


_UNORDERED = ("BOOLEAN", "TIME", "BYTES")
"""Types whose least value no engine has; it is taken of a tally."""
_AGGREGATES: Mapping[str, Mapping[str, _Kind]] = {
    "COUNT": _of_types(_KEYS | {"ARRAY", "MAP", "ROW"}, "count"),
    "SUM": _of_types(WHOLE, "wide_sum") | _of_types((*FLOATS, "DECIMAL"), "exact_sum"),
    "AVG": _of_types(WHOLE, "whole_mean") | _of_types((*FLOATS, "DECIMAL"), "exact_mean"),
    "MIN": _of_types(_ORDERED | {"DECIMAL"}, "min")
    | _of_types(FLOATS, "first_float")
    | _of_types(_UNORDERED, "of_values", "min"),
    "MAX": _of_types(_ORDERED | {"DECIMAL"}, "max")
    | _of_types(FLOATS, "last_float")
    | _of_types(_UNORDERED, "of_values", "max"),
    "VAR_POP": _of_types(NUMBERS, "exact_variance", 0),
    "VAR_SAMP": _of_types(NUMBERS, "exact_variance", 1),
    "STDDEV_POP": _of_types(NUMBERS, "exact_stddev", 0),
    "STDDEV_SAMP": _of_types(NUMBERS, "exact_stddev", 1),
    "LISTAGG": _of_types({"STRING"}, "of_values", "join"),
    "ARRAY_AGG": _of_types(_KEYS, "of_values", "list"),
    "COLLECT": _of_types(_KEYS, "of_values", "map"),
}
"""Name and type of the values to an aggregate of columns: both are the same in any order of rows."""

_OF_CHANGES: Mapping[str, _Kind] = {
    "count": ("net_count", ()),
    "wide_sum": ("net_sum", ()),
    "min": ("of_values", ("min",)),
    "max": ("of_values", ("max",)),
    "first_float": ("of_values", ("min",)),
    "last_float": ("of_values", ("max",)),
}
"""Replacement of an aggregate if rows may be taken back."""


def keeping_values(calls: Sequence[AggregateCall], *, is_insert_only: bool) -> list[AggregateCall]:
    """Return the aggregates that need the values of a group."""
    pairs = ((call, _kind(call, is_insert_only=is_insert_only)[0]) for call in calls)
    return [call for call, how in pairs if how in {"of_values", "distinct"}]


def _kind(call: AggregateCall, *, is_insert_only: bool) -> _Kind:
    """Return the aggregate of columns that is one of SQL."""
    if call.user is not None:
        name = call.function.removeprefix(USER)
        return "user", (name, call.user, call.result.column_type)
    how, parameters = _AGGREGATES[call.function][call.source.name]
    if call.source.name == "DECIMAL" and how in {"exact_sum", "exact_mean"}:
        parameters = (call.result.column_type,)
    if how == "of_values":
        return how, (*parameters, call.separator, call.is_distinct)
    if call.is_distinct:
        return "distinct", ("net_sum" if how == "wide_sum" else how, *parameters)
    return (how, parameters) if is_insert_only else _OF_CHANGES.get(how, (how, parameters))


_MICROS_OF_TIME = -1_000
"""From the end of a window to its last millisecond."""

_START, _END = map(columns.Field, WINDOW_BOUNDS)
_BOUNDS: Mapping[str | None, columns.Expression] = {
    "start": _START,
    "end": _END,
    "time": columns.Call("shift", (_END,), (_MICROS_OF_TIME,)),
}
"""Bound of a window to its expression."""


@dataclass(frozen=True, slots=True)
class GroupParts:
    """Steps of a group whose aggregates have parts.

    Attributes:
        records: Type of the records that are read; decimals have their digits.
        arguments: Selects the columns of the group, and of the arguments: NULL where a filter is not true.
        chain: Selects the parts of what `arguments` makes.
        aggregate: Merges parts, and makes the rows of groups.
    """

    records: RecordType
    arguments: SelectStep
    chain: ExpressionChain
    aggregate: KeyedAggregate

    @property
    def keys(self) -> int:
        """Number of columns of the key of the parts: one at least."""
        return self.aggregate.keys


def group_parts(
    records: RowTypeInfo,
    group: int,
    calls: Sequence[AggregateCall],
    result_type: RowTypeInfo,
    *,
    is_insert_only: bool = True,
    emits_changes: bool = True,
    bounds: Sequence[str | None] = (),
) -> GroupParts:
    """Return the steps of a group of records, whose decimals have digits; the first part of rows that may be taken back counts them.

    `bounds` has, for the columns of the group, which bound of the window each is, None for another one.
    """
    arguments = _arguments(records, group, calls)
    inside = SelectStep(tuple(arguments.items()))
    keys = tuple(arguments)[: max(group, 1)]
    parts = {
        f"r{index}": _aggregate(call, is_insert_only=is_insert_only)
        for index, call in enumerate(calls)
    }
    rows = AggregateExpression("count")
    if not is_insert_only or not calls:
        parts = {"rows": rows, **parts}
    chain, aggregate = keyed_aggregate(
        inside.type_info, keys, parts, is_weighted=not is_insert_only, keeps_values=emits_changes
    )
    (results,) = aggregate.results.steps
    assert isinstance(results, SelectStep), "results are one selection"
    kept = [tree for name, tree in results.outputs if name != "rows"]
    if not group:
        kept = kept[1:]
    fired, of_windows = aggregate.parts, [index for index, bound in enumerate(bounds) if bound]
    if of_windows:
        types = [result_type.field_types[of_windows[0]]] * len(WINDOW_BOUNDS)
        fired = RowTypeInfo([*fired.field_types, *types], [*fired.field_names, *WINDOW_BOUNDS])
    for index in of_windows:
        kept.insert(index, typed(_BOUNDS[bounds[index]], fired, "group by"))
    outputs = zip(result_type.field_names, kept, result_type.field_types, strict=True)
    last = SelectStep(
        tuple(
            (name, tree if _are_alike(tree.type_info, kind) else _cast(tree, kind, aggregate.parts))
            for name, tree, kind in outputs
        )
    )
    emitted = replace(aggregate.results, records=fired, steps=(last,))
    changes = aggregate.changes
    if changes is not None:
        changes = replace(changes, rows=None if is_insert_only else len(keys))
    return GroupParts(records, inside, chain, replace(aggregate, results=emitted, changes=changes))


def _are_alike(one: object, other: object) -> bool:
    """Return whether two types are the same, but for digits of decimals."""
    return one == other or repr(one) == repr(other)


def _cast(value: columns.Expression, kind: object, records: RecordType) -> columns.Expression:
    return typed(columns.Call("cast", (value,), (kind,)), records, "group by")


def _arguments(
    records: RecordType, group: int, calls: Sequence[AggregateCall]
) -> dict[str, columns.Expression]:
    """Return the columns that aggregates read; equal arguments are one column."""
    pairs = zip(records.field_names, records.field_types, strict=True)
    fields = [columns.Field(name, kind) for name, kind in pairs]
    inputs: dict[str, columns.Expression] = {f"k{index}": fields[index] for index in range(group)}
    if not group:
        inputs["k0"] = columns.Literal(0, INT.type_info)
    for call in calls:
        if call.user is not None:
            read = (*call.arguments, *(() if call.filter is None else (call.filter,)))
            inputs |= {f"a{index}": fields[index] for index in read}
            continue
        if not call.arguments and call.filter is None:
            continue
        value: columns.Expression = columns.Literal(1, BIGINT.type_info)
        if call.arguments:
            value = fields[call.arguments[0]]
        if call.filter is not None:
            absent = columns.Literal(None, value.type_info)
            kept = (fields[call.filter], value, absent)
            value = columns.Call("case", kept, (), value.type_info)
        inputs[_name(call)] = value
    return inputs


def _name(call: AggregateCall) -> str:
    """Return the name of the argument of an aggregate, which is in the names of its parts."""
    read = f"a{call.arguments[0]}" if call.arguments else "row"
    return read if call.filter is None else f"{read}_if_{call.filter}"


def _aggregate(call: AggregateCall, *, is_insert_only: bool) -> AggregateExpression:
    of_all = not call.arguments and call.filter is None
    how, parameters = _kind(call, is_insert_only=is_insert_only)
    if call.user is not None:
        chosen: columns.Expression = columns.Literal(value=True)
        if call.filter is not None:
            chosen = columns.Field(f"a{call.filter}")
        read = (columns.Field(f"a{index}") for index in call.arguments)
        return AggregateExpression(how, columns.Call("packed", (chosen, *read)), parameters)
    return AggregateExpression(how, None if of_all else columns.Field(_name(call)), parameters)
