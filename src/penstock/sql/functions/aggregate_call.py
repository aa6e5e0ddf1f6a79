"""The call of an aggregate function in a query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.expressions.functions import USER
from penstock.types.sql_types import SqlType


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate.

    Attributes:
        function: Its name, such as `SUM`; of one of the user `user:` and its name.
        arguments: Positions of the columns it reads; none is COUNT(*).
        source: Type of the first argument.
        result: Type of the result.
        is_distinct: Whether equal values count once.
        filter: Position of a condition that rows must satisfy; None is none.
        separator: Of LISTAGG.
        user: The function of the user.
    """

    function: str
    arguments: tuple[int, ...]
    source: SqlType
    result: SqlType
    is_distinct: bool = False
    filter: int | None = None
    separator: str = ","
    user: Any = field(default=None, compare=False)

    def __str__(self) -> str:
        inside = ", ".join(f"#{at}" for at in self.arguments) or "*"
        distinct = "DISTINCT " if self.is_distinct else ""
        shown = "" if self.filter is None else f" FILTER #{self.filter}"
        return f"{self.function.removeprefix(USER)}({distinct}{inside}){shown}"
