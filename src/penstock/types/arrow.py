"""Records as Arrow columns: schemas both ways, and building columns from records.

A column whose values all have the declared class goes to pyarrow unchanged; the check of the
classes takes 15 ns a value. Any other column is coerced first, because pyarrow accepts 1.0 as
an integer, a datetime as a date and bytes as text. The kind of a row is not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from types import NoneType
from typing import Any

import pyarrow as pa

from penstock.errors import ArgumentError, SourceError, TypeMismatchError
from penstock.types import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.types.arrow_lists import columns_to_lists, type_of_column
from penstock.types.base import fit_column
from penstock.types.infer import described
from penstock.types.records import bulk_values, record_values, tuple_values
from penstock.types.time import Instant

__all__ = [
    "arrow_array",
    "arrow_columns",
    "arrow_schema",
    "arrow_type",
    "columns_to_lists",
    "field_lists",
    "type_of_arrow",
]

BASIC_ARROW: dict[str, pa.DataType] = {
    "String": pa.string(),
    "Boolean": pa.bool_(),
    "Byte": pa.int8(),
    "Short": pa.int16(),
    "Integer": pa.int32(),
    "Long": pa.int64(),
    "Float": pa.float32(),
    "Double": pa.float64(),
    "Char": pa.string(),
    "BigInteger": pa.decimal128(38, 0),
    "BigDecimal": pa.decimal128(38, 18),
    "Instant": pa.timestamp("us", tz="UTC"),
    "SqlDate": pa.date32(),
    "SqlTime": pa.time64("us"),
    "SqlTimestamp": pa.timestamp("us"),
    "TimestampLtz": pa.timestamp("us", tz="UTC"),
}
"""Name of every basic type to its column type."""

_NANOS_PER_MICRO = 1_000
_MICROS_PER_SECOND = 1_000_000
_HINT = "Return values of the declared type, or change the output_type of the operator."
_REFUSALS = (pa.ArrowException, ValueError, TypeError, OverflowError)


def arrow_type(type_info: TypeInformation) -> pa.DataType:
    """Return the column type of `type_info`."""
    type_info = described(type_info)
    rule = _NESTED_ARROW.get(type(type_info))
    if rule is None:
        raise ArgumentError(
            f"{type_info!r} has no column form",
            hint="Declare the type of the stream: give the operator before an output_type.",
        )
    return rule(type_info)


def _basic_arrow(type_info: BasicTypeInfo) -> pa.DataType:
    if type_info.digits is not None:
        return pa.decimal128(*type_info.digits)
    return BASIC_ARROW[type_info.name]


def _record_arrow(type_info: RowTypeInfo | TupleTypeInfo) -> pa.DataType:
    return pa.struct(list(arrow_schema(type_info)))


def _sequence_arrow(type_info: Any) -> pa.DataType:
    return pa.list_(arrow_type(type_info.element_type))


def _primitive_arrow(type_info: PrimitiveArrayTypeInfo) -> pa.DataType:
    return pa.binary() if type_info.is_bytes else _sequence_arrow(type_info)


def _map_arrow(type_info: MapTypeInfo) -> pa.DataType:
    return pa.map_(arrow_type(type_info.key_type), arrow_type(type_info.value_type))


_NESTED_ARROW: dict[type, Callable[[Any], pa.DataType]] = {
    BasicTypeInfo: _basic_arrow,
    RowTypeInfo: _record_arrow,
    TupleTypeInfo: _record_arrow,
    ListTypeInfo: _sequence_arrow,
    BasicArrayTypeInfo: _sequence_arrow,
    ObjectArrayTypeInfo: _sequence_arrow,
    PrimitiveArrayTypeInfo: _primitive_arrow,
    MapTypeInfo: _map_arrow,
}


def arrow_schema(type_info: TypeInformation) -> pa.Schema:
    """Return one column per field; the columns of a tuple are `f0`, `f1`, ..."""
    type_info = described(type_info)
    if not isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        raise ArgumentError(
            f"records of type {type_info!r} have no fields to make columns of",
            hint="Map them to rows, with output_type=Types.ROW_NAMED(...).",
        )
    pairs = zip(type_info.field_names, type_info.field_types, strict=True)
    return pa.schema([pa.field(name, arrow_type(field)) for name, field in pairs])


def type_of_arrow(schema: pa.Schema) -> RowTypeInfo:
    """Return the type of rows read from columns of `schema`.

    Unsigned integers become the next larger type, big decimals BigDecimal, timestamps with
    time zone TimestampLtz, binaries bytes; dictionaries count as their values.
    """
    if not len(schema):
        raise SourceError("the data has no columns", hint="Select at least one column.")
    return RowTypeInfo([type_of_column(c.name, c.type) for c in schema], schema.names)


def one_batch(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of batches of one schema as one batch. pyarrow 18 has no `concat_batches`."""
    if len(batches) == 1:
        return batches[0]
    schema: pa.Schema = batches[0].schema
    columns = (
        pa.concat_arrays([batch.column(index) for batch in batches]) for index in range(len(schema))
    )
    return pa.RecordBatch.from_arrays(list(columns), schema=schema)


def arrow_columns(type_info: TypeInformation, values: Sequence[Any]) -> list[pa.Array]:
    """Return the columns of `arrow_schema(type_info)` for a batch of records."""
    arrow_types = [column.type for column in arrow_schema(type_info)]
    type_info = described(type_info)
    assert isinstance(type_info, (RowTypeInfo, TupleTypeInfo))
    if not values:
        return [pa.array([], column) for column in arrow_types]
    names = type_info.field_names
    columns = zip(*field_lists(type_info, values), strict=True)
    return [
        _array(name, field, kind, column, nullable=isinstance(type_info, RowTypeInfo))
        for name, field, kind, column in zip(
            names, type_info.field_types, arrow_types, columns, strict=True
        )
    ]


def arrow_array(name: str, type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    """Return the column of one field, whose values may be None."""
    type_info = described(type_info)
    return _array(name, type_info, arrow_type(type_info), values, nullable=True)


def field_lists(
    type_info: RowTypeInfo | TupleTypeInfo, values: Sequence[Any]
) -> Sequence[Sequence[Any]]:
    """Return the values of the fields of every record; do not change them: they may be the rows' own."""
    names, by_name = type_info.field_names, isinstance(type_info, RowTypeInfo)
    bulk = bulk_values(values, set(map(type, values)), names, by_name=by_name)
    if bulk is not None:
        return bulk
    lists: list[Sequence[Any]] = []
    for index, value in enumerate(values):
        try:
            lists.append(
                record_values(value, names) if by_name else tuple_values(value, len(names))
            )
        except ValueError as refused:
            raise TypeMismatchError(
                f"record {index} of the batch does not fit {type_info!r}: {refused}", hint=_HINT
            ) from refused
    return lists


def _array(
    name: str,
    type_info: TypeInformation,
    arrow: pa.DataType,
    column: Sequence[Any],
    *,
    nullable: bool,
) -> pa.Array:
    try:
        return _built(type_info, arrow, column, nullable=nullable)
    except _REFUSALS as refused:
        for index, value in enumerate(column):
            try:
                _built(type_info, arrow, [value], nullable=nullable)
            except _REFUSALS as reason:
                raise TypeMismatchError(
                    f"field {name!r} of record {index} of the batch is {value!r}, which does "
                    f"not fit {type_info!r}: {reason}",
                    hint=_HINT,
                ) from refused
        raise  # each value fits alone, such as a column of more than 2 GiB of text


def _built(
    type_info: TypeInformation, arrow: pa.DataType, column: Sequence[Any], *, nullable: bool
) -> pa.Array:
    if not _has_declared_class(type_info, set(map(type, column)), nullable=nullable):
        column = fit_column(type_info, column, nullable=nullable)
    plain = _plain_form(type_info)
    if plain is not None:
        column = [None if value is None else plain(value) for value in column]
    return pa.array(column, arrow)


def _has_declared_class(type_info: TypeInformation, kinds: set[type], *, nullable: bool) -> bool:
    name = type_info.name if isinstance(type_info, BasicTypeInfo) else ""
    allowed = _CHECKED_BY_PYARROW.get(name, frozenset())
    return kinds <= (allowed | {NoneType} if nullable else allowed)


_CHECKED_BY_PYARROW: dict[str, frozenset[type]] = {
    "String": frozenset({str}),
    "Boolean": frozenset({bool}),
    "Byte": frozenset({int}),
    "Short": frozenset({int}),
    "Integer": frozenset({int}),
    "Long": frozenset({int}),
    "Double": frozenset({float}),
    "SqlDate": frozenset({date}),
}
"""Basic type to the class whose values pyarrow checks itself. It checks the ranges of integers.
It does not refuse a float that is too large (infinity) or a time zone (UTC), so these are absent."""


def _plain_form(type_info: TypeInformation) -> Callable[[Any], Any] | None:
    """Return a function from the declared form to a value that pyarrow accepts, None if it is one."""
    rule = _PLAIN_FORMS.get(type(type_info))
    return rule(type_info) if rule else None


def _plain_basic(type_info: BasicTypeInfo) -> Callable[[Any], Any] | None:
    return _micros if type_info.name == "Instant" else None


def _micros(value: Instant) -> int:
    micros, rest = divmod(value.nanos, _NANOS_PER_MICRO)
    if rest:
        msg = f"{rest} ns below the microsecond do not fit in a timestamp column"
        raise ValueError(msg)
    return value.seconds * _MICROS_PER_SECOND + micros


def _plain_record(type_info: RowTypeInfo | TupleTypeInfo) -> Callable[[Any], Any]:
    plains = [_plain_form(field) for field in type_info.field_types]
    names = type_info.field_names

    def plain(record: Any) -> dict[str, Any]:
        return {
            name: form(value) if form and value is not None else value
            for name, form, value in zip(names, plains, record, strict=True)
        }

    return plain


def _plain_sequence(type_info: Any) -> Callable[[Any], Any] | None:
    form = _plain_form(type_info.element_type)
    if form is None:
        return None
    return lambda elements: [None if e is None else form(e) for e in elements]


def _plain_map(type_info: MapTypeInfo) -> Callable[[Any], Any] | None:
    key_form, value_form = _plain_form(type_info.key_type), _plain_form(type_info.value_type)
    if key_form is None and value_form is None:
        return None

    def plain(pairs: dict[Any, Any]) -> list[tuple[Any, Any]]:
        return [
            (
                key_form(key) if key_form else key,
                value_form(value) if value_form and value is not None else value,
            )
            for key, value in pairs.items()
        ]

    return plain


_PLAIN_FORMS: dict[type, Callable[[Any], Callable[[Any], Any] | None]] = {
    BasicTypeInfo: _plain_basic,
    RowTypeInfo: _plain_record,
    TupleTypeInfo: _plain_record,
    ListTypeInfo: _plain_sequence,
    BasicArrayTypeInfo: _plain_sequence,
    ObjectArrayTypeInfo: _plain_sequence,
    PrimitiveArrayTypeInfo: _plain_sequence,
    MapTypeInfo: _plain_map,
}
