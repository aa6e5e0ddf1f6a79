"""The tree of scalar expressions: fields, constants and calls of functions, as frozen values.

    col.delay.fill_null(0) > 15      greater(coalesce(delay, 0), 15)
    price * amount > 100             greater(multiply(#1, #2), 100)

A program of columns makes a tree without types (`expressions.column`). `expressions.typing` returns the same tree with
the type of every node, and with the casts that the rules insert. The binder of SQL makes typed trees, whose fields are
columns by position. The evaluators read typed trees only, so they have no rules of their own. Nodes contain only names of functions:
`expressions.functions` is the table. Equal trees are the same expression, so SQL finds a grouped one in SELECT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import Any

from penstock.types.base import TypeInformation
from penstock.types.sql_types import NULL, SqlType, of_type_info

Kind = TypeInformation | SqlType
"""Type of a node. That of SQL has the digits of a DECIMAL, which type information has not."""

OF_SQL = "sql_"
"""Prefix of the names of functions of SQL whose own names columns have with another meaning."""


@dataclass(frozen=True, slots=True)
class _Typed:
    """Base of nodes with a type."""

    @property
    def type_info(self) -> TypeInformation | None:
        """The type of the values in records; None in a tree without types."""
        kind: Kind | None = getattr(self, "kind")  # noqa: B009 - of the three classes
        return kind.type_info if isinstance(kind, SqlType) else kind

    @property
    def type(self) -> SqlType:
        """The type as one of SQL; NULL in a tree without types."""
        kind: Kind | None = getattr(self, "kind")  # noqa: B009 - of the three classes
        if kind is None or isinstance(kind, SqlType):
            return kind or NULL
        return of_type_info(kind)


@dataclass(frozen=True, slots=True)
class Field(_Typed):
    """The value of a field of the record, or of a column of the row.

    Attributes:
        name: Name of the field; of a column by position for people only.
        kind: Its type; None in a tree without types.
        position: Position of the column, from 0; -1 for a field that is read by its name.
    """

    name: str
    kind: Kind | None = None
    position: int = -1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Field) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        return (self.position,) if self.position >= 0 else (self.name, self.kind)

    def __str__(self) -> str:
        return self.name or f"#{self.position}"


@dataclass(frozen=True, slots=True)
class Literal(_Typed):
    """A constant.

    Attributes:
        value: The value; in a typed tree in the declared form of its type, or None.
        kind: Its type; None in a tree without types, NULL of SQL where no context has given one.
    """

    value: Any
    kind: Kind | None = None

    def __str__(self) -> str:
        is_null = self.value is None and isinstance(self.kind, SqlType)
        return "NULL" if is_null else repr(self.value)


@dataclass(frozen=True, slots=True)
class Call(_Typed):
    """A function of expressions, or one of the user.

    Attributes:
        function: Its name in the table of functions.
        parameters: Constants that are part of the function, such as the type of a cast.
        kind: Type of the result; None in a tree without types.
    """

    function: str
    arguments: tuple[Expression, ...]
    parameters: tuple[Any, ...] = ()
    kind: Kind | None = None

    @property
    def name(self) -> str:
        """The name of the function for people."""
        return self.function.removeprefix(OF_SQL)

    def __str__(self) -> str:
        shown: Callable[[Any], str] = str if isinstance(self.kind, SqlType) else repr
        inside = [*map(str, self.arguments), *map(shown, self.parameters)]
        return f"{self.name}({', '.join(inside)})"


Expression = Field | Literal | Call

WEIGHT = Call("weight", ())
"""1 of a record that is added, -1 of one that is taken back; what reads it makes records that are added."""


def arguments_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the arguments of a call; a field or a constant has none."""
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


def columns_of(expression: Expression) -> frozenset[int]:
    """Return the positions of the columns that an expression reads."""
    return frozenset(part.position for part in parts_of(expression) if isinstance(part, Field))


def with_fields(expression: Expression, changed: Callable[[Field], Expression]) -> Expression:
    """Return an expression with each field replaced."""
    if isinstance(expression, Field):
        return changed(expression)
    if isinstance(expression, Call):
        arguments = tuple(with_fields(argument, changed) for argument in expression.arguments)
        return replace(expression, arguments=arguments)
    return expression


def named(expression: Expression, names: Sequence[str]) -> Expression:
    """Return an expression whose columns are read by their names among the fields of records."""
    return with_fields(expression, lambda field: Field(names[field.position], field.type_info))


def shifted(expression: Expression, by: int) -> Expression:
    """Return an expression whose columns are `by` positions further."""
    return with_fields(expression, lambda field: replace(field, position=field.position + by))


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """Yield the conditions that AND connects."""
    if isinstance(expression, Call) and expression.function == "and":
        for argument in expression.arguments:
            yield from conjuncts(argument)
    else:
        yield expression
