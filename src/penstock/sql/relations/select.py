"""From the tree of a SELECT to relations."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.sql.binding.binder import Binder
from penstock.sql.binding.operators import BUILDERS
from penstock.sql.binding.scope import Scope
from penstock.sql.catalogue import SqlCatalogue, SqlColumn, SqlView
from penstock.sql.column_types import NULL
from penstock.sql.place import unsupported, wrong
from penstock.sql.relations.tree import Scan, SqlRelation, filtered, projected
from penstock.sql.scalars.tree import InputColumn, Scalar

_CLAUSES = frozenset({"expressions", "from_", "where"})
"""Arguments of `exp.Select` that are translated."""


class QueryTranslator:
    """Translates queries.

    Attributes:
        catalogue: What names mean.
    """

    def __init__(self, catalogue: SqlCatalogue) -> None:
        """Make a translator.

        Args:
            catalogue: What names mean.
        """
        self.catalogue = catalogue

    def relation(self, query: exp.Expr) -> SqlRelation:
        """Return the relation of a query.

        Raises:
            SqlError: It is wrong, or uses what is not supported; the error names the place.
        """
        if not isinstance(query, exp.Select):
            raise unsupported(f"a query of {type(query).__name__.upper()}", query)
        for name, part in query.args.items():
            if part and name not in _CLAUSES:
                raise unsupported(
                    f"the clause {name.rstrip('_').upper()}",
                    part if isinstance(part, exp.Expr) else query,
                )
        relation, scope = self._from(query)
        where = query.args.get("where")
        binder = Binder(scope, self.catalogue, BUILDERS)
        if where is not None:
            relation = filtered(relation, binder.condition(where.this, "the condition of WHERE"))
        return self._projected(query, relation, binder)

    def _from(self, query: exp.Select) -> tuple[SqlRelation, Scope]:
        origin = query.args.get("from_")
        if origin is None:
            raise unsupported("SELECT without FROM", query)
        table = origin.this
        if not isinstance(table, exp.Table):
            raise unsupported(f"{type(table).__name__.upper()} in FROM", table)
        relation = self.table(table)
        return relation, Scope.of(table.alias_or_name, relation.columns)

    def table(self, node: exp.Table) -> SqlRelation:
        """Return the relation of a table or view.

        Raises:
            SqlError: There is none of that name.
        """
        name = tuple(part.name for part in node.parts)
        found = self.catalogue.find(name)
        if found is None:
            known = self.catalogue.names()
            near = did_you_mean(".".join(name), known)
            raise wrong(
                f"there is no table {'.'.join(name)!r}{near}",
                node,
                hint=f"Use one of: {', '.join(known) or 'none'}.",
            )
        if isinstance(found, SqlView):
            return self._view(found)
        schema = found.schema
        names = [each.name for each in schema.columns]
        key = frozenset(names.index(each) for each in schema.primary_key)
        return Scan(
            name=".".join(name),
            table=found,
            columns=schema.columns,
            keys=frozenset({key}) if key else frozenset(),
            changelog=schema.changelog,
        )

    def _view(self, view: SqlView) -> SqlRelation:
        inside = self.relation(view.query)
        if not view.columns:
            return inside
        named = tuple(
            replace(column, name=name)
            for column, name in zip(inside.columns, view.columns, strict=True)
        )
        return replace(inside, columns=named)

    def _projected(self, query: exp.Select, relation: SqlRelation, binder: Binder) -> SqlRelation:
        columns: list[SqlColumn] = []
        outputs: list[Scalar] = []
        for node in query.expressions:
            for name, found in self._selected(node, binder):
                if found.type == NULL:
                    raise wrong("NULL has no type here", node, hint="CAST it.")
                is_time = (
                    isinstance(found, InputColumn) and relation.columns[found.position].is_time
                )
                taken = {each.name for each in columns}
                columns.append(
                    SqlColumn(_free(name or f"EXPR${len(columns)}", taken), found.type, is_time)
                )
                outputs.append(found)
        return projected(relation, tuple(columns), tuple(outputs))

    @staticmethod
    def _selected(node: exp.Expr, binder: Binder) -> list[tuple[str, Scalar]]:
        if isinstance(node, exp.Star):
            return binder.scope.star(node)
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            return binder.scope.star(node, node.table)
        inside = node.this if isinstance(node, exp.Alias) else node
        return [(node.alias_or_name, binder.scalar(inside))]


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, as Flink makes it: `a`, `a0`, `a1`."""
    found, number = name, 0
    while found in taken:
        found, number = f"{name}{number}", number + 1
    return found
