"""Aggregate functions in queries: which nodes call them, and what they return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.expressions.functions import USER
from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.relation.parts import AggregateCall
from penstock.sql.catalogue import FunctionKind, SqlCatalogue
from penstock.sql.functions.accumulators import avg_result, sum_result
from penstock.sql.place import unsupported, wrong
from penstock.sql.scalar_binding.binder import Binder, Build
from penstock.sql.scalar_binding.scope import Scope
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    NULL,
    NUMBERS,
    STRING,
    SqlType,
    array,
)

_RESULTS = {
    "COUNT": lambda _: BIGINT,
    "SUM": sum_result,
    "AVG": avg_result,
    "MIN": lambda source: source,
    "MAX": lambda source: source,
    "STDDEV_POP": lambda _: DOUBLE,
    "STDDEV_SAMP": lambda _: DOUBLE,
    "VAR_POP": lambda _: DOUBLE,
    "VAR_SAMP": lambda _: DOUBLE,
    "LISTAGG": lambda _: STRING,
    "ARRAY_AGG": array,
    "COLLECT": lambda source: SqlType("MAP", components=(source, BIGINT)),
}
"""Name to the type of the result, given that of the argument."""

_OTHER_NAMES = {"STDDEV": "STDDEV_SAMP", "VARIANCE": "VAR_SAMP", "STRING_AGG": "LISTAGG"}
_OF_NUMBERS = frozenset({"SUM", "AVG", "STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP"})
_UNKEYED = frozenset({"ARRAY", "MAP", "ROW", "ANY"})
UNORDERED = frozenset({"FIRST_VALUE", "LAST_VALUE", "LAG", "LEAD"})
"""Aggregates of an order that GROUP BY does not have."""


def nodes_of(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield a node and all in it, those of subqueries excepted."""
    return node.walk(prune=lambda part: isinstance(part, exp.Query | exp.Subquery))


def is_aggregate(node: exp.Expr, catalogue: SqlCatalogue) -> bool:
    """Return whether a node calls an aggregate function, not as a window function."""
    if isinstance(node, exp.Filter):
        return True
    if not isinstance(node, exp.Anonymous):
        return False
    own = catalogue.find_function(node.name)
    if own is not None:
        return own.kind is FunctionKind.AGGREGATE
    name = node.name.upper()
    return _OTHER_NAMES.get(name, name) in _RESULTS or name in UNORDERED


def aggregate_nodes(node: exp.Expr, catalogue: SqlCatalogue) -> list[exp.Expr]:
    """Return the outermost calls of aggregate functions in an expression; those of OVER are none."""
    calls: list[exp.Expr] = []
    todo = [node]
    while todo:
        current = todo.pop()
        if is_aggregate(current, catalogue):
            calls.append(current)
        elif isinstance(current, exp.Window):
            inside = current.this
            todo += [part for part in current.iter_expressions() if part is not inside]
            if isinstance(inside, exp.Filter):
                todo.append(inside.expression)
                inside = inside.this
            todo += list(inside.iter_expressions())
        elif not isinstance(current, exp.Query | exp.Subquery):
            todo += list(current.iter_expressions())
    return calls


@dataclass(frozen=True, slots=True)
class BoundAggregate:
    """An aggregate whose arguments are expressions.

    Attributes:
        call: With positions among `arguments`, and then the filter.
    """

    call: AggregateCall
    arguments: tuple[Expression, ...]
    filter: Expression | None


def bound_aggregate(node: exp.Expr, binder: Binder) -> BoundAggregate:
    """Bind the call of an aggregate."""
    condition = None
    if isinstance(node, exp.Filter):
        condition = binder.condition(node.expression.this, "the condition of FILTER")
        node = node.this
    own = binder.catalogue.find_function(node.name)
    if not is_aggregate(node, binder.catalogue):
        raise unsupported(f"FILTER of {node.name.upper() or node.sql()}", node)
    if own is not None:
        arguments = tuple(binder.scalar(argument) for argument in node.expressions)
        if own.result_type.name == "ANY":
            raise unsupported(f"an aggregate function of {own.result_type}", node)
        source = arguments[0].type if arguments else BIGINT
        # The name distinguishes functions of the user: equal calls are computed once.
        named = f"{USER}{own.name}"
        call = AggregateCall(named, (), source, own.result_type, user=own.function)
        return BoundAggregate(call, arguments, condition)
    name = node.name.upper()
    if name in UNORDERED:
        raise unsupported(
            f"{name} of a group, which depends on the order of arrival,",
            node,
            hint="Take the row by ROW_NUMBER() OVER (… ORDER BY …) = 1, or MIN and MAX.",
        )
    return _builtin(_OTHER_NAMES.get(name, name), node, condition, binder)


def _builtin(
    name: str, node: exp.Expr, condition: Expression | None, binder: Binder
) -> BoundAggregate:
    given = list(node.expressions)
    is_distinct = len(given) == 1 and isinstance(given[0], exp.Distinct)
    if is_distinct:
        given = list(given[0].expressions)
    separator = ","
    if name == "LISTAGG" and len(given) > 1:
        constant = binder.scalar(given.pop())
        if not isinstance(constant, Literal) or not isinstance(constant.value, str):
            raise unsupported("a separator of LISTAGG that is no constant text", node)
        separator = constant.value
    if len(given) != 1:
        raise unsupported(f"{name} of {len(given)} arguments", node)
    if isinstance(given[0], exp.Star):
        if name != "COUNT" or is_distinct:
            raise wrong(f"{name} got *", node, hint="Pass a column.")
        return BoundAggregate(AggregateCall(name, (), BIGINT, BIGINT), (), condition)
    argument = _counted(name, binder.scalar(given[0]), is_distinct=is_distinct)
    source = argument.type
    if name in _OF_NUMBERS and source.name not in NUMBERS:
        raise wrong(f"{name} got {source}, no number", node, hint="CAST it to a number.")
    if name == "LISTAGG" and source != STRING:
        raise wrong(f"LISTAGG got {source}, no text", node, hint="CAST it to STRING.")
    if source.name in _UNKEYED and (name != "COUNT" or is_distinct):
        raise unsupported(f"{name} of {source}", node)
    call = AggregateCall(
        name,
        (),
        source,
        _RESULTS[name](source),  # type: ignore[no-untyped-call]
        is_distinct=is_distinct and name not in {"MIN", "MAX"},
        separator=separator,
    )
    return BoundAggregate(call, (argument,), condition)


def _counted(name: str, argument: Expression, *, is_distinct: bool) -> Expression:
    """Return an argument of a type: NULL has one, and of what has no column it is counted whether it is there."""
    if argument.type == NULL and name not in _OF_NUMBERS:
        return Literal(None, INT)
    if name != "COUNT" or is_distinct or argument.type.name != "ANY":
        return argument
    absent = Call("is_null", (argument,), kind=BOOLEAN)
    none, there = Literal(None, BOOLEAN), Literal(value=True, kind=BOOLEAN)
    return Call("case", (absent, none, there), kind=BOOLEAN)


class GroupBinder(Binder):
    """Binds expressions over the results of an aggregation.

    Attributes:
        given: Nodes whose results are columns, by `id`.
    """

    def __init__(
        self,
        inner: Binder,
        groups: tuple[Expression, ...],
        given: dict[int, Expression],
        builders: Mapping[type, Build],
    ) -> None:
        """Make a binder."""
        super().__init__(Scope(outer=inner.scope.outer), inner.catalogue, builders)
        self.given = given
        self._inner = inner
        self._groups = groups

    @property
    def names(self) -> Scope:
        """The meanings of names in subqueries: the columns of the rows before."""
        return self._inner.names

    def scalar(self, node: exp.Expr) -> Expression:
        """Return the expression of a node, over the columns of the aggregation."""
        bound = self.given.get(id(node))
        if bound is not None:
            return bound
        if not any(id(part) in self.given for part in nodes_of(node)):
            whole = self._inner.scalar(node)
            if whole in self._groups:
                return Field(str(whole), whole.type, self._groups.index(whole))
            if isinstance(whole, Literal):
                return whole
            if isinstance(node, exp.Column):
                raise wrong(
                    "the column is neither grouped nor aggregated",
                    node,
                    hint="Name it in GROUP BY, or aggregate it.",
                )
        return super().scalar(node)
