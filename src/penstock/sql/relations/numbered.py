"""Window functions and ORDER BY with LIMIT."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.binding.binder import Binder
from penstock.sql.binding.operators import BUILDERS
from penstock.sql.binding.scope import Scope
from penstock.sql.catalogue import Changelog, SqlCatalogue, SqlColumn
from penstock.sql.column_types import BIGINT
from penstock.sql.functions.ranking import SortColumn
from penstock.sql.place import unsupported, wrong
from penstock.sql.relations.aggregates import nodes_of
from penstock.sql.relations.conditions import projected
from penstock.sql.relations.keyed import Rank, RowNumber, distinct_names
from penstock.sql.relations.tree import SqlRelation
from penstock.sql.scalars.tree import InputColumn, Scalar

_UNORDERED = frozenset({"ARRAY", "MAP", "ROW", "ANY"})


def with_windows(query: exp.Select, relation: SqlRelation, binder: Binder) -> SqlRelation:
    """Return rows with the results of window functions as further columns; the binder then knows them.

    Raises:
        SqlError: A window function is not supported.
    """
    for node in query.expressions:
        for each in list(nodes_of(node)):
            if isinstance(each, exp.Window) and id(each) not in binder.given:
                relation = _numbered(each, query, relation, binder)
    return relation


def _numbered(
    node: exp.Window, query: exp.Select, relation: SqlRelation, binder: Binder
) -> SqlRelation:
    if not isinstance(node.this, exp.Anonymous) or node.this.name.upper() != "ROW_NUMBER":
        raise unsupported(f"{node.this.sql()} OVER", node)
    window = _definition(node, query)
    relation, partition = with_columns_of(relation, window.args.get("partition_by") or [], binder)
    order = window.args.get("order")
    if order is None:
        raise wrong("ROW_NUMBER without ORDER BY", node, hint="Write ORDER BY in OVER.")
    relation, sort = _sorted(relation, order, binder)
    check_ordered(relation, node)
    at = len(relation.columns)
    columns = distinct_names([*relation.columns, SqlColumn("$number", BIGINT)])
    made = RowNumber(
        input=relation,
        partition=partition,
        order=sort,
        columns=columns,
        keys=frozenset({frozenset({*partition, at})}),
        changelog=Changelog.RETRACT,
    )
    binder.given[id(node)] = InputColumn(at, BIGINT, columns[at].name)
    return made


def check_ordered(relation: SqlRelation, node: exp.Expr) -> None:
    """Refuse to rank rows whose columns have no order.

    Raises:
        SqlError: A column is of a type without one.
    """
    for each in relation.columns:
        if each.type.name in _UNORDERED:
            raise unsupported(
                f"ranking rows that have the column {each.name!r} of {each.type}",
                node,
                hint="Select the other columns before.",
            )


def _definition(node: exp.Window, query: exp.Select) -> exp.Expr:
    """Return the window of OVER, which may be one of WINDOW."""
    name = node.args.get("alias")
    if name is None:
        return node
    for each in query.args.get("windows") or ():
        if each.name == name.name:
            return each  # type: ignore[no-any-return]
    raise wrong(f"there is no window {name.name!r}", node, hint="Define it in WINDOW.")


def with_columns_of(
    relation: SqlRelation, nodes: list[exp.Expr], binder: Binder
) -> tuple[SqlRelation, tuple[int, ...]]:
    """Return rows that have some expressions as columns, and the positions of these."""
    made = [binder.scalar(each) for each in nodes]
    return _appended(relation, made)


def _appended(relation: SqlRelation, made: list[Scalar]) -> tuple[SqlRelation, tuple[int, ...]]:
    positions: list[int] = []
    extra: list[Scalar] = []
    for each in made:
        if isinstance(each, InputColumn):
            positions.append(each.position)
        else:
            positions.append(len(relation.columns) + len(extra))
            extra.append(each)
    if extra:
        more = (SqlColumn(f"$expr{at}", each.type) for at, each in enumerate(extra))
        columns = distinct_names([*relation.columns, *more])
        kept = (InputColumn(at, each.type, each.name) for at, each in enumerate(relation.columns))
        relation = projected(relation, columns, (*kept, *extra))
    return relation, tuple(positions)


def _sorted(
    relation: SqlRelation, order: exp.Expr, binder: Binder
) -> tuple[SqlRelation, tuple[SortColumn, ...]]:
    made = [binder.scalar(each.this) for each in order.expressions]
    relation, positions = _appended(relation, made)
    return relation, tuple(
        SortColumn(at, bool(each.args.get("desc")), bool(each.args.get("nulls_first")))
        for at, each in zip(positions, order.expressions, strict=True)
    )


def first_rows(query: exp.Expr, relation: SqlRelation, catalogue: SqlCatalogue) -> SqlRelation:
    """Return the rows that ORDER BY with LIMIT and OFFSET leave.

    Without ORDER BY they are the first ones in order of all columns.

    Raises:
        SqlError: There is an ORDER BY without LIMIT, or a limit is no constant.
    """
    order, limit, offset = (query.args.get(key) for key in ("order", "limit", "offset"))
    if limit is None:
        clause = order or offset
        if clause is None:
            return relation
        raise unsupported(
            "ORDER BY without LIMIT: the rows of a stream have no order",
            clause,
            hint="Add LIMIT, or order the rows where they are read.",
        )
    count = _constant(limit.args.get("expression") or limit.args.get("count"), limit)
    start = 0 if offset is None else _constant(offset.expression, offset)
    binder = Binder(Scope.of(None, relation.columns), catalogue, BUILDERS)
    width = len(relation.columns)
    sort: tuple[SortColumn, ...] = ()
    inside = relation
    if order is not None:
        for each in order.expressions:
            if isinstance(each.this, exp.Literal) and not each.this.is_string:
                each.this.replace(exp.column(_at(relation, each), quoted=True))
        inside, sort = _sorted(relation, order, binder)
    check_ordered(inside, query)
    ranked = Rank(
        input=inside,
        partition=(),
        order=sort,
        start=start,
        end=start + count,
        has_number=False,
        columns=inside.columns,
        keys=inside.keys,
        changelog=Changelog.RETRACT,
    )
    if len(inside.columns) == width:
        return ranked
    kept = relation.columns
    return projected(
        ranked, kept, tuple(InputColumn(at, each.type, each.name) for at, each in enumerate(kept))
    )


def _at(relation: SqlRelation, ordered: exp.Expr) -> str:
    number = int(ordered.this.name)
    if not 1 <= number <= len(relation.columns):
        raise wrong(f"there is no column {number}", ordered, hint="Count from 1.")
    return relation.columns[number - 1].name


def _constant(node: exp.Expr | None, clause: exp.Expr) -> int:
    if not isinstance(node, exp.Literal) or node.is_string or not node.name.isdigit():
        raise unsupported("a limit that is no constant number", clause)
    return int(node.name)
