"""Operators of the relations that keep state."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import Any

from penstock.api.functions.first_rows import FirstRows, TopN
from penstock.api.streams.stream_base import merged_parts
from penstock.expressions.tree import Field
from penstock.program.operators import KEYED_CHANGES, KEYED_TOP_N
from penstock.relation.groups import GroupBy
from penstock.relation.ordered import Rank, total_order
from penstock.relation.parts import group_parts
from penstock.relation.tree import Normalize, Relation, SqlColumn, Union
from penstock.sql.functions.normalize import NormalizeFunction, NormalizeSpec
from penstock.sql.functions.timed_rank import FirstInTime, WindowRank
from penstock.sql.lowering.evaluated import Rows, column_types, evaluated, row_type
from penstock.sql.query_binding.conditions import projected
from penstock.types.row_order import RowOrder


def by_columns(rows: Rows, positions: tuple[int, ...]) -> Any:
    """Return a stream whose key is some columns; without columns all rows have one key."""
    return rows.key_by(itemgetter(*positions) if positions else same_key)


def same_key(_: Any) -> int:
    """Return the key of all rows."""
    return 0


def changes_of(rows: Any, function: Any, columns: tuple[SqlColumn, ...], name: str) -> Rows:
    """Return the changes that a function makes of the rows of each key."""
    return rows._derive(  # type: ignore[no-any-return]  # noqa: SLF001
        KEYED_CHANGES, name, row_type(columns), function=function, method="process_changes"
    )


def lower_union(lowering: Any, relation: Union) -> Rows:
    """Return the stream of a union."""
    declared = row_type(relation.columns)
    parts: list[Rows] = [lowering.stream(_renamed(part, relation)) for part in relation.parts]
    first, *others = parts
    assert all(part.get_type() == declared for part in parts), "the binder has made the types equal"
    return first.union(*others) if others else first


def _renamed(part: Relation, relation: Union) -> Relation:
    if [column.name for column in part.columns] == [column.name for column in relation.columns]:
        return part
    fields = (
        Field(column.name, column.type, position) for position, column in enumerate(part.columns)
    )
    return projected(part, relation.columns, tuple(fields))


def lower_normalize(lowering: Any, relation: Normalize) -> Rows:
    """Return the stream of a complete changelog."""
    names = tuple(column.name for column in relation.columns)
    spec = NormalizeSpec(names, row_type(relation.columns), lowering.ttl_ms)
    rows = by_columns(lowering.stream(relation.input), relation.key)
    changes = changes_of(rows, NormalizeFunction(spec), relation.columns, "normalize")
    return lowering.with_uid(changes, relation)  # type: ignore[no-any-return]


def lower_aggregate(lowering: Any, relation: GroupBy) -> Rows:
    """Return the changes of groups, whose parts are merged wherever rows are."""
    name = "group by" if relation.calls else "distinct"
    return lowering.with_uid(merged_groups(lowering, relation, name), relation)  # type: ignore[no-any-return]


def merged_groups(lowering: Any, relation: GroupBy, name: str) -> Rows:
    """Return the changes of groups, before the operator has its uid."""
    rows = lowering.stream(relation.input)
    kind = row_type(relation.columns)
    parts = group_parts(
        column_types(relation.input.columns),
        relation.group,
        relation.calls,
        kind,
        is_insert_only=relation.input.is_insert_only,
    )
    assert parts.aggregate.changes is not None, "groups emit changes"
    changes = replace(parts.aggregate.changes, ttl_ms=relation.ttl_ms or lowering.ttl_ms)
    function = replace(parts.aggregate, changes=changes)
    arguments = evaluated(rows, parts.arguments, "arguments", parts.records)
    return merged_parts(arguments, parts.chain, function, name, kind)


def lower_rank(lowering: Any, relation: Rank) -> Rows:
    """Return the stream of the first rows."""
    inside = relation.input.columns
    spec = TopN(
        start=relation.start,
        end=relation.end,
        order=RowOrder(total_order(relation.order, len(inside))),
        row_type=row_type(inside),
        names=tuple(column.name for column in relation.columns),
        has_number=relation.has_number,
        are_counted=not relation.input.is_insert_only,
        ttl_ms=lowering.ttl_ms if relation.window_end is None else None,
    )
    rows = by_columns(lowering.stream(relation.input), relation.partition)
    made_type = row_type(relation.columns)
    if relation.window_end is not None:
        rows = rows.process(WindowRank(spec, relation.window_end), made_type).name("window rank")
    elif relation.time is not None:
        rows = rows.process(FirstInTime(spec, relation.time), made_type).name("rank")
    else:
        rows = rows._derive(  # noqa: SLF001 - as the methods of streams do
            KEYED_TOP_N, "rank", made_type, function=FirstRows(spec), method="put"
        )
    return lowering.with_uid(rows, relation)  # type: ignore[no-any-return]
