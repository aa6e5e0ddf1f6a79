"""Operators of joins."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from penstock.api.functions.key_selectors import typed_selector
from penstock.api.streams.columns.as_of_join import AsOf, AsOfJoinFunction, Direction
from penstock.api.streams.columns.column_joins import JoinedColumns, joined_in_time
from penstock.api.streams.joined_streams import FIELDS, joined_by
from penstock.expressions import tree as columns
from penstock.expressions.steps import SelectStep
from penstock.expressions.tree import Expression, Field
from penstock.program.join import IntervalSpec, JoinSpec
from penstock.relation.joins import Join, TemporalJoin, TimeOf
from penstock.relation.tree import Relation, TwoInputs
from penstock.sql.functions.join_condition import MillisAt, PairCondition
from penstock.sql.lowering.evaluated import Rows, evaluated, row_type
from penstock.sql.lowering.keyed import same_key
from penstock.sql.lowering.rows import KeyValues


def lower_join(lowering: Any, relation: Join) -> Rows:
    """Return the stream of a join."""
    lower = _regular_join if relation.interval is None else _interval_join
    return lower(lowering, relation)


def _regular_join(lowering: Any, relation: Join) -> Rows:
    sides = (relation.left, relation.right)
    types = tuple(row_type(side.columns) for side in sides)
    left, right = _sides(lowering, relation)
    spec = JoinSpec(
        relation.type,
        (types[0], types[1]),
        side_ttls_ms=relation.ttls_ms,
        condition=_condition(relation),
    )
    pairs = lowering.with_uid(joined_by(left, right, spec), relation)
    read = [*_fields(0, relation.left)]
    if not relation.type.is_existence:
        read += _fields(1, relation.right)
    names = (column.name for column in relation.columns)
    return evaluated(pairs, SelectStep(tuple(zip(names, read, strict=True))), "columns")


def _fields(side: int, relation: Relation) -> list[columns.Expression]:
    kind = row_type(relation.columns)
    whole = columns.Field(FIELDS[side], kind)
    return [
        columns.Call("field", (whole,), (name,), of_field)
        for name, of_field in zip(kind.field_names, kind.field_types, strict=True)
    ]


def _interval_join(lowering: Any, relation: Join) -> Rows:
    assert relation.interval is not None
    result_type, lefts, rights = (
        row_type(rows.columns) for rows in (relation, relation.left, relation.right)
    )
    width = len(lefts.field_names)
    shown = range(len(result_type.field_names) - width)
    interval = IntervalSpec(
        relation.interval.lower_ms,
        relation.interval.upper_ms,
        (lefts, rights),
        kind=relation.type,
        condition=_condition(relation),
        times=(_time(relation.interval.left), _time(relation.interval.right)),
        is_relational=True,
    )
    function = JoinedColumns(tuple(result_type.field_names), width, (), (), tuple(shown))
    name = f"interval {relation.type.value.lower()}"
    joined = joined_in_time(*_sides(lowering, relation), function, interval, result_type, name)
    return lowering.with_uid(joined, relation)  # type: ignore[no-any-return]


def _time(time: TimeOf) -> MillisAt:
    return MillisAt(time.position, time.offset_ms)


def lower_temporal_join(lowering: Any, relation: TemporalJoin) -> Rows:
    """Return the stream of a temporal join."""
    result_type = row_type(relation.columns)
    positions = (relation.left_time, relation.right_time)
    spec = AsOf(
        direction=Direction.BACKWARD,
        tolerance_ms=None,
        equal_times=True,
        left=row_type(relation.left.columns),
        right=row_type(relation.right.columns),
        right_positions=tuple(range(len(relation.right.columns))),
        names=tuple(result_type.field_names),
        times=tuple(map(MillisAt, positions)),
        are_versions=True,
        keeps_unmatched=relation.keeps_unmatched,
        condition=_condition(relation),
    )
    left, right = _sides(lowering, relation)
    joined: Rows = left.connect(right).process(AsOfJoinFunction(spec), result_type)
    return lowering.with_uid(joined.name("temporal join"), relation)  # type: ignore[no-any-return]


def _sides(lowering: Any, relation: TwoInputs) -> tuple[Any, Any]:
    """Return both sides by the key of the join."""
    return (
        lowering.stream(relation.left).key_by(join_key(relation.left_keys)),
        lowering.stream(relation.right).key_by(join_key(relation.right_keys)),
    )


def _condition(relation: TwoInputs) -> PairCondition | None:
    return None if relation.condition is None else PairCondition(relation.condition)


def join_key(keys: tuple[Expression, ...]) -> Any:
    """Return the selector of the key of a side of a join."""
    if not keys:
        return same_key
    if all(isinstance(key, Field) for key in keys):
        return itemgetter(*(key.position for key in keys if isinstance(key, Field)))
    return typed_selector(KeyValues(keys), None, "a join")
