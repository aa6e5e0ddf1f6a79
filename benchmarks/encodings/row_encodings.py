"""The encodings that `coded-rows` compares, each from a declared row to bytes and back."""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.encodings.fixed_slots import FixedSlots
from benchmarks.model.errors import SystemMissingError
from penstock.state.log.blob import Compression, compress, decompress, pack, unpack
from penstock.state.schema.stored_form import PlainCodec, plain_codec
from penstock.types import BasicTypeInfo, MapTypeInfo, RowTypeInfo, TypeInformation
from penstock.wire.coded_rows import coded_codec


@dataclass(frozen=True, slots=True)
class Encoded:
    """Rows as bytes.

    Attributes:
        parts: One per row, or all rows as one.
        compressed: Number of the compression and size before it; None if it is not compressed.
    """

    parts: list[bytes]
    compressed: tuple[int, int] | None = None

    @property
    def size_bytes(self) -> int:
        """The size of all."""
        return sum(map(len, self.parts))


@dataclass(frozen=True, slots=True)
class RowEncoding:
    """One way to write rows.

    Attributes:
        encode: Rows to bytes.
        decode: The inverse.
    """

    encode: Callable[[list[Any]], Encoded]
    decode: Callable[[Encoded], list[Any]]


Make = Callable[[RowTypeInfo], RowEncoding]
"""Makes the encoding for rows of a type."""


def coded(row_type: RowTypeInfo) -> RowEncoding:
    """Return coded rows, one by one."""
    codec = coded_codec(row_type)
    one, back = codec.encode, codec.decode
    return _one_by_one(one, back)


def coded_together(row_type: RowTypeInfo) -> RowEncoding:
    """Return coded rows packed in one pickle, as the change log and snapshots have them."""
    codec = coded_codec(row_type)
    return RowEncoding(
        lambda rows: Encoded([pickle.dumps(pack(codec.encode_all(rows)), 5)]),
        lambda encoded: codec.decode_all(unpack(pickle.loads(encoded.parts[0]))),
    )


def pickled(row_type: RowTypeInfo) -> RowEncoding:
    """Return pickles of plain rows, one by one, as the local copy of state has them."""
    plain = _plain(row_type)
    return _one_by_one(
        lambda row: pickle.dumps(plain.to_plain_one(row), 5),
        lambda data: plain.from_plain_one(pickle.loads(data)),
    )


def pickled_together(row_type: RowTypeInfo) -> RowEncoding:
    """Return plain rows in one pickle, as the change log and snapshots have them."""
    plain = _plain(row_type)
    return RowEncoding(
        lambda rows: Encoded([pickle.dumps(plain.to_plain(rows), 5)]),
        lambda encoded: plain.from_plain(pickle.loads(encoded.parts[0])),
    )


def compressed(together: Make, compression: Compression) -> Make:
    """Return what writes rows in one pickle and compresses it, as `state.compression` does.

    Args:
        together: Makes what writes all rows as one.
        compression: Not NONE.
    """

    def make(row_type: RowTypeInfo) -> RowEncoding:
        inner = together(row_type)

        def encode(rows: list[Any]) -> Encoded:
            (body,) = inner.encode(rows).parts
            number, small = compress(body, compression)
            return Encoded([small], (number, len(body)))

        def decode(encoded: Encoded) -> list[Any]:
            assert encoded.compressed is not None
            body = decompress(*encoded.compressed, memoryview(encoded.parts[0]))
            return inner.decode(Encoded([bytes(body)]))

        return RowEncoding(encode, decode)

    return make


def fixed_slots(row_type: RowTypeInfo) -> RowEncoding:
    """Return rows with a slot of eight bytes per field."""
    slots = FixedSlots(row_type)
    return _one_by_one(slots.encode, slots.decode)


def msgspec_rows(row_type: RowTypeInfo) -> RowEncoding:
    """Return MessagePack arrays.

    Raises:
        SystemMissingError: msgspec is not installed.
    """
    msgpack = _module("msgspec.msgpack", "msgspec")
    plain = _plain(row_type)
    write = msgpack.Encoder().encode
    read = msgpack.Decoder(_plain_type(row_type)).decode
    return _one_by_one(
        lambda row: write(plain.to_plain_one(row)), lambda data: plain.from_plain_one(read(data))
    )


def avro(row_type: RowTypeInfo) -> RowEncoding:
    """Return the Avro bytes of fastavro, with every field nullable as in Spark's `to_avro`.

    Raises:
        SystemMissingError: fastavro is not installed.
    """
    fastavro = _module("fastavro", "fastavro")
    schema = fastavro.parse_schema(_avro_schema(row_type, "row"))

    def write(row: Any) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, row.as_dict(recursive=True))
        return out.getvalue()

    def read(data: bytes) -> Any:
        # Coerced, since it gives dicts where a row has rows.
        return row_type.coerce(fastavro.schemaless_reader(io.BytesIO(data), schema, schema))

    return _one_by_one(write, read)


def spark_avro(_: RowTypeInfo) -> RowEncoding:
    """Say that it cannot be measured.

    Raises:
        SystemMissingError: Always.
    """
    raise SystemMissingError(
        "to_avro needs the package spark-avro, which PySpark does not ship, and works on columns in "
        "the JVM: a row alone has no time there",
        hint="See avro-fastavro, a stand-in that writes the same bytes.",
    )


def _one_by_one(encode: Callable[[Any], bytes], decode: Callable[[bytes], Any]) -> RowEncoding:
    return RowEncoding(
        lambda rows: Encoded(list(map(encode, rows))),
        lambda encoded: list(map(decode, encoded.parts)),
    )


def _plain(row_type: RowTypeInfo) -> PlainCodec:
    codec = plain_codec(row_type)
    assert codec is not None  # rows are never their own plain form
    return codec


def _module(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as cause:
        raise SystemMissingError(
            f"the package {package} is not installed", hint=f"pip install {package}"
        ) from cause


def _plain_type(type_info: TypeInformation) -> Any:
    """Return the Python type of plain values, for a typed decoder."""
    if isinstance(type_info, RowTypeInfo):
        parts = tuple(_plain_type(field) | None for field in type_info.field_types)
        return tuple.__class_getitem__(parts)
    if isinstance(type_info, MapTypeInfo):
        parts = (_plain_type(type_info.key_type), _plain_type(type_info.value_type))
        return dict.__class_getitem__(parts)
    assert isinstance(type_info, BasicTypeInfo)
    return type_info.python_class


_AVRO_NAMES = {"String": "string", "Long": "long"}


def _avro_schema(type_info: TypeInformation, name: str) -> Any:
    if isinstance(type_info, RowTypeInfo):
        named = zip(type_info.field_names, type_info.field_types, strict=True)
        fields = [
            {"name": field, "type": ["null", _avro_schema(part, f"{name}_{field}")]}
            for field, part in named
        ]
        return {"type": "record", "name": name, "fields": fields}
    if isinstance(type_info, MapTypeInfo):
        return {"type": "map", "values": ["null", _avro_schema(type_info.value_type, name)]}
    return _AVRO_NAMES.get(repr(type_info), "int")
