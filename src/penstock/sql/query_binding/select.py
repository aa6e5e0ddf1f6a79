"""From the tree of a query to relations.

Hints: `STATE_TTL('orders' = '1d')` of a SELECT, and `OPTIONS('key' = 'value')` of a table.

ORDER BY with LIMIT and OFFSET: the first rows of a query.

ORDER BY may name columns of the result, or read what the query selects from:

    SELECT city FROM orders GROUP BY city ORDER BY COUNT(*) DESC LIMIT 3

Such an order is a hidden column, `$order…`, behind those of the result, until the first rows are chosen.

Final rows: the rows that a query leaves in a batch job, which are insert-only.

Operators with state see all rows of a key at once there, and emit what is left. Operators above them take rows one by
one, so they are insert-only if their inputs are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from penstock.config.parse import parse_duration
from penstock.errors import ConfigError, did_you_mean
from penstock.expressions.tree import Expression, Field
from penstock.relation.groups import GroupBy, aggregated
from penstock.relation.joins import Join, TemporalJoin
from penstock.relation.ordered import Over, Rank, RowNumber
from penstock.relation.tree import Changelog, Normalize, Relation, Scan, SqlColumn, distinct_names
from penstock.sql.catalogue import SqlCatalogue, SqlView
from penstock.sql.dialect import hints_of, options_of
from penstock.sql.place import unsupported, wrong
from penstock.sql.query_binding.aggregates import GroupBinder, aggregate_nodes
from penstock.sql.query_binding.conditions import projected, where
from penstock.sql.query_binding.from_clause import FromClause, constant_rows
from penstock.sql.query_binding.grouping import as_column, grouped
from penstock.sql.query_binding.numbered import (
    check_ordered,
    constant_number,
    sorted_by,
    with_windows,
)
from penstock.sql.query_binding.set_operations import except_rows, intersected, united
from penstock.sql.query_binding.subqueries import is_existence, with_existence, with_scalars
from penstock.sql.scalar_binding.binder import Binder
from penstock.sql.scalar_binding.operators import BUILDERS
from penstock.sql.scalar_binding.scope import Scope
from penstock.sql.sqlglot_source import exp
from penstock.types.row_order import SortColumn
from penstock.types.sql_types import NULL


def orders_of_input(
    query: exp.Select, columns: Sequence[SqlColumn], binder: Binder
) -> list[exp.Expr]:
    """Return the expressions of ORDER BY that are none of the columns of the result."""
    order = query.args.get("order")
    result = Scope.of(None, tuple(columns))
    nodes = [] if order is None else [ordered.this for ordered in order.expressions]
    return [node for node in nodes if _reads_input(node, result, binder)]


def _reads_input(node: exp.Expr, result: Scope, binder: Binder) -> bool:
    if aggregate_nodes(node, binder.catalogue) or node.find(exp.Window, exp.Query):
        return True
    missing = [column for column in node.find_all(exp.Column) if result.find(column) is None]
    return any(binder.names.find(column) is not None for column in missing)


def first_rows(
    query: exp.Expr,
    relation: Relation,
    catalogue: SqlCatalogue,
    hidden: Sequence[exp.Expr] = (),
) -> Relation:
    """Return the rows that ORDER BY with LIMIT and OFFSET leave.

    Without ORDER BY they are the first ones in order of all columns.
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
        for position, node in enumerate(hidden, width):
            column = relation.columns[position]
            binder.given[id(node)] = Field(column.name, column.type, position)
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
        ranked,
        kept,
        tuple(Field(column.name, column.type, position) for position, column in enumerate(kept)),
    )


def _with_names(order: exp.Expr, columns: Sequence[SqlColumn]) -> exp.Expr:
    """Return ORDER BY with names in place of the numbers of columns."""
    for ordered in order.expressions:
        if isinstance(ordered.this, exp.Literal) and not ordered.this.is_string:
            ordered.this.replace(exp.column(_at(columns, ordered), quoted=True))
    return order


def _at(columns: Sequence[SqlColumn], ordered: exp.Expr) -> str:
    number = int(ordered.this.name)
    if not 1 <= number <= len(columns):
        raise wrong(f"there is no column {number}", ordered, hint="Count from 1.")
    return columns[number - 1].name


_MILLISECOND = timedelta(milliseconds=1)


def state_ttls(query: exp.Select) -> dict[str, int | None]:
    """Return name or alias of a table to the milliseconds that state of its rows is kept."""
    ttls: dict[str, int | None] = {}
    for hint in hints_of(query):
        if hint.name != "STATE_TTL":
            raise unsupported(
                f"the hint {hint.name} ({hint.place})", None, hint="Remove it: the planner decides."
            )
        for table, text in hint.arguments:
            try:
                length = parse_duration(text or "")
            except (ConfigError, ValueError) as cause:
                raise wrong(
                    f"the hint STATE_TTL has {text!r} for {table!r} ({hint.place})",
                    None,
                    hint="Write a length such as '1d' or '30 min'.",
                ) from cause
            ttls[table] = length // _MILLISECOND or None
    return ttls


def check_names(ttls: Mapping[str, int | None], names: list[str | None], query: exp.Expr) -> None:
    """Refuse hints about tables that FROM does not have."""
    for table in ttls:
        if table not in names:
            known_names = ", ".join(name for name in names if name)
            raise wrong(
                f"the hint STATE_TTL is about {table!r}, which FROM does not have",
                query,
                hint=f"Use one of: {known_names}.",
            )


def check_used(ttls: Mapping[str, int | None], used: frozenset[str], query: exp.Select) -> None:
    """Refuse hints about tables for which the query keeps no state."""
    unused = sorted(set(ttls) - used)
    if unused:
        raise wrong(
            f"the hint STATE_TTL of {unused[0]!r} in a query without a join of it or groups is not supported"
            f" ({hints_of(query)[0].place})",
            None,
            hint="Remove it, or SET 'table.exec.state.ttl'.",
        )


def with_options(table: object, node: exp.Table) -> object:
    """Return a table with the options of its hints."""
    hints = hints_of(node)
    if not hints:
        return table
    options = options_of(hints)
    change = getattr(table, "with_options", None)
    if change is None:
        raise wrong("the table has no options", node, hint="Remove the hint OPTIONS.")
    changed: object = change(options)
    return changed


_CLAUSES = frozenset(
    {
        "hint",
        "with_",
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "windows",
        "distinct",
        "order",
        "limit",
        "offset",
    }
)
"""Arguments of `exp.Select` that are translated."""

_SETS: Mapping[type, Callable[..., Relation]] = {
    exp.Union: united,
    exp.Intersect: intersected,
    exp.Except: except_rows,
}


class QueryTranslator:
    """Translates queries.

    Attributes:
        catalogue: Meanings of names.
    """

    def __init__(self, catalogue: SqlCatalogue) -> None:
        """Make a translator."""
        self.catalogue = catalogue
        self._views: dict[int, Relation] = {}
        self._scans: dict[tuple[str, ...], Relation] = {}
        self._named: list[dict[str, Relation]] = []

    def relation(self, query: exp.Expr, outer: Scope | None = None) -> Relation:
        """Return the relation of a query."""
        clause = query.args.get("with_")
        if clause is not None:
            self._named.append(self._common_tables(clause))
        try:
            return self._query(query, outer)
        finally:
            if clause is not None:
                self._named.pop()

    def _query(self, query: exp.Expr, outer: Scope | None) -> Relation:
        if isinstance(query, exp.Subquery) and not query.alias:
            return self._limited(query, self.relation(query.this, outer))
        if isinstance(query, exp.Select):
            return self._select(query, outer)
        if isinstance(query, exp.Values):
            return self.values(query)
        combine = _SETS.get(type(query))
        if combine is None:
            raise unsupported(f"a query of {type(query).__name__.upper()}", query)
        sides = (self.relation(query.this, outer), self.relation(query.expression, outer))
        return self._limited(query, combine(sides, query))

    def _common_tables(self, known: exp.Expr) -> dict[str, Relation]:
        if known.args.get("recursive"):
            raise unsupported("WITH RECURSIVE", known)
        relations: dict[str, Relation] = {}
        self._named.append(relations)
        try:
            for expression in known.expressions:
                if expression.alias in relations:
                    raise wrong(
                        f"WITH has the name {expression.alias!r} twice",
                        expression,
                        hint="Rename one of them.",
                    )
                names = [column.name for column in expression.args["alias"].columns]
                relations[expression.alias] = renamed(
                    self.relation(expression.this), names, expression
                )
        finally:
            self._named.pop()
        return relations

    def _select(self, query: exp.Select, outer: Scope | None) -> Relation:
        for name, part in query.args.items():
            if part and name not in _CLAUSES:
                node = part[0] if isinstance(part, list) else part
                raise unsupported(f"the clause {name.rstrip('_').upper()}", node)
        ttls_ms = state_ttls(query)
        origin = FromClause(self, outer, ttls_ms)
        relation, scope = origin.relation(query)
        check_names(ttls_ms, [table.name for table in scope.tables], query)
        binder = Binder(scope, self.catalogue, BUILDERS)
        relation = self._where(query, relation, binder)
        longest_ms = max((ttl or 0 for ttl in ttls_ms.values()), default=0) or None
        relation, binder = grouped(query, relation, binder, longest_ms)
        grouped_rows = relation
        if query.args.get("having") is not None:
            relation = self._having(query.args["having"], relation, binder)
        selected, hidden = self._selection(query, relation, binder)
        if query.args.get("distinct") is not None:
            if query.args["distinct"].args.get("on") is not None:
                raise unsupported("DISTINCT ON", query)
            selected = grouped_rows = aggregated(selected, len(selected.columns), (), ())
            if type(selected) is GroupBy:
                selected = replace(selected, ttl_ms=longest_ms)
        if type(grouped_rows) is not GroupBy:
            check_used(ttls_ms, origin.used_ttls, query)
        return first_rows(query, selected, self.catalogue, hidden)

    def _where(self, query: exp.Select, relation: Relation, binder: Binder) -> Relation:
        clause = query.args.get("where")
        if clause is None:
            return relation
        width = len(relation.columns)
        nodes = list(_conjuncts(clause.this))
        plain = [node for node in nodes if not is_existence(node)]
        relation = with_scalars(self, plain, relation, binder)
        conditions = [binder.condition(node, "the condition of WHERE") for node in plain]
        relation = where(relation, conditions)
        for node in nodes:
            if is_existence(node):
                relation = with_existence(self, node, relation, binder)
        return relation if len(relation.columns) == width else _first_columns(relation, width)

    def _having(self, having: exp.Expr, relation: Relation, binder: Binder) -> Relation:
        width = len(relation.columns)
        relation = with_scalars(self, [having.this], relation, binder)
        relation = where(relation, [binder.condition(having.this, "the condition of HAVING")])
        return relation if len(relation.columns) == width else _first_columns(relation, width)

    def _selection(
        self, query: exp.Select, relation: Relation, binder: Binder
    ) -> tuple[Relation, list[exp.Expr]]:
        """Return the selected columns, behind them what ORDER BY reads beside these, and its expressions."""
        relation = self._with_values(query, query.expressions, relation, binder)
        columns, outputs = self._selected_columns(query, relation, binder)
        is_distinct = query.args.get("distinct") is not None
        hidden = [] if is_distinct else orders_of_input(query, distinct_names(columns), binder)
        relation = self._with_values(query, hidden, relation, binder)
        for number, node in enumerate(hidden):
            scalar = binder.scalar(node)
            columns.append(SqlColumn(f"$order{number}", scalar.type))
            outputs.append(scalar)
        return projected(relation, distinct_names(columns), tuple(outputs)), hidden

    def _with_values(
        self,
        query: exp.Select,
        nodes: Sequence[exp.Expr],
        relation: Relation,
        binder: Binder,
    ) -> Relation:
        """Return rows with the window functions and subqueries of expressions as columns, and register them in the binder."""
        relation = with_windows(query, nodes, relation, binder)
        return with_scalars(self, nodes, relation, binder)

    def _selected_columns(
        self, query: exp.Select, relation: Relation, binder: Binder
    ) -> tuple[list[SqlColumn], list[Expression]]:
        columns: list[SqlColumn] = []
        outputs: list[Expression] = []
        for node in query.expressions:
            for name, scalar in self._selected(node, binder):
                if scalar.type == NULL:
                    raise wrong("NULL has no type here", node, hint="CAST it.")
                alias = name or f"EXPR${len(columns)}"
                columns.append(replace(as_column(scalar, relation), name=alias))
                outputs.append(scalar)
        return columns, outputs

    @staticmethod
    def _selected(node: exp.Expr, binder: Binder) -> list[tuple[str, Expression]]:
        table = (
            node.table if isinstance(node, exp.Column) and isinstance(node.this, exp.Star) else None
        )
        if isinstance(node, exp.Star) or table:
            if isinstance(binder, GroupBinder):
                raise wrong("* beside GROUP BY or aggregates", node, hint="Name the columns.")
            return binder.scope.star(node, table)
        inside = node.this if isinstance(node, exp.Alias) else node
        name = node.alias_or_name if isinstance(node, exp.Alias | exp.Column | exp.Dot) else ""
        return [(name, binder.scalar(inside))]

    def _limited(self, query: exp.Expr, relation: Relation) -> Relation:
        return first_rows(query, relation, self.catalogue)

    def values(self, node: exp.Values) -> Relation:
        """Return constant rows."""
        return constant_rows(node, Binder(Scope(), self.catalogue, BUILDERS))

    def table(self, node: exp.Table) -> Relation:
        """Return the relation of a table or view."""
        name = tuple(part.name for part in node.parts)
        if len(name) == 1:
            for tables in reversed(self._named):
                if name[0] in tables:
                    return tables[name[0]]
        if name in self._scans and not hints_of(node):
            return self._scans[name]
        table = self.catalogue.find(name)
        if table is None:
            names = self.catalogue.names()
            near = did_you_mean(".".join(name), names)
            raise wrong(
                f"there is no table {'.'.join(name)!r}{near}",
                node,
                hint=f"Use one of: {', '.join(names) or 'none'}.",
            )
        if isinstance(table, SqlView):
            relation = self._view(table, node)
        else:
            changed = with_options(table, node)
            relation = scanned(".".join(name), changed)
            if changed is not table:
                return relation
        self._scans[name] = relation
        return relation

    def _view(self, view: SqlView, node: exp.Expr) -> Relation:
        named, self._named = self._named, []
        try:
            return renamed(self.relation(view.query), list(view.columns), node)
        finally:
            self._named = named


def scanned(name: str, table: object) -> Relation:
    """Return the rows of a table, with those that an upsert changelog replaces."""
    schema = table.schema  # type: ignore[attr-defined]
    names = [column.name for column in schema.columns]
    key = tuple(names.index(column) for column in schema.primary_key)
    scan = Scan(
        name=name,
        table=table,
        columns=schema.columns,
        keys=frozenset({frozenset(key)}) if key else frozenset(),
        changelog=schema.changelog,
    )
    if schema.changelog is not Changelog.UPSERT:
        return scan
    columns = tuple(replace(column, is_time=False) for column in schema.columns)
    return Normalize(
        input=scan, key=key, columns=columns, keys=scan.keys, changelog=Changelog.RETRACT
    )


def renamed(relation: Relation, names: list[str], node: exp.Expr) -> Relation:
    """Return a relation whose columns have other names; no names leave it as it is."""
    if not names:
        return relation
    if len(names) != len(relation.columns):
        raise wrong(
            f"{len(names)} names for {len(relation.columns)} columns",
            node,
            hint="Name all columns.",
        )
    columns = tuple(
        replace(column, name=name) for column, name in zip(relation.columns, names, strict=True)
    )
    return projected(
        relation,
        columns,
        tuple(_column(position, column) for position, column in enumerate(columns)),
    )


def _first_columns(relation: Relation, width: int) -> Relation:
    visible = relation.columns[:width]
    return projected(
        relation,
        visible,
        tuple(_column(position, column) for position, column in enumerate(visible)),
    )


def _column(position: int, column: SqlColumn) -> Field:
    return Field(column.name, column.type, position)


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Paren):
        return _conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    return [node]


_ADDS_UP = (GroupBy, Normalize, Rank, RowNumber, Over)
"""Relations whose operators emit, of all rows of a key, what is left."""


def is_final_in_batch(relation: Relation) -> bool:
    """Return whether the rows of a relation are insert-only in a batch job."""
    if relation.is_insert_only or isinstance(relation, _ADDS_UP):
        return True
    if isinstance(relation, Join):
        return relation.interval is None or all(map(is_final_in_batch, relation.inputs))
    if isinstance(relation, TemporalJoin):
        return is_final_in_batch(relation.left)
    return bool(relation.inputs) and all(map(is_final_in_batch, relation.inputs))


def final_rows(relation: Relation) -> Relation:
    """Return the rows that are left of a relation when its input has ended; a batch job computes them."""
    if is_final_in_batch(relation):
        return relation
    key = min(relation.keys, key=lambda key: (len(key), sorted(key)), default=None)
    return Rank(
        input=relation,
        partition=tuple(range(len(relation.columns))) if key is None else tuple(sorted(key)),
        order=(),
        start=0,
        end=sys.maxsize,
        has_number=False,
        columns=tuple(replace(column, is_time=False) for column in relation.columns),
        keys=relation.keys,
        changelog=Changelog.RETRACT,
    )
