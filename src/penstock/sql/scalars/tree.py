"""The tree of scalar expressions: columns by position, constants and calls, each with its type.

    price * amount > 100      greater(multiply(#1, #2), 100)

It is frozen and knows nothing of sqlglot, so workers read it. Equal trees are the same expression: that is how
a grouped expression is found again in SELECT and HAVING.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from penstock.sql.column_types import NULL, SqlType


@dataclass(frozen=True, slots=True)
class InputColumn:
    """The value of a column of the row.

    Attributes:
        position: From 0.
        type: Its type.
        name: For people; two columns of one position are equal whatever their names.
    """

    position: int
    type: SqlType
    name: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InputColumn) and self.position == other.position

    def __hash__(self) -> int:
        return hash(self.position)

    def __str__(self) -> str:
        return self.name or f"#{self.position}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant.

    Attributes:
        value: In the form of its type.
        type: Its type; NULL of one that no context has given a type.
    """

    value: Any
    type: SqlType = NULL

    def __str__(self) -> str:
        return "NULL" if self.value is None else repr(self.value)


@dataclass(frozen=True, slots=True)
class ScalarCall:
    """A function of the table `functions.FUNCTIONS`, or one of the user.

    Attributes:
        function: Its name.
        arguments: The expressions.
        type: Type of the result.
        parameters: Constants that are part of the function, such as the unit of EXTRACT.
    """

    function: str
    arguments: tuple[Scalar, ...]
    type: SqlType
    parameters: tuple[Any, ...] = ()

    def __str__(self) -> str:
        inside = [*map(str, self.arguments), *map(str, self.parameters)]
        return f"{self.function}({', '.join(inside)})"


Scalar = InputColumn | Constant | ScalarCall


def parts_of(scalar: Scalar) -> Iterator[Scalar]:
    """Yield an expression, its arguments, theirs and so on."""
    todo: list[Scalar] = [scalar]
    while todo:
        current = todo.pop()
        yield current
        if isinstance(current, ScalarCall):
            todo += current.arguments


def columns_of(scalar: Scalar) -> frozenset[int]:
    """Return the positions of the columns that an expression reads."""
    return frozenset(part.position for part in parts_of(scalar) if isinstance(part, InputColumn))


def with_columns(scalar: Scalar, changed: Callable[[InputColumn], Scalar]) -> Scalar:
    """Return an expression with each column replaced."""
    if isinstance(scalar, InputColumn):
        return changed(scalar)
    if isinstance(scalar, ScalarCall):
        return replace(
            scalar, arguments=tuple(with_columns(each, changed) for each in scalar.arguments)
        )
    return scalar


def shifted(scalar: Scalar, by: int) -> Scalar:
    """Return an expression whose columns are `by` positions further."""
    return with_columns(scalar, lambda column: replace(column, position=column.position + by))


def conjuncts(scalar: Scalar) -> Iterator[Scalar]:
    """Yield the conditions that AND connects."""
    if isinstance(scalar, ScalarCall) and scalar.function == "and":
        for each in scalar.arguments:
            yield from conjuncts(each)
    else:
        yield scalar
