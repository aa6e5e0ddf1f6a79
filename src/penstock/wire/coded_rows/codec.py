"""One codec per type. Its functions are generated at the first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

from penstock.errors import ArgumentError
from penstock.types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.wire.coded_rows.columns import MIN_ROWS, decode_columns, is_columnar
from penstock.wire.coded_rows.decoders import DecoderSource
from penstock.wire.coded_rows.encoders import EncoderSource, is_repeated
from penstock.wire.coded_rows.leaves import leaf_of

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]

_SEQUENCES = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)


# CodedRowData, rule 6.
class CodedCodec:
    """Encodes values of one type as coded rows and decodes them; see the package.

    Values must have the declared form of the type. None has no bytes; callers store it separately.

    Attributes:
        type_info: The type.
        encode: Value to bytes.
    """

    def __init__(self, type_info: TypeInformation, *, tuples_hold_none: bool = False) -> None:
        self.type_info = type_info
        self._tuples_hold_none = tuples_hold_none
        self.encode, self.encoder_source = _encoder(type_info, is_key=False)

    @cached_property
    def encode_key(self) -> Encode:
        """Value to its canonical bytes.

        Raises:
            KeyTypeError: Values of the type have no canonical form.
        """
        return _encoder(self.type_info, is_key=True)[0]

    @cached_property
    def _read(self) -> Callable[[bytes, int, int], Any]:
        made = DecoderSource(tuples_hold_none=self._tuples_hold_none)
        name = made.message(self.type_info)
        names, self.decoder_source = made.source.compile(f"decode {self.type_info!r}")
        read: Callable[[bytes, int, int], Any] = names[name]
        return read

    def decode(self, data: bytes) -> Any:
        """Return the value of some bytes.

        Raises:
            DecodeError: They are the bytes of no value; the error has the position.
        """
        return self._read(data, 0, len(data))

    def encode_all(self, values: list[Any]) -> list[bytes | None]:
        """Return the bytes of many values; None stays None."""
        encode = self.encode
        return [None if value is None else encode(value) for value in values]

    def decode_all(self, stored: list[bytes | None]) -> list[Any]:
        """Return the values of the result of `encode_all`.

        Raises:
            DecodeError: See `decode`.
        """
        if len(stored) >= MIN_ROWS and is_columnar(self.type_info):
            found = self._decode_columns(stored)
            if found is not None:
                return found
        read = self._read
        return [None if data is None else read(data, 0, len(data)) for data in stored]

    def _decode_columns(self, stored: list[bytes | None]) -> list[Any] | None:
        present = [data for data in stored if data is not None]
        values = decode_columns(self.type_info, present)
        if values is None or len(present) == len(stored):
            return values
        rest = iter(values)
        return [None if data is None else next(rest) for data in stored]

    def field(self, position: int) -> Decode:
        """Return a reader of one field of a row or tuple; it does not read later fields.

        Raises:
            ArgumentError: There is no such field.
        """
        return _field_reader(self.type_info, position)


def _encoder(type_info: TypeInformation, *, is_key: bool) -> tuple[Encode, str]:
    """Return the encoder of a type, and its source."""
    what = f"{'key' if is_key else 'encode'} {type_info!r}"
    made = EncoderSource(is_key=is_key)

    def lenient(value: Any) -> bytes:
        # compiled at the first string with a lone surrogate
        return _lenient(type_info, is_key=is_key)(value)

    name = made.entry(type_info, lenient)
    names, text = made.source.compile(what)
    return names[name], text


@cache
def _lenient(type_info: TypeInformation, *, is_key: bool) -> Encode:
    """Return the encoder of values whose strings may have lone surrogates."""
    made = EncoderSource(is_key=is_key, lenient=True)
    name = made.message(type_info)
    names, _ = made.source.compile(f"lenient {type_info!r}")
    encode: Encode = names[name]
    return encode


# CodedRowData, rule 4.
@cache
def coded_codec(type_info: TypeInformation, *, tuples_hold_none: bool = False) -> CodedCodec:
    """Return the cached codec of a type.

    Args:
        type_info: The type.
        tuples_hold_none: Whether fields of tuples may be None. Those of users' tuples may not, but
            the second field of a value with a time-to-live may.

    Raises:
        ArgumentError: The type, or a component type, is no type of `Types`.
    """
    if not has_coded_form(type_info):
        raise ArgumentError(
            f"values of {type_info!r} have no coded form",
            hint="Use one of the types that `Types` makes.",
        )
    return CodedCodec(type_info, tuples_hold_none=tuples_hold_none)


@cache
def has_coded_form(type_info: TypeInformation) -> bool:
    """Return whether the format has an encoding of a type and of all its component types."""
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return all(map(has_coded_form, type_info.field_types))
    if isinstance(type_info, MapTypeInfo):
        return has_coded_form(type_info.key_type) and has_coded_form(type_info.value_type)
    if leaf_of(type_info) is not None:
        return True
    return isinstance(type_info, _SEQUENCES) and has_coded_form(type_info.element_type)


@cache
def _field_reader(type_info: TypeInformation, position: int) -> Decode:
    fields = getattr(type_info, "field_types", ())
    if not 0 <= position < len(fields):
        raise ArgumentError(
            f"{type_info!r} has no field at position {position}",
            hint=f"Give 0 to {len(fields) - 1}." if fields else "Only rows and tuples have fields.",
        )
    made = DecoderSource()
    name = made.one_field(fields[position], position)
    names, _ = made.source.compile(f"field {position} of {type_info!r}")
    read: Decode = names[name]
    return read


__all__ = ["CodedCodec", "coded_codec", "has_coded_form", "is_repeated"]
