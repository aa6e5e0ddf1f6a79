"""The formats `csv` and `raw`: a line of fields, and a message that is one value."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.rows.csv_rows import CsvForm
from penstock.errors import DecodeError
from penstock.sql.column_types import SqlType
from penstock.sql.tables.formats.json_format import Fields
from penstock.sql.tables.formats.texts import from_text, to_text


class CsvDecoder:
    """Makes the values of a row of a line. Fields are columns by their position."""

    def __init__(self, fields: Fields, form: CsvForm, *, skips_errors: bool) -> None:
        """Prepare for rows of a type.

        Args:
            fields: The columns.
            form: The syntax.
            skips_errors: Take NULL for a field, and nothing for a line, that cannot be read.
        """
        self._arguments = (tuple(fields), form, skips_errors)
        self._form = form
        self._skips_errors = skips_errors
        self._readers = [(name, _reader(kind, form)) for name, kind in fields]

    def __reduce__(self) -> tuple[Any, ...]:
        return _decoder, self._arguments

    def __call__(self, message: bytes | str) -> list[Any] | None:
        """Return the values; None of a comment, an empty line, and of a line that is skipped.

        Raises:
            DecodeError: It cannot be read.
        """
        try:
            text = (message if isinstance(message, str) else message.decode()).rstrip("\r\n")
            if not text or (self._form.comments and text.lstrip().startswith("#")):
                return None
            (fields,) = csv.reader([text], strict=True, **self._form.dialect())
            if len(fields) != len(self._readers):
                raise ValueError(f"it has {len(fields)} fields")  # noqa: TRY301 - one error for all
        except (ValueError, csv.Error) as cause:
            if self._skips_errors:
                return None
            raise _unreadable(message, str(cause)) from cause
        return [self._value(*pair, message) for pair in zip(self._readers, fields, strict=True)]

    def _value(
        self, column: tuple[str, Callable[[str], Any]], text: str, message: bytes | str
    ) -> Any:
        name, read = column
        try:
            return read(text)
        except ValueError as cause:
            if self._skips_errors:
                return None
            raise _unreadable(message, f"column {name!r}: {cause}") from cause


def _decoder(fields: Fields, form: CsvForm, skips_errors: bool) -> CsvDecoder:  # noqa: FBT001 - of a pickle
    return CsvDecoder(fields, form, skips_errors=skips_errors)


def _unreadable(message: bytes | str, why: str) -> DecodeError:
    return DecodeError(
        f"{message[:200]!r} cannot be read as CSV: {why}",
        hint="Correct the columns of the table, or set 'csv.ignore-parse-errors' = 'true'.",
    )


def _reader(kind: SqlType, form: CsvForm) -> Callable[[str], Any]:
    is_array = kind.name == "ARRAY"
    simple = from_text(kind.components[0] if is_array else kind)
    if simple is None:
        raise ValueError(f"{kind} has no CSV")
    null = form.null_literal

    def read(text: str) -> Any:
        if text == null:
            return None
        if is_array:
            return [simple(part) for part in text.split(form.array_delimiter)] if text else []
        # An empty field is an empty text, and NULL in a column of another type.
        return None if not text and kind.name not in {"STRING", "BYTES"} else simple(text)

    return read


class CsvEncoder:
    """Writes the values of a row as a line, without the end of the line."""

    def __init__(self, fields: Fields, form: CsvForm) -> None:
        """Prepare for rows of a type.

        Args:
            fields: The columns.
            form: The syntax.
        """
        self._arguments = (tuple(fields), form)
        self._writers = [_writer(kind, form) for _, kind in fields]
        self._dialect = form.dialect()
        self._null = form.null_literal or ""

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvEncoder, self._arguments

    def __call__(self, values: Sequence[Any]) -> str:
        """Return the line."""
        out = io.StringIO()
        texts = [
            self._null if value is None else write(value)
            for write, value in zip(self._writers, values, strict=True)
        ]
        csv.writer(out, lineterminator="", **self._dialect).writerow(texts)
        return out.getvalue()


def _writer(kind: SqlType, form: CsvForm) -> Callable[[Any], str]:
    if kind.name != "ARRAY":
        return to_text(kind)
    element = to_text(kind.components[0])
    null = form.null_literal or ""
    return lambda values: form.array_delimiter.join(
        [null if value is None else element(value) for value in values]
    )


@dataclass(frozen=True, slots=True)
class RawDecoder:
    """Makes the only column of a message: its bytes, or their text.

    Attributes:
        charset: Of a text; None leaves the bytes.
    """

    charset: str | None

    def __call__(self, message: bytes | str) -> list[Any]:
        """Return the value.

        Raises:
            DecodeError: The bytes are no text.
        """
        if self.charset is None:
            return [message.encode() if isinstance(message, str) else bytes(message)]
        if isinstance(message, str):
            return [message]
        try:
            return [message.decode(self.charset)]
        except UnicodeDecodeError as cause:
            raise DecodeError(
                f"{message[:200]!r} is no text in {self.charset}",
                hint="Set 'raw.charset', or declare the column as BYTES.",
            ) from cause


@dataclass(frozen=True, slots=True)
class RawEncoder:
    """Writes the only column of a row.

    Attributes:
        charset: Of a text; None if the column is of bytes.
    """

    charset: str | None

    def __call__(self, values: Sequence[Any]) -> bytes | None:
        """Return the bytes; None of NULL."""
        (value,) = values
        if value is None:
            return None
        return bytes(value) if self.charset is None else value.encode(self.charset)
