"""GROUP BY: what rows are grouped by, and the aggregates of the groups.

GROUPING SETS, ROLLUP and CUBE group the same rows several times: each row is there once per set, with NULL in the groups that the set
has not, and the number of the set is one more group:

    GROUP BY ROLLUP (a, b)     sets 0: (a, b)   1: (a)   2: ()      GROUPING(b) is 0, 1, 1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.relation.groups import GroupBy, aggregated
from penstock.relation.parts import AggregateCall
from penstock.relation.tree import Relation, SqlColumn, distinct_names, union
from penstock.sql.place import unsupported, wrong
from penstock.sql.query_binding.aggregates import (
    BoundAggregate,
    GroupBinder,
    aggregate_nodes,
    bound_aggregate,
    nodes_of,
)
from penstock.sql.query_binding.conditions import projected
from penstock.sql.scalar_binding.binder import Binder
from penstock.sql.scalar_binding.operators import BUILDERS
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import BIGINT, BOOLEAN, INT

_SETS = (exp.GroupingSets, exp.Rollup, exp.Cube)
_GROUPING = frozenset({"GROUPING", "GROUPING_ID"})
_SET = "$set"
_MOST_SETS = 256


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of rows.

    Attributes:
        scalars: The groups of all sets.
        sets: Positions of the groups of each set; None if there is one, of all.
    """

    scalars: tuple[Expression, ...]
    sets: tuple[frozenset[int], ...] | None

    @property
    def width(self) -> int:
        """Number of columns that distinguish groups."""
        return len(self.scalars) + (self.sets is not None)


def grouped(
    query: exp.Select, relation: Relation, binder: Binder, ttl_ms: int | None
) -> tuple[Relation, Binder]:
    """Return a row per group, and what binds expressions over them; without groups and aggregates the rows as they are."""
    having, clause = query.args.get("having"), query.args.get("group")
    order = query.args.get("order")
    nodes = [*query.expressions, *([having] if having else []), *([order] if order else [])]
    calls = [call for node in nodes for call in aggregate_nodes(node, binder.catalogue)]
    if not calls and clause is None and having is None:
        return relation, binder
    groups = _groups(clause, binder)
    bound = [bound_aggregate(call, binder) for call in calls]
    read = tuple(dict.fromkeys(argument for aggregate in bound for argument in _read_by(aggregate)))
    placed = [_placed(aggregate, read, groups.width) for aggregate in bound]
    rows = _rows(relation, groups, read)
    unique = tuple(dict.fromkeys(placed))
    result = aggregated(rows, groups.width, unique, _free(unique, rows.columns))
    if isinstance(result, GroupBy):
        result = replace(result, ttl_ms=ttl_ms)
    replaced: dict[int, Expression] = {}
    for node, call in zip(calls, placed, strict=True):
        position = groups.width + unique.index(call)
        replaced[id(node)] = Field(result.columns[position].name, call.result, position)
    replaced |= {
        id(function): _grouping(function, groups, binder)
        for node in nodes
        for function in nodes_of(node)
        if isinstance(function, exp.Anonymous) and function.name.upper() in _GROUPING
    }
    return result, GroupBinder(binder, groups.scalars, replaced, BUILDERS)


def _groups(clause: exp.Expr | None, binder: Binder) -> Groups:
    for name, part in ({} if clause is None else clause.args).items():
        if part and name != "expressions":
            raise unsupported(f"GROUP BY {name.upper().replace('_', ' ')}", clause)
    nodes = [] if clause is None else list(clause.expressions)
    if not any(isinstance(node, _SETS) for node in nodes):
        parts = (column for node in nodes for column in _columns(node))
        return Groups(tuple(dict.fromkeys(_group(column, binder) for column in parts)), None)
    chosen = [list(_sets_of(node)) for node in nodes]
    sets = [[column for part in parts for column in part] for parts in product(*chosen)]
    if len(sets) > _MOST_SETS:
        raise unsupported(f"GROUP BY of {len(sets)} sets", clause, hint="Use fewer columns.")
    bound = [[_group(column, binder) for column in columns] for columns in sets]
    scalars = tuple(dict.fromkeys(scalar for columns in bound for scalar in columns))
    return Groups(scalars, tuple(frozenset(map(scalars.index, columns)) for columns in bound))


def _group(node: exp.Expr, binder: Binder) -> Expression:
    scalar = binder.scalar(node)
    if scalar.type.name in {"ARRAY", "MAP", "ROW", "ANY"}:
        raise unsupported(f"GROUP BY of {scalar.type}", node)
    return scalar


def _sets_of(node: exp.Expr) -> Iterable[list[exp.Expr]]:
    """Yield the sets of one part of GROUP BY."""
    if isinstance(node, exp.GroupingSets):
        for element in node.expressions:
            yield from _sets_of(element) if isinstance(element, _SETS) else [_columns(element)]
        return
    parts = [_columns(column) for column in node.expressions]
    if isinstance(node, exp.Rollup):
        for length in range(len(parts), -1, -1):
            yield [column for part in parts[:length] for column in part]
    elif isinstance(node, exp.Cube):
        for length in range(len(parts), -1, -1):
            for some in combinations(parts, length):
                yield [column for part in some for column in part]
    else:
        yield _columns(node)


def _columns(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Paren):
        return [node.this]
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def _read_by(bound: BoundAggregate) -> tuple[Expression, ...]:
    return (*bound.arguments, *(() if bound.filter is None else (bound.filter,)))


def _placed(bound: BoundAggregate, read: tuple[Expression, ...], width: int) -> AggregateCall:
    """Return an aggregate that reads its arguments behind the groups."""
    arguments = tuple(read.index(argument) + width for argument in bound.arguments)
    condition = None if bound.filter is None else read.index(bound.filter) + width
    return replace(bound.call, arguments=arguments, filter=condition)


def _rows(relation: Relation, groups: Groups, read: tuple[Expression, ...]) -> Relation:
    """Return rows of the groups, the number of the set, and what aggregates read."""
    if groups.sets is None:
        inputs = (*groups.scalars, *read)
        return _selected(relation, inputs) if inputs else _one_column(relation)
    parts = []
    for number, included in enumerate(groups.sets):
        scalars = (
            scalar if position in included else Literal(None, scalar.type)
            for position, scalar in enumerate(groups.scalars)
        )
        names = (*groups.scalars, Literal(number, INT), *read)
        outputs = (*scalars, Literal(number, INT), *read)
        parts.append(_selected(relation, outputs, names))
    return union(tuple(parts)) if len(parts) > 1 else parts[0]


def _selected(
    relation: Relation,
    outputs: tuple[Expression, ...],
    named: Sequence[Expression] | None = None,
) -> Relation:
    """Return rows of expressions, called like the columns that they are or stand for."""
    columns = [
        replace(as_column(output, relation), name=_name(source, position))
        for position, (output, source) in enumerate(zip(outputs, named or outputs, strict=True))
    ]
    return projected(relation, distinct_names(columns), outputs)


def as_column(scalar: Expression, relation: Relation) -> SqlColumn:
    """Return the column that an expression makes; what is known of a column of the input stays known."""
    if isinstance(scalar, Field):
        return relation.columns[scalar.position]
    return SqlColumn(str(scalar), scalar.type)


def _name(scalar: Expression, index: int) -> str:
    return scalar.name if isinstance(scalar, Field) and scalar.name else f"EXPR${index}"


def _free(calls: tuple[object, ...], columns: tuple[SqlColumn, ...]) -> tuple[str, ...]:
    """Return names of aggregates that no column has."""
    names = {column.name for column in columns}
    prefix = "AGG$"
    while any(name.startswith(prefix) for name in names):
        prefix += "$"
    return tuple(f"{prefix}{number}" for number in range(len(calls)))


def _one_column(relation: Relation) -> Relation:
    """Return rows of one column, for COUNT(*) alone: rows need a column."""
    first = relation.columns[0]
    return projected(relation, (first,), (Field(first.name, first.type, 0),))


def _grouping(node: exp.Expr, groups: Groups, binder: Binder) -> Expression:
    """Return which of some groups the set of a row does not have: a bit each, the last one is the lowest."""
    scalars = [binder.scalar(argument) for argument in node.expressions]
    unknown = [scalar for scalar in scalars if scalar not in groups.scalars]
    if not scalars or unknown:
        raise wrong(f"{node.name.upper()} takes columns of GROUP BY", node, hint="Name them there.")
    positions = [groups.scalars.index(scalar) for scalar in scalars]
    if groups.sets is None:
        return Literal(0, BIGINT)
    number = Field(_SET, INT, len(groups.scalars))
    turns: list[Expression] = []
    for index, included in enumerate(groups.sets):
        bits = int("".join(str(int(position not in included)) for position in positions), 2)
        turns += [Call("equal", (number, Literal(index, INT)), kind=BOOLEAN), Literal(bits, BIGINT)]
    return Call("case", (*turns, Literal(None, BIGINT)), kind=BIGINT)
