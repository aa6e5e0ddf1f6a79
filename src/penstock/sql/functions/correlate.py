"""Rows that are made of a row: UNNEST and table functions of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.errors import ExpressionError, PenstockError
from penstock.expressions.row_values import RowValues
from penstock.relation.tree import CorrelateSpec
from penstock.sql.functions.changes import RowMaker
from penstock.types.row import Row, values_of_row


class CorrelateRows:
    """Makes rows of a row, of its kind: its values, and those of each row that is made of it."""

    def __init__(
        self, spec: CorrelateSpec, names: tuple[str, ...], *, keeps_unmatched: bool
    ) -> None:
        """Make the function."""
        self._spec = spec
        self._maker = RowMaker(names)
        self._keeps_unmatched = keeps_unmatched
        self._arguments = RowValues(spec.arguments)
        self._rows = _MAKERS[spec.kind](spec)

    def __call__(self, row: Row) -> list[Row]:
        """Return the rows."""
        values = values_of_row(row)
        spec = self._spec
        rows = self._rows(*self._arguments.of(values))
        if spec.with_number:
            rows = [[*fields, number] for number, fields in enumerate(rows, 1)]
        joined = [[*values, *fields] for fields in rows]
        if not joined and self._keeps_unmatched:
            joined = [[*values, *[None] * spec.width]]
        return self._maker.rows(joined, row.get_row_kind())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._spec, self._maker.names, self._keeps_unmatched)


def _restored(spec: CorrelateSpec, names: tuple[str, ...], keeps_unmatched: bool) -> CorrelateRows:  # noqa: FBT001
    return CorrelateRows(spec, names, keeps_unmatched=keeps_unmatched)


def _array(_: CorrelateSpec) -> Callable[..., Iterable[Any]]:
    return lambda values: [[element] for element in values or ()]


def _inner_rows(spec: CorrelateSpec) -> Callable[..., Iterable[Any]]:
    width = spec.width - spec.with_number
    return lambda values: [[None] * width if row is None else list(row) for row in values or ()]


def _map(_: CorrelateSpec) -> Callable[..., Iterable[Any]]:
    return lambda values: [list(pair) for pair in (values or {}).items()]


def _copies(_: CorrelateSpec) -> Callable[..., Iterable[Any]]:
    return lambda count: [[]] * count


def _call(spec: CorrelateSpec) -> Callable[..., Iterable[Any]]:
    evaluate = getattr(spec.function, "eval", spec.function)
    assert spec.result is not None, "a table function has a type"
    coerce, is_row = spec.result.coerce, hasattr(spec.result, "field_types")

    def call(*values: Any) -> list[Any]:
        try:
            results = [coerce(result) for result in evaluate(*values) or ()]
        except PenstockError:
            raise
        except Exception as cause:
            raise ExpressionError(
                f"the table function {spec.name} failed for {values!r:.200}: {cause!r}",
                hint="Correct the function.",
            ) from cause
        return [list(result) if is_row else [result] for result in results]

    return call


_MAKERS: dict[str, Callable[[CorrelateSpec], Callable[..., Iterable[Any]]]] = {
    "array": _array,
    "rows": _inner_rows,
    "map": _map,
    "call": _call,
    "copies": _copies,
}
