"""Typing of arithmetic, as Flink types it."""

from __future__ import annotations

from collections.abc import Callable

from penstock.expressions.tree import OF_SQL, Call, Expression, Literal
from penstock.sql.binding import conversions as types
from penstock.sql.place import wrong
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import INT, NULL, NUMBERS, SqlType, as_decimal


def arithmetic(
    name: str,
    decimal_type: Callable[[SqlType, SqlType], SqlType],
    operands: tuple[Expression, Expression],
    node: exp.Expr,
) -> Expression:
    """Return an arithmetic operation on numbers.

    Raises:
        SqlError: An operand is no number.
    """
    what = name.removeprefix(OF_SQL)
    for each in operands:
        if each.type.name not in NUMBERS and each.type != NULL:
            raise wrong(f"{what} got {each.type}, no number", node, hint="CAST it to a number.")
    (left, right), kind = types.together(operands, node, what)
    if kind == NULL:
        return Literal(None, INT)
    if kind.name != "DECIMAL":
        return types.folded(Call(name, (left, right), kind=kind))
    one, other = (as_decimal(each.type) if each.type != NULL else kind for each in operands)
    left, right = types.converted(operands[0], one), types.converted(operands[1], other)
    return types.folded(Call(name, (left, right), kind=decimal_type(one, other)))
