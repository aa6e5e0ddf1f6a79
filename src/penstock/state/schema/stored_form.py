"""The type of one stored entry of a schema, and its stored form, plain or coded.

    value, reducing, aggregating, map, broadcast   the value
    list                                           a chunk: a list of values
    timers                                         True
    with a time-to-live                            (last access in ms, value) for each value

The coded form is the bytes of the whole entry, and None for None. In the plain form rows are tuples, and
other values unchanged. A row is stored without its names, which the schema contains: a tuple of the plain
values of its fields, in their declared order. A row that is no INSERT has one element more, the short string
of its kind:

    type                               value                       plain
    Row(user: String, size: Long)      Row(user="a", size=1)       ("a", 1)
                                       the same as a DELETE        ("a", 1, "-D")
    List(Row(user: String))            [Row(user="a"), None]       [("a",), None]

The kind is an element and not another class: rows may be keys of maps, so a plain row must have a
hash, and stored bytes must not depend on our classes.

Rows inside tuples, lists, maps and rows are stored in the same way; None stays None. Values of a
pickled type are not converted. The conversion works by columns: it flattens nested values, converts all
of them together, and builds the containers again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from types import NoneType
from typing import Any

from penstock.errors import ArgumentError, DecodeError
from penstock.state.schema.entry_schema import StateSchema
from penstock.types import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from penstock.types.infer import InferredTypeInfo
from penstock.types.row import Row, RowKind, row_factory, rows_of_one_schema, rows_to_values
from penstock.types.user_types import StoredUserType, user_codec
from penstock.types.value_serializer import Codec, StoredForm, provide_codec
from penstock.user_failure import raise_interrupt, words_of
from penstock.wire.coded_rows import coded_codec

Column = Callable[[list[Any]], list[Any]]
"""Converts many values: one result per value, in order; it does not change its argument."""

One = Callable[[Any], Any]
"""Converts one value."""

_KINDS = {(kind.short_string,): kind for kind in RowKind if kind is not RowKind.INSERT}
_KIND_PARTS = [(), *_KINDS]  # a list, since damaged values may have no hash


@dataclass(frozen=True, slots=True)
class PlainCodec:
    """Converts values of one type to their plain form and back.

    Values must have the declared form of the type. Results share unchanged objects, such as a list
    without rows, with the arguments, which are not changed.

    Attributes:
        to_plain: Declared forms to plain forms, many at a time.
        from_plain: The inverse. Raises `DecodeError` for rows with another number of fields.
        to_plain_one: `to_plain` for one value, without a list.
        from_plain_one: `from_plain` for one value.
    """

    to_plain: Column
    from_plain: Column
    to_plain_one: One
    from_plain_one: One


@cache
def plain_codec(type_info: TypeInformation) -> PlainCodec | None:
    """Return the cached codec of a type; None if values are their plain form."""
    rule: Callable[[Any], PlainCodec | None] = _CODECS.get(type(type_info), _bytes_codec)
    return rule(type_info)


def present(convert: Column) -> Column:
    """Return `convert` for lists that contain None: it converts the other values only."""

    def converted(values: list[Any]) -> list[Any]:
        if NoneType not in set(map(type, values)):
            return convert(values) if values else []
        rest = [value for value in values if value is not None]
        answers = iter(convert(rest) if rest else [])
        return [None if value is None else next(answers) for value in values]

    return converted


def in_fields(records: Iterable[Sequence[Any]], fields: Sequence[Column | None]) -> list[Any]:
    """Return records, at least one, as tuples with converted fields; None does not convert a field."""
    columns = zip(fields, zip(*records, strict=True), strict=True)
    return list(zip(*(f(list(c)) if f else c for f, c in columns), strict=True))


def in_tuples(fields: Sequence[Column | None]) -> Column:
    """Return the conversion of the fields of tuples."""
    return present(lambda tuples: in_fields(tuples, fields))


def in_lists(element: Column) -> Column:
    """Return the conversion of the elements of lists."""

    def converted(lists: list[Any]) -> list[Any]:
        elements = iter(element(list(chain.from_iterable(lists))))
        return [list(islice(elements, len(old))) for old in lists]

    return present(converted)


def in_maps(key: Column | None, value: Column | None) -> Column:
    """Return the conversion of the keys and values of dicts."""

    def converted(maps: list[Any]) -> list[Any]:
        keys = list(chain.from_iterable(maps))
        items = list(chain.from_iterable(map(dict.values, maps)))
        pairs = zip(key(keys) if key else keys, value(items) if value else items, strict=True)
        return [dict(islice(pairs, len(old))) for old in maps]

    return present(converted)


def split_kinds(plain: list[Any], n_fields: int) -> tuple[list[Any], list[Any] | None]:
    """Return plain rows without their kinds, and the kinds; None if all are INSERT."""
    if set(map(len, plain)) == {n_fields}:
        return plain, None
    kinds = [row[n_fields:] for row in plain]
    for row, kind in zip(plain, kinds, strict=True):
        if len(row) < n_fields or kind not in _KIND_PARTS:
            raise DecodeError(
                f"{row!r} is stored where a row of {n_fields} fields was expected",
                hint="Restore an older checkpoint: this one is damaged.",
            )
    return [row[:n_fields] for row in plain], kinds


def _row_codec(row_type: RowTypeInfo) -> PlainCodec:
    fields = [plain_codec(field) for field in row_type.field_types]
    to_plain, to_plain_one = _storing_rows(fields)
    from_plain, from_plain_one = _loading_rows(fields, row_type.field_names)
    return PlainCodec(present(to_plain), present(from_plain), to_plain_one, from_plain_one)


def _storing_rows(fields: list[PlainCodec | None]) -> tuple[Column, One]:
    nested = any(fields)
    columns, ones = _columns(fields)[0], _ones(fields)[0]

    def to_plain(rows: list[Any]) -> list[Any]:
        lists = rows_to_values(rows)
        plain = in_fields(lists, columns) if nested else list(map(tuple, lists))
        if rows_of_one_schema(rows) is not None:  # then all are INSERT
            return plain
        return [values + _kind_part(row) for values, row in zip(plain, rows, strict=True)]

    def to_plain_one(row: Any) -> Any:
        if row is None:
            return None
        return (tuple(map(_call, ones, row)) if nested else tuple(row)) + _kind_part(row)

    return to_plain, to_plain_one


def _loading_rows(fields: list[PlainCodec | None], names: tuple[str, ...]) -> tuple[Column, One]:
    nested, n_fields = any(fields), len(fields)
    columns, ones = _columns(fields)[1], _ones(fields)[1]
    make = row_factory(names)

    def from_plain(plain: list[Any]) -> list[Any]:
        tuples, kinds = split_kinds(plain, n_fields)
        rows = make(map(list, in_fields(tuples, columns) if nested else tuples))
        for row, kind in zip(rows, kinds or (), strict=kinds is not None):
            if kind:
                row.set_row_kind(_KINDS[kind])
        return rows

    def from_plain_one(plain: Any) -> Any:
        if plain is None:
            return None
        if len(plain) != n_fields:  # it has a kind, or is damaged
            return from_plain([plain])[0]
        return make((list(map(_call, ones, plain)) if nested else list(plain),))[0]

    return from_plain, from_plain_one


def _kind_part(row: Row) -> tuple[str, ...]:
    kind = row.get_row_kind()
    return () if kind is RowKind.INSERT else (kind.short_string,)


def _tuple_codec(tuple_type: TupleTypeInfo) -> PlainCodec | None:
    fields = [plain_codec(field) for field in tuple_type.field_types]
    if not any(fields):
        return None

    def one(converts: list[One]) -> One:
        return lambda value: None if value is None else tuple(map(_call, converts, value))

    (store, load), (store_one, load_one) = _columns(fields), _ones(fields)
    return PlainCodec(in_tuples(store), in_tuples(load), one(store_one), one(load_one))


def _sequence_codec(sequence: ListTypeInfo | ObjectArrayTypeInfo) -> PlainCodec | None:
    element = plain_codec(sequence.element_type)
    if element is None:
        return None

    def one(convert: Column) -> One:
        return lambda value: None if value is None else convert(value)

    return PlainCodec(
        in_lists(element.to_plain),
        in_lists(element.from_plain),
        one(element.to_plain),
        one(element.from_plain),
    )


def _map_codec(map_type: MapTypeInfo) -> PlainCodec | None:
    parts = [plain_codec(map_type.key_type), plain_codec(map_type.value_type)]
    if not any(parts):
        return None

    def one(convert: Column) -> One:
        return lambda value: convert([value])[0]

    store, load = (in_maps(*columns) for columns in _columns(parts))
    return PlainCodec(store, load, one(store), one(load))


def _bytes_codec(type_info: TypeInformation) -> PlainCodec:
    """Return the codec of a program's type, whose plain form is the bytes of its serializer."""
    codec = user_codec(type_info)
    return PlainCodec(
        lambda values: list(map(codec.encode, values)),
        lambda stored: list(map(codec.decode, stored)),
        codec.encode,
        codec.decode,
    )


def _columns(
    codecs: list[PlainCodec | None],
) -> tuple[list[Column | None], list[Column | None]]:
    return (
        [c.to_plain if c else None for c in codecs],
        [c.from_plain if c else None for c in codecs],
    )


def _ones(codecs: list[PlainCodec | None]) -> tuple[list[One], list[One]]:
    return (
        [c.to_plain_one if c else _itself for c in codecs],
        [c.from_plain_one if c else _itself for c in codecs],
    )


def _itself(value: Any) -> Any:
    return value


def _call(convert: One, value: Any) -> Any:
    return convert(value)


def _no_codec(_: TypeInformation) -> None:
    """Return None: values of this type are their plain form."""


_CODECS: dict[type, Callable[[Any], PlainCodec | None]] = {
    BasicTypeInfo: _no_codec,
    PickledBytesTypeInfo: _no_codec,
    InferredTypeInfo: _no_codec,
    BasicArrayTypeInfo: _no_codec,
    PrimitiveArrayTypeInfo: _no_codec,
    StoredUserType: _no_codec,
    RowTypeInfo: _row_codec,
    TupleTypeInfo: _tuple_codec,
    ListTypeInfo: _sequence_codec,
    ObjectArrayTypeInfo: _sequence_codec,
    MapTypeInfo: _map_codec,
}


@cache
def stored_type(schema: StateSchema) -> TypeInformation:
    """Return the type of one stored entry."""
    value = schema.value_type
    if schema.has_ttl:
        value = Types.TUPLE([Types.LONG(), value])
    return Types.LIST(value) if schema.kind.is_list else value


@cache
def stored_codec(schema: StateSchema) -> PlainCodec | None:
    """Return the codec of entries; None if entries are their stored form."""
    if schema.form is StoredForm.PLAIN:
        return plain_codec(stored_type(schema))
    codec = coded_codec(stored_type(schema), tuples_hold_none=schema.has_ttl)
    return PlainCodec(
        codec.encode_all,
        codec.decode_all,
        lambda value: None if value is None else codec.encode(value),
        lambda stored: None if stored is None else codec.decode(stored),
    )


def held_codec(schema: StateSchema) -> PlainCodec | None:
    """Return the codec between values as tables hold them and their stored form; None if they are the same."""
    stored = stored_codec(schema)
    if not schema.holds_plain:
        return stored
    plain = plain_codec(stored_type(schema))
    if schema.form is StoredForm.PLAIN or plain is None or stored is None:
        return None if schema.form is StoredForm.PLAIN else stored
    return PlainCodec(
        lambda values: stored.to_plain(plain.from_plain(values)),
        lambda values: plain.to_plain(stored.from_plain(values)),
        lambda value: stored.to_plain_one(plain.from_plain_one(value)),
        lambda value: plain.to_plain_one(stored.from_plain_one(value)),
    )


def stored_values(
    codec: PlainCodec | None, values: list[Any], coded: list[bytes | None] | None
) -> list[Any]:
    """Return the stored form of values, of which some are already coded."""
    if codec is None:
        return values
    if coded is None or not any(coded):
        return codec.to_plain(values)
    if None not in coded:
        return coded
    rest = [value for value, data in zip(values, coded, strict=True) if data is None]
    plain = iter(codec.to_plain(rest))
    return [next(plain) if data is None else data for data in coded]


def _plain_bytes(type_info: TypeInformation) -> Codec:
    """Return the codec of `create_serializer`: the pickle of the plain form."""
    codec = plain_codec(type_info)

    def encode(value: Any) -> bytes:
        return pickle.dumps(value if codec is None else codec.to_plain_one(value), 5)

    def decode(data: bytes) -> Any:
        try:
            plain = pickle.loads(data)
        except BaseException as cause:
            raise_interrupt(cause)
            raise DecodeError(
                f"{len(data)} bytes are no value of {type_info!r}: {words_of(cause)}",
                hint="Give the bytes that `serialize` of the same type wrote.",
            ) from cause
        return plain if codec is None else codec.from_plain_one(plain)

    return encode, decode


def _coded_bytes(type_info: TypeInformation) -> Codec:
    """Return the codec of `create_var_len_serializer`."""
    codec = coded_codec(type_info)

    def encode(value: Any) -> bytes:
        if value is None:
            raise ArgumentError(
                f"None is no value of {type_info!r} and has no coded form",
                hint="Store the absence beside the value.",
            )
        return codec.encode(value)

    return encode, codec.decode


provide_codec(StoredForm.PLAIN, _plain_bytes)
provide_codec(StoredForm.CODED, _coded_bytes)
