"""Makes a function of an expression, which evaluates it for a batch of records at once.

A kernel computes all values of a batch, so an argument that can fail is evaluated only for the records that
need it. These functions do not need all arguments of every record:

    and, or           the right one, unless the left one decides
    coalesce          each, unless one before is known
    case              each condition, unless one before is true; the value of the chosen one only

Arguments that cannot fail are evaluated for all records, which is faster than choosing records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.arrow.calls import packed
from penstock.expressions.arrow.kernels import KERNELS
from penstock.expressions.functions import can_fail
from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.types.arrow import arrow_type


class Batch:
    """Columns of some records, which are made when an expression reads them.

    Attributes:
        length: Number of records, at least one.
        values: Returns the values of a column as Python has them; the column may have no form.
    """

    __slots__ = ("_known", "_read", "length", "values")

    def __init__(
        self,
        length: int,
        read: Callable[[str], pa.Array],
        values: Callable[[str], Sequence[Any]] | None = None,
    ) -> None:
        """Hold the columns."""
        self.length = length
        self._read = read
        self.values: Callable[[str], Sequence[Any]] = values or (
            lambda name: self.column(name).to_pylist()
        )
        self._known: dict[str, pa.Array] = {}

    def column(self, name: str) -> pa.Array:
        """Return a column."""
        column = self._known.get(name)
        if column is None:
            column = self._known[name] = self._read(name)
        return column

    def chosen(self, mask: pa.Array, length: int) -> Batch:
        """Return the records for which a mask without NULL is true."""
        flags = mask.to_pylist()
        return Batch(
            length,
            lambda name: self.column(name).filter(mask),
            lambda name: list(compress(self.values(name), flags)),
        )


WEIGHTS = "\0weights"
"""Name of the column of the weights of records, which no field has."""

Evaluate = Callable[[Batch], pa.Array]
"""Evaluates an expression. It raises `pyarrow.ArrowInvalid` if a record has no value."""


def evaluation(expression: Expression) -> Evaluate:
    """Return the function that evaluates a typed expression."""
    if isinstance(expression, Field):
        name = expression.name
        return lambda batch: batch.column(name)
    if isinstance(expression, Literal):
        constant = _scalar(expression)
        return lambda batch: pa.repeat(constant, batch.length)
    make = _LAZY.get(expression.function)
    return _eager(expression) if make is None else make(expression)


def _scalar(constant: Literal) -> pa.Scalar:
    assert constant.type_info is not None, "the tree has types"
    return pa.scalar(constant.value, arrow_type(constant.type_info))


def _eager(call: Call) -> Evaluate:
    kernel = KERNELS[call.function]
    arguments = call.arguments
    if len(arguments) == 1:
        (only,) = map(evaluation, arguments)
        return lambda batch: kernel(call, only(batch))
    # A constant stays a scalar beside an array: that is faster, and kernels return an array.
    constant = [isinstance(argument, Literal) for argument in arguments]
    if all(constant):
        constant[0] = False
    evaluators: list[Callable[[Batch], Any]] = [
        _constant(argument)
        if is_constant and isinstance(argument, Literal)
        else evaluation(argument)
        for argument, is_constant in zip(arguments, constant, strict=True)
    ]
    return lambda batch: kernel(call, *[evaluate(batch) for evaluate in evaluators])


def _constant(constant: Literal) -> Callable[[Batch], Any]:
    value = _scalar(constant)
    return lambda _: value


def _where_needed(expression: Expression) -> Callable[[Batch, pa.Array], pa.Array]:
    """Return a function that evaluates an expression at least for the records of a mask."""
    evaluate = evaluation(expression)
    if not can_fail(expression):
        return lambda batch, _: evaluate(batch)

    def needed(batch: Batch, mask: pa.Array) -> pa.Array:
        length = mask.true_count
        if length == batch.length:
            return evaluate(batch)
        assert expression.type_info is not None, "the tree has types"
        if length == 0:
            return pa.nulls(batch.length, arrow_type(expression.type_info))
        values = evaluate(batch.chosen(mask, length))
        chosen = mask.to_numpy(zero_copy_only=False)
        return values.take(pa.array(np.cumsum(chosen) - 1, mask=~chosen))

    return needed


def _and(call: Call) -> Evaluate:
    left, right = evaluation(call.arguments[0]), _where_needed(call.arguments[1])

    def evaluate(batch: Batch) -> pa.Array:
        first = left(batch)
        return pc.and_kleene(first, right(batch, first.fill_null(True)))  # noqa: FBT003

    return evaluate


def _or(call: Call) -> Evaluate:
    left, right = evaluation(call.arguments[0]), _where_needed(call.arguments[1])

    def evaluate(batch: Batch) -> pa.Array:
        first = left(batch)
        return pc.or_kleene(first, right(batch, pc.invert(first.fill_null(False))))  # noqa: FBT003

    return evaluate


def _coalesce(call: Call) -> Evaluate:
    first, *others = call.arguments
    begin, further = evaluation(first), [_where_needed(other) for other in others]

    def evaluate(batch: Batch) -> pa.Array:
        values = begin(batch)
        for fallback in further:
            if values.null_count:
                values = pc.coalesce(values, fallback(batch, values.is_null()))
        return values

    return evaluate


def _case(call: Call) -> Evaluate:
    *pairs, last = call.arguments
    branches = [
        (_where_needed(condition), _where_needed(value))
        for condition, value in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    otherwise = _where_needed(last)

    def evaluate(batch: Batch) -> pa.Array:
        undecided = pa.repeat(pa.scalar(True), batch.length)  # noqa: FBT003
        chosen = []
        for condition, value in branches:
            is_true = condition(batch, undecided).fill_null(False)  # noqa: FBT003
            mask = pc.and_(undecided, is_true)
            chosen.append((mask, value(batch, mask)))
            undecided = pc.and_not(undecided, is_true)
        values = otherwise(batch, undecided)
        for mask, value in reversed(chosen):
            values = pc.if_else(mask, value, values)
        return values

    return evaluate


def _weight(_: Call) -> Evaluate:
    return lambda batch: batch.column(WEIGHTS)


def _packed(call: Call) -> Evaluate:
    condition, *fields = call.arguments
    is_chosen = evaluation(condition)
    names = [field.name for field in fields if isinstance(field, Field)]
    is_weighted = len(names) < len(fields)

    def evaluate(batch: Batch) -> pa.Array:
        signs = batch.column(WEIGHTS).to_pylist() if is_weighted else [1] * batch.length
        return packed(is_chosen(batch).to_pylist(), list(map(batch.values, names)), signs)

    return evaluate


_LAZY: dict[str, Callable[[Call], Evaluate]] = {
    "and": _and,
    "or": _or,
    "coalesce": _coalesce,
    "case": _case,
    "weight": _weight,
    "packed": _packed,
}
"""Functions that do not need all of their arguments, or not as columns, or have none."""

EVALUATED = frozenset({*KERNELS, *_LAZY})
"""Names of all functions that have an evaluation here."""
