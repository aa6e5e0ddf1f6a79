"""Rows as JSON objects, for `map` and for connectors."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Any, ClassVar

from penstock.config.parse import zone_named
from penstock.connectors.rows.serialization import DeserializationSchema, SerializationSchema
from penstock.errors import ArgumentError, DecodeError, TypeMismatchError
from penstock.types import Row, RowTypeInfo, TypeInformation, Types
from penstock.wire.text import JsonCodec, TextRules, json_codec, shown


@dataclass(frozen=True, slots=True)
class JsonRowSerializationSchema(SerializationSchema):
    """Writes rows as JSON objects, without spaces.

    Attributes:
        type_info: Type of the rows; unnamed fields are `f0`, `f1`, ….

    Example:
        >>> row_type = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.INT()])
        >>> schema = JsonRowSerializationSchema.builder().with_type_info(row_type).build()
        >>> schema.serialize(Row("ann", 5))
        b'{"name":"ann","n":5}'
    """

    Builder: ClassVar[type[JsonRowSerializationSchemaBuilder]]
    type_info: RowTypeInfo
    _codec: JsonCodec = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the codec of the rows."""
        object.__setattr__(self, "_codec", json_codec(self.type_info))

    @staticmethod
    def builder() -> JsonRowSerializationSchemaBuilder:
        """Return a builder."""
        return JsonRowSerializationSchemaBuilder()

    def serialize(self, element: Any) -> bytes:
        """Return the bytes of a row."""
        try:
            return self._codec.write(self.type_info.coerce(element)).encode()
        except ValueError as cause:
            raise TypeMismatchError(
                f"{element!r} cannot be written as JSON of type {self.type_info!r}: {cause}",
                hint="Correct the record, or the type given to with_type_info.",
            ) from cause


class JsonRowSerializationSchemaBuilder:
    """Builds a `JsonRowSerializationSchema`.

    Example:
        >>> row_type = Types.ROW([Types.INT()])
        >>> schema = JsonRowSerializationSchema.builder().with_type_info(row_type).build()
        >>> schema.serialize(Row(5))
        b'{"f0":5}'
    """

    def __init__(self) -> None:
        self._type: RowTypeInfo | None = None

    def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchemaBuilder:
        """Set the type of the rows to `type_info`.

        Raises:
            ArgumentError: It is no row type.
        """
        self._type = checked_row_type(type_info)
        return self

    def build(self) -> JsonRowSerializationSchema:
        """Return the schema.

        Raises:
            ArgumentError: No type was set.
        """
        return JsonRowSerializationSchema(checked_row_type(self._type))


JsonRowSerializationSchema.Builder = JsonRowSerializationSchemaBuilder


@dataclass(frozen=True, slots=True)
class JsonRowDeserializationSchema(DeserializationSchema):
    """Reads JSON objects as rows.

    Attributes:
        row_type: Type of the rows. Fields of the object that it lacks are left out.
        missing_fails: A field that the object lacks is an error, not None.
        errors_skip: An unreadable value becomes None instead of an error.
        zone: Zone of a timestamp without one, where the type is a point in time.

    Example:
        >>> row_type = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.INT()])
        >>> schema = JsonRowDeserializationSchema.builder().type_info(row_type).build()
        >>> schema.deserialize(b'{"name": "ann", "n": 5}').as_dict()
        {'name': 'ann', 'n': 5}
    """

    Builder: ClassVar[type[JsonRowDeserializationSchemaBuilder]]
    row_type: RowTypeInfo
    missing_fails: bool = False
    errors_skip: bool = False
    zone: tzinfo = UTC
    _codec: JsonCodec = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the codec of the rows."""
        rules = TextRules(zone=self.zone)
        codec = json_codec(self.row_type, rules, missing_fails=self.missing_fails)
        object.__setattr__(self, "_codec", codec)

    @staticmethod
    def builder() -> JsonRowDeserializationSchemaBuilder:
        """Return a builder."""
        return JsonRowDeserializationSchemaBuilder()

    def deserialize(self, message: bytes | str) -> Row | None:
        """Return the row in `message`; None for a message with errors that are ignored."""
        try:
            row: Row | None = self._codec.read(message)
        except ValueError as cause:
            if self.errors_skip:
                return None
            raise DecodeError(
                f"{shown(message)} is not JSON of type {self.row_type!r}: {cause}",
                hint="Correct the type, or call ignore_parse_errors() on the builder and filter "
                "out None.",
            ) from cause
        return row

    def get_produced_type(self) -> TypeInformation:
        """Return the row type."""
        return self.row_type


class JsonRowDeserializationSchemaBuilder:
    """Builds a `JsonRowDeserializationSchema`.

    Example:
        >>> builder = JsonRowDeserializationSchema.builder().type_info(Types.ROW([Types.INT()]))
        >>> builder.ignore_parse_errors().build().deserialize(b"no JSON") is None
        True
        >>> schema = '{"type": "object", "properties": {"n": {"type": "number"}}}'
        >>> builder = JsonRowDeserializationSchema.builder().json_schema(schema)
        >>> builder.build().deserialize(b'{"m": 1}')
        Row(n=None)
        >>> builder.fail_on_missing_field().build().deserialize(b'{"n": 1}')
        Row(n=Decimal('1'))
        >>> builder = JsonRowDeserializationSchema.builder().type_info(Types.ROW([Types.INSTANT()]))
        >>> schema = builder.set_time_zone("Asia/Kolkata").build()
        >>> schema.deserialize(b'{"f0": "1970-01-01 05:30:00"}')
        Row(f0=Instant<0, 0>)
    """

    def __init__(self) -> None:
        self._type: RowTypeInfo | None = None
        self._missing_fails = False
        self._errors_skip = False
        self._zone: tzinfo = UTC

    def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchemaBuilder:
        """Set the type of the rows to `type_info`.

        Raises:
            ArgumentError: It is no row type.
        """
        self._type = checked_row_type(type_info)
        return self

    def json_schema(self, json_schema: str) -> JsonRowDeserializationSchemaBuilder:
        """Set the type of the rows from `json_schema`, a JSON schema of an object.

        Integers become BIG_INT and numbers BIG_DEC, as in Flink.

        Raises:
            ArgumentError: It is no schema of an object, or describes what a row cannot contain.
        """
        try:
            self._type = checked_row_type(_type_of_schema(json.loads(json_schema)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as cause:
            raise ArgumentError.here(
                f"the JSON schema {json_schema[:200]!r} cannot be used: {cause}",
                hint="Pass a schema of an object with properties of simple types, or type_info.",
            ) from cause
        return self

    def fail_on_missing_field(self) -> JsonRowDeserializationSchemaBuilder:
        """Make a missing field an error."""
        self._missing_fails = True
        return self

    def ignore_parse_errors(self) -> JsonRowDeserializationSchemaBuilder:
        """Return None for a message that cannot be read."""
        self._errors_skip = True
        return self

    def set_time_zone(self, zone: str) -> JsonRowDeserializationSchemaBuilder:
        """Read timestamps without a zone in `zone`, where the type is a point in time; without this call in UTC.

        Raises:
            ConfigError: There is no such zone.
        """
        self._zone = zone_named(zone)
        return self

    def build(self) -> JsonRowDeserializationSchema:
        """Return the schema.

        Raises:
            ArgumentError: No type was set, or errors are to be both raised and ignored.
        """
        if self._missing_fails and self._errors_skip:
            raise ArgumentError.here(
                "fail_on_missing_field and ignore_parse_errors exclude each other",
                hint="Call one of them.",
            )
        return JsonRowDeserializationSchema(
            checked_row_type(self._type), self._missing_fails, self._errors_skip, self._zone
        )


JsonRowDeserializationSchema.Builder = JsonRowDeserializationSchemaBuilder


def checked_row_type(type_info: TypeInformation | None) -> RowTypeInfo:
    """Return the row type."""
    if isinstance(type_info, RowTypeInfo):
        return type_info
    raise ArgumentError.here(
        f"the type of the rows is {type_info!r}",
        hint="Pass Types.ROW_NAMED(names, types), or Types.ROW(types).",
    )


_OF_SCHEMA: dict[str, Callable[[], TypeInformation]] = {
    "string": Types.STRING,
    "boolean": Types.BOOLEAN,
    "integer": Types.BIG_INT,
    "number": Types.BIG_DEC,
}


def _type_of_schema(schema: dict[str, Any]) -> TypeInformation:
    kind = schema["type"]
    if kind == "object":
        parts = {name: _type_of_schema(part) for name, part in schema["properties"].items()}
        return Types.ROW_NAMED(list(parts), list(parts.values()))
    if kind == "array":
        return Types.OBJECT_ARRAY(_type_of_schema(schema["items"]))
    return _OF_SCHEMA[kind]()
