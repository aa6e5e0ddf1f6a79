"""Typing of arithmetic, as Flink types it."""

from __future__ import annotations

from collections.abc import Callable

from penstock.sql.binding import conversions as types
from penstock.sql.column_types import INT, NULL, NUMBERS, SqlType, as_decimal
from penstock.sql.place import wrong
from penstock.sql.scalars.tree import Constant, Scalar, ScalarCall
from penstock.sql.sqlglot_source import exp


def arithmetic(
    name: str,
    decimal_type: Callable[[SqlType, SqlType], SqlType],
    operands: tuple[Scalar, Scalar],
    node: exp.Expr,
) -> Scalar:
    """Return an arithmetic operation on numbers.

    Raises:
        SqlError: An operand is no number.
    """
    for each in operands:
        if each.type.name not in NUMBERS and each.type != NULL:
            raise wrong(f"{name} got {each.type}, no number", node, hint="CAST it to a number.")
    (left, right), kind = types.together(operands, node, name)
    if kind == NULL:
        return Constant(None, INT)
    if kind.name != "DECIMAL":
        return types.folded(ScalarCall(name, (left, right), kind))
    one, other = (as_decimal(each.type) if each.type != NULL else kind for each in operands)
    left, right = types.converted(operands[0], one), types.converted(operands[1], other)
    return types.folded(ScalarCall(name, (left, right), decimal_type(one, other)))
