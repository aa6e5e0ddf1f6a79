"""Rules of SQL's formats for the table of texts: Flink's, and the digits of DECIMAL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from penstock.errors import TypeMismatchError
from penstock.types.row import Row
from penstock.types.sql_types import SqlType
from penstock.wire.text import TextError, TextRules

Fields = Sequence[tuple[str, SqlType]]
"""Names and types of columns, in order."""

_EXACT = Context(prec=100)


def rules(*, is_iso: bool = False, zone: tzinfo | None = None) -> TextRules:
    """Return Flink's rules."""
    return TextRules(zone=zone, as_flink=True, between="T" if is_iso else " ")


def check(kind: SqlType, form: str) -> None:
    """Refuse a type whose values have no text."""
    if kind.name in {"ANY", "NULL"}:
        raise ValueError(f"{kind} has no {form}")
    for component in kind.components:
        check(component, form)


def rounded(kind: SqlType) -> Callable[[Any], Any] | None:
    """Return the function that gives decimals in a value their digits, half up; None if a type has none.

    It raises TextError for a number with too many digits before the point.
    """
    if kind.name == "DECIMAL":
        return _decimal(kind)
    inside = [rounded(component) for component in kind.components]
    if not any(inside):
        return None
    parts = [_or_null(convert) for convert in inside]
    if kind.name == "ARRAY":
        return lambda value: [parts[0](element) for element in value]
    if kind.name == "MAP":
        return lambda value: {parts[0](k): parts[1](v) for k, v in value.items()}
    names = kind.fields
    return lambda value: Row(**{n: part(v) for n, part, v in zip(names, parts, value, strict=True)})


def _or_null(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    return lambda value: value if value is None or convert is None else convert(value)


def _decimal(kind: SqlType) -> Callable[[Decimal], Decimal]:
    unit, limit = Decimal(1).scaleb(-kind.scale), Decimal(10) ** (kind.precision - kind.scale)

    def convert(value: Decimal) -> Decimal:
        try:
            quantized = value.quantize(unit, ROUND_HALF_UP, _EXACT)
        except InvalidOperation:
            raise TextError(f"{str(value)!r} is no {kind}") from None
        if abs(quantized) >= limit:
            raise TextError(f"{str(value)!r} is no {kind}")
        return quantized

    return convert


def finished(read: Callable[..., Any], kind: SqlType) -> Callable[..., Any]:
    """Return a reader of a type that rounds its decimals."""
    finish = rounded(kind)
    if finish is None:
        return read

    def both(*text: Any) -> Any:
        value = read(*text)
        return None if value is None else finish(value)

    return both


def unwritable(values: Sequence[Any], cause: TextError) -> TypeMismatchError:
    """Return the error of a row that has no text."""
    return TypeMismatchError(
        f"the row {tuple(values)!r} has no text: {cause}",
        hint="Write another value, such as with COALESCE, or set a null literal of the format.",
    )
