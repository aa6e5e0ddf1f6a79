"""The expression tree: fields, constants and calls of functions, as frozen values.

    col.delay.fill_null(0) > 15      greater(coalesce(delay, 0), 15)

A program makes a tree without types (`expressions.column`). `expressions.typing` returns the same tree with
the type of every node, and with the casts that the rules insert. The evaluators read typed trees only, so
none of them has a rule of its own. The nodes know no function: `expressions.functions` is the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

from penstock.types.base import TypeInformation


@dataclass(frozen=True, slots=True)
class Field:
    """The value of a field of the record.

    Attributes:
        name: Name of the field.
        type_info: Its type; None in a tree without types.
    """

    name: str
    type_info: TypeInformation | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant.

    Attributes:
        value: The value; in a typed tree in the declared form of its type, or None.
        type_info: Its type; None in a tree without types.
    """

    value: Any
    type_info: TypeInformation | None = None

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of expressions.

    Attributes:
        function: Its name in the table of functions.
        arguments: The expressions.
        parameters: Constants that are part of the function, such as the type of a cast.
        type_info: Type of the result; None in a tree without types.
    """

    function: str
    arguments: tuple[Expression, ...]
    parameters: tuple[Any, ...] = ()
    type_info: TypeInformation | None = None

    def __str__(self) -> str:
        inside = [*map(str, self.arguments), *map(repr, self.parameters)]
        return f"{self.function}({', '.join(inside)})"


Expression = Field | Literal | Call

WEIGHT = Call("weight", ())
"""1 of a record that is added, -1 of one that is taken back; what reads it makes records that are added."""


def arguments_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the arguments of a call, none of a field or a constant."""
    return expression.arguments if isinstance(expression, Call) else ()


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Yield an expression, its arguments, theirs and so on."""
    todo = [expression]
    while todo:
        current = todo.pop()
        yield current
        todo += arguments_of(current)


def text_of(expression: Expression) -> str:
    """Return a text that other expressions without types do not have, the same in every process.

    Examples:
        >>> text_of(Call("add", (Field("delay"), Field("dep time"), Literal("x"))))
        "add(delay, `dep time`, 'x')"
    """
    if isinstance(expression, Literal):
        return repr(expression.value)
    if isinstance(expression, Call):
        inside = [*map(text_of, expression.arguments), *map(repr, expression.parameters)]
        return f"{expression.function}({', '.join(inside)})"
    name = expression.name
    is_word = name.isidentifier() and not iskeyword(name)
    return name if is_word else quoted_name(name)


def quoted_name(name: str) -> str:
    """Return a name of a field in backticks."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def fields_of(expression: Expression) -> Iterator[str]:
    """Yield the names of the fields that an expression reads, once per place."""
    return (part.name for part in parts_of(expression) if isinstance(part, Field))
