"""Rows as lines of CSV, for `map` and for connectors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import Any, ClassVar, Self

from penstock.config.parse import zone_named
from penstock.connectors.rows.json_rows import checked_row_type
from penstock.connectors.rows.serialization import DeserializationSchema, SerializationSchema
from penstock.errors import ArgumentError, DecodeError, TypeMismatchError
from penstock.types import Row, RowTypeInfo, TypeInformation
from penstock.types.row import row_factory
from penstock.wire.text import CsvForm, CsvLines, TextRules, csv_lines, shown, text_of


@dataclass(frozen=True, slots=True)
class CsvRowSerializationSchema(SerializationSchema):
    r"""Writes rows as lines of CSV.

    Attributes:
        row_type: Type of the rows.
        form: The syntax.

    Example:
        >>> row_type = Types.ROW([Types.STRING(), Types.INT()])
        >>> schema = CsvRowSerializationSchema.Builder(row_type).set_field_delimiter(";").build()
        >>> schema.serialize(Row("ann", 5))
        b'ann;5\n'
    """

    Builder: ClassVar[type[CsvRowSerializationSchemaBuilder]]
    row_type: RowTypeInfo
    form: CsvForm
    _lines: CsvLines = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the codec of the lines."""
        object.__setattr__(self, "_lines", csv_lines(self.row_type, self.form))

    def serialize(self, element: Any) -> bytes:
        """Return the line of a row."""
        try:
            line = self._lines.write(list(self.row_type.coerce(element)))
        except ValueError as cause:
            raise TypeMismatchError(
                f"{element!r} cannot be written as CSV of type {self.row_type!r}: {cause}",
                hint="Correct the record or its type. Set a quote character, an escape character or a null "
                "literal: without it two values have the same text.",
            ) from cause
        return f"{line}{self.form.line_delimiter}".encode()


@dataclass(frozen=True, slots=True)
class CsvRowDeserializationSchema(DeserializationSchema):
    """Reads lines of CSV as rows.

    Attributes:
        row_type: Type of the rows; fields are matched by position.
        form: The syntax.
        errors_skip: Return None for a line that cannot be read; otherwise it is an error.
        zone: Zone of a timestamp without one, where the type is a point in time.

    Example:
        >>> row_type = Types.ROW([Types.STRING(), Types.INT()])
        >>> CsvRowDeserializationSchema.Builder(row_type).build().deserialize(b"ann,5")
        Row(f0='ann', f1=5)
    """

    Builder: ClassVar[type[CsvRowDeserializationSchemaBuilder]]
    row_type: RowTypeInfo
    form: CsvForm
    errors_skip: bool = False
    zone: tzinfo = UTC
    _lines: CsvLines = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the codec of the lines."""
        lines = csv_lines(self.row_type, self.form, TextRules(zone=self.zone))
        object.__setattr__(self, "_lines", lines)

    def deserialize(self, message: bytes | str) -> Row | None:
        """Return the row in `message`; None for a comment, and for errors that are ignored."""
        try:
            text = text_of(message)
            if self.form.comments and text.startswith("#"):
                return None
            (row,) = row_factory(self.row_type.field_names)((self._lines.read(text),))
        except ValueError as cause:
            if self.errors_skip:
                return None
            raise DecodeError(
                f"{shown(message)} is not CSV of type {self.row_type!r}: {cause}",
                hint="Correct the type, or call set_ignore_parse_errors(True) on the builder and "
                "filter out None.",
            ) from cause
        return row

    def get_produced_type(self) -> TypeInformation:
        """Return the row type."""
        return self.row_type


class _Builder:
    """Base of both builders."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type = checked_row_type(type_info)
        self._form = CsvForm()

    def set_array_element_delimiter(self, delimiter: str) -> Self:
        """Set the delimiter of the elements of an array to `delimiter`."""
        return self._set(array_delimiter=delimiter)

    def set_quote_character(self, c: str) -> Self:
        """Set the quote character, around fields that need it, to `c`."""
        return self._set(quote=c)

    def set_escape_character(self, c: str) -> Self:
        """Set the escape character, before characters meant literally, to `c`."""
        return self._set(escape=c)

    def _set(self, **values: Any) -> Self:
        for name, value in values.items():
            single = name in {"delimiter", "quote", "escape"}
            if not isinstance(value, (str, bool)) or (single and len(str(value)) != 1):
                raise ArgumentError.here(
                    f"the CSV setting {name} is {value!r}",
                    hint="Pass a single character." if single else "Pass a string.",
                )
        self._form = replace(self._form, **values)
        return self


class CsvRowSerializationSchemaBuilder(_Builder):
    r"""Builds a `CsvRowSerializationSchema`. Setters raise `ArgumentError`.

    Example:
        >>> builder = CsvRowSerializationSchema.Builder(Types.ROW([Types.STRING()]))
        >>> builder.set_null_literal("NULL").build().serialize(Row(None))
        b'NULL\n'
        >>> orders = Types.ROW([Types.STRING(), Types.LIST(Types.INT())])
        >>> builder = CsvRowSerializationSchema.Builder(orders).set_field_delimiter("|")
        >>> builder = builder.set_array_element_delimiter("+").set_line_delimiter("")
        >>> builder = builder.set_quote_character("'").set_escape_character("?")
        >>> builder.build().serialize(Row("a|b", [1, 2]))
        b"'a|b'|1+2"
        >>> builder.disable_quote_character().build().serialize(Row("a b", [1, 2]))
        b'a b|1+2'
    """

    def set_field_delimiter(self, c: str) -> Self:
        """Set the delimiter of fields to `c`, one character."""
        return self._set(delimiter=c)

    def set_line_delimiter(self, delimiter: str) -> Self:
        """Set the end of lines to `delimiter`, which may be empty."""
        return self._set(line_delimiter=delimiter)

    def disable_quote_character(self) -> Self:
        """Quote nothing."""
        self._form = replace(self._form, quote=None)
        return self

    def set_null_literal(self, s: str) -> Self:
        """Set the text that stands for None to `s`."""
        return self._set(null_literal=s)

    def build(self) -> CsvRowSerializationSchema:
        """Return the schema."""
        return CsvRowSerializationSchema(self._type, self._form)


CsvRowSerializationSchema.Builder = CsvRowSerializationSchemaBuilder


class CsvRowDeserializationSchemaBuilder(_Builder):
    """Builds a `CsvRowDeserializationSchema`. Setters raise `ArgumentError`.

    Example:
        >>> builder = CsvRowDeserializationSchema.Builder(Types.ROW([Types.STRING()]))
        >>> builder.set_null_literal("NULL").build().deserialize(b"NULL")
        Row(f0=None)
        >>> orders = Types.ROW([Types.STRING(), Types.LIST(Types.INT())])
        >>> builder = CsvRowDeserializationSchema.Builder(orders).set_field_delimiter("|")
        >>> builder = builder.set_array_element_delimiter("+").set_quote_character("'")
        >>> builder = builder.set_escape_character("?").set_allow_comments(True)
        >>> schema = builder.set_ignore_parse_errors(True).build()
        >>> schema.deserialize(b"'a|b'|1+2")
        Row(f0='a|b', f1=[1, 2])
        >>> schema.deserialize(b"# note") is schema.deserialize(b"a|x") is None
        True
        >>> builder = CsvRowDeserializationSchema.Builder(Types.ROW([Types.INSTANT()]))
        >>> builder.set_time_zone("+05:30").build().deserialize(b"1970-01-01 05:30:00")
        Row(f0=Instant<0, 0>)
    """

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__(type_info)
        self._errors_skip = False
        self._zone: tzinfo = UTC

    def set_field_delimiter(self, delimiter: str) -> Self:
        """Set the delimiter of fields to `delimiter`, one character."""
        return self._set(delimiter=delimiter)

    def set_allow_comments(self, allow_comments: bool) -> Self:  # noqa: FBT001 - PyFlink's
        """Skip lines that begin with `#`, if `allow_comments`."""
        return self._set(comments=allow_comments)

    def set_null_literal(self, null_literal: str) -> Self:
        """Set the text that stands for None to `null_literal`."""
        return self._set(null_literal=null_literal)

    def set_ignore_parse_errors(
        self,
        ignore_parse_errors: bool,  # noqa: FBT001 - PyFlink's
    ) -> Self:
        """Return None for a line that cannot be read, if `ignore_parse_errors`."""
        self._errors_skip = bool(ignore_parse_errors)
        return self

    def set_time_zone(self, zone: str) -> Self:
        """Read timestamps without a zone in `zone`, where the type is a point in time; without this call in UTC.

        Raises:
            ConfigError: There is no such zone.
        """
        self._zone = zone_named(zone)
        return self

    def build(self) -> CsvRowDeserializationSchema:
        """Return the schema."""
        return CsvRowDeserializationSchema(self._type, self._form, self._errors_skip, self._zone)


CsvRowDeserializationSchema.Builder = CsvRowDeserializationSchemaBuilder
