"""Rules that a program may choose for its texts, the syntax of CSV, and the error of a text that has no value."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


class TextError(ValueError):
    """A text that is no value of its declared type, or a value without a text. Its callers name the place."""


@dataclass(frozen=True, slots=True)
class TextRules:
    """Rules beside the declared types.

    Attributes:
        zone: Zone of a timestamp without one, where the type is a point in time; None makes it an error.
        as_flink: Read what Flink's SQL formats read besides: blanks around values, numbers and booleans that are JSON
            strings, whole numbers such as `12.0`. Decimals are written as JSON numbers.
        between: Between date and time, when written.
    """

    zone: dt.tzinfo | None = dt.UTC
    as_flink: bool = False
    between: str = "T"


@dataclass(frozen=True, slots=True)
class CsvForm:
    """The syntax of a line.

    Attributes:
        delimiter: Between fields.
        line_delimiter: After the last field, when written.
        array_delimiter: Between the elements of an array.
        quote: Around fields that need it; None quotes nothing.
        escape: Before a character that is meant literally; None escapes nothing.
        null_literal: Text of None; if it is None itself, None is an empty field without quotes.
        comments: Lines that begin with `#` are skipped.
    """

    delimiter: str = ","
    line_delimiter: str = "\n"
    array_delimiter: str = ";"
    quote: str | None = '"'
    escape: str | None = None
    null_literal: str | None = None
    comments: bool = False


def text_of(message: object) -> str:
    """Return the text of a message in UTF-8.

    Raises:
        TextError: It is no text.
    """
    if isinstance(message, (bytes, bytearray, memoryview)):
        try:
            return str(message, "utf-8")
        except UnicodeDecodeError as cause:
            raise TextError(f"it is not UTF-8: {cause.reason} at byte {cause.start}") from None
    if not isinstance(message, str):
        raise TextError(f"it is of class {type(message).__name__}, not bytes or str")
    if not message.isascii():
        check_characters(message)
    return message


def check_characters(text: str) -> None:
    """Refuse half of a surrogate pair, which no text in UTF-8 has.

    Raises:
        TextError: There is one.
    """
    try:
        text.encode()
    except UnicodeEncodeError as cause:
        raise TextError(f"character {cause.start} is half of a surrogate pair") from None


def shown(message: object) -> str:
    """Return the beginning of a message, for an error."""
    return repr(message[:200] if isinstance(message, (bytes, bytearray, str)) else message)
