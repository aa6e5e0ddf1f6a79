"""The formats `csv` and `raw`: a line of fields, and a message that is one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from penstock.errors import DecodeError, TypeMismatchError
from penstock.sql.tables.formats.texts import Fields, check, finished, rules, unwritable
from penstock.types import RowTypeInfo
from penstock.wire.text import CsvForm, CsvLines, TextError, csv_lines, shown, text_of


def _lines(fields: Fields, form: CsvForm, zone: tzinfo | None = None) -> CsvLines:
    for _, kind in fields:
        check(kind, "CSV")
    row_type = RowTypeInfo([kind.type_info for _, kind in fields], [name for name, _ in fields])
    return csv_lines(row_type, form, rules(zone=zone))


class CsvDecoder:
    """Makes the values of a row of a line. Fields are columns by their position."""

    def __init__(
        self, fields: Fields, form: CsvForm, *, skips_errors: bool, zone: tzinfo | None = None
    ) -> None:
        """Prepare for rows of a type."""
        self._arguments = (tuple(fields), form, skips_errors, zone)
        self._comments = form.comments
        self._skips_errors = skips_errors
        self._lines = _lines(fields, form, zone)
        codecs = zip(self._lines.fields, fields, strict=True)
        self._readers = [(name, finished(codec.read, kind)) for (name, codec), (_, kind) in codecs]

    def __reduce__(self) -> tuple[Any, ...]:
        return _decoder, self._arguments

    def __call__(self, message: bytes | str) -> list[Any] | None:
        """Return the values; None of a comment, an empty line, and of a line that is skipped."""
        try:
            text = text_of(message)
            if not text.rstrip("\r\n") or (self._comments and text.startswith("#")):
                return None
            fields = self._lines.split(text)
            return [self._value(*pair) for pair in zip(self._readers, fields, strict=True)]
        except TextError as cause:
            if self._skips_errors:
                return None
            raise DecodeError(
                f"{shown(message)} cannot be read as CSV: {cause}",
                hint="Correct the columns of the table, or set 'csv.ignore-parse-errors' = 'true'.",
            ) from cause

    def _value(self, column: tuple[str, Callable[..., Any]], field: tuple[str, bool]) -> Any:
        name, read = column
        try:
            return read(*field)
        except TextError as cause:
            if self._skips_errors:
                return None
            raise TextError(f"column {name!r}: {cause}") from None


def _decoder(
    fields: Fields,
    form: CsvForm,
    skips_errors: bool,  # noqa: FBT001 - of a pickle
    zone: tzinfo | None,
) -> CsvDecoder:
    return CsvDecoder(fields, form, skips_errors=skips_errors, zone=zone)


class CsvEncoder:
    """Writes the values of a row as a line, without the end of the line."""

    def __init__(self, fields: Fields, form: CsvForm) -> None:
        """Prepare for rows of a type."""
        self._arguments = (tuple(fields), form)
        self._lines = _lines(fields, form)

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvEncoder, self._arguments

    def __call__(self, values: Sequence[Any]) -> str:
        """Return the line."""
        try:
            line = self._lines.write(values)
            if not line:
                raise TextError("an empty line is no row")  # noqa: TRY301 - one error for all
        except TextError as cause:
            raise unwritable(values, cause) from cause
        return line


@dataclass(frozen=True, slots=True)
class RawDecoder:
    """Makes the only column of a message: its bytes, or their text.

    Attributes:
        charset: Character set of a text; None leaves the bytes.
    """

    charset: str | None

    def __call__(self, message: bytes | str) -> list[Any]:
        """Return the value."""
        if isinstance(message, str):
            message = message.encode(self.charset or "utf-8")
        if not isinstance(message, (bytes, bytearray, memoryview)):
            raise _unreadable(message, f"it is of class {type(message).__name__}, not bytes")
        if self.charset is None:
            return [bytes(message)]
        try:
            return [bytes(message).decode(self.charset)]
        except UnicodeError as cause:
            raise _unreadable(message, f"it is no text in {self.charset}") from cause


def _unreadable(message: object, why: str) -> DecodeError:
    return DecodeError(
        f"{shown(message)} cannot be read as a value: {why}",
        hint="Set 'raw.charset', or declare the column as BYTES.",
    )


@dataclass(frozen=True, slots=True)
class RawEncoder:
    """Writes the only column of a row.

    Attributes:
        charset: Character set of a text; None if the column is of bytes.
    """

    charset: str | None

    def __call__(self, values: Sequence[Any]) -> bytes | None:
        """Return the bytes; None of NULL."""
        (value,) = values
        if value is None:
            return None
        if self.charset is None:
            return bytes(value)
        try:
            return bytes(value.encode(self.charset))
        except UnicodeError as cause:
            raise TypeMismatchError(
                f"{value!r} has characters that {self.charset} lacks", hint="Set 'raw.charset'."
            ) from cause
