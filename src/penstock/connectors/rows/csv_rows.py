"""Rows as lines of CSV, for `map` and for connectors."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from penstock.connectors.rows.json_rows import checked_row_type
from penstock.connectors.rows.serialization import DeserializationSchema, SerializationSchema
from penstock.connectors.rows.text_values import FROM_TEXT
from penstock.errors import ArgumentError, DecodeError, TypeMismatchError
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
    """The syntax of a line.

    Attributes:
        delimiter: Between fields.
        line_delimiter: After the last field, when written.
        array_delimiter: Between the elements of an array.
        quote: Around fields that need it; None quotes nothing.
        escape: Before a character that is meant literally; None escapes nothing.
        null_literal: Text of None; if it is None itself, None is written as an empty field.
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
    """Reads lines of CSV as rows.

    Attributes:
        row_type: Type of the rows; fields are matched by position.
        form: The syntax.
        errors_skip: Return None for a line that cannot be read; otherwise it is an error.

    Example:
        >>> row_type = Types.ROW([Types.STRING(), Types.INT()])
        >>> CsvRowDeserializationSchema.Builder(row_type).build().deserialize(b"ann,5")
        Row(f0='ann', f1=5)
    """

    Builder: ClassVar[type[CsvRowDeserializationSchemaBuilder]]
    row_type: RowTypeInfo
    form: CsvForm
    errors_skip: bool = False

    def deserialize(self, message: bytes | str) -> Row | None:
        """Return the row in `message`; None for a comment, and for errors that are ignored."""
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
    """

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__(type_info)
        self._errors_skip = False

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

    def build(self) -> CsvRowDeserializationSchema:
        """Return the schema."""
        return CsvRowDeserializationSchema(self._type, self._form, self._errors_skip)


CsvRowDeserializationSchema.Builder = CsvRowDeserializationSchemaBuilder
