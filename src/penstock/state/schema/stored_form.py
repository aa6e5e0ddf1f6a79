"""The type of one stored entry of a schema, and its stored form.

value, reducing, aggregating, map, broadcast   the value
list                                           a chunk: a list of values
timers                                         True
with a time-to-live                            (last access in ms, value) for each value

The stored form is plain (`penstock.state.schema.plain`) or coded, as the schema says. The coded form is
the bytes of the whole entry, and None for None.
"""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

from penstock.errors import ArgumentError, DecodeError
from penstock.state.schema.entry_schema import StateSchema
from penstock.state.schema.plain import PlainCodec, plain_codec
from penstock.types import TypeInformation, Types
from penstock.types.value_serializer import Codec, StoredForm, provide_codec
from penstock.user_failure import raise_interrupt, words_of
from penstock.wire.coded_rows import coded_codec


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
    made = iter(codec.to_plain(rest))
    return [next(made) if data is None else data for data in coded]


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
