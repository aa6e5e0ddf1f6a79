"""Lines as columns, where Arrow's parsers give what `wire.text` gives. What they might read otherwise is left to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from penstock.connectors.files.lines.form import LineForm
from penstock.types.arrow import BASIC_ARROW
from penstock.types.information import BasicTypeInfo, ListTypeInfo, RowTypeInfo, TypeInformation

_LONGEST_JSON = 16 << 10
"""Bytes of a line. Arrow's parser calls itself for what is nested, and has no limit."""

_PARSED = frozenset({"String", "Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double"})
_FROM_STRINGS = frozenset({"SqlDate", "SqlTimestamp", "TimestampLtz"})

_LEAST_LENGTH = 19
"""Characters of a time to the second: Arrow reads shorter ones, too."""

_MARK = "\ufeff".encode()
_DECLINED = (pa.ArrowException, UnicodeError, OverflowError)


def fast_columns(form: LineForm, type_info: RowTypeInfo) -> Callable[[list[bytes]], Any] | None:
    """Return the function from lines to columns; None if a field needs its records.

    The function returns None if it declines the lines.

    Args:
        form: The form of the lines.
        type_info: The fields that are in the lines.
    """
    is_csv = form.format == "csv"
    kinds = [_kind(each, is_flat=is_csv) for each in type_info.field_types]
    if None in kinds or not kinds or form.encoding != "utf-8":
        return None
    if form.zone is not UTC and any(getattr(kind, "tz", None) for kind in kinds):
        return None
    schema = pa.schema(list(zip(type_info.field_names, kinds, strict=True)))
    parse = _of_csv if is_csv else _of_json

    def columns(lines: list[bytes]) -> Any:
        try:
            return parse(form, schema, lines)
        except _DECLINED:
            return None

    return columns


def _kind(type_info: TypeInformation, *, is_flat: bool) -> Any:
    if isinstance(type_info, BasicTypeInfo):
        return BASIC_ARROW[type_info.name] if type_info.name in _PARSED | _FROM_STRINGS else None
    return None if is_flat else _nested(type_info)


def _nested(type_info: TypeInformation) -> Any:
    if isinstance(type_info, BasicTypeInfo):
        return BASIC_ARROW[type_info.name] if type_info.name in _PARSED else None
    if isinstance(type_info, ListTypeInfo):
        element = _nested(type_info.element_type)
        return None if element is None else pa.list_(element)
    if isinstance(type_info, RowTypeInfo):
        kinds = list(map(_nested, type_info.field_types))
        if None in kinds:
            return None
        return pa.struct(list(zip(type_info.field_names, kinds, strict=True)))
    return None


def _of_json(form: LineForm, schema: Any, lines: list[bytes]) -> Any:
    del form
    data, last = b"\n".join(lines), len(lines) - 1
    # Each line is at least one object: it begins with one, and no object goes on behind a line that ends with `}`.
    if data.count(b"\n") != last or data.count(b"\n{") != last or data.count(b"}\n") != last:
        return None
    if not (data.startswith(b"{") and data.endswith(b"}")) or max(map(len, lines)) > _LONGEST_JSON:
        return None
    data.decode()
    asked = pa.schema([pa.field(field.name, _parsed_as(field.type)) for field in schema])
    table = pyarrow.json.read_json(
        pa.BufferReader(data),
        pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
        pyarrow.json.ParseOptions(explicit_schema=asked, unexpected_field_behavior="ignore"),
    )
    if table.num_rows != len(lines):
        return None
    columns = [table.column(name).combine_chunks() for name in schema.names]
    return _batch(schema, columns, data)


def _parsed_as(kind: Any) -> Any:
    return pa.string() if pa.types.is_temporal(kind) else kind


def _of_csv(form: LineForm, schema: Any, lines: list[bytes]) -> Any:
    data = b"\n".join(lines)
    if data.count(b"\n") != len(lines) - 1 or b"\r" in data or data.startswith(_MARK):
        return None
    syntax = form.csv
    quote = (syntax.quote or "").encode()
    if quote and quote in data and not _is_well_quoted(data, quote, syntax.delimiter.encode()):
        return None
    data.decode()
    strings = dict.fromkeys(schema.names, pa.string())
    table = pyarrow.csv.read_csv(
        pa.BufferReader(data),
        pyarrow.csv.ReadOptions(
            use_threads=False, block_size=len(data) + 1, column_names=schema.names
        ),
        pyarrow.csv.ParseOptions(
            delimiter=syntax.delimiter, quote_char=syntax.quote or False, ignore_empty_lines=False
        ),
        pyarrow.csv.ConvertOptions(
            column_types=strings,
            null_values=[syntax.null_literal or ""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    if table.num_rows != len(lines):
        return None
    return _batch(schema, [column.combine_chunks() for column in table.columns], data)


def _is_well_quoted(data: bytes, quote: bytes, separator: bytes) -> bool:
    """Return whether quotes begin and end values, or are doubled inside of them, in the line of the value."""
    padded = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    quotes = np.flatnonzero(padded == quote[0])
    if len(quotes) % 2:
        return False
    opened, closed = quotes[::2], quotes[1::2]
    ends = (separator[0], ord("\n"), quote[0])
    if not (np.isin(padded[opened - 1], ends).all() and np.isin(padded[closed + 1], ends).all()):
        return False
    inside = closed[:-1] + 1 == opened[1:]
    if (
        not ((padded[opened[1:] - 1] == quote[0]) == inside).all()
        or padded[opened[0] - 1] == quote[0]
    ):
        return False
    lines = np.flatnonzero(padded == ord("\n"))
    return bool((np.searchsorted(lines, opened) == np.searchsorted(lines, closed)).all())


def _batch(schema: Any, columns: list[Any], data: bytes) -> Any:
    may_be_hex = b"x" in data or b"X" in data
    cast = [
        _cast(column, field.type, may_be_hex=may_be_hex)
        for column, field in zip(columns, schema, strict=True)
    ]
    if any(column is None for column in cast) or not all(map(_is_finite, cast)):
        return None
    if not all(map(_has_years, cast)):
        return None
    return pa.RecordBatch.from_arrays(cast, schema=schema)


def _cast(column: Any, kind: Any, *, may_be_hex: bool) -> Any:
    """Return a column of a type; None if a text in it could mean something else to Arrow."""
    if column.type == kind:
        return column
    if pa.types.is_boolean(kind):
        known = pc.is_in(column, pa.array(["true", "false", None]))
        return pc.equal(column, "true") if pc.all(known, min_count=0).as_py() is not False else None
    if (
        may_be_hex
        and pa.types.is_integer(kind)
        and _any(pc.match_substring(column, "x", ignore_case=True))
    ):
        return None
    if pa.types.is_timestamp(kind):
        least = pc.min(pc.utf8_length(column)).as_py()
        if least is not None and least < _LEAST_LENGTH:
            return None
    return column.cast(kind)


def _any(column: Any) -> bool:
    return pc.any(column, min_count=0).as_py() is True


def _has_years(column: Any) -> bool:
    """Return whether Python has the years of a column of times."""
    last = _LAST_OF.get(column.type.id)
    if last is None:
        return True
    whole = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    found = pc.min_max(column.cast(whole))
    least, greatest = found["min"].as_py(), found["max"].as_py()
    return least is None or (last[0] <= least and greatest <= last[1])


_DAYS = (-719_162, 2_932_896)  # 0001-01-01 and 9999-12-31
_MICROS = 86_400_000_000
_LAST_OF = {
    pa.date32().id: _DAYS,
    pa.timestamp("us").id: (_DAYS[0] * _MICROS, (_DAYS[1] + 1) * _MICROS - 1),
}
"""Type to its first and last value in Python."""


def _is_finite(column: Any) -> bool:
    if pa.types.is_floating(column.type):
        return pc.all(pc.is_finite(column), min_count=0).as_py() is not False
    if pa.types.is_struct(column.type):
        return all(map(_is_finite, column.flatten()))
    return not pa.types.is_list(column.type) or _is_finite(column.flatten())
