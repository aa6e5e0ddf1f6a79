r"""Lines as columns, where Arrow's parsers give what `wire.text` gives; other lines are left to it.

    {"id":1,"name":"x"}\n{"id":2,"name":null}  ──Objects.flat──▶  1,"x"\n2,null

One pattern is matched with all the lines of a batch at once: RE2 reads each byte once, whatever the pattern is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from penstock.connectors.files.lines.form import LineForm
from penstock.types import BasicTypeInfo, ListTypeInfo, RowTypeInfo, TypeInformation
from penstock.types.arrow import BASIC_ARROW
from penstock.wire.text import CsvForm

_DIGITS = "-?[0-9]+"
_FLAT_TEXT = r'"[^"\\\x00-\x1f]*"'
_INTEGER = "-?(?:0|[1-9][0-9]*)"
_NUMBER = _INTEGER + r"(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_ANY = f"{_FLAT_TEXT}|{_NUMBER}|true|false"
_plain_key = re.compile(r"[\w.-]+").fullmatch


def joined(lines: Any) -> Any:
    """Return an array of one value: lines with line ends between them."""
    whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    return pc.binary_join(whole, pa.scalar(b"\n", pa.binary()))


def matches(data: Any, pattern: str) -> bool:
    """Return whether each of joined lines is what a pattern describes."""
    matched = pc.match_substring_regex(data, rf"\A(?:(?:{pattern})(?:\n|\z))+\z")
    return bool(matched[0].as_py())


def csv_pattern(schema: pa.Schema, form: CsvForm) -> str:
    """Return the pattern of lines of CSV whose quotes enclose values, without texts that Arrow would read otherwise."""
    separator = re.escape(form.delimiter)
    null = "" if form.null_literal is None else f"|{re.escape(form.null_literal)}"
    return separator.join(f"(?:{_csv_value(field.type, form)}{null})?" for field in schema)


def _csv_value(kind: pa.DataType, form: CsvForm) -> str:
    quote = "" if form.quote is None else re.escape(form.quote)
    plain = _csv_form(kind)
    if plain is not None:
        return f"{plain}|{quote}(?:{plain}){quote}"
    bare = rf"[^{re.escape(form.delimiter)}{quote}\r\n]*"
    return bare if not quote else rf"{bare}|{quote}(?:[^{quote}\r\n]|{quote}{quote})*{quote}"


def _csv_form(kind: pa.DataType) -> str | None:
    if pa.types.is_integer(kind):
        return _DIGITS
    if pa.types.is_floating(kind):
        return "[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?"
    return "true|false" if pa.types.is_boolean(kind) else None


@dataclass(frozen=True, slots=True)
class Objects:
    """The form of objects that have the same fields in the same order, and neither arrays, objects nor escapes inside.

    Attributes:
        comma: Characters between fields.
        colon: Characters between a name and its value.
    """

    names: tuple[str, ...]
    comma: str
    colon: str
    pattern: str

    def flat(self, data: Any) -> pa.Buffer:
        """Return joined lines that match the pattern as lines of CSV.

        Without escapes every quote begins or ends a name or a text, so that what is replaced is never inside of a text.
        """
        first, *others = (f'"{name}"{self.colon}' for name in self.names)
        data = pc.replace_substring(data, "}\n{" + first, "\n")
        for name in others:
            data = pc.replace_substring(data, self.comma + name, ",")
        return data[0].as_buffer()[len(first.encode()) + 1 : -1]


def objects_like(line: bytes, kinds: Mapping[str, pa.DataType]) -> Objects | None:
    """Return the form of the objects that are like one; None if it is not an object whose form has a pattern."""
    try:
        pairs = json.loads(line, object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        return None
    if not isinstance(pairs, tuple) or b"\\" in line:
        return None
    if any(map(pa.types.is_nested, kinds.values())):
        return None
    names = tuple(name for name, _ in pairs)
    if not kinds.keys() <= set(names) or len(set(names)) < len(names):
        return None
    if not all(map(_plain_key, names)):
        return None
    comma, colon = (", " if b', "' in line else ","), (": " if b'": ' in line else ":")
    return _objects(names, tuple(kinds.get(name) for name in names), comma, colon)


@lru_cache(64)
def _objects(
    names: tuple[str, ...], kinds: tuple[pa.DataType | None, ...], comma: str, colon: str
) -> Objects:
    fields = (
        f'"{re.escape(name)}"{colon}(?:{_json_form(kind)}|null)'
        for name, kind in zip(names, kinds, strict=True)
    )
    return Objects(names, comma, colon, r"\{" + comma.join(fields) + r"\}")


def _json_form(kind: pa.DataType | None) -> str:
    if kind is None:
        return _ANY
    if pa.types.is_boolean(kind):
        return "true|false"
    if pa.types.is_integer(kind):
        return _INTEGER
    return _NUMBER if pa.types.is_floating(kind) else _FLAT_TEXT


_LONGEST_JSON = 16 << 10
"""Bytes of a line. Arrow's parser calls itself for what is nested, and has no limit."""

_PARSED = frozenset({"String", "Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double"})
_FROM_STRINGS = frozenset({"SqlDate", "SqlTimestamp", "TimestampLtz"})

_LEAST_LENGTH = 19
"""Characters of a time to the second: Arrow reads shorter ones, too."""

_no_number = re.compile(rb"[\[:,][ \t\r]*-?(?:NaN|Inf)").search
_MARK = "\ufeff".encode()
_DECLINED = (pa.ArrowException, UnicodeError, OverflowError)


FastColumns = Callable[[pa.BinaryArray, int], Any]
"""Function from lines, `joined` as one value, and their number to columns; None if it declines the lines."""


def fast_columns(form: LineForm, type_info: RowTypeInfo) -> FastColumns | None:
    """Return the function from lines to columns; None if a field needs its records."""
    is_csv = form.format == "csv"
    kinds = [_kind(field_type, is_flat=is_csv) for field_type in type_info.field_types]
    if None in kinds or not kinds or form.encoding != "utf-8":
        return None
    if form.zone is not UTC and any(getattr(kind, "tz", None) for kind in kinds):
        return None
    schema = pa.schema(list(zip(type_info.field_names, kinds, strict=True)))
    parse = _csv_parser(form, schema) if is_csv else partial(_of_json, schema)

    def columns(lines: pa.BinaryArray, count: int) -> Any:
        try:
            return parse(lines, count)
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


def _of_json(schema: Any, lines: Any, count: int) -> Any:
    data = lines[0].as_buffer().to_pybytes()
    objects = objects_like(data.partition(b"\n")[0], {field.name: field.type for field in schema})
    if objects is not None and matches(lines, objects.pattern):
        return _of_flat(objects, schema, objects.flat(lines), count)
    return _of_nested(schema, data, count)


def _of_flat(objects: Objects, schema: Any, data: Any, count: int) -> Any:
    kinds = {field.name: field.type for field in schema}
    every = pa.schema([(name, kinds.get(name, pa.string())) for name in objects.names])
    table = _read_csv(data, every, CsvForm(null_literal="null"))
    return _batch(schema, table, count)


def _of_nested(schema: Any, data: bytes, count: int) -> Any:
    last = count - 1
    # Each line is at least one object: it begins with one, and no object goes on behind a line that ends with `}`.
    if data.count(b"\n") != last or data.count(b"\n{") != last or data.count(b"}\n") != last:
        return None
    if not (data.startswith(b"{") and data.endswith(b"}")):
        return None
    if max(map(len, data.split(b"\n"))) > _LONGEST_JSON:
        return None
    # Arrow reads numbers that JSON has not, and checks none of a field that is not declared.
    if (b"NaN" in data or b"Inf" in data) and _no_number(data):
        return None
    data.decode()
    table = pyarrow.json.read_json(
        pa.BufferReader(data),
        pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
        pyarrow.json.ParseOptions(
            explicit_schema=_parsed(schema), unexpected_field_behavior="ignore"
        ),
    )
    return _batch(schema, table, count)


def _csv_parser(form: LineForm, schema: Any) -> FastColumns:
    pattern = csv_pattern(schema, form.csv)

    def columns(lines: pa.BinaryArray, count: int) -> Any:
        data = lines[0].as_buffer()
        if data[: len(_MARK)].to_pybytes() == _MARK or not matches(lines, pattern):
            return None
        return _batch(schema, _read_csv(data, schema, form.csv), count)

    return columns


def _read_csv(data: Any, schema: Any, syntax: CsvForm) -> Any:
    return pyarrow.csv.read_csv(
        pa.BufferReader(data),
        pyarrow.csv.ReadOptions(
            use_threads=False, block_size=data.size + 1, column_names=schema.names
        ),
        pyarrow.csv.ParseOptions(
            delimiter=syntax.delimiter, quote_char=syntax.quote or False, ignore_empty_lines=False
        ),
        pyarrow.csv.ConvertOptions(
            column_types=_parsed(schema),
            null_values=[syntax.null_literal or ""],
            true_values=["true"],
            false_values=["false"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _parsed(schema: Any) -> Any:
    """Return a schema as it is parsed: times are texts, of which some are left to the table of texts."""
    temporal = pa.types.is_temporal
    return pa.schema(
        [(field.name, pa.string() if temporal(field.type) else field.type) for field in schema]
    )


def _batch(schema: Any, table: Any, count: int) -> Any:
    """Return parsed columns; None if they have more or fewer lines, or another reading is possible."""
    if table.num_rows != count:
        return None
    cast = [_cast(table.column(field.name).combine_chunks(), field.type) for field in schema]
    if any(column is None for column in cast) or not all(map(_is_finite, cast)):
        return None
    if not all(map(_has_years, cast)):
        return None
    return pa.RecordBatch.from_arrays(cast, schema=schema)


def _cast(column: Any, kind: Any) -> Any:
    """Return a column of a type; None if a text in it could mean something else to Arrow."""
    if column.type == kind:
        return column
    if pa.types.is_timestamp(kind):
        least = pc.min(pc.utf8_length(column)).as_py()
        if least is not None and least < _LEAST_LENGTH:
            return None
    return column.cast(kind)


def _has_years(column: Any) -> bool:
    """Return whether Python has the years of a column of times."""
    last = _LAST_OF.get(column.type.id)
    if last is None:
        return True
    whole = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    bounds = pc.min_max(column.cast(whole))
    least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
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
