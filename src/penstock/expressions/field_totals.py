"""`sum`, `min` and `max` of a field by a field, as an aggregate of columns.

    k, v ──select──▶ key, rows 1, values 1, v ──merge by key──▶ key, rows 3, values 2, total ──▶ (k, total), (k, NULL)

An aggregate of columns leaves NULL out, and the functions of `sum`, `min` and `max` get it. So a row of totals contains the
number of its records and the number of them with a value. If they differ, `records_of_totals` gives the function a NULL too.

A sum of LONG may leave 64 bits on its way and come back. It is the sum of three digits of 21 bits, each of which overflows
after two million million records of a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.expressions.kinds import LONG, WHOLE
from penstock.expressions.steps import ExpressionChain, SelectStep
from penstock.expressions.tree import Call, Expression, Field, Literal
from penstock.expressions.typing import typed
from penstock.types.records import RowTypeInfo

_KEY, _ROWS, _VALUES = "$key", "$rows", "$values"
_DIGIT_BITS = 21
_WIDEST = WHOLE[-1]


@dataclass(frozen=True, slots=True)
class FieldTotal:
    """The `sum`, `min` or `max` of rows of two fields, a key and a value.

    Attributes:
        field: Name of the aggregated field.
        how: `sum`, `min` or `max`.
    """

    records: RowTypeInfo
    key: str
    field: str
    how: str

    @property
    def chain(self) -> ExpressionChain:
        """The selection of parts."""
        return ExpressionChain(self.records, (_selection(self),), takes_changes=False)

    @property
    def aggregate(self) -> KeyedAggregate:
        """The aggregate whose results are the merged parts."""
        parts = self.chain.type_info
        assert isinstance(parts, RowTypeInfo), "a selection makes rows"
        named = zip(parts.field_names, parts.field_types, strict=True)
        same = SelectStep(tuple((name, Field(name, kind)) for name, kind in named))
        values = len(parts.field_names) - 3
        merges = (None, "sum", "sum", *(self.how for _ in range(values)))
        return KeyedAggregate(parts, merges, ExpressionChain(parts, (same,)))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields of the rows."""
        return self.records.field_names

    def are_parts(self, names: list[str]) -> bool:
        """Return whether columns of these names are parts, and not the rows themselves."""
        return names[:3] == [_KEY, _ROWS, _VALUES]


def records_of_totals(
    keys: list[Any], rows: list[int], values: list[int], parts: list[list[Any]]
) -> tuple[list[Any], list[Any]]:
    """Return keys and values of records of which the function of two records gives what it gives of all."""
    totals = parts[0] if len(parts) == 1 else list(map(_of_digits, *parts))
    if rows == values:
        return keys, totals
    standing: list[tuple[Any, Any]] = []
    for key, count, known, total in zip(keys, rows, values, totals, strict=True):
        if known:
            standing.append((key, total))
        # a function that gets NULL fails on the second record, whatever the others are
        standing += [(key, None)] * min(count - known, 1 if known else 2)
    return [key for key, _ in standing], [value for _, value in standing]


def _of_digits(low: int | None, middle: int | None, high: int | None) -> int | None:
    if low is None or middle is None or high is None:
        return None
    return low + (middle << _DIGIT_BITS) + (high << 2 * _DIGIT_BITS)


def _selection(total: FieldTotal) -> SelectStep:
    value: Expression = Field(total.field)
    kind = total.records.field_types[total.names.index(total.field)]
    one = Call("cast", (Literal(1),), (LONG,))
    none = Call("cast", (Literal(0),), (LONG,))
    parts = {"$value": value}
    if total.how == "sum":
        is_wide = getattr(kind, "name", "") == _WIDEST
        parts = _digits(value) if is_wide else {"$value": Call("cast", (value,), (LONG,))}
    outputs: dict[str, Expression] = {
        _KEY: Field(total.key),
        _ROWS: one,
        _VALUES: Call("case", (Call("is_null", (value,)), none, one)),
        **parts,
    }
    typed_outputs = (
        (name, typed(expression, total.records, total.how)) for name, expression in outputs.items()
    )
    return SelectStep(tuple(typed_outputs))


def _digits(value: Expression) -> dict[str, Expression]:
    return {
        "$low": Call("bits", (value,), (0, _DIGIT_BITS)),
        "$middle": Call("bits", (value,), (_DIGIT_BITS, _DIGIT_BITS)),
        "$high": Call("bits", (value,), (2 * _DIGIT_BITS, None)),
    }
