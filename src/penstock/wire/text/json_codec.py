"""Values of declared types as JSON.

A type becomes a pair of functions, once: from a parsed value (`parse_json`) to the declared form, and from the declared
form to text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

from penstock.errors import ArgumentError
from penstock.types import (
    ListTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    Row,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.types.containers import BasicArrayTypeInfo, ObjectArrayTypeInfo
from penstock.types.row import row_factory
from penstock.wire.text.json_tree import JsonNumber, SpannedDict, SpannedList, json_text, parse_json
from penstock.wire.text.scalars import TextError, TextRules, reader, scalar_of, writer

Read = Callable[[Any], Any]
Write = Callable[[Any], str]
LISTS = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)


class _TextNeeded(Exception):  # noqa: N818 - a request, and no error
    """A STRING is an array or object, whose text was not kept."""


class JsonCodec:
    """Reads and writes values of one type.

    Attributes:
        missing_fails: A field that an object lacks is an error, not None.
    """

    def __init__(
        self, type_info: TypeInformation, rules: TextRules, *, missing_fails: bool = False
    ) -> None:
        self.type_info, self.rules, self.missing_fails = type_info, rules, missing_fails
        self._read = _reader(self)
        self._write = _writer(type_info, rules)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.type_info, self.rules, self.missing_fails)

    def read(self, message: object) -> Any:
        """Return the value of a JSON text, which is `str`, or bytes in UTF-8."""
        return of_json(message, self._read)

    def write(self, value: Any) -> str:
        """Return the JSON text of a value in its declared form, or None."""
        return "null" if value is None else self._write(value)

    def nested(self, type_info: TypeInformation) -> JsonCodec:
        """Return the codec of a component."""
        return JsonCodec(type_info, self.rules, missing_fails=self.missing_fails)

    @property
    def reads(self) -> Read:
        """From a parsed value to the declared form."""
        return self._read

    @property
    def writes(self) -> Write:
        """From a value in its declared form, but None, to text."""
        return self._write


def _again(type_info: TypeInformation, rules: TextRules, missing_fails: bool) -> JsonCodec:  # noqa: FBT001 - of a pickle
    return JsonCodec(type_info, rules, missing_fails=missing_fails)


def of_json(message: object, read: Read) -> Any:
    """Return what `read` makes of a parsed message; it is called again if it needs the texts of arrays and objects."""
    try:
        return read(parse_json(message))
    except _TextNeeded:
        return read(parse_json(message, with_texts=True))


def json_codec(
    type_info: TypeInformation, rules: TextRules | None = None, *, missing_fails: bool = False
) -> JsonCodec:
    """Return the codec of a type."""
    return JsonCodec(type_info, rules or TextRules(), missing_fails=missing_fails)


def _reader(codec: JsonCodec) -> Read:
    """Return the function from a parsed value to one of the type; None stays None."""
    kind = codec.type_info
    read: Read
    if scalar_of(kind) is not None:
        read = _scalar_reader(kind, codec.rules)
    elif isinstance(kind, RowTypeInfo):
        read = _row_reader(codec, kind)
    elif isinstance(kind, TupleTypeInfo):
        read = _tuple_reader(codec, kind)
    elif isinstance(kind, LISTS):
        read = _list_reader(codec, kind)
    elif isinstance(kind, MapTypeInfo):
        read = _map_reader(codec, kind)
    else:
        read = _any_value
    return lambda value: None if value is None else read(value)


def described(value: Any) -> str:
    """Return a short text of a parsed value, for messages."""
    if isinstance(value, JsonNumber):
        return value[:80]
    return {list: "an array", dict: "an object", bool: str(value).lower()}.get(
        type(value), repr(value)[:80]
    )


def _scalar_reader(kind: TypeInformation, rules: TextRules) -> Read:
    scalar, read = scalar_of(kind), reader(kind, rules)
    assert scalar is not None
    assert read is not None
    form = scalar.json
    if form == "any":
        return _json_text
    if form == "boolean":
        return _boolean_reader(read, is_flink=rules.as_flink)
    takes_numbers = form != "string"
    takes_strings = form in {"string", "either"} or rules.as_flink
    takes_names = form == "float"

    def convert(value: Any) -> Any:
        kind_of = type(value)
        if kind_of is JsonNumber:
            fits = takes_numbers
        elif kind_of is str:
            fits = takes_strings or (takes_names and value[-1:] in {"N", "y", "F"})
        else:
            fits = False
        if not fits:
            what = "a string" if form == "string" else "a number"
            raise TextError(f"{described(value)} is not {what}")
        return read(value)

    return convert


def _boolean_reader(read: Callable[[str], Any], *, is_flink: bool) -> Read:
    def convert(value: Any) -> Any:
        if type(value) is bool:
            return value
        if is_flink and type(value) is str:
            return read(value)
        raise TextError(f"{described(value)} is neither true nor false")

    return convert


def _json_text(value: Any) -> str:
    """Return a string, or the text of any other value."""
    if type(value) is str:
        return value
    if isinstance(value, JsonNumber):
        return str(value)
    if type(value) is bool:
        return "true" if value else "false"
    if not isinstance(value, (SpannedDict, SpannedList)):
        raise _TextNeeded
    return value.text


def _row_reader(codec: JsonCodec, kind: RowTypeInfo) -> Read:
    names = kind.field_names
    fields = [
        (name, codec.nested(t).reads) for name, t in zip(names, kind.field_types, strict=True)
    ]
    make, missing_fails = row_factory(names), codec.missing_fails

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise TextError(f"{described(value)} is not an object")
        if missing_fails and (missing := [name for name in names if name not in value]):
            raise TextError(f"it has no field {missing[0]!r}")
        values, name = [], ""
        try:
            for name, read in fields:
                values.append(read(value.get(name)))
        except TextError as cause:
            raise TextError(f"field {name!r}: {cause}") from None
        (row,) = make((values,))
        return row

    return convert


def _tuple_reader(codec: JsonCodec, kind: TupleTypeInfo) -> Read:
    reads = [codec.nested(t).reads for t in kind.field_types]
    names = kind.field_names

    def convert(value: Any) -> Any:
        if isinstance(value, dict) and set(value) == set(names):
            value = [value[name] for name in names]
        if not isinstance(value, list) or len(value) != len(reads):
            raise TextError(f"{described(value)} is not an array of {len(reads)}")
        return tuple(_element(index, read, v) for index, (read, v) in enumerate(zip(reads, value)))  # noqa: B905

    return convert


def _element(index: int, read: Read, value: Any) -> Any:
    if value is None:
        raise TextError(f"element {index} is null")
    try:
        return read(value)
    except TextError as cause:
        raise TextError(f"element {index}: {cause}") from None


def _list_reader(codec: JsonCodec, kind: Any) -> Read:
    read, allows_none = codec.nested(kind.element_type).reads, kind.allows_none

    def convert(value: Any) -> Any:
        if not isinstance(value, list):
            raise TextError(f"{described(value)} is not an array")
        if not allows_none or None not in value:
            return [_element(index, read, v) for index, v in enumerate(value)]
        return [None if v is None else _element(index, read, v) for index, v in enumerate(value)]

    return convert


def _map_reader(codec: JsonCodec, kind: MapTypeInfo) -> Read:
    read_key = reader(kind.key_type, codec.rules)
    if read_key is None:
        raise ArgumentError(
            f"JSON cannot hold {kind!r}: its keys have no text form",
            hint="Use a basic type as key.",
        )
    read = codec.nested(kind.value_type).reads

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise TextError(f"{described(value)} is not an object")
        entries, name = {}, ""
        try:
            for name, inside in value.items():
                entries[read_key(name)] = read(inside)
        except TextError as cause:
            raise TextError(f"key {name!r}: {cause}") from None
        if len(entries) < len(value):
            raise TextError("two names of an object are one key")
        return entries

    return convert


def _any_value(value: Any) -> Any:
    """Return a value without declared type as Python has it."""
    if isinstance(value, JsonNumber):
        try:
            return json.loads(value)
        except ValueError as cause:
            raise TextError(str(cause)) from None
    if isinstance(value, list):
        return [_any_value(element) for element in value]
    if isinstance(value, dict):
        return {name: _any_value(inside) for name, inside in value.items()}
    return value


def _writer(kind: TypeInformation, rules: TextRules) -> Write:
    write = writer(kind, rules)
    if write is not None:
        return _scalar_writer(kind, write, rules)
    if isinstance(kind, RowTypeInfo):
        return _row_writer(kind, rules)
    if isinstance(kind, TupleTypeInfo):
        parts = [_writer(t, rules) for t in kind.field_types]
        return lambda value: f"[{','.join([w(v) for w, v in zip(parts, value, strict=True)])}]"
    if isinstance(kind, LISTS):
        element = _or_null(_writer(kind.element_type, rules))
        return lambda value: f"[{','.join(map(element, value))}]"
    return _map_writer(kind, rules) if isinstance(kind, MapTypeInfo) else _write_any


def _scalar_writer(kind: TypeInformation, write: Write, rules: TextRules) -> Write:
    scalar = scalar_of(kind)
    assert scalar is not None
    if scalar.json == "float":
        return lambda value: repr(value) if isfinite(value) else f'"{write(value)}"'
    if scalar.json == "any":
        return lambda value: encode_basestring(value if value.isascii() else write(value))
    is_bare = scalar.json in {"number", "boolean"} or (scalar.json == "either" and rules.as_flink)
    return write if is_bare else lambda value: encode_basestring(write(value))


def _or_null(write: Write) -> Write:
    return lambda value: "null" if value is None else write(value)


def _row_writer(kind: RowTypeInfo, rules: TextRules) -> Write:
    names = [f"{encode_basestring(name)}:" for name in kind.field_names]
    fields = list(zip(names, (_writer(t, rules) for t in kind.field_types), strict=True))

    def write(row: Row) -> str:
        parts, begin = [], ""
        try:
            for (begin, part), value in zip(fields, row, strict=True):
                parts.append(begin + ("null" if value is None else part(value)))
        except TextError as cause:
            raise TextError(f"field {json.loads(begin[:-1])!r}: {cause}") from None
        return f"{{{','.join(parts)}}}"

    return write


def _map_writer(kind: MapTypeInfo, rules: TextRules) -> Write:
    key, item = writer(kind.key_type, rules), _or_null(_writer(kind.value_type, rules))
    assert key is not None, "its reader was made before"

    def write(value: dict[Any, Any]) -> str:
        parts = [f"{encode_basestring(key(k))}:{item(v)}" for k, v in value.items()]
        if len({key(k) for k in value}) < len(parts):
            raise TextError("two keys of a map have one text")
        return f"{{{','.join(parts)}}}"

    return write


def _write_any(value: Any) -> str:
    try:
        return json_text(value)
    except (TypeError, ValueError, RecursionError) as cause:
        raise TextError(str(cause)) from None
