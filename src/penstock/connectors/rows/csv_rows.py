"""Rows as lines of CSV, for `map` and for connectors."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from penstock.connectors.rows.json_rows import checked_row_type
from penstock.connectors.rows.serialization import DeserializationSchema, SerializationSchema
from penstock.connectors.rows.text_values import FROM_TEXT
from penstock.errors import ArgumentError, CallSite, DecodeError, TypeMismatchError
from penstock.types import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    ListTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    Row,
    RowTypeInfo,
    TypeInformation,
)

_ARRAYS = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How a line looks.

    Attributes:
        delimiter: Between fields.
        line_delimiter: Behind the last, when written.
        array_delimiter: Between the elements of an array.
        quote: Around fields that need it; None quotes nothing.
        escape: Before a character that is meant literally; None has none.
        null_literal: Text of None; None writes nothing for it.
        comments: Lines that begin with `#` are skipped.
    """

    delimiter: str = ","
    line_delimiter: str = "\n"
    array_delimiter: str = ";"
    quote: str | None = '"'
    escape: str | None = None
    null_literal: str | None = None
    comments: bool = False

    def dialect(self) -> dict[str, Any]:
        """Return the arguments of `csv.reader` and `csv.writer`."""
        quoting: Literal[0, 3] = csv.QUOTE_NONE if self.quote is None else csv.QUOTE_MINIMAL
        return {
            "delimiter": self.delimiter,
            "quotechar": self.quote,
            "escapechar": self.escape,
            "quoting": quoting,
            "doublequote": self.escape is None,
        }


@dataclass(frozen=True, slots=True)
class CsvRowSerializationSchema(SerializationSchema):
    """Writes rows as lines. Build one with `CsvRowSerializationSchema.Builder(type_info)`.

    Attributes:
        row_type: Type of the rows.
        form: How lines look.
    """

    Builder: ClassVar[type[CsvRowSerializationSchemaBuilder]]
    row_type: RowTypeInfo
    form: CsvForm

    def serialize(self, element: Any) -> bytes:
        """Return the line of a row."""
        out = io.StringIO()
        try:
            row = self.row_type.coerce(element)
            writer = csv.writer(out, lineterminator=self.form.line_delimiter, **self.form.dialect())
            writer.writerow([self._text(value) for value in row])
        except (ValueError, TypeError, csv.Error) as cause:
            raise TypeMismatchError(
                f"{element!r} cannot be written as CSV of type {self.row_type!r}: {cause}",
                hint="Correct the record or its type; without a quote character, set an escape "
                "character.",
            ) from cause
        return out.getvalue().encode()

    def _text(self, value: Any) -> str:
        if value is None:
            return self.form.null_literal or ""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (list, tuple, Row)):
            return self.form.array_delimiter.join([self._text(item) for item in value])
        return str(value)


@dataclass(frozen=True, slots=True)
class CsvRowDeserializationSchema(DeserializationSchema):
    """Reads lines as rows. Build one with `CsvRowDeserializationSchema.Builder(type_info)`.

    Attributes:
        row_type: Type of the rows; fields are matched by position.
        form: How lines look.
        errors_skip: What cannot be read becomes None instead of an error.
    """

    Builder: ClassVar[type[CsvRowDeserializationSchemaBuilder]]
    row_type: RowTypeInfo
    form: CsvForm
    errors_skip: bool = False

    def deserialize(self, message: bytes | str) -> Row | None:
        """Return the row in a line; None for a comment, and for errors that are ignored."""
        try:
            text = message if isinstance(message, str) else bytes(message).decode()
            if self.form.comments and text.lstrip().startswith("#"):
                return None
            lines = list(csv.reader([text.rstrip("\r\n")], strict=True, **self.form.dialect()))
            return self.row_type.coerce(self._values(lines[0] if lines else []))
        except (ValueError, csv.Error) as cause:
            if self.errors_skip:
                return None
            raise DecodeError(
                f"{message[:200]!r} is not CSV of type {self.row_type!r}: {cause}",
                hint="Correct the type, or call set_ignore_parse_errors(True) on the builder and "
                "filter out None.",
            ) from cause

    def get_produced_type(self) -> TypeInformation:
        """Return the row type."""
        return self.row_type

    def _values(self, fields: list[str]) -> list[Any]:
        types = self.row_type.field_types
        if len(fields) != len(types):
            raise ValueError(f"it has {len(fields)} fields")
        return [self._value(t, part) for t, part in zip(types, fields, strict=True)]

    def _value(self, type_info: TypeInformation, text: str) -> Any:
        if text == self.form.null_literal:
            return None
        if isinstance(type_info, _ARRAYS):
            parts = text.split(self.form.array_delimiter) if text else []
            return [self._value(type_info.element_type, part) for part in parts]
        name = type_info.name if isinstance(type_info, BasicTypeInfo) else "String"
        if not text and name != "String":
            return None
        return FROM_TEXT.get(name, str)(text)


class _Builder:
    """What both builders set."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type = checked_row_type(type_info)
        self._form = CsvForm()

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            single = name in {"delimiter", "quote", "escape"}
            if not isinstance(value, (str, bool)) or (single and len(str(value)) != 1):
                raise ArgumentError(
                    f"the CSV setting {name} is {value!r}",
                    hint="Pass a single character." if single else "Pass a string.",
                    origin=CallSite.of_caller(),
                )
        self._form = replace(self._form, **values)


class CsvRowSerializationSchemaBuilder(_Builder):
    """Collects what a `CsvRowSerializationSchema` needs. Setters raise ArgumentError."""

    def set_field_delimiter(self, c: str) -> CsvRowSerializationSchemaBuilder:
        """Set what is between fields: one character."""
        self._set(delimiter=c)
        return self

    def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchemaBuilder:
        """Set what is behind a line; may be empty."""
        self._set(line_delimiter=delimiter)
        return self

    def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchemaBuilder:
        """Set what is between the elements of an array."""
        self._set(array_delimiter=delimiter)
        return self

    def disable_quote_character(self) -> CsvRowSerializationSchemaBuilder:
        """Quote nothing."""
        self._form = replace(self._form, quote=None)
        return self

    def set_quote_character(self, c: str) -> CsvRowSerializationSchemaBuilder:
        """Set what is around fields that need it."""
        self._set(quote=c)
        return self

    def set_escape_character(self, c: str) -> CsvRowSerializationSchemaBuilder:
        """Set what is before characters meant literally."""
        self._set(escape=c)
        return self

    def set_null_literal(self, s: str) -> CsvRowSerializationSchemaBuilder:
        """Set the text of None."""
        self._set(null_literal=s)
        return self

    def build(self) -> CsvRowSerializationSchema:
        """Return the schema."""
        return CsvRowSerializationSchema(self._type, self._form)


CsvRowSerializationSchema.Builder = CsvRowSerializationSchemaBuilder


class CsvRowDeserializationSchemaBuilder(_Builder):
    """Collects what a `CsvRowDeserializationSchema` needs. Setters raise ArgumentError."""

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__(type_info)
        self._errors_skip = False

    def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchemaBuilder:
        """Set what is between fields: one character."""
        self._set(delimiter=delimiter)
        return self

    def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchemaBuilder:  # noqa: FBT001 - PyFlink's
        """Set whether lines that begin with `#` are skipped."""
        self._set(comments=allow_comments)
        return self

    def set_array_element_delimiter(self, delimiter: str) -> CsvRowDeserializationSchemaBuilder:
        """Set what is between the elements of an array."""
        self._set(array_delimiter=delimiter)
        return self

    def set_quote_character(self, c: str) -> CsvRowDeserializationSchemaBuilder:
        """Set what is around fields."""
        self._set(quote=c)
        return self

    def set_escape_character(self, c: str) -> CsvRowDeserializationSchemaBuilder:
        """Set what is before characters meant literally."""
        self._set(escape=c)
        return self

    def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchemaBuilder:
        """Set the text of None."""
        self._set(null_literal=null_literal)
        return self

    def set_ignore_parse_errors(
        self,
        ignore_parse_errors: bool,  # noqa: FBT001 - PyFlink's
    ) -> CsvRowDeserializationSchemaBuilder:
        """Set whether what cannot be read becomes None."""
        self._errors_skip = bool(ignore_parse_errors)
        return self

    def build(self) -> CsvRowDeserializationSchema:
        """Return the schema."""
        return CsvRowDeserializationSchema(self._type, self._form, self._errors_skip)


CsvRowDeserializationSchema.Builder = CsvRowDeserializationSchemaBuilder
