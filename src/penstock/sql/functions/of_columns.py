"""Functions of the user that take columns: called once for many rows, before the other expressions of a selection.

    SELECT twice(a + 1) + b       #2 = twice of the column a + 1, for all rows; then #2 + b for each row

One that CASE, COALESCE, AND or OR may leave out is called row by row, for the rows that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa

from penstock.errors import ExpressionError, PenstockError
from penstock.expressions.functions import LOGIC, USER
from penstock.expressions.row_values import RowValues
from penstock.expressions.tree import Call, Expression, Field
from penstock.types import Types
from penstock.types.arrow import arrow_columns
from penstock.types.row import Row, row_factory, values_of_row

_LAZY = LOGIC - {"not", "is_null", "is_distinct"}
"""Functions that do not compute all of their arguments."""


class FunctionOfColumns(Protocol):
    """A function that takes columns of many rows."""

    def of_columns(self, columns: Sequence[pa.Array], count: int) -> list[Any]:
        """Return a value per row."""


@dataclass(frozen=True, slots=True)
class ColumnsCall:
    """A call for many rows, whose values become a column behind those that there are.

    Attributes:
        call: The call; its arguments read these columns.
    """

    call: Call

    @property
    def function(self) -> FunctionOfColumns:
        """The function of the user."""
        function: FunctionOfColumns = self.call.parameters[0]
        return function

    def values(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Return a value per row."""
        arguments = self.call.arguments
        read = RowValues(arguments).of
        kinds = Types.ROW([argument.type.type_info for argument in arguments])
        columns = arrow_columns(kinds, [tuple(read(row)) for row in rows]) if arguments else []
        try:
            results = self.function.of_columns(columns, len(rows))
        except PenstockError:
            raise
        except Exception as wrong:
            name = self.call.function.removeprefix(USER)
            raise ExpressionError(
                f"the function {name} failed for {len(rows)} rows: {wrong!r}",
                hint="Correct the function.",
            ) from wrong
        coerce = self.call.type.type_info.coerce
        return [None if value is None else coerce(value) for value in results]


def takes_columns(scalar: Expression) -> bool:
    """Return whether an expression is a call of a function that takes columns."""
    return (
        isinstance(scalar, Call)
        and scalar.function.startswith(USER)
        and hasattr(scalar.parameters[0], "of_columns")
    )


def calls_of_columns(scalar: Expression) -> bool:
    """Return whether an expression has a call that is made for many rows at once."""
    if takes_columns(scalar):
        return True
    if not isinstance(scalar, Call):
        return False
    always = scalar.arguments[:1] if scalar.function in _LAZY else scalar.arguments
    return any(map(calls_of_columns, always))


class ProjectColumns:
    """Makes rows of expressions, for many rows at once; their kinds are those of the rows that they read."""

    def __init__(self, width: int, outputs: Sequence[Expression], names: Sequence[str]) -> None:
        """Make the function."""
        self._width, self._outputs, self._names = width, tuple(outputs), tuple(names)
        self._calls: list[ColumnsCall] = []
        self._values = RowValues([self._without_calls(output) for output in outputs])
        self._make = row_factory(self._names)

    def __call__(self, rows: list[Row]) -> list[Row]:
        """Return the rows that are made of rows."""
        values = [list(values_of_row(row)) for row in rows]
        for call in self._calls:
            for of_row, value in zip(values, call.values(values), strict=True):
                of_row.append(value)
        of: Callable[[Sequence[Any]], list[Any]] = self._values.of
        projected: list[Row] = self._make([of(row) for row in values])
        for row, given in zip(projected, rows, strict=True):
            row.set_row_kind(given.get_row_kind())
        return projected

    def __reduce__(self) -> tuple[Any, ...]:
        return ProjectColumns, (self._width, self._outputs, self._names)

    def _without_calls(self, scalar: Expression) -> Expression:
        """Return an expression that reads the results of calls as columns."""
        if not isinstance(scalar, Call):
            return scalar
        arguments = list(scalar.arguments)
        for position in range(1 if scalar.function in _LAZY else len(arguments)):
            arguments[position] = self._without_calls(arguments[position])
        call = replace(scalar, arguments=tuple(arguments))
        if not takes_columns(call):
            return call
        self._calls.append(ColumnsCall(call))
        return Field("", call.type, self._width + len(self._calls) - 1)
