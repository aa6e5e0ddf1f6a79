"""The table of nodes with a syntax of their own: operators, CASE, CAST, IN, BETWEEN and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from penstock.expressions.python.casts import cast
from penstock.expressions.python.times import FLOORED, PARTS
from penstock.expressions.tree import Call, Expression, Literal
from penstock.sql.place import unsupported, wrong
from penstock.sql.scalar_binding import conditions
from penstock.sql.scalar_binding import conversions as types
from penstock.sql.scalar_binding.binder import Binder, Build
from penstock.sql.scalar_binding.calls import anonymous, call_named
from penstock.sql.scalar_binding.conversions import arithmetic
from penstock.sql.scalar_binding.intervals import is_interval, shifted_by
from penstock.sql.scalar_binding.scope import member
from penstock.sql.sqlglot_source import exp
from penstock.sql.type_names import of_sqlglot
from penstock.types.sql_types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    MOST_DIGITS,
    NULL,
    NUMBERS,
    STRING,
    TIME,
    TIMESTAMPS,
    SqlType,
    array,
    decimal,
)

_INTS = ((31, INT), (63, BIGINT))


def _literal(_: Binder, node: exp.Expr) -> Expression:
    text = node.name
    if node.is_string:
        return Literal(text, STRING)
    if "e" in text.lower():
        return Literal(float(text), DOUBLE)
    if "." not in text:
        for bits, kind in _INTS:
            if int(text) < 1 << bits:
                return Literal(int(text), kind)
    value = Decimal(text)
    digits = value.as_tuple()
    scale = max(0, -int(digits.exponent))
    precision = max(len(digits.digits), scale, 1)
    if precision > MOST_DIGITS:
        raise unsupported(f"a number of {precision} digits", node, hint="Use 38 digits.")
    return Literal(value, decimal(precision, scale))


def _arithmetic(name: str, decimal_type: Callable[[SqlType, SqlType], SqlType]) -> Build:
    def build(binder: Binder, node: exp.Expr) -> Expression:
        if name in {"add", "subtract"} and (is_interval(node.this) or is_interval(node.expression)):
            return shifted_by(binder, node, is_negative=name == "subtract")
        operands = binder.scalar(node.this), binder.scalar(node.expression)
        return arithmetic(name, decimal_type, operands, node)

    return build


def _cast(name: str) -> Build:
    def build(binder: Binder, node: exp.Expr) -> Expression:
        value, required = binder.scalar(node.this), of_sqlglot(node.args["to"])
        if value.type == NULL:
            return Literal(None, required)
        if value.type != required:
            if cast(value.type, required) is None:
                raise wrong(
                    f"{value.type} cannot be cast to {required}", node, hint="Cast to another type."
                )
            call = types.cast_call(name, value, required)
            if isinstance(value, Literal) and call.type.name in _MOMENTS and name == "sql_cast":
                _check_moment(value, call, node)
            value = call
        return _cut(value, node.args["to"])

    return build


_MOMENTS = frozenset({"DATE", "TIME", *TIMESTAMPS})


def _check_moment(text: Literal, constant: Expression, node: exp.Expr) -> None:
    """Refuse a constant such as DATE '2020-13-01', which would fail the job with its first row."""
    if not isinstance(constant, Literal):
        raise wrong(
            f"{text} is no {constant.type}", node, hint="Write it as '2020-12-31 23:59:59'."
        )


_PRECISIONS = {0: "SECOND", 3: "MILLISECOND"}
_MICROSECONDS = 6


def _cut(value: Expression, required: exp.DataType) -> Expression:
    """Return a value with the length or precision of a CAST."""
    kind = required.this
    lengths = [int(size.name) for size in required.expressions if size.name.isdigit()]
    if kind == exp.DType.CHAR:
        # A CHAR has one letter by default, and blanks up to its length.
        length = Literal((lengths or [1])[0], INT)
        return call_named("RPAD", [value, length, Literal(" ", STRING)], required)
    if value.type == TIME:
        lengths = lengths or [0]
    if not lengths or required.this == exp.DType.DECIMAL:
        return value
    if value.type == STRING:
        return call_named("LEFT", [value, Literal(lengths[0], INT)], required)
    if value.type.name in {"TIME", *TIMESTAMPS}:
        if lengths[0] >= _MICROSECONDS:
            return value
        if lengths[0] in _PRECISIONS:
            unit = _PRECISIONS[lengths[0]]
            return types.folded(Call("floor_to", (value,), (unit,), value.type))
    raise unsupported(f"CAST to {required.sql()}", required, hint="Cast without a length.")


def _dpipe(binder: Binder, node: exp.Expr) -> Expression:
    return call_named("CONCAT", [binder.scalar(node.this), binder.scalar(node.expression)], node)


def _negative(binder: Binder, node: exp.Expr) -> Expression:
    value = binder.scalar(node.this)
    if value.type.name not in NUMBERS:
        raise wrong(f"- got {value.type}, no number", node, hint="CAST it to a number.")
    return types.folded(Call("negate", (value,), kind=value.type))


def _bracket(binder: Binder, node: exp.Expr) -> Expression:
    if isinstance(node.this, exp.Column) and node.this.sql().upper() == "MAP":
        return _map(binder, node)
    if len(node.expressions) != 1:
        raise unsupported("several positions in brackets", node)
    value, index = binder.scalar(node.this), binder.scalar(node.expressions[0])
    if value.type.name == "ARRAY":
        if isinstance(index, Literal):
            index = Literal(index.value + 1, index.type)  # sqlglot has made it a position from 0
        (index,) = (types.converted(index, BIGINT),)
        return Call("element_at", (value, index), kind=value.type.components[0])
    if value.type.name == "MAP":
        key = types.converted(index, value.type.components[0])
        return Call("map_get", (value, key), kind=value.type.components[1])
    raise wrong(f"{value.type} has no elements", node, hint="Take elements of an ARRAY or a MAP.")


def _array(binder: Binder, node: exp.Expr) -> Expression:
    if not node.expressions:
        raise unsupported("an empty ARRAY[]", node)
    values, kind = types.together([binder.scalar(part) for part in node.expressions], node, "ARRAY")
    return Call("array", values, kind=array(kind))


def _map(binder: Binder, node: exp.Expr) -> Expression:
    if len(node.expressions) % 2:
        raise wrong(
            f"MAP[…] got {len(node.expressions)} values", node, hint="Write keys and values."
        )
    scalars = [binder.scalar(argument) for argument in node.expressions]
    keys, key = types.together(scalars[::2], node, "the keys of MAP")
    values, value = types.together(scalars[1::2], node, "the values of MAP")
    if key.name in {"ARRAY", "MAP", "ROW", "ANY"} or NULL in {key, value}:
        raise unsupported(f"MAP of {key} to {value}", node, hint="CAST keys and values.")
    pairs = tuple(scalar for pair in zip(keys, values, strict=True) for scalar in pair)
    return Call("map", pairs, kind=SqlType("MAP", components=(key, value)))


def _extract(binder: Binder, node: exp.Expr) -> Expression:
    return extracted(node.name.upper(), binder.scalar(node.expression), node)


def extracted(unit: str, value: Expression, node: exp.Expr) -> Expression:
    """Return a part of a date or time."""
    if unit not in PARTS:
        raise unsupported(f"EXTRACT of {unit}", node, hint=f"Use one of {', '.join(PARTS)}.")
    if value.type.name not in {"DATE", "TIME", *TIMESTAMPS}:
        raise wrong(f"EXTRACT got {value.type}", node, hint="Pass a date or time.")
    if value.type == DATE and unit in {"HOUR", "MINUTE", "SECOND", "MILLISECOND"}:
        raise wrong(f"a DATE has no {unit}", node, hint="CAST it to TIMESTAMP.")
    value = types.in_local_time(value)
    return types.folded(Call("extract", (value,), (unit,), BIGINT))


def _rounding(name: str) -> Build:
    def build(binder: Binder, node: exp.Expr) -> Expression:
        value, unit = binder.scalar(node.this), node.args.get("to")
        if unit is None:
            return call_named(name, [value], node)
        word = unit.name.upper()
        is_date = value.type.name == "DATE" and word in {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY"}
        if word not in FLOORED or not (is_date or value.type.name in TIMESTAMPS):
            raise unsupported(f"{name}({value.type} TO {word})", node)
        function = {"FLOOR": "floor_to", "CEIL": "ceil_to"}[name]
        local = types.in_local_time(value)
        rounded = types.folded(Call(function, (local,), (word,), local.type))
        return types.converted(rounded, value.type)

    return build


def _substring(binder: Binder, node: exp.Expr) -> Expression:
    keys = [key for key in ("this", "start", "length") if node.args.get(key) is not None]
    return call_named("SUBSTRING", [binder.scalar(node.args[key]) for key in keys], node)


def _position(binder: Binder, node: exp.Expr) -> Expression:
    values = [binder.scalar(node.args["substr"]), binder.scalar(node.this)]
    return call_named("POSITION", values, node)


def _trim(binder: Binder, node: exp.Expr) -> Expression:
    side = str(node.args.get("position") or "BOTH").upper()
    name = {"BOTH": "TRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}[side]
    values = [binder.scalar(node.this)]
    if node.expression is not None:
        values.append(binder.scalar(node.expression))
    return call_named(name, values, node)


def _dot(binder: Binder, node: exp.Expr) -> Expression:
    if not isinstance(node.expression, exp.Identifier):
        raise unsupported("a call behind a point", node)
    return member(binder.scalar(node.this), node.expression.name, node)


def _column(binder: Binder, node: exp.Expr) -> Expression:
    assert isinstance(node, exp.Column)
    return binder.scope.resolve(node)


def _unpredictable(_: Binder, node: exp.Expr) -> Expression:
    raise unsupported(
        f"{node.sql()}, whose value depends on when it is computed,",
        node,
        hint="Take the time of the rows: history and live must have the same answer.",
    )


BUILDERS: Mapping[type, Build] = {
    exp.Literal: _literal,
    exp.Null: lambda _, __: Literal(None, NULL),
    exp.Boolean: lambda _, node: Literal(bool(node.this), BOOLEAN),
    exp.HexString: lambda _, node: Literal(bytes.fromhex(node.name), BYTES),
    exp.Column: _column,
    exp.Dot: _dot,
    exp.Paren: lambda binder, node: binder.scalar(node.this),
    exp.Add: _arithmetic("add", types.sum_type),
    exp.Sub: _arithmetic("subtract", types.sum_type),
    exp.Mul: _arithmetic("multiply", types.product_type),
    exp.Div: _arithmetic("sql_divide", types.quotient_type),
    exp.Mod: _arithmetic("sql_modulo", types.remainder_type),
    exp.Neg: _negative,
    exp.EQ: conditions.bind_comparison("equal", needs_order=False),
    exp.NEQ: conditions.bind_comparison("not_equal", needs_order=False),
    exp.LT: conditions.bind_comparison("less"),
    exp.LTE: conditions.bind_comparison("less_equal"),
    exp.GT: conditions.bind_comparison("greater"),
    exp.GTE: conditions.bind_comparison("greater_equal"),
    exp.And: conditions.bind_logic("and"),
    exp.Or: conditions.bind_logic("or"),
    exp.Not: conditions.bind_not,
    exp.Is: conditions.bind_is,
    exp.NullSafeEQ: conditions.bind_distinct(is_negated=True),
    exp.NullSafeNEQ: conditions.bind_distinct(is_negated=False),
    exp.Between: conditions.bind_between,
    exp.In: conditions.bind_in,
    exp.Like: conditions.bind_like,
    exp.Escape: conditions.bind_escape,
    exp.Case: conditions.bind_case,
    exp.If: conditions.bind_if,
    exp.Cast: _cast("sql_cast"),
    exp.TryCast: _cast("try_cast"),
    exp.DPipe: _dpipe,
    exp.Bracket: _bracket,
    exp.Array: _array,
    exp.Extract: _extract,
    exp.Floor: _rounding("FLOOR"),
    exp.Ceil: _rounding("CEIL"),
    exp.Substring: _substring,
    exp.StrPosition: _position,
    exp.Trim: _trim,
    exp.Anonymous: anonymous,
    **dict.fromkeys(
        (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.Localtime, exp.Localtimestamp),
        _unpredictable,
    ),
}
"""Class of a node to what binds it; every other class is an error that names it and its place."""
