"""The binder: gives every name of an expression its meaning, and every node its type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from penstock.expressions.tree import Expression
from penstock.sql.catalogue import SqlCatalogue
from penstock.sql.place import unsupported, wrong
from penstock.sql.scalar_binding.conversions import converted
from penstock.sql.scalar_binding.scope import Scope
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import BOOLEAN, NULL

Build = Callable[["Binder", exp.Expr], Expression]
"""Makes the scalar expression of a node."""


class Binder:
    """Binds expressions of a query.

    Attributes:
        given: Nodes whose values are columns already, by `id`.
    """

    def __init__(
        self, scope: Scope, catalogue: SqlCatalogue, builders: Mapping[type, Build]
    ) -> None:
        """Make a binder."""
        self.scope = scope
        self.catalogue = catalogue
        self.given: dict[int, Expression] = {}
        self.builders = builders

    @property
    def names(self) -> Scope:
        """The meanings of names in subqueries."""
        return self.scope

    def scalar(self, node: exp.Expr) -> Expression:
        """Return the scalar expression of a node."""
        bound = self.given.get(id(node))
        if bound is not None:
            return bound
        build = self.builders.get(type(node))
        if build is None:
            raise unsupported(_construct(node), node)
        return build(self, node)

    def condition(self, node: exp.Expr, what: str) -> Expression:
        """Return the expression of a condition."""
        condition = self.scalar(node)
        if condition.type == NULL:
            return converted(condition, BOOLEAN)
        if condition.type != BOOLEAN:
            raise wrong(
                f"{what} is {condition.type}, no BOOLEAN", node, hint="Compare it with something."
            )
        return condition


_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_NAMES: Mapping[type, str] = {
    exp.All: "ALL with a subquery",
    exp.Any: "ANY with a subquery or values",
    exp.Exists: "EXISTS elsewhere than as a condition of WHERE that AND connects",
    exp.ILike: "ILIKE",
    exp.Interval: "INTERVAL elsewhere than beside + or - of a time",
    exp.Order: "ORDER BY in the arguments of a function",
    exp.Tuple: "a row (a, b) elsewhere than before IN with a subquery",
    exp.Window: "OVER elsewhere than in SELECT",
    exp.Distinct: "DISTINCT in the arguments of a function that is no aggregate",
}
"""Class of a node to its name in SQL, where it differs from that of the class."""


def _construct(node: exp.Expr) -> str:
    words = _WORDS.sub(" ", type(node).__name__).upper()
    return _NAMES.get(type(node), words)
