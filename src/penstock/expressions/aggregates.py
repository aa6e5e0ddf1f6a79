"""Aggregates of columns: the parts that each keeps of the records of a key, and their results.

    total=col.amount.sum()      a record gives {sum(amount)}, two are added, the sum is the result
    mean=col.amount.mean()      a record gives {sum(amount), count(amount)}, both are added, sum / count is the result

A program writes `col.amount.sum()`, which is an `AggregateExpression`. Every aggregate is three expressions or
tables, so no engine has a rule of its own: a selection of the *parts* of a record, the name of a merge of two
parts (`expressions.merging`), and an expression of parts, which is the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, NoReturn

from penstock.errors import ArgumentError
from penstock.expressions.kinds import (
    COUNTED,
    DECIMAL,
    DIGITS,
    DOUBLE,
    FLOATS,
    LONG,
    NUMBERS,
    ORDERED,
    STRING,
    WHOLE,
    TypingError,
    name_of,
)
from penstock.expressions.tree import WEIGHT, Call, Expression, Field, Literal, quoted_name, text_of
from penstock.types.base import TypeInformation
from penstock.types.types import Types

_LONGEST_TEXT = 60
_DIGEST_DIGITS = 16
VALUES = "values"
"""Name of the part that has the values themselves, with how often each is there."""

HALF_BITS = 32
"""Bits of the lower half of a sum that may leave LONG on its way."""


@dataclass(frozen=True, slots=True)
class AggregateExpression:
    """An aggregate of the records of a key, without types.

    Attributes:
        how: Its name in `AGGREGATES`.
        argument: The aggregated expression; None for the number of records.
        parameters: Constants that are part of it, such as the share of a quantile.
    """

    how: str
    argument: Expression | None = None
    parameters: tuple[Any, ...] = ()

    def _refuse(self, other: object) -> NoReturn:
        raise ArgumentError.here(
            f"an expression uses the aggregate {self}, whose result exists only after aggregate",
            hint="Give it a name, and write the expression in a later select: "
            ".aggregate(a=…, b=…).select(c=col.a / col.b).",
        )

    __add__ = __sub__ = __mul__ = __truediv__ = __mod__ = _refuse
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmod__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __str__(self) -> str:
        inside = [
            str(argument) for argument in (self.argument, *self.parameters) if argument is not None
        ]
        return f"{self.how}({', '.join(inside)})"


@dataclass(frozen=True, slots=True)
class Part:
    """A value that an aggregate keeps per key.

    Attributes:
        name: Its name, which comes before the argument. Name and argument together identify the computation.
        merge: Merge of two parts: `sum`, `min`, `max`, `tally` or `list` (`expressions.merging`).
        of_record: The part of one record, an expression without types.
    """

    name: str
    merge: str
    of_record: Expression


def name_of_part(part: Part, argument: Expression | None) -> str:
    """Return the name of a part in records of parts, which is that of its state.

    It identifies the computation, whatever the name of the result: `sum(delay)`. So a renamed result goes on with its
    state, and a result of another computation does not.
    """
    text = "" if argument is None else text_of(argument)
    if len(text) > _LONGEST_TEXT:
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]
        text = f"{text[:_LONGEST_TEXT]}… {digest}"
    return f"{part.name}({text})"


def name_of_key(column: str) -> str:
    """Return the name of a column of the key in records of parts; no part has it."""
    return quoted_name(column) if column.endswith((")", "`")) else column


def part_in_words(name: str) -> str:
    """Return the description of a part in terms of the aggregates that need it.

    >>> part_in_words("sum(delay)"), part_in_words("squares(delay)")
    ('the sum of delay', 'the sum of the squares of delay, which variance and stddev need,')
    """
    kind, _, rest = name.partition("(")
    return _PARTS_IN_WORDS.get(kind, "{}").format(
        rest.removesuffix(")") if kind in _PARTS_IN_WORDS else name
    )


_PARTS_IN_WORDS = {
    "sum": "the sum of {}",
    "squares": "the sum of the squares of {}, which variance and stddev need,",
    "square_limbs": "the squares of {}, which variance and stddev need,",
    "values": "the values of {}",
    "decimal_limbs": "the sum of {}",
}


def is_name_of_part(name: str) -> bool:
    """Return whether a field of a record of parts is a part, and no column of the key."""
    return name.endswith(")")


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Parts and result of an aggregate.

    Attributes:
        result: From the parts, to the result; expressions without types. If it has derived parts, of those.
        derived: Parts that are made of the only one of `parts`, a tally: sums over its different values. They are kept where
            the tally is kept value by value, and made of a change of that.
    """

    parts: tuple[Part, ...]
    result: Callable[[tuple[Expression, ...]], Expression]
    derived: tuple[Part, ...] = ()


def aggregate_of(aggregate: AggregateExpression, argument: Expression | None) -> Aggregate:
    """Return what an aggregate keeps."""
    make = AGGREGATES[aggregate.how]
    return make(aggregate.argument, argument, *aggregate.parameters)


def _count(tree: Expression | None, _argument: Expression | None) -> Aggregate:
    one: Expression = Literal(1)
    if tree is not None:
        one = Call("case", (Call("is_null", (tree,)), Literal(0), one))
    return Aggregate((Part("count", "sum", Call("cast", (one,), (LONG,))),), _itself)


def _sum(tree: Expression | None, argument: Expression | None) -> Aggregate:
    return Aggregate((_total(tree, argument, "sum"),), _itself)


def _mean(tree: Expression | None, argument: Expression | None) -> Aggregate:
    if argument is not None and name_of(argument) == DECIMAL:
        msg = "a mean of decimals may have no end behind the point; cast the column to DOUBLE"
        raise TypingError(msg)
    return Aggregate((_total(tree, argument, "mean"), *_count(tree, argument).parts), _quotient)


def _min(tree: Expression | None, argument: Expression | None) -> Aggregate:
    return _extreme(tree, argument, "min")


def _max(tree: Expression | None, argument: Expression | None) -> Aggregate:
    return _extreme(tree, argument, "max")


def _extreme(tree: Expression | None, argument: Expression | None, how: str) -> Aggregate:
    assert tree is not None, f"{how} has an argument"
    assert argument is not None, f"{how} has an argument"
    if name_of(argument) not in ORDERED:
        msg = f"{how} needs values that have an order, and {argument} is {argument.type_info!r}"
        raise TypingError(msg)
    kind = argument.type_info
    assert kind is not None, "the argument has a type"
    is_float = name_of(argument) in FLOATS
    return Aggregate((Part(how, how, tree),), _with_positive_zero(kind) if is_float else _itself)


def _with_positive_zero(kind: TypeInformation) -> Callable[[tuple[Expression, ...]], Expression]:
    """Return what makes 0.0 of -0.0, of which engines keep either: their sum is 0.0."""
    zero = Call("cast", (Literal(0.0),), (kind,))
    return lambda parts: Call("add", (parts[0], zero))


def _total(tree: Expression | None, argument: Expression | None, how: str) -> Part:
    assert tree is not None, f"{how} has an argument"
    assert argument is not None, f"{how} has an argument"
    name = name_of(argument)
    if name not in NUMBERS:
        msg = f"{how} needs numbers, and {argument} is {argument.type_info!r}"
        raise TypingError(msg)
    kind = LONG if name in WHOLE else DOUBLE if name in FLOATS else Types.BIG_DEC()
    return Part("sum", "sum", Call("cast", (tree,), (kind,)))


def _wide_total(tree: Expression | None, argument: Expression | None) -> Aggregate:
    """Return the sum whose way does not matter: of LONG its halves are added."""
    parts = _wide_parts(tree, argument, "sum")
    return Aggregate(parts, _itself if len(parts) == 1 else lambda sums: Call("joined", sums))


def _net_count(tree: Expression | None, argument: Expression | None) -> Aggregate:
    """Return the number of values that are left; 0 if it is negative."""
    parts = _count(tree, argument).parts
    return Aggregate(parts, lambda counts: Call("greatest", (counts[0], Literal(0))))


def _net_sum(tree: Expression | None, argument: Expression | None) -> Aggregate:
    """Return the sum of values of which some are taken back: NULL if none is left."""
    total, count = _wide_total(tree, argument), _count(tree, argument).parts

    def result(parts: tuple[Expression, ...]) -> Expression:
        *sums, left = parts
        none = Call("cast", (Literal(None),), (LONG,))
        is_left = Call("greater", (left, Literal(0)))
        return Call("case", (is_left, total.result(tuple(sums)), none))

    return Aggregate((*total.parts, *count), result)


def weighted(part: Part, value: Expression) -> Expression:
    """Return a part of a record, given with types, by the weight of the record, without types."""
    if part.merge == "list":
        assert isinstance(part.of_record, Call), "it packs a call"
        return replace(part.of_record, arguments=(*part.of_record.arguments, WEIGHT))
    if part.merge == "tally":
        return Call("times", (part.of_record, WEIGHT))
    if part.merge != "sum":
        msg = f"{part.merge} does not forget values"
        raise TypingError(msg)
    if name_of(value) == LONG.name:
        return Call("multiply", (part.of_record, WEIGHT))
    is_added = Call("greater", (WEIGHT, Literal(0)))
    return Call("case", (is_added, part.of_record, Call("negate", (part.of_record,))))


def _tally(tree: Expression | None, argument: Expression | None) -> Part:
    """Return the values themselves; floats by their ordinals."""
    assert tree is not None, "it has an argument"
    assert argument is not None, "it has an argument"
    is_float = name_of(argument) in FLOATS
    value = Call("ordinal", (Call("cast", (tree,), (DOUBLE,)),)) if is_float else tree
    return Part(VALUES, "tally", Call("tally", (value,)))


def _of_values(
    tree: Expression | None,
    argument: Expression | None,
    how: str,
    separator: str = "",
    is_distinct: bool = False,  # noqa: FBT001, FBT002 - parameters of an aggregate have no names
) -> Aggregate:
    """Return an aggregate that needs all values: the least or greatest, or a list of them in their order."""
    part = _tally(tree, argument)
    assert argument is not None, "it has an argument"
    assert argument.type_info is not None, "the argument has a type"
    kind, is_float = argument.type_info, name_of(argument) in FLOATS
    result_type = {"join": STRING, "list": Types.LIST(kind), "map": Types.MAP(kind, LONG)}.get(
        how, kind
    )
    parameters = (how, separator, is_distinct, is_float, result_type)
    return Aggregate((part,), lambda parts: Call("of_values", parts, parameters))


def _distinct(
    tree: Expression | None, argument: Expression | None, how: str, *parameters: Any
) -> Aggregate:
    """Return an aggregate of sums, of the different values."""
    inner = AGGREGATES[how](tree, argument, *parameters)
    tally = _tally(tree, argument)
    values = Field(name_of_part(tally, tree))
    assert argument is not None, "it has an argument"
    is_float = name_of(argument) in FLOATS
    derived = tuple(
        Part(f"distinct_{part.name}", part.merge, _over_values(part, values, is_float=is_float))
        for part in inner.parts
    )
    return Aggregate((tally,), inner.result, derived)


def _over_values(part: Part, values: Field, *, is_float: bool) -> Expression:
    """Return a part of a sum, over the different values of a tally."""
    expression, how, parameters = part.of_record, part.name, ()
    if isinstance(expression, Call) and expression.function in _OF_DIGITS:
        how, parameters = expression.function, expression.parameters
    return Call("over_values", (values,), (how, is_float, *parameters))


_OF_DIGITS = frozenset({"bits", "limbs", "decimal_limbs"})
"""Functions that split a number into those of which sums are made."""


def _of_user(
    tree: Expression | None, _argument: Expression | None, name: str, *call: Any
) -> Aggregate:
    """Return an aggregate function of the user: calls, which are appended."""
    assert tree is not None, "it has an argument"
    return Aggregate(
        (Part(f"user {name}", "list", tree),), lambda parts: Call("user_result", parts, call)
    )


def _exact_quotient(
    tree: Expression | None,
    argument: Expression | None,
    result_type: TypeInformation | None = None,
    *,
    is_mean: bool,
) -> Aggregate:
    """Return the sum or mean of floats, or of decimals in a type of decimals, rounded once."""
    assert argument is not None, "it has an argument"
    kind, count = argument.type_info, _count(tree, argument).parts
    if name_of(argument) == DECIMAL:
        assert tree is not None, "it has an argument"
        _, scale = getattr(kind, "digits", None) or DIGITS
        part = Part("decimal_limbs", "tally", Call("decimal_limbs", (tree,), (scale,)))
        parameters = (is_mean, scale, result_type or kind)
        return Aggregate((part, *count), lambda parts: Call("decimal_quotient", parts, parameters))

    def result(parts: tuple[Expression, ...]) -> Expression:
        return Call("cast", (Call("limb_quotient", parts, (is_mean,)),), (kind,))

    return Aggregate((_limbs(tree, argument, 1), *count), result)


def _exact_variance(
    tree: Expression | None, argument: Expression | None, less: int, *, is_root: bool
) -> Aggregate:
    """Return the variance of numbers as doubles, or its root; its divisor is their number less 0 or 1."""
    limbs = (_limbs(tree, argument, power) for power in (1, 2))
    parts = (*_count(tree, argument).parts, *limbs)
    return Aggregate(parts, lambda fields: Call("limb_variance", fields, (less, is_root)))


def _limbs(tree: Expression | None, argument: Expression | None, power: int) -> Part:
    assert tree is not None, "it has an argument"
    name = {1: "limbs", 2: "square_limbs"}[power]
    is_decimal = argument is not None and name_of(argument) == DECIMAL
    value = tree if is_decimal else Call("cast", (tree,), (DOUBLE,))
    return Part(name, "tally", Call("limbs", (value,), (power,)))


def _ordinal(tree: Expression | None, argument: Expression | None, *, how: str) -> Aggregate:
    """Return the extreme of floats in the order of Java."""
    assert tree is not None, f"{how} has an argument"
    assert argument is not None, f"{how} has an argument"
    kind = argument.type_info
    part = Part(f"{how}_float", how, Call("ordinal", (Call("cast", (tree,), (DOUBLE,)),)))
    return Aggregate((part,), lambda parts: Call("cast", (Call("of_ordinal", parts),), (kind,)))


def _whole_mean(tree: Expression | None, argument: Expression | None) -> Aggregate:
    parts = (*_wide_parts(tree, argument, "mean"), *_count(tree, argument).parts)
    return Aggregate(parts, lambda sums: Call("quotient", sums))


def _wide_parts(tree: Expression | None, argument: Expression | None, how: str) -> tuple[Part, ...]:
    total = _total(tree, argument, how)
    assert argument is not None, f"{how} has an argument"
    if name_of(argument) != WHOLE[-1]:
        return (total,)
    halves = {"low": (0, HALF_BITS), "high": (HALF_BITS, None)}
    return tuple(
        Part(name, "sum", Call("bits", (total.of_record,), cut)) for name, cut in halves.items()
    )


def _itself(parts: tuple[Expression, ...]) -> Expression:
    return parts[0]


def _quotient(parts: tuple[Expression, ...]) -> Expression:
    """Return sum by count; without values NULL, so there is no division by zero."""
    total, count = parts
    none = Call("cast", (Literal(None),), (DOUBLE,))
    return Call(
        "case", (Call("greater", (count, Literal(0))), Call("divide", (total, count)), none)
    )


def _quantile(tree: Expression | None, argument: Expression | None, share: float) -> Aggregate:
    _check_numbers(argument, "approx_quantile")
    assert tree is not None, "approx_quantile has an argument"
    part = Part("buckets", "tally", Call("tally", (Call("bucket", (tree,)),)))
    return Aggregate((part,), lambda parts: Call("quantile", (parts[0],), (share,)))


def _count_distinct(tree: Expression | None, argument: Expression | None) -> Aggregate:
    assert argument is not None, "count_distinct has an argument"
    if name_of(argument) not in COUNTED - {*FLOATS}:
        msg = (
            f"count_distinct needs whole numbers, decimals, texts, booleans or times, and {argument} is "
            f"{argument.type_info!r}"
        )
        raise TypingError(msg)
    return Aggregate(
        (_tally(tree, argument),),
        lambda parts: Call("coalesce", (Call("tally_size", parts), Literal(0))),
    )


def _variance(tree: Expression | None, argument: Expression | None, *, is_root: bool) -> Aggregate:
    how = "stddev" if is_root else "variance"
    assert tree is not None, f"{how} has an argument"
    assert argument is not None, f"{how} has an argument"
    if name_of(argument) not in WHOLE:
        msg = (
            f"{how} needs whole numbers, whose sums are exact, and {argument} is {argument.type_info!r}; "
            "multiply and cast, such as (col.price * 100).round().cast(Types.LONG())"
        )
        raise TypingError(msg)
    wide = Call("cast", (tree,), (LONG,))
    count = _count(tree, argument).parts[0]
    parts = (
        count,
        Part("sum", "sum", wide),
        Part("squares", "sum", Call("multiply", (wide, wide))),
    )
    return Aggregate(parts, lambda fields: Call("variance", fields, (is_root,)))


def _check_numbers(argument: Expression | None, how: str) -> None:
    assert argument is not None, f"{how} has an argument"
    if name_of(argument) not in {*WHOLE, *FLOATS}:
        msg = f"{how} needs whole numbers or floats, and {argument} is {argument.type_info!r}"
        raise TypingError(msg)


AGGREGATES: dict[str, Callable[..., Aggregate]] = {
    "count": _count,
    "sum": _sum,
    "mean": _mean,
    "wide_sum": _wide_total,
    "whole_mean": _whole_mean,
    "net_count": _net_count,
    "net_sum": _net_sum,
    "exact_sum": partial(_exact_quotient, is_mean=False),
    "exact_mean": partial(_exact_quotient, is_mean=True),
    "exact_variance": partial(_exact_variance, is_root=False),
    "exact_stddev": partial(_exact_variance, is_root=True),
    "first_float": partial(_ordinal, how="min"),
    "last_float": partial(_ordinal, how="max"),
    "user": _of_user,
    "distinct": _distinct,
    "of_values": _of_values,
    "min": _min,
    "max": _max,
    "approx_quantile": _quantile,
    "count_distinct": _count_distinct,
    "variance": partial(_variance, is_root=False),
    "stddev": partial(_variance, is_root=True),
}
"""Name of an aggregate to its parts, given its argument without and with types, and its parameters."""
