"""One codec per type. Its functions are generated at the first use, and decode many rows together where that is faster.

Together, rows are decoded field by field, with NumPy: all rows are in one buffer, and every row has a cursor. For
each field the cursors at its tag read it and move on: a few array operations instead of a dozen bytecodes per row.
If a row has a kind, an unknown field or damaged bytes, the generated decoders read all rows one by one instead;
their errors name the row and the position.

`python -m benchmarks coded-rows` measures the gain: `coded` decodes rows one by one, `coded-together`
together where that is faster. That is so for rows of mostly numbers. A string costs a Python object either way,
so a type is columnar only if at most a third of its fields are strings and none needs a Python
call (lists, maps, dates, decimals). Decoding few rows together is slower: see `MIN_ROWS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import ArgumentError
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
    row_factory,
)
from penstock.wire.coded_rows.decoders import DecoderSource
from penstock.wire.coded_rows.encoders import EncoderSource, is_repeated
from penstock.wire.coded_rows.leaves import Leaf, leaf_of
from penstock.wire.coded_rows.wire_types import MAX_VARINT_BYTES, WireType, field_number, tag

MIN_ROWS = 512
"""Fewer rows are decoded faster one by one."""

_PADDING = bytes(16)  # so that no cursor is ever outside of the buffer
_INTEGERS = frozenset({"Byte", "Short", "Integer", "Long"})
_VECTORS = _INTEGERS | {"Boolean", "Float", "Double", "String"}
_MAX_FIELDS = 2046  # tags of one or two bytes
_FLOATS = {WireType.FIXED32: ("<f4", 4), WireType.FIXED64: ("<f8", 8)}
_TEXT = "utf-8", "surrogatepass"

Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint64]


class _UnusualError(Exception):
    """The rows must be decoded one by one."""


@cache
def is_columnar(type_info: TypeInformation) -> bool:
    """Return whether many rows of a type are decoded faster together."""
    if not isinstance(type_info, (RowTypeInfo, TupleTypeInfo)) or not can_be_read(type_info):
        return False
    names = _leaf_names(type_info)
    return 3 * names.count("String") <= len(names)


def can_be_read(type_info: TypeInformation) -> bool:
    """Return whether `decode_columns` supports a type and its component types."""
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        few = len(type_info.field_types) <= _MAX_FIELDS
        return few and all(map(can_be_read, type_info.field_types))
    return isinstance(type_info, BasicTypeInfo) and type_info.name in _VECTORS


def _leaf_names(type_info: Any) -> list[str]:
    if isinstance(type_info, BasicTypeInfo):
        return [type_info.name]
    return [name for field in type_info.field_types for name in _leaf_names(field)]


def decode_columns(type_info: TypeInformation, stored: list[bytes]) -> list[Any] | None:
    """Return the values of rows or tuples; None if they must be decoded one by one."""
    sizes = np.fromiter(map(len, stored), np.int64, len(stored))
    ends = np.cumsum(sizes)
    try:
        return _Buffer(b"".join(stored)).records(type_info, ends - sizes, ends)
    except (_UnusualError, UnicodeDecodeError):
        return None


class _Buffer:
    """The bytes of all rows, concatenated."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._bytes = np.frombuffer(data + _PADDING, np.uint8)
        # One character per byte, so that text that is ASCII is a slice of it.
        self._text = data.decode("latin-1")
        is_high = self._bytes >= 0x80  # noqa: PLR2004 - beyond ASCII
        self._high = None if data.isascii() else np.cumsum(is_high, dtype=np.int64)

    def records(self, type_info: Any, cursors: Places, ends: Places) -> list[Any]:
        """Return the rows or tuples at some positions."""
        columns: list[Sequence[Any]] = []
        for position, field in enumerate(type_info.field_types):
            cursors, column = self._column(field, field_number(position), cursors, ends)
            columns.append(column)
        if not np.array_equal(cursors, ends):
            raise _UnusualError
        if isinstance(type_info, TupleTypeInfo):
            if any(None in column for column in columns):
                raise _UnusualError
            return list(zip(*columns, strict=True))
        return list(row_factory(type_info.field_names)(map(list, zip(*columns, strict=True))))

    def _column(
        self, field: TypeInformation, number: int, cursors: Places, ends: Places
    ) -> tuple[Places, list[Any]]:
        """Return the cursors after a field, and its values; None for rows without it."""
        leaf = leaf_of(field)
        own = tag(number, WireType.LENGTH_DELIMITED if leaf is None else leaf.wire)
        is_here = cursors < ends
        for place, byte in enumerate(own):
            is_here &= self._bytes[np.minimum(cursors, len(self._data)) + place] == byte
        if is_here.all():
            return self._values(field, leaf, cursors + len(own), ends)
        here = np.flatnonzero(is_here)
        after, values = self._values(field, leaf, cursors[here] + len(own), ends[here])
        moved = cursors.copy()
        moved[here] = after
        column: list[Any] = [None] * len(cursors)
        for row, value in zip(here.tolist(), values, strict=True):
            column[row] = value
        return moved, column

    def _values(
        self, field: Any, leaf: Leaf | None, cursors: Places, ends: Places
    ) -> tuple[Places, list[Any]]:
        if leaf is not None and leaf.wire in _FLOATS:
            layout, size = _FLOATS[leaf.wire]
            _check(cursors + size <= ends)
            raw = self._bytes[cursors[:, None] + np.arange(size)]
            return cursors + size, raw.reshape(-1).view(layout).astype(np.float64).tolist()
        numbers, after = self._varints(cursors)
        if leaf is not None and leaf.wire is WireType.VARINT:
            _check(after <= ends)
            if leaf.limit < 1 << 64:
                _check(numbers < np.uint64(leaf.limit))
            if field.name == "Boolean":
                return after, (numbers == 1).tolist()
            signs = (numbers & np.uint64(1)).astype(np.int64)
            return after, ((numbers >> np.uint64(1)).astype(np.int64) ^ -signs).tolist()
        _check(numbers <= np.uint64(len(self._data)))
        stops = after + numbers.astype(np.int64)
        _check(stops <= ends)
        if leaf is None:
            return stops, self.records(field, after, stops)
        return stops, self._strings(after, stops)

    def _strings(self, starts: Places, stops: Places) -> list[str]:
        pairs = zip(starts.tolist(), stops.tolist(), strict=True)
        if self._high is None or not self._has_high(self._high, starts, stops):
            text = self._text
            return [text[start:stop] for start, stop in pairs]
        data = self._data
        return [data[start:stop].decode(*_TEXT) for start, stop in pairs]

    @staticmethod
    def _has_high(high: Places, starts: Places, stops: Places) -> bool:
        filled = stops > starts
        before = np.where(starts > 0, high[starts - 1], 0)
        return bool((high[stops - 1] > before)[filled].any())

    def _varints(self, cursors: Places) -> tuple[Numbers, Places]:
        """Return the varints at some positions, and the positions after them."""
        first = self._bytes[cursors]
        numbers = (first & 0x7F).astype(np.uint64)
        after = cursors + 1
        open_ = np.flatnonzero(first >= 0x80)  # noqa: PLR2004 - the bit that is set if more follows
        for place in range(1, MAX_VARINT_BYTES):
            if not len(open_):
                return numbers, after
            _check(cursors[open_] + place < len(self._data))
            byte = self._bytes[cursors[open_] + place]
            numbers[open_] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * place)
            after[open_] += 1
            if place == MAX_VARINT_BYTES - 1:
                _check(byte <= 1)
            _check(byte != 0)  # longer than it has to be
            open_ = open_[byte >= 0x80]  # noqa: PLR2004
        if len(open_):
            raise _UnusualError
        return numbers, after


def _check(holds: npt.NDArray[np.bool_]) -> None:
    if not holds.all():
        raise _UnusualError


Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]

_SEQUENCES = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)


# CodedRowData, rule 6.
class CodedCodec:
    """Encodes values of one type as coded rows and decodes them; see the package.

    Values must have the declared form of the type. None has no bytes; callers store it separately.
    """

    def __init__(self, type_info: TypeInformation, *, tuples_hold_none: bool = False) -> None:
        self.type_info = type_info
        self._tuples_hold_none = tuples_hold_none
        self.encode, self.encoder_source = _encoder(type_info, is_key=False)

    @cached_property
    def encode_key(self) -> Encode:
        """Value to its canonical bytes."""
        return _encoder(self.type_info, is_key=True)[0]

    @cached_property
    def _read(self) -> Callable[[bytes, int, int], Any]:
        decoder = DecoderSource(tuples_hold_none=self._tuples_hold_none)
        name = decoder.message(self.type_info)
        names, self.decoder_source = decoder.source.compile(f"decode {self.type_info!r}")
        read: Callable[[bytes, int, int], Any] = names[name]
        return read

    def decode(self, data: bytes) -> Any:
        """Return the value of some bytes."""
        return self._read(data, 0, len(data))

    def encode_all(self, values: list[Any]) -> list[bytes | None]:
        """Return the bytes of many values; None stays None."""
        encode = self.encode
        return [None if value is None else encode(value) for value in values]

    def decode_all(self, stored: list[bytes | None]) -> list[Any]:
        """Return the values of the result of `encode_all`."""
        if len(stored) >= MIN_ROWS and is_columnar(self.type_info):
            values = self._decode_columns(stored)
            if values is not None:
                return values
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
        """Return a reader of one field of a row or tuple; it does not read later fields."""
        return _field_reader(self.type_info, position)


def _encoder(type_info: TypeInformation, *, is_key: bool) -> tuple[Encode, str]:
    """Return the encoder of a type, and its source."""
    what = f"{'key' if is_key else 'encode'} {type_info!r}"
    encoder = EncoderSource(is_key=is_key)

    def lenient(value: Any) -> bytes:
        # compiled at the first string with a lone surrogate
        return _lenient(type_info, is_key=is_key)(value)

    name = encoder.entry(type_info, lenient)
    names, text = encoder.source.compile(what)
    return names[name], text


@cache
def _lenient(type_info: TypeInformation, *, is_key: bool) -> Encode:
    """Return the encoder of values whose strings may have lone surrogates."""
    encoder = EncoderSource(is_key=is_key, lenient=True)
    name = encoder.message(type_info)
    names, _ = encoder.source.compile(f"lenient {type_info!r}")
    encode: Encode = names[name]
    return encode


# CodedRowData, rule 4.
@cache
def coded_codec(type_info: TypeInformation, *, tuples_hold_none: bool = False) -> CodedCodec:
    """Return the cached codec of a type."""
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
    decoder = DecoderSource()
    name = decoder.one_field(fields[position], position)
    names, _ = decoder.source.compile(f"field {position} of {type_info!r}")
    read: Decode = names[name]
    return read


__all__ = ["CodedCodec", "coded_codec", "has_coded_form", "is_repeated"]
