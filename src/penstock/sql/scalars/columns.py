"""Scalar expressions as expressions of columns, which run on batches: in Arrow or in Spark SQL.

Not all have a counterpart. `columns_because` says why an expression has none; then the operator computes its rows in Python,
and its name in the plan says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.expressions import tree as columns
from penstock.expressions.kinds import COMPUTED
from penstock.expressions.signatures import is_castable
from penstock.sql.column_types import FLOATS, WHOLE
from penstock.sql.scalars.functions import COMPARED, FUNCTIONS, INFIX, LOGIC
from penstock.sql.scalars.tree import Constant, InputColumn, Scalar, ScalarCall
from penstock.types.scalars import BasicTypeInfo

Source = Callable[[InputColumn], columns.Expression]
"""A column to the expression that reads it."""

_LONGEST_MEMBERS = 256


def reader_of(names: Sequence[str]) -> Source:
    """Return what reads a column by its name among the fields of records."""
    return lambda column: columns.Field(names[column.position], column.type.type_info)


def columns_because(scalar: Scalar) -> str | None:
    """Return what of an expression has no counterpart among expressions of columns, None if all have."""
    if isinstance(scalar, InputColumn):
        return None
    if isinstance(scalar, Constant):
        return constant_because(scalar)
    for each in scalar.arguments:
        found = columns_because(each)
        if found is not None:
            return found
    return call_because(scalar)


def as_columns(scalar: Scalar, source: Source) -> columns.Expression:
    """Return an expression as one of columns; `columns_because` has said that there is one."""
    if isinstance(scalar, InputColumn):
        return source(scalar)
    if isinstance(scalar, Constant):
        return columns.Literal(scalar.value, scalar.type.type_info)
    return call_of_columns(scalar, tuple(as_columns(each, source) for each in scalar.arguments))


def call_of_columns(
    scalar: ScalarCall, arguments: tuple[columns.Expression, ...]
) -> columns.Expression:
    """Return a call as one of columns, given its arguments; `call_because` has said that there is one."""
    kind = scalar.type.type_info
    make = _MADE.get(scalar.function)
    if make is not None:
        return make(scalar, arguments)
    name = scalar.function if scalar.function in INFIX else FUNCTIONS[scalar.function].column
    assert name is not None, "columns_because has said so"
    parameters = scalar.parameters[:1] if name == "field" else ()
    return columns.Call(name, arguments, parameters, kind)


def constant_because(constant: Constant) -> str | None:
    """Return why a constant is none of columns, None if it is one."""
    found = constant.type.type_info
    is_known = isinstance(found, BasicTypeInfo) and found.name in COMPUTED
    if not is_known or constant.type.name == "DECIMAL":
        return f"a constant of type {constant.type}"
    return None


def call_because(call: ScalarCall) -> str | None:  # noqa: PLR0911 - one per family
    """Return why a call is none of columns, whatever its arguments are; None if it is one."""
    name, kinds = call.function, {each.type.name for each in call.arguments}
    if name in INFIX:
        return (
            None if kinds <= COMPARED or (name == "equal" and kinds == {"BOOLEAN"}) else _of(call)
        )
    if name == "cast":
        return None if _is_same_cast(call) else f"{_of(call)} as {call.type}"
    if name == "isin":
        is_same = kinds <= COMPARED - {*FLOATS} and len(call.parameters[0]) <= _LONGEST_MEMBERS
        return None if is_same else _of(call)
    if name in LOGIC:
        return None if _is_same_logic(call) else _of(call)
    function = FUNCTIONS.get(name)
    if function is None or function.column is None:
        return name
    if function.column_for and not kinds <= function.column_for:
        return _of(call)
    if name == "concat" and len(call.arguments) != 2:  # noqa: PLR2004 - `+` has two operands
        return _of(call)
    return None


def _of(call: ScalarCall) -> str:
    kinds = ", ".join(dict.fromkeys(str(each.type) for each in call.arguments))
    return f"{call.function} of {kinds}"


def _is_same_cast(call: ScalarCall) -> bool:
    source, target = call.arguments[0].type, call.type
    exact = {*WHOLE, "DOUBLE"}
    if source.name in WHOLE and target.name in exact:
        return is_castable(source.type_info.name, target.type_info)  # type: ignore[attr-defined]
    return source.name in WHOLE and target.name == "STRING"


def _is_same_logic(call: ScalarCall) -> bool:
    if call.function == "is_distinct":
        return False
    if call.function in {"case", "coalesce"}:
        return call.type.name in COMPARED | {"BOOLEAN"}
    if call.function == "is_null":
        found = call.arguments[0].type.type_info
        return isinstance(found, BasicTypeInfo) and found.name in COMPUTED
    return True


def _cast(call: ScalarCall, arguments: tuple[columns.Expression, ...]) -> columns.Expression:
    kind = call.type.type_info
    return columns.Call("cast", arguments, (kind,), kind)


def _isin(call: ScalarCall, arguments: tuple[columns.Expression, ...]) -> columns.Expression:
    members = tuple(sorted(call.parameters[0]))
    return columns.Call("isin", arguments, members, call.type.type_info)


def _same(call: ScalarCall, arguments: tuple[columns.Expression, ...]) -> columns.Expression:
    return columns.Call(call.function, arguments, (), call.type.type_info)


_MADE: dict[str, Callable[[ScalarCall, tuple[columns.Expression, ...]], columns.Expression]] = {
    "cast": _cast,
    "isin": _isin,
    **dict.fromkeys(LOGIC - {"is_distinct"}, _same),
}
