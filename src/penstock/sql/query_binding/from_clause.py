"""FROM: tables, subqueries, constant rows, and their joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.expressions.tree import (
    Expression,
    Field,
    Literal,
    columns_of,
    conjuncts,
    shifted,
)
from penstock.program.join import JoinKind
from penstock.relation.joins import compared_value, joined
from penstock.relation.tree import Relation, SqlColumn, Values
from penstock.sql.place import unsupported, wrong
from penstock.sql.query_binding.conditions import all_of, equalities, where
from penstock.sql.query_binding.table_functions import (
    correlated_rows,
    correlated_table,
    is_correlated,
    is_table_function,
    table_function,
)
from penstock.sql.query_binding.temporal import is_temporal, temporal_join
from penstock.sql.scalar_binding.binder import Binder
from penstock.sql.scalar_binding.conditions import compared
from penstock.sql.scalar_binding.conversions import together
from penstock.sql.scalar_binding.operators import BUILDERS
from penstock.sql.scalar_binding.scope import Scope, ScopeTable
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import BOOLEAN, NULL

if TYPE_CHECKING:
    from penstock.sql.query_binding.select import QueryTranslator


def constant_rows(node: exp.Values, binder: Binder) -> Relation:
    """Return the rows of VALUES."""
    rows = [
        [
            binder.scalar(value)
            for value in (row.expressions if isinstance(row, exp.Tuple) else [row])
        ]
        for row in node.expressions
    ]
    if len({len(row) for row in rows}) != 1:
        raise wrong(
            "VALUES has rows of different lengths", node, hint="Write as many values in each."
        )
    literals, columns = [], []
    for number, values in enumerate(zip(*rows, strict=True)):
        expressions, kind = together(values, node, "VALUES")
        if kind == NULL:
            raise wrong("a column of VALUES is NULL in every row", node, hint="CAST one.")
        for expression in expressions:
            if not isinstance(expression, Literal):
                raise unsupported("a value of VALUES that is no constant", node)
        columns.append(SqlColumn(f"EXPR${number}", kind))
        literals.append(
            [expression.value for expression in expressions if isinstance(expression, Literal)]
        )
    return Values(rows=tuple(zip(*literals, strict=True)), columns=tuple(columns))


def one_row() -> Relation:
    """Return one row, for SELECT without FROM."""
    return Values(rows=((True,),), columns=(SqlColumn("$one", BOOLEAN),))


_SIDES = {"": JoinKind.INNER, "LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "FULL": JoinKind.FULL}
_KINDS = frozenset({"", "INNER", "OUTER", "CROSS"})


class FromClause:
    """Translates FROM.

    Attributes:
        used_ttls: Names of the tables whose hints a join has followed.
    """

    def __init__(
        self,
        translator: QueryTranslator,
        outer: Scope | None,
        ttls_ms: Mapping[str, int | None] | None = None,
    ) -> None:
        """Make a translator of FROM."""
        self._ttls = dict(ttls_ms or {})
        self.used_ttls: frozenset[str] = frozenset()
        self._translator = translator
        self._outer = outer

    def relation(self, query: exp.Select) -> tuple[Relation, Scope]:
        """Return the rows of FROM, and what names of columns mean."""
        origin = query.args.get("from_")
        if origin is None:
            return one_row(), Scope(outer=self._outer)
        relation, table = self._item(origin.this, 0)
        scope = Scope((table,), outer=self._outer)
        inside = origin.this.args.get("joins") or []
        for join in [*inside, *(query.args.get("joins") or [])]:
            relation, scope = self._joined(relation, scope, join)
        return relation, scope

    def _item(self, node: exp.Expr, offset: int) -> tuple[Relation, ScopeTable]:
        """Return a table of FROM, and its columns from a position on."""
        relation, name = self._source(node)
        alias = node.args.get("alias")
        names = (
            [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
        )
        if names and len(names) != len(relation.columns):
            raise wrong(
                f"{len(names)} names for {len(relation.columns)} columns",
                node,
                hint="Name all columns.",
            )
        named = zip(
            names or [column.name for column in relation.columns], relation.columns, strict=True
        )
        columns = tuple(
            (name, Field(name, column.type, position))
            for position, (name, column) in enumerate(named, offset)
        )
        return relation, ScopeTable(name, columns)

    def _source(self, node: exp.Expr) -> tuple[Relation, str | None]:
        if isinstance(node, exp.Table):
            if is_table_function(node):
                return table_function(self._translator, node), node.alias or None
            if is_temporal(node) and not isinstance(node.parent, exp.Join):
                raise unsupported("FOR SYSTEM_TIME AS OF elsewhere than in a join", node)
            return self._translator.table(node), node.alias_or_name
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            raise unsupported("a join in parentheses", node, hint="Write it as a subquery.")
        if isinstance(node, exp.Subquery):
            return self._translator.relation(node.this), node.alias or None
        if isinstance(node, exp.Values):
            return self._translator.values(node), node.alias or None
        raise unsupported(f"{type(node).__name__.upper()} in FROM", node)

    def _joined(self, left: Relation, scope: Scope, join: exp.Join) -> tuple[Relation, Scope]:
        kind = self._type(join)
        _check_name(scope, join)
        if is_correlated(join.this):
            return self._correlated(left, scope, kind, join)
        _check_conditions(join, kind)
        width = len(left.columns)
        right, table = self._item(join.this, width)
        both = Scope((*scope.tables, table), merged=scope.merged, outer=self._outer)
        using = join.args.get("using")
        if join.args.get("method") == "NATURAL":
            names = set(scope.names())
            using = [exp.to_identifier(name) for name, _ in table.columns if name in names]
        if using:
            return self._using(left, right, kind, scope, table, using, join)
        on = join.args.get("on")
        conditions = [] if on is None else self._conditions(on, both)
        if is_temporal(join.this):
            return temporal_join(left, right, kind, conditions, join, scope), both
        return joined_on(left, right, kind, conditions, self._sides(scope, table)), both

    def _sides(self, scope: Scope, table: ScopeTable) -> tuple[int | None, int | None]:
        lefts = [table.name for table in scope.tables if table.name in self._ttls]
        right = table.name if table.name in self._ttls else None
        self.used_ttls |= {name for name in (*lefts, right) if name is not None}
        return (
            self._ttls[lefts[0]] if lefts and lefts[0] is not None else None,
            None if right is None else self._ttls[right],
        )

    def _correlated(
        self, left: Relation, scope: Scope, kind: JoinKind, join: exp.Join
    ) -> tuple[Relation, Scope]:
        if kind not in {JoinKind.INNER, JoinKind.LEFT}:
            raise unsupported(f"{kind.value} with UNNEST or LATERAL TABLE", join)
        table = correlated_table(join.this, scope, self._translator)
        rows = correlated_rows(left, table, keeps_unmatched=kind is JoinKind.LEFT)
        columns = tuple(
            (column.name, Field(column.name, column.type, position))
            for position, column in enumerate(table.columns, len(left.columns))
        )
        both = Scope(
            (*scope.tables, ScopeTable(table.name, columns)), merged=scope.merged, outer=self._outer
        )
        on = join.args.get("on")
        conditions = [] if on is None else self._conditions(on, both)
        conditions = [condition for condition in conditions if not _holds(condition)]
        if conditions and kind is JoinKind.LEFT:
            raise unsupported(
                "a condition other than TRUE of a LEFT JOIN with UNNEST or LATERAL TABLE", join
            )
        return where(rows, conditions), both

    def _conditions(self, on: exp.Expr, scope: Scope) -> list[Expression]:
        binder = Binder(scope, self._translator.catalogue, BUILDERS)
        return list(conjuncts(binder.condition(on, "the condition of ON")))

    @staticmethod
    def _type(join: exp.Join) -> JoinKind:
        side, kind = str(join.side or "").upper(), str(join.kind or "").upper()
        method = str(join.args.get("method") or "").upper()
        if side not in _SIDES or kind not in _KINDS or method not in {"", "NATURAL"}:
            raise unsupported(f"{' '.join(filter(None, (method, side, kind)))} JOIN", join)
        return _SIDES[side]

    def _using(
        self,
        left: Relation,
        right: Relation,
        kind: JoinKind,
        scope: Scope,
        table: ScopeTable,
        using: list[exp.Expr],
        join: exp.Join,
    ) -> tuple[Relation, Scope]:
        conditions, merged = [], dict(scope.merged)
        other = Scope((table,))
        for identifier in using:
            column = exp.column(identifier.name)
            first, two = scope.resolve(column), other.resolve(column)
            conditions.append(compared("equal", first, two, join))
            merged[identifier.name] = compared_value(first, two, kind)
        names = frozenset(identifier.name for identifier in using)
        hidden = replace(table, hidden=names)
        both = Scope((*scope.tables, hidden), merged=merged, outer=self._outer)
        return joined_on(left, right, kind, conditions, self._sides(scope, table)), both


def _check_name(scope: Scope, join: exp.Join) -> None:
    """Refuse a second table of one name: `name.column` could be of either."""
    name = join.this.alias_or_name
    if name and any(table.name == name for table in scope.tables):
        raise wrong(f"FROM has two tables {name!r}", join, hint="Give one of them an alias.")


def _check_conditions(join: exp.Join, kind: JoinKind) -> None:
    """Refuse a join that has a condition too many, or none where it needs one."""
    method = "NATURAL" if join.args.get("method") else ""
    methods = [key for key in ("on", "using") if join.args.get(key)] + ([method] if method else [])
    is_cross = str(join.kind or "").upper() == "CROSS"
    if len(methods) > (0 if is_cross else 1):
        description = "CROSS JOIN" if is_cross else "a join"
        raise wrong(
            f"{description} with {' and '.join(methods).upper()}", join, hint="Write one condition."
        )
    if not methods and kind is not JoinKind.INNER:
        raise wrong(f"{kind.value} without ON", join, hint="Write ON, or CROSS JOIN.")


def joined_on(
    left: Relation,
    right: Relation,
    kind: JoinKind,
    conditions: list[Expression],
    ttls_ms: tuple[int | None, int | None] = (None, None),
) -> Relation:
    """Return a join; conditions of one side go below it where that is the same."""
    width = len(left.columns)
    pairs, rest = equalities(
        [condition for condition in conditions if not _holds(condition)], width
    )
    stay = []
    for condition in rest:
        read = columns_of(condition)
        if (
            read
            and all(position < width for position in read)
            and kind in {JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI}
        ):
            left = where(left, [condition])
        elif (
            read
            and all(position >= width for position in read)
            and kind is not JoinKind.RIGHT
            and kind is not JoinKind.FULL
        ):
            right = where(right, [shifted(condition, -width)])
        else:
            stay.append(condition)
    return joined(left, right, kind, pairs, all_of(stay), ttls_ms)


def _holds(condition: Expression) -> bool:
    return isinstance(condition, Literal) and condition.value is True and condition.type == BOOLEAN
