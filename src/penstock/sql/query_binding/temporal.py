"""FOR SYSTEM_TIME AS OF: joins with the version of a row at a time.

The right side is a versioned table: one with a primary key and an event time, or the newest row per key of an insert-only table
(`ROW_NUMBER() OVER (PARTITION BY key ORDER BY time DESC) = 1`), whose changes are then the rows themselves.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.expressions.tree import Expression, Field
from penstock.program.join import JoinKind
from penstock.relation.joins import TemporalJoin
from penstock.relation.ordered import Rank
from penstock.relation.tree import (
    Normalize,
    Project,
    Relation,
    Scan,
    SqlColumn,
    distinct_names,
    in_time,
)
from penstock.sql.place import unsupported, wrong
from penstock.sql.query_binding.conditions import all_of, equalities
from penstock.sql.scalar_binding.scope import Scope
from penstock.sql.sqlglot_source import exp


def is_temporal(node: exp.Expr) -> bool:
    """Return whether a table of a join is read as of a time."""
    return isinstance(node, exp.Table) and node.args.get("version") is not None


def versions_of(  # noqa: PLR0911 - one per relation
    relation: Relation,
) -> tuple[Relation, frozenset[int]] | None:
    """Return the changes of a versioned table, and its key; None if it is none."""
    if isinstance(relation, Project):
        if not all(isinstance(output, Field) for output in relation.outputs):
            return None
        inside = versions_of(relation.input)
        if inside is None:
            return None
        rows, key = inside
        places = {
            output.position: position
            for position, output in enumerate(relation.outputs)
            if isinstance(output, Field)
        }
        if not key <= places.keys() or max(places) >= len(rows.columns):
            return None
        kinds = tuple(
            replace(rows.columns[output.position], name=column.name)
            for column, output in zip(relation.columns, relation.outputs, strict=True)
            if isinstance(output, Field)
        )
        projected = replace(relation, input=rows, columns=kinds, changelog=rows.changelog)
        return projected, frozenset(places[position] for position in key)
    if isinstance(relation, Normalize):
        return relation.input, frozenset(relation.key)
    if isinstance(relation, Scan):
        return (relation, min(relation.keys, key=len)) if relation.keys else None
    if isinstance(relation, Rank):
        newest = (
            relation.end == 1
            and len(relation.order) == 1
            and relation.order[0].is_descending
            and relation.input.is_insert_only
            and relation.input.columns[relation.order[0].position].is_time
        )
        return (relation.input, frozenset(relation.partition)) if newest else None
    return None


def temporal_join(
    left: Relation,
    right: Relation,
    kind: JoinKind,
    conditions: list[Expression],
    join: exp.Join,
    scope: Scope,
) -> Relation:
    """Return a temporal join."""
    if kind not in {JoinKind.INNER, JoinKind.LEFT}:
        raise unsupported(f"{kind.value} with FOR SYSTEM_TIME AS OF", join)
    versioned = versions_of(right)
    if versioned is None:
        raise wrong(
            "the right side of FOR SYSTEM_TIME AS OF has no versions",
            join.this,
            hint="It needs a PRIMARY KEY and a WATERMARK, or is the newest row per key of an insert-only table.",
        )
    versions, key = versioned
    left_time, right_time = _times(left, versions, join, scope)
    left, versions = in_time(left, left_time), in_time(versions, right_time)
    used = _compared_keys(versions, key, conditions, len(left.columns), join)
    kept = [test for test in conditions if not _is_used(test, used, len(left.columns))]
    columns = distinct_names(
        [*left.columns, *(SqlColumn(column.name, column.type) for column in versions.columns)]
    )
    return TemporalJoin(
        left=left,
        right=versions,
        left_keys=tuple(one for one, _ in used),
        right_keys=tuple(other for _, other in used),
        left_time=left_time,
        right_time=right_time,
        keeps_unmatched=kind is JoinKind.LEFT,
        condition=all_of(kept),
        columns=columns,
        keys=left.keys,
    )


def _times(left: Relation, versions: Relation, join: exp.Join, scope: Scope) -> tuple[int, int]:
    """Return the columns with the times of both sides."""
    moment = scope.resolve(join.this.args["version"].expression)
    times = [position for position, column in enumerate(versions.columns) if column.is_time]
    is_time = isinstance(moment, Field) and left.columns[moment.position].is_time
    if not times or not is_time or not left.is_insert_only:
        raise wrong(
            "FOR SYSTEM_TIME AS OF needs an event time on both sides, and rows on the left that are not taken back",
            join.this,
            hint="Declare WATERMARK FOR the columns.",
        )
    assert isinstance(moment, Field)
    return moment.position, times[0]


def _compared_keys(
    versions: Relation,
    key: frozenset[int],
    conditions: list[Expression],
    width: int,
    join: exp.Join,
) -> list[tuple[Expression, Expression]]:
    """Return the expression that each key column of the versions is equal to."""
    pairs, _ = equalities(conditions, width)
    by_right = {other.position: (one, other) for one, other in pairs if isinstance(other, Field)}
    if not key <= by_right.keys():
        names = ", ".join(versions.columns[position].name for position in sorted(key))
        raise wrong(
            f"FOR SYSTEM_TIME AS OF compares other columns than the key {names}",
            join,
            hint="Compare each column of the key with an expression of the left side.",
        )
    used: list[tuple[Expression, Expression]] = [by_right[position] for position in sorted(key)]
    return used


def _is_used(condition: Expression, used: list[tuple[Expression, Expression]], width: int) -> bool:
    pairs, _ = equalities([condition], width)
    return bool(pairs) and pairs[0] in used
