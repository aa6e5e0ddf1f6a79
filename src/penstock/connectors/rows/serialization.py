"""Schemas convert records to bytes and back, for connectors and `map`."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from penstock.errors import ArgumentError, DecodeError, TypeMismatchError
from penstock.types.base import TypeInformation
from penstock.types.row import Row
from penstock.types.types import Types
from penstock.wire.text import shown


class SerializationSchema(ABC):
    """Converts records to bytes. Use it with `stream.map(schema.serialize)`.

    Example:
        >>> schema = SimpleStringSchema()
        >>> collect(env.from_collection(["a", "b"]).map(schema.serialize))
        [b'a', b'b']
        >>> schema.serialize("a")
        b'a'
    """

    @abstractmethod
    def serialize(self, element: Any) -> bytes:
        """Return the bytes of a record.

        Args:
            element: The record.

        Raises:
            TypeMismatchError: The record cannot be written in this schema.
        """


class DeserializationSchema(ABC):
    """Converts bytes to records. Use it with `stream.map(schema.deserialize)`.

    Example:
        >>> schema = SimpleStringSchema()
        >>> collect(env.from_collection([b"a", b"b"]).map(schema.deserialize))
        ['a', 'b']
        >>> schema.deserialize(b"a"), schema.get_produced_type()
        ('a', String)
    """

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """Return the record in `message`, None to skip it.

        Raises:
            DecodeError: `message` holds no record of this schema.
        """

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""


@dataclass(frozen=True, slots=True)
class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    r"""Converts strings to text and back.

    Attributes:
        charset: Name of the character set.

    Example:
        >>> SimpleStringSchema().serialize("é")
        b'\xc3\xa9'
    """

    charset: str = "UTF-8"

    def __post_init__(self) -> None:
        """Check the character set."""
        try:
            "".encode(self.charset)  # refuses codecs that are none of text, too
        except (LookupError, TypeError) as cause:
            raise ArgumentError.here(
                f"{self.charset!r} is not a character set", hint="Pass a name such as 'UTF-8'."
            ) from cause

    def serialize(self, element: Any) -> bytes:
        """Return the text as bytes."""
        if not isinstance(element, str):
            raise _mismatch("a string", element)
        try:
            return element.encode(self.charset)
        except UnicodeEncodeError as cause:
            raise _mismatch(f"text that {self.charset} has", element) from cause

    def deserialize(self, message: bytes) -> str:
        """Return the text."""
        try:
            return _bytes_of(message).decode(self.charset)
        except UnicodeError as cause:
            raise DecodeError(
                f"{shown(message)} is not text in {self.charset}: {cause}",
                hint="Pass the character set the text was written in.",
            ) from cause

    def get_produced_type(self) -> TypeInformation:
        """Return STRING."""
        return Types.STRING()


@dataclass(frozen=True, slots=True)
class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Passes bytes unchanged.

    Example:
        >>> ByteArraySchema().deserialize(b"abc")
        b'abc'
    """

    def serialize(self, element: Any) -> bytes:
        """Return the bytes."""
        if not isinstance(element, (bytes, bytearray)):
            raise _mismatch("bytes", element)
        return bytes(element)

    def deserialize(self, message: bytes) -> bytes:
        """Return the bytes."""
        return _bytes_of(message)

    def get_produced_type(self) -> TypeInformation:
        """Return PRIMITIVE_ARRAY(BYTE)."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


@dataclass(frozen=True, slots=True)
class RowFieldExtractorSchema(SerializationSchema):
    """Returns the bytes in one field of a row, such as the key of a message.

    Attributes:
        field_index: Position of the field, from 0.

    Example:
        >>> RowFieldExtractorSchema(0).serialize(Row(b"key", b"content"))
        b'key'
    """

    field_index: int

    def __post_init__(self) -> None:
        """Check the position."""
        if type(self.field_index) is not int or self.field_index < 0:
            raise ArgumentError.here(
                f"the field index is {self.field_index!r}",
                hint="Pass the position of the field, from 0.",
            )

    def serialize(self, element: Any) -> bytes:
        """Return the bytes of the field; none for None."""
        if element is None:
            return b""
        values = list(element) if isinstance(element, (Row, tuple)) else []
        if self.field_index >= len(values):
            raise _mismatch(f"field {self.field_index} of rows that have it", element)
        content = values[self.field_index]
        if not isinstance(content, (bytes, bytearray, type(None))):
            raise _mismatch(f"field {self.field_index}, which must be bytes", content)
        return bytes(content or b"")


@dataclass(frozen=True, slots=True)
class Encoder:
    """Encoder of the records of `FileSink.for_row_format`: one line of text.

    Attributes:
        charset_name: Character set of the files.

    Example:
        >>> Encoder.simple_string_encoder().charset_name
        'UTF-8'
    """

    charset_name: str = "UTF-8"

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Return an encoder that writes the form of `print`: `+I[a, 1]` for a declared row.

        Args:
            charset_name: Only UTF-8.

        Raises:
            ArgumentError: The character set is not UTF-8.
        """
        try:
            is_utf8 = codecs.lookup(charset_name).name == "utf-8"
        except (LookupError, TypeError):
            is_utf8 = False
        if not is_utf8:
            raise ArgumentError.here(
                f"files in {charset_name!r} cannot be written",
                hint="Write UTF-8, which is the default.",
            )
        return Encoder()


def _bytes_of(message: object) -> bytes:
    if isinstance(message, (bytes, bytearray, memoryview)):
        return bytes(message)
    raise DecodeError(
        f"{shown(message)} of class {type(message).__name__} is not a message",
        hint="Pass bytes; filter out messages without a value.",
    )


def _mismatch(required: str, value: Any) -> TypeMismatchError:
    return TypeMismatchError(
        f"the schema writes {required}, got {value!r} of type {type(value).__name__}",
        hint="Map the records to what the schema writes first.",
    )
