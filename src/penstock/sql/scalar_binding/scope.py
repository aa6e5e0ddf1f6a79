"""Meanings of the names of columns in a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.errors import did_you_mean
from penstock.expressions.tree import Call, Expression, Field
from penstock.relation.tree import SqlColumn
from penstock.sql.place import wrong
from penstock.sql.sqlglot_source import exp


@dataclass(frozen=True, slots=True)
class ScopeTable:
    """A table of FROM.

    Attributes:
        name: Its alias or name; None if it has none.
        columns: Names of its columns with what they mean, in order.
        hidden: Names that `*` leaves out, because USING has merged them with those of another table.
    """

    name: str | None
    columns: tuple[tuple[str, Expression], ...]
    hidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Scope:
    """The tables of a query.

    Attributes:
        merged: Names of columns that USING has merged, with what they mean.
        outer: The scope of the query that a subquery is in.
    """

    tables: tuple[ScopeTable, ...] = ()
    merged: Mapping[str, Expression] = field(default_factory=dict)
    outer: Scope | None = None

    @staticmethod
    def of(name: str | None, columns: Sequence[SqlColumn], offset: int = 0) -> Scope:
        """Return the scope of one table whose columns begin at a position."""
        named = tuple(
            (column.name, Field(column.name, column.type, position))
            for position, column in enumerate(columns, offset)
        )
        return Scope((ScopeTable(name, named),))

    def names(self) -> tuple[str, ...]:
        """Return the names of all columns."""
        return tuple(name for table in self.tables for name, _ in table.columns)

    def find(self, node: exp.Column) -> Expression | None:
        """Return the expression of the name of a column, None if there is no such column."""
        parts = [part.name for part in node.parts]
        for taken, candidate in self._candidates(parts, node):
            value = candidate
            for name in parts[taken:]:
                value = member(value, name, node)
            return value
        return None

    def _candidates(self, parts: list[str], node: exp.Column) -> Iterator[tuple[int, Expression]]:
        if len(parts) > 1:
            for table in self.tables:
                if table.name == parts[0]:
                    for name, column in table.columns:
                        if name == parts[1]:
                            yield 2, column
        if parts[0] in self.merged:
            yield 1, self.merged[parts[0]]
        columns = [
            column
            for table in self.tables
            for name, column in table.columns
            if name == parts[0] and (len(parts) == 1 or column.type.name == "ROW")
        ]
        if len(columns) > 1:
            raise wrong(
                f"the column {parts[0]!r} is in several tables", node, hint="Write table.column."
            )
        if columns:
            yield 1, columns[0]

    def resolve(self, node: exp.Column) -> Expression:
        """Return the expression of the name of a column."""
        column = self.find(node)
        if column is not None:
            return column
        if self.outer is not None and self.outer.find(node) is not None:
            raise wrong(
                "a subquery that reads a column of the query around it is supported as an equality in WHERE"
                " of EXISTS and IN only",
                node,
                hint="Write a JOIN.",
            )
        near = did_you_mean(node.name, self.names())
        known = ", ".join(self.names()) or "none"
        raise wrong(f"there is no column {node.sql()!r}{near}", node, hint=f"Use one of: {known}.")

    def star(self, node: exp.Expr, table: str | None = None) -> list[tuple[str, Expression]]:
        """Return the columns of `*`, or of `table.*`."""
        chosen = [owner for owner in self.tables if table is None or owner.name == table]
        if not chosen:
            names = [owner.name for owner in self.tables if owner.name is not None]
            raise wrong(
                f"there is no table {table!r}", node, hint=f"Use one of: {', '.join(names)}."
            )
        return [
            (name, self.merged.get(name, column) if table is None else column)
            for owner in chosen
            for name, column in owner.columns
            if table is not None or name not in owner.hidden
        ]


def member(value: Expression, name: str, node: exp.Expr) -> Expression:
    """Return a field of a ROW."""
    kind = value.type
    if kind.name != "ROW":
        raise wrong(f"{value} is {kind}, which has no fields", node, hint="Take fields of a ROW.")
    if name not in kind.fields:
        near = did_you_mean(name, kind.fields)
        raise wrong(
            f"{value} has no field {name!r}{near}",
            node,
            hint=f"Use one of {', '.join(kind.fields)}.",
        )
    position = kind.fields.index(name)
    return Call("field", (value,), (name, position), kind.components[position])
