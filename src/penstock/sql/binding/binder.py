"""The binder: gives every name of an expression its meaning, and every node its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from penstock.sql.binding.conversions import converted
from penstock.sql.binding.scope import Scope
from penstock.sql.catalogue import SqlCatalogue
from penstock.sql.column_types import BOOLEAN, NULL
from penstock.sql.place import unsupported, wrong
from penstock.sql.scalars.tree import Scalar

Build = Callable[["Binder", exp.Expr], Scalar]
"""Makes the scalar expression of a node."""


class Binder:
    """Binds expressions of a query.

    Attributes:
        scope: What names mean.
        catalogue: Has the functions of the user.
        given: Nodes whose values are columns already, by `id`.
    """

    def __init__(
        self, scope: Scope, catalogue: SqlCatalogue, builders: Mapping[type, Build]
    ) -> None:
        """Make a binder.

        Args:
            scope: What names mean.
            catalogue: Has the functions of the user.
            builders: Class of a node to what binds it.
        """
        self.scope = scope
        self.catalogue = catalogue
        self.given: dict[int, Scalar] = {}
        self.builders = builders

    @property
    def names(self) -> Scope:
        """What names mean to subqueries."""
        return self.scope

    def scalar(self, node: exp.Expr) -> Scalar:
        """Return the scalar expression of a node.

        Raises:
            SqlError: The node is not supported, or its operands have the wrong types.
        """
        found = self.given.get(id(node))
        if found is not None:
            return found
        build = self.builders.get(type(node))
        if build is None:
            raise unsupported(_construct(node), node)
        return build(self, node)

    def condition(self, node: exp.Expr, what: str) -> Scalar:
        """Return the expression of a condition.

        Raises:
            SqlError: It is no BOOLEAN.
        """
        found = self.scalar(node)
        if found.type == NULL:
            return converted(found, BOOLEAN)
        if found.type != BOOLEAN:
            raise wrong(
                f"{what} is {found.type}, no BOOLEAN", node, hint="Compare it with something."
            )
        return found


def _construct(node: exp.Expr) -> str:
    words = "".join(f" {each}" if each.isupper() else each for each in type(node).__name__)
    return words.strip().upper()
