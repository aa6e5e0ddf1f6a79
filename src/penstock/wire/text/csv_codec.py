"""Values of declared types as fields of CSV, and fields as lines.

    a,"b, c",,""    ──fields──▶  a    b, c    None    (empty)

A field that is empty and has no quotes is None, unless there is a text for None. Quotes make it a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from penstock.errors import ArgumentError
from penstock.types import RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.types.row import row_factory
from penstock.wire.text.json_codec import LISTS
from penstock.wire.text.scalars import (
    CsvForm,
    TextError,
    TextRules,
    check_characters,
    reader,
    scalar_of,
    text_of,
    writer,
)

Field = tuple[str, bool]
"""Text of a field, and whether it had quotes."""


class CsvCodec:
    """Reads and writes one field."""

    def __init__(self, type_info: TypeInformation, form: CsvForm, rules: TextRules) -> None:
        self.type_info, self.form, self.rules = type_info, form, rules
        scalar = scalar_of(type_info)
        # An empty text of another type is None, whatever the text of None.
        self._may_be_empty = scalar is None or scalar.may_be_empty
        read, write = reader(type_info, rules), writer(type_info, rules)
        if read is None or write is None:
            read, write = _of_parts(type_info, form, rules)
        self._read, self._write = read, write

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvCodec, (self.type_info, self.form, self.rules)

    def read(self, text: str, is_quoted: bool = False) -> Any:  # noqa: FBT001, FBT002 - of a `Field`
        """Return the value of a field."""
        if not is_quoted:
            null = self.form.null_literal
            if text == (null or "") or (not text and not self._may_be_empty):
                return None
        return self._read(text)

    def write(self, value: Any) -> str | None:
        """Return the text of a field, without quotes; None of None."""
        return None if value is None else self._write(value)


def csv_codec(
    type_info: TypeInformation, form: CsvForm | None = None, rules: TextRules | None = None
) -> CsvCodec:
    """Return the codec of fields of a type."""
    return CsvCodec(type_info, form or CsvForm(), rules or TextRules())


def _of_parts(
    kind: TypeInformation, form: CsvForm, rules: TextRules
) -> tuple[Callable[[str], Any], Callable[[Any], str]]:
    """Return reader and writer of a list, tuple or row of scalars: texts with a delimiter between."""
    is_record = isinstance(kind, (RowTypeInfo, TupleTypeInfo))
    types = kind.field_types if is_record else [getattr(kind, "element_type", kind)]  # type: ignore[attr-defined]
    if not isinstance(kind, (RowTypeInfo, TupleTypeInfo, *LISTS)) or None in map(scalar_of, types):
        raise ArgumentError(
            f"CSV cannot hold {kind!r}",
            hint="Map it to a text, or use arrays and rows of simple types.",
        )
    codecs = [CsvCodec(t, form, rules) for t in types]
    between, null = form.array_delimiter, form.null_literal or ""
    allows_none = isinstance(kind, RowTypeInfo) or getattr(kind, "allows_none", False)

    def read(text: str) -> Any:
        texts = text.split(between) if text or is_record else []
        if is_record and len(texts) != len(codecs):
            raise TextError(f"{text!r} has {len(texts)} parts, not {len(codecs)}")
        values = list(map(_read_part, codecs if is_record else codecs * len(texts), texts))
        if None in values and not allows_none:
            raise TextError(f"part {values.index(None)} of {text!r} is None")
        if isinstance(kind, RowTypeInfo):
            return row_factory(kind.field_names)((values,))[0]
        return tuple(values) if is_record else values

    def write(value: Any) -> str:
        parts = list(map(CsvCodec.write, codecs if is_record else codecs * len(value), value))
        for part in parts:
            if part is not None and (between in part or part == null):
                raise TextError(f"{part!r} inside of another value would be read as something else")
        text = between.join([null if part is None else part for part in parts])
        if not text and parts and not is_record:
            raise TextError("an array of one None is no text; set a null literal")
        return text

    return read, write


def _read_part(codec: CsvCodec, text: str) -> Any:
    return codec.read(text)


class CsvSyntax:
    """Splits lines into fields, and joins fields to lines."""

    def __init__(self, form: CsvForm) -> None:
        """Prepare for a syntax."""
        self.form = form
        special = {form.delimiter, form.quote, form.escape} - {None}
        null = form.null_literal or ""
        if any(
            mark in null
            for mark in (*special, "\r", "\n")
            if mark is not None and mark != form.escape
        ):
            raise ArgumentError(
                f"the null literal {null!r} has characters that CSV uses",
                hint="Choose a text without delimiters, quotes and line ends.",
            )
        self._quick = {form.quote, form.escape, "\r", "\n"} - {None}
        self._fields = re.compile(_pattern(form), re.DOTALL)
        self._escaped = (
            re.compile(re.escape(form.escape) + "(.)", re.DOTALL) if form.escape else None
        )
        self._needs = {*special, "\r", "\n", *form.line_delimiter}

    def split(self, line: str) -> list[Field]:
        """Return the fields of a line."""
        form = self.form
        if not any(mark in line for mark in self._quick if mark):
            return [(text, False) for text in line.split(form.delimiter)]
        fields: list[Field] = []
        position = 0
        while True:
            match = self._fields.match(line, position)
            if match is None:
                raise TextError(f"field {len(fields)} has a quote or line end that is out of place")
            quoted, bare = match.groups()
            fields.append(self._meant(bare) if quoted is None else (self._unquoted(quoted), True))
            position = match.end()
            if position == len(line):
                return fields
            position += 1

    def _meant(self, bare: str) -> Field:
        """Return a field without quotes; one with an escape in it is not the text of None."""
        if self._escaped is None or bare == self.form.null_literal or self.form.escape not in bare:  # type: ignore[operator]
            return bare, False
        return self._escaped.sub(r"\1", bare), True

    def _unquoted(self, text: str) -> str:
        if self._escaped is not None:
            return self._escaped.sub(r"\1", text)
        quote = self.form.quote or ""
        return text.replace(quote * 2, quote)

    def join(self, texts: Sequence[str | None]) -> str:
        """Return the line of fields, of which None is one."""
        null = self.form.null_literal or ""
        fields = [null if text is None else self._field(text) for text in texts]
        if fields[0][:1] == "#" and texts[0] is not None and self.form.quote:
            fields[0] = f"{self.form.quote}{fields[0]}{self.form.quote}"
        return self.form.delimiter.join(fields)

    def _field(self, text: str) -> str:
        form, null = self.form, self.form.null_literal or ""
        if text and text != null and self._needs.isdisjoint(text):
            return text
        if form.quote is not None:
            return f"{form.quote}{self._protected(text)}{form.quote}"
        if not text and form.null_literal:
            return text
        if form.escape is None or not text:
            raise TextError(
                f"{text!r} needs a quote character, an escape character or a null literal"
            )
        marks = {
            form.delimiter,
            form.escape,
            "\r",
            "\n",
            *form.line_delimiter,
            text[0] if text == null else "",
        }
        return "".join([f"{form.escape}{c}" if c in marks else c for c in text])

    def _protected(self, text: str) -> str:
        quote, escape = self.form.quote or "", self.form.escape
        if escape is None:
            return text.replace(quote, quote * 2)
        return text.replace(escape, escape * 2).replace(quote, escape + quote)


def _pattern(form: CsvForm) -> str:
    """Return the pattern of a field: in quotes, or without."""
    end = f"(?={re.escape(form.delimiter)}|\\Z)"
    escape = re.escape(form.escape) if form.escape else ""
    inside = f"{escape}." if escape else ""
    bare = f"(?:[^{re.escape(form.delimiter)}\r\n{escape}]" + (f"|{inside})*" if inside else ")*")
    if form.quote is None:
        return f"(\\Z.)?({bare}){end}"
    quote = re.escape(form.quote)
    inside = inside or quote * 2
    quoted = f"{quote}((?:[^{quote}{escape}]|{inside})*){quote}"
    return f"(?:{quoted}|(?!{quote})({bare})){end}"


class CsvLines:
    """Reads and writes lines of rows."""

    def __init__(self, row_type: RowTypeInfo, form: CsvForm, rules: TextRules) -> None:
        self._arguments = (row_type, form, rules)
        types = [CsvCodec(t, form, rules) for t in row_type.field_types]
        self.fields = list(zip(row_type.field_names, types, strict=True))
        self.syntax = CsvSyntax(form)

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvLines, self._arguments

    def split(self, message: object) -> list[Field]:
        """Return the fields of a message, with or without the end of the line, as many as there are columns."""
        text = text_of(message)
        fields = self.syntax.split(text.removesuffix("\n").removesuffix("\r"))
        if len(fields) != len(self.fields):
            raise TextError(f"it has {len(fields)} fields, not {len(self.fields)}")
        return fields

    def read(self, message: object) -> list[Any]:
        """Return the values of a line."""
        name, values = "", []
        fields = self.split(message)
        try:
            for (name, codec), (text, is_quoted) in zip(self.fields, fields, strict=True):  # noqa: B007 - used when a field fails
                values.append(codec.read(text, is_quoted))
        except TextError as cause:
            raise TextError(f"field {name!r}: {cause}") from None
        return values

    def write(self, values: Sequence[Any]) -> str:
        """Return the line of values, without its end."""
        name, texts = "", []
        try:
            for (name, codec), value in zip(self.fields, values, strict=True):  # noqa: B007 - as above
                texts.append(codec.write(value))
        except TextError as cause:
            raise TextError(f"field {name!r}: {cause}") from None
        line = self.syntax.join(texts)
        if not line.isascii():
            check_characters(line)
        return line


def csv_lines(
    row_type: RowTypeInfo, form: CsvForm | None = None, rules: TextRules | None = None
) -> CsvLines:
    """Return the codec of lines of rows."""
    return CsvLines(row_type, form or CsvForm(), rules or TextRules())
