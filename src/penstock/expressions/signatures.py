"""Typing rules: each takes a call whose arguments have types, and returns it with the type of its result.

A rule inserts the casts that make operands one type, so evaluators compute with equal types only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import reduce
from math import isnan

from penstock.errors import did_you_mean
from penstock.expressions.kinds import (
    BOOLEAN,
    COMPUTED,
    COUNTED,
    DECIMAL,
    DOUBLE,
    FLOATS,
    INT,
    LISTS,
    LONG,
    MICROS_PER_DAY,
    NUMBERS,
    ORDERED,
    STRING,
    TIMESTAMPS,
    WHOLE,
    TypingError,
    adapted,
    common_type,
    is_bytes,
    is_list,
    is_null_constant,
    literal,
    name_of,
)
from penstock.expressions.tree import Call, Expression, Literal
from penstock.types.base import TypeInformation
from penstock.types.containers import MapTypeInfo
from penstock.types.records import RowTypeInfo
from penstock.types.scalars import BasicTypeInfo
from penstock.types.types import Types

Rule = Callable[[Call], Call]

_CALLS = Types.LIST(Types.PRIMITIVE_ARRAY(Types.BYTE()))

TRUNCATED = ("second", "minute", "hour", "day")
"""Units of `truncate`."""


def converted(expression: Expression, expected: TypeInformation) -> Expression:
    """Return an expression with another type, as a cast if it is no constant that has it."""
    if isinstance(expression, Literal):
        result = adapted(expression, expected)
        if result is not None:
            return result
    if expression.type_info == expected:
        return expression
    return Call("cast", (expression,), (expected,), expected)


def together(expressions: Sequence[Expression], allowed: Collection[str]) -> list[Expression]:
    """Return expressions with one type in common."""
    typed = [expression for expression in expressions if not is_null_constant(expression)]
    if not typed:
        msg = "it has no type: every operand is None; write lit(None, type)"
        raise TypingError(msg)
    free = [expression.type_info for expression in typed if not isinstance(expression, Literal)]
    types = [t for t in free or [expression.type_info for expression in typed] if t is not None]
    expected = reduce(common_type, types)
    for expression in typed:
        if isinstance(expression, Literal) and adapted(expression, expected) is None:
            assert expression.type_info is not None, "it is no None"
            expected = common_type(expected, expression.type_info)
    _check_name(getattr(expected, "name", ""), allowed, repr(expected))
    return [converted(expression, expected) for expression in expressions]


def arithmetic(allowed: Collection[str]) -> Rule:
    """Return the rule of operators on numbers, whose result has the type of both."""

    def rule(call: Call) -> Call:
        left, right = together(call.arguments, allowed)
        return replace(call, arguments=(left, right), kind=left.type_info)

    return rule


def plus(call: Call) -> Call:
    """Type `+`: a sum of numbers, or two texts one behind the other."""
    left, right = together(call.arguments, {*NUMBERS, "String"})
    name = "concat" if name_of(left) == "String" else "add"
    return replace(call, function=name, arguments=(left, right), kind=left.type_info)


def division(call: Call) -> Call:
    """Type `/`: of whole numbers and floats as Double."""
    left, right = together(call.arguments, {*WHOLE, *FLOATS})
    pair = (converted(left, DOUBLE), converted(right, DOUBLE))
    return replace(call, arguments=pair, kind=DOUBLE)


def comparison(allowed: Collection[str]) -> Rule:
    """Return the rule of comparisons."""

    def rule(call: Call) -> Call:
        return replace(call, arguments=tuple(together(call.arguments, allowed)), kind=BOOLEAN)

    return rule


def logic(call: Call) -> Call:
    """Type operators on booleans."""
    operands = tuple(
        converted(argument, BOOLEAN) if is_null_constant(argument) else argument
        for argument in call.arguments
    )
    for operand in operands:
        _check(operand, {"Boolean"})
    return replace(call, arguments=operands, kind=BOOLEAN)


def unary(allowed: Collection[str], result: TypeInformation | None = None) -> Rule:
    """Return the rule of functions of one value; without a result its type is that of the value."""

    def rule(call: Call) -> Call:
        (value,) = call.arguments
        _check(value, allowed)
        return replace(call, kind=result or value.type_info)

    return rule


def of_float(call: Call) -> Call:
    """Type functions of one number that is computed as a float."""
    (value,) = call.arguments
    _check(value, {*WHOLE, *FLOATS})
    value = value if name_of(value) in FLOATS else converted(value, DOUBLE)
    return replace(call, arguments=(value,), kind=value.type_info)


def null_test(call: Call) -> Call:
    """Type `is_null`."""
    (value,) = call.arguments
    if not isinstance(value.type_info, (*LISTS, RowTypeInfo, MapTypeInfo)):
        _check(value, COUNTED)
    return replace(call, kind=BOOLEAN)


def first_known(call: Call) -> Call:
    """Type `fill_null`."""
    values = tuple(together(call.arguments, COMPUTED))
    return replace(call, arguments=values, kind=values[0].type_info)


def extreme(call: Call) -> Call:
    """Type `greatest` and `least`, of two values."""
    values = tuple(together(call.arguments, ORDERED))
    return replace(call, arguments=values, kind=values[0].type_info)


def choice(call: Call) -> Call:
    """Type `when … otherwise`: conditions and values in turns, and the value of no condition."""
    *pairs, other = call.arguments
    conditions = [converted(e, BOOLEAN) if is_null_constant(e) else e for e in pairs[::2]]
    for condition in conditions:
        _check(condition, {"Boolean"})
    values = [*pairs[1::2], other]
    if not all(value.type_info == other.type_info and _is_passed_on(value) for value in values):
        values = together(values, COMPUTED)
    *values, other = values
    turns = [part for pair in zip(conditions, values, strict=True) for part in pair]
    return replace(call, arguments=(*turns, other), kind=other.type_info)


def _is_passed_on(value: Expression) -> bool:
    return is_bytes(value.type_info) or name_of(value) in COUNTED - COMPUTED


def membership(call: Call) -> Call:
    """Type `isin`. Floats are compared one by one, because engines look them up in their own ways."""
    (value,) = call.arguments
    _check(value, COMPUTED)
    if not call.parameters:
        msg = "isin got no values"
        raise TypingError(msg)
    constants = [literal(parameter) for parameter in call.parameters]
    if any(map(is_null_constant, constants)):
        msg = "isin got None, which equals nothing; use is_null"
        raise TypingError(msg)
    assert value.type_info is not None
    constants_of_type = [adapted(constant, value.type_info) for constant in constants]
    if name_of(value) not in FLOATS and None not in constants_of_type:
        members = tuple(constant.value for constant in constants_of_type if constant is not None)
        return replace(call, parameters=members, kind=BOOLEAN)
    if any(isinstance(c.value, float) and isnan(c.value) for c in constants):
        msg = "isin got NaN, which equals nothing; use is_nan"
        raise TypingError(msg)
    rule = comparison(COMPUTED)
    tests = [rule(Call("equal", (value, constant))) for constant in constants]
    return reduce(lambda a, b: Call("or", (a, b), (), BOOLEAN), tests)


def text(*parameters: type, result: TypeInformation = STRING, filled: bool = False) -> Rule:
    """Return the rule of a function of one text and constants."""

    def rule(call: Call) -> Call:
        _check(call.arguments[0], {"String"})
        for expected, parameter in zip(parameters, call.parameters, strict=True):
            is_right = type(parameter) is expected
            if not is_right or (isinstance(parameter, int) and not 0 <= parameter < 1 << 31):
                msg = f"{call.function} got {parameter!r}; pass a constant {_FORMS[expected]}"
                raise TypingError(msg)
        if filled and not call.parameters[0]:
            msg = f"{call.function} got an empty text"
            raise TypingError(msg)
        return replace(call, kind=result)

    return rule


def padded(call: Call) -> Call:
    """Type `pad_start` and `pad_end`."""
    concatenation = text(int, str, filled=False)(call)
    if len(call.parameters[1]) != 1:
        msg = f"{call.function} got {call.parameters[1]!r}; pass one character"
        raise TypingError(msg)
    return concatenation


_FORMS: dict[type, str] = {str: "text", int: "position from 0"}


def count(call: Call) -> Call:
    """Type `length`, of texts and lists."""
    (value,) = call.arguments
    if is_list(value.type_info):
        return replace(call, function="list_length", kind=INT)
    _check(value, {"String"})
    return replace(call, kind=INT)


def element(call: Call) -> Call:
    """Type `get`."""
    (value,), (index,) = call.arguments, call.parameters
    if not is_list(value.type_info):
        msg = f"get takes a list, not {value.type_info!r}"
        raise TypingError(msg)
    if type(index) is not int or not 0 <= index < 1 << 31:
        msg = f"get got {index!r}; pass a constant position from 0"
        raise TypingError(msg)
    inside: TypeInformation = getattr(value.type_info, "element_type")  # noqa: B009 - of four classes
    return replace(call, kind=inside)


def member(call: Call) -> Call:
    """Type `field`."""
    (value,), (name,) = call.arguments, call.parameters
    inside = value.type_info
    if not isinstance(inside, RowTypeInfo):
        msg = f"field takes a row, not {inside!r}"
        raise TypingError(msg)
    if name not in inside.field_names:
        near = did_you_mean(str(name), inside.field_names)
        msg = f"the row has no field {name!r}{near}"
        raise TypingError(msg)
    return replace(call, kind=inside.field_types[inside.field_names.index(name)])


def bucketed(call: Call) -> Call:
    """Type `bucket`: the number of the interval that a number is in."""
    (value,) = call.arguments
    _check(value, {*WHOLE, *FLOATS})
    return replace(call, arguments=(converted(value, DOUBLE),), kind=INT)


def tallied(call: Call) -> Call:
    """Type `tally`: a value with the number 1."""
    (value,) = call.arguments
    if not is_bytes(value.type_info):
        _check(value, COUNTED - {*FLOATS})
    assert value.type_info is not None
    return replace(call, kind=Types.MAP(value.type_info, LONG))


def limbs(call: Call) -> Call:
    """Type `limbs`, of doubles or decimals: places of a sum to their values."""
    return replace(call, kind=Types.MAP(INT, LONG))


def first_argument(call: Call) -> Call:
    """Give a call the type of its first argument."""
    return replace(call, kind=call.arguments[0].type_info)


def of_tally(result: TypeInformation) -> Rule:
    """Return the rule of a function of a tally."""

    def rule(call: Call) -> Call:
        assert isinstance(call.arguments[0].type_info, MapTypeInfo), "aggregates call it"
        return replace(call, kind=result)

    return rule


def of_last_parameter(call: Call) -> Call:
    """Give a call the type that is its last parameter."""
    return replace(call, kind=call.parameters[-1])


def of_calls(call: Call) -> Call:
    """Type `packed` and `folded`: calls of a function of the user."""
    return replace(call, kind=_CALLS)


def over_values(call: Call) -> Call:
    """Type `over_values`: limbs of a sum, or a sum of whole numbers."""
    is_number = not call.parameters[0].endswith("limbs")
    return replace(call, kind=LONG if is_number else Types.MAP(INT, LONG))


def of_moments(call: Call) -> Call:
    """Type `variance`, of a count, a sum and a sum of squares."""
    return replace(call, kind=DOUBLE)


def of_sums(call: Call) -> Call:
    """Type `weight`, of a record, and `joined` and `quotient`, of sums of whole numbers."""
    return replace(call, kind=LONG)


def shifted(call: Call) -> Call:
    """Type a timestamp with a `timedelta` added, or a date with whole days."""
    _check(call.arguments[0], TIMESTAMPS | {"SqlDate"})
    if name_of(call.arguments[0]) == "SqlDate" and call.parameters[0] % MICROS_PER_DAY:
        msg = "a date takes whole days; cast it to a timestamp for less"
        raise TypingError(msg)
    return replace(call, kind=call.arguments[0].type_info)


def truncated(call: Call) -> Call:
    """Type `truncate`."""
    if call.parameters[0] not in TRUNCATED:
        msg = f"truncate got {call.parameters[0]!r}; it takes one of {', '.join(TRUNCATED)}"
        raise TypingError(msg)
    _check(call.arguments[0], TIMESTAMPS)
    return replace(call, kind=call.arguments[0].type_info)


def difference_of_dates(call: Call) -> Call:
    """Type `days_since`."""
    values = tuple(together(call.arguments, {"SqlDate"}))
    return replace(call, arguments=values, kind=INT)


def cast(call: Call) -> Call:
    """Type `cast`."""
    (value,), (expected,) = call.arguments, call.parameters
    if not isinstance(expected, TypeInformation):
        msg = f"cast got {expected!r}; call a factory of Types, with its parentheses: Types.INT()"
        raise TypingError(msg)
    if is_null_constant(value):
        _check_name(getattr(expected, "name", ""), COMPUTED, repr(expected))
        return replace(call, arguments=(Literal(None, expected),), kind=expected)
    if value.type_info != expected and not is_castable(name_of(value), expected):
        msg = f"{value.type_info!r} cannot be cast to {expected!r}"
        raise TypingError(msg)
    return replace(call, kind=expected)


def is_castable(name: str, expected: TypeInformation) -> bool:
    """Return whether values of a basic type can be cast to another type."""
    return isinstance(expected, BasicTypeInfo) and expected.name in CASTS.get(name, frozenset())


_FROM_WHOLE = frozenset({*WHOLE, *FLOATS, DECIMAL, "String"})
CASTS: dict[str, frozenset[str]] = {
    **dict.fromkeys(WHOLE, _FROM_WHOLE),
    **dict.fromkeys(FLOATS, frozenset({*WHOLE, *FLOATS})),
    "Boolean": frozenset({*WHOLE, "String"}),
    "String": frozenset({*WHOLE, "Double", "SqlDate", "SqlTimestamp"}),
    "SqlDate": frozenset({"String", "SqlTimestamp"}),
    "SqlTimestamp": frozenset({"TimestampLtz", "SqlDate"}),
    "TimestampLtz": frozenset({"SqlTimestamp", "SqlDate"}),
}
"""Name of a basic type to those it can be cast to. A pair is absent if engines write or round the values
in different ways: floats as text, decimals as floats, timestamps as text."""


def _check(expression: Expression, allowed: Collection[str]) -> None:
    if is_null_constant(expression):
        msg = "None has no type here; write lit(None, type)"
        raise TypingError(msg)
    _check_name(name_of(expression), allowed, repr(expression.type_info))


def _check_name(name: str, allowed: Collection[str], shown: str) -> None:
    if name not in allowed:
        names = ", ".join(sorted(allowed))
        msg = f"it takes {names}, not {shown}"
        raise TypingError(msg)


LIST_OF_TEXTS = Types.LIST(STRING)
"""Type of `split`."""


def contained(call: Call) -> Call:
    """Type `list_contains`; of floats it would depend on how NaN and zeros are compared."""
    (value,), (expected,) = call.arguments, call.parameters
    if not is_list(value.type_info):
        msg = f"list_contains takes a list, not {value.type_info!r}"
        raise TypingError(msg)
    inside: TypeInformation = getattr(value.type_info, "element_type")  # noqa: B009 - of four classes
    if getattr(inside, "name", "") not in {*WHOLE, "String"}:
        msg = f"list_contains takes lists of texts and whole numbers, not {value.type_info!r}"
        raise TypingError(msg)
    constant = adapted(literal(expected), inside)
    if constant is None:
        msg = f"list_contains got {expected!r}, which is no {inside!r}"
        raise TypingError(msg)
    return replace(call, parameters=(constant.value,), kind=BOOLEAN)


def made_row(call: Call) -> Call:
    """Type `struct`: a row inside the record, with a name per argument."""
    for argument in call.arguments:
        if is_null_constant(argument):
            msg = "None has no type here; write lit(None, type)"
            raise TypingError(msg)
    kinds = [argument.type_info for argument in call.arguments if argument.type_info is not None]
    return replace(call, kind=Types.ROW_NAMED(list(call.parameters), kinds))
