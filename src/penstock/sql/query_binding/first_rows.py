"""ORDER BY with LIMIT and OFFSET: the first rows of a query.

ORDER BY may name columns of the result, or read what the query selects from:

    SELECT city FROM orders GROUP BY city ORDER BY COUNT(*) DESC LIMIT 3

Such an order is a hidden column, `$order…`, behind those of the result, until the first rows are chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.expressions.tree import Field
from penstock.relation.ordered import Rank
from penstock.relation.tree import Changelog, Relation, SqlColumn
from penstock.sql.catalogue import SqlCatalogue
from penstock.sql.place import unsupported, wrong
from penstock.sql.query_binding.aggregates import aggregate_nodes
from penstock.sql.query_binding.conditions import projected
from penstock.sql.query_binding.numbered import check_ordered, constant_number, sorted_by
from penstock.sql.scalar_binding.binder import Binder
from penstock.sql.scalar_binding.operators import BUILDERS
from penstock.sql.scalar_binding.scope import Scope
from penstock.sql.sqlglot_source import exp
from penstock.types.row_order import SortColumn


def orders_of_input(
    query: exp.Select, columns: Sequence[SqlColumn], binder: Binder
) -> list[exp.Expr]:
    """Return the expressions of ORDER BY that are none of the columns of the result."""
    order = query.args.get("order")
    result = Scope.of(None, tuple(columns))
    nodes = [] if order is None else [each.this for each in order.expressions]
    return [each for each in nodes if _reads_input(each, result, binder)]


def _reads_input(node: exp.Expr, result: Scope, binder: Binder) -> bool:
    if aggregate_nodes(node, binder.catalogue) or node.find(exp.Window, exp.Query):
        return True
    missing = [each for each in node.find_all(exp.Column) if result.find(each) is None]
    return any(binder.names.find(each) is not None for each in missing)


def first_rows(
    query: exp.Expr,
    relation: Relation,
    catalogue: SqlCatalogue,
    hidden: Sequence[exp.Expr] = (),
) -> Relation:
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
        name = "OFFSET" if order is None else "ORDER BY"
        raise unsupported(
            f"{name} without LIMIT",
            clause,
            hint="Add LIMIT, or order the rows where they are read: those of a stream have no order.",
        )
    count = constant_number(limit.args.get("expression") or limit.args.get("count"), limit)
    start = 0 if offset is None else constant_number(offset.expression, offset)
    width = len(relation.columns) - len(hidden)
    kept = relation.columns[:width]
    sort: tuple[SortColumn, ...] = ()
    inside = relation
    if order is not None:
        binder = Binder(Scope.of(None, kept), catalogue, BUILDERS)
        for at, node in enumerate(hidden, width):
            column = relation.columns[at]
            binder.given[id(node)] = Field(column.name, column.type, at)
        inside, sort = sorted_by(relation, _with_names(order, kept), binder)
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
    return projected(
        ranked, kept, tuple(Field(each.name, each.type, at) for at, each in enumerate(kept))
    )


def _with_names(order: exp.Expr, columns: Sequence[SqlColumn]) -> exp.Expr:
    """Return ORDER BY with names in place of the numbers of columns."""
    for each in order.expressions:
        if isinstance(each.this, exp.Literal) and not each.this.is_string:
            each.this.replace(exp.column(_at(columns, each), quoted=True))
    return order


def _at(columns: Sequence[SqlColumn], ordered: exp.Expr) -> str:
    number = int(ordered.this.name)
    if not 1 <= number <= len(columns):
        raise wrong(f"there is no column {number}", ordered, hint="Count from 1.")
    return columns[number - 1].name
