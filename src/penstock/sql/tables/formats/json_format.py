"""The format `json`: one object per message or line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.errors import DecodeError, TypeMismatchError
from penstock.sql.column_types import SqlType
from penstock.sql.tables.formats.texts import from_text, to_text

Fields = Sequence[tuple[str, SqlType]]
"""Names and types of columns, in order."""

_Convert = Callable[[Any], Any]
_NUMBERS = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"})
_MISSING = object()


class JsonDecoder:
    """Makes the values of a row of the text of an object. Other members of the object are left out.

    Numbers and booleans may be texts. A STRING of something else is the JSON of it.
    """

    def __init__(self, fields: Fields, *, skips_errors: bool, fails_on_missing: bool) -> None:
        """Prepare for rows of a type.

        Args:
            fields: The columns.
            skips_errors: Take NULL for a value, and nothing for a message, that cannot be read.
            fails_on_missing: Refuse an object without one of the columns.
        """
        self._arguments = (tuple(fields), skips_errors, fails_on_missing)
        self._skips_errors = skips_errors
        self._names = [name for name, _ in fields]
        self._converters = [
            _leniently(value_reader(kind)) if skips_errors else value_reader(kind)
            for _, kind in fields
        ]
        self._fails_on_missing = fails_on_missing

    def __reduce__(self) -> tuple[Any, ...]:
        return _decoder, self._arguments

    def __call__(self, message: bytes | str) -> list[Any] | None:
        """Return the values; None of a message that is skipped.

        Raises:
            DecodeError: It cannot be read.
        """
        try:
            found = json.loads(message)
        except ValueError as cause:
            if self._skips_errors:
                return None
            raise _unreadable(message, str(cause)) from cause
        return self.values(found, message)

    def values(self, found: Any, message: bytes | str) -> list[Any] | None:
        """Return the values of a parsed object; see `__call__`."""
        if type(found) is not dict:
            if self._skips_errors:
                return None
            raise _unreadable(message, "it is no object")
        name = ""
        try:
            values: list[Any] = []
            for name, convert in zip(self._names, self._converters, strict=True):
                value = found.get(name, _MISSING)
                if value is None:
                    values.append(None)
                elif value is _MISSING:
                    if self._fails_on_missing:
                        raise ValueError("it is missing")  # noqa: TRY301 - one error for all columns
                    values.append(None)
                else:
                    values.append(convert(value))
        except (ValueError, TypeError, OverflowError, AttributeError) as cause:
            raise _unreadable(message, f"column {name!r}: {cause}") from cause
        return values


def _decoder(fields: Fields, skips_errors: bool, fails_on_missing: bool) -> JsonDecoder:  # noqa: FBT001 - of a pickle
    return JsonDecoder(fields, skips_errors=skips_errors, fails_on_missing=fails_on_missing)


def _unreadable(message: bytes | str, why: str) -> DecodeError:
    return DecodeError(
        f"{message[:200]!r} cannot be read as JSON: {why}",
        hint="Correct the columns of the table, or set 'json.ignore-parse-errors' = 'true'.",
    )


def _leniently(convert: _Convert) -> _Convert:
    def converted(value: Any) -> Any:
        try:
            return convert(value)
        except (ValueError, TypeError, OverflowError, AttributeError):
            return None

    return converted


def value_reader(kind: SqlType) -> _Convert:
    """Return the function from a parsed value, not None, to one of a type; it raises ValueError or TypeError."""
    nested = _NESTED_READERS.get(kind.name)
    if nested is not None:
        return nested(kind)
    read = from_text(kind)
    if read is None:
        raise ValueError(f"{kind} has no JSON")
    if kind.name == "BOOLEAN":
        return lambda value: value if type(value) is bool else read(value)
    if kind.name in _NUMBERS:
        return lambda value: read(_number_text(value))
    return _string if kind.name == "STRING" else lambda value: read(_checked(value, str))


def _row_reader(kind: SqlType) -> _Convert:
    readers = [_or_null(value_reader(each)) for each in kind.components]
    fields = list(zip(kind.fields, readers, strict=True))
    make = kind.type_info.coerce

    def read(value: Any) -> Any:
        found = _checked(value, dict)
        return make([convert(found.get(name)) for name, convert in fields])

    return read


def _array_reader(kind: SqlType) -> _Convert:
    element = _or_null(value_reader(kind.components[0]))
    return lambda value: [element(each) for each in _checked(value, list)]


def _map_reader(kind: SqlType) -> _Convert:
    key, value = kind.components
    read_key = from_text(key) or _string
    read_value = _or_null(value_reader(value))

    def read(found: Any) -> Any:
        return {read_key(k): read_value(v) for k, v in _checked(found, dict).items()}

    return read


_NESTED_READERS: Mapping[str, Callable[[SqlType], _Convert]] = {
    "ROW": _row_reader,
    "ARRAY": _array_reader,
    "MAP": _map_reader,
}


def _or_null(convert: _Convert) -> _Convert:
    return lambda value: None if value is None else convert(value)


def _checked(value: Any, wanted: type) -> Any:
    if type(value) is not wanted:
        raise ValueError(f"{value!r} is no {_NAMES[wanted]}")
    return value


_NAMES: Mapping[Any, str] = {list: "array", dict: "object", str: "text"}


def _string(value: Any) -> str:
    return value if type(value) is str else json.dumps(value, ensure_ascii=False)


def _number_text(value: Any) -> str:
    if type(value) is bool or type(value) not in {int, float, str}:
        raise ValueError(f"{value!r} is no number")
    if type(value) is float and value.is_integer() and math.isfinite(value):
        return str(int(value))
    return str(value)


class JsonEncoder:
    """Writes the values of a row as the text of an object."""

    def __init__(self, fields: Fields, *, is_iso: bool) -> None:
        """Prepare for rows of a type.

        Args:
            fields: The columns.
            is_iso: Whether timestamps have a T between date and time.
        """
        self._arguments = (tuple(fields), is_iso)
        self._write = _row_writer(fields, is_iso=is_iso)

    def __reduce__(self) -> tuple[Any, ...]:
        return _encoder, self._arguments

    def __call__(self, values: Sequence[Any]) -> str:
        """Return the text.

        Raises:
            TypeMismatchError: A number in it is NaN or infinite.
        """
        return self._write(values)


def _encoder(fields: Fields, is_iso: bool) -> JsonEncoder:  # noqa: FBT001 - of a pickle
    return JsonEncoder(fields, is_iso=is_iso)


_text = json.JSONEncoder(ensure_ascii=False).encode


def _row_writer(fields: Fields, *, is_iso: bool) -> Callable[[Sequence[Any]], str]:
    writers = [(f"{_text(name)}:", _writer(kind, is_iso=is_iso)) for name, kind in fields]

    def write(values: Sequence[Any]) -> str:
        parts = [
            begin + ("null" if value is None else writer(value))
            for (begin, writer), value in zip(writers, values, strict=True)
        ]
        return _braces(parts)

    return write


def _braces(members: list[str]) -> str:
    return f"{{{','.join(members)}}}"


def _writer(kind: SqlType, *, is_iso: bool) -> Callable[[Any], str]:
    """Return the function from a value, not None, to its JSON."""
    if kind.name == "ROW":
        return _row_writer(list(zip(kind.fields, kind.components, strict=True)), is_iso=is_iso)
    if kind.name == "ARRAY":
        element = _writer(kind.components[0], is_iso=is_iso)
        return lambda value: f"[{','.join(['null' if v is None else element(v) for v in value])}]"
    if kind.name == "MAP":
        key = to_text(kind.components[0], is_iso=is_iso)
        item = _writer(kind.components[1], is_iso=is_iso)
        return lambda value: _braces(
            [f"{_text(key(k))}:{'null' if v is None else item(v)}" for k, v in value.items()]
        )
    if kind.name in {"FLOAT", "DOUBLE"}:
        return _float
    write = to_text(kind, is_iso=is_iso)
    if kind.name in _NUMBERS or kind.name == "BOOLEAN":
        return write
    return lambda value: _text(write(value))


def _float(value: float) -> str:
    if not math.isfinite(value):
        raise TypeMismatchError(
            f"JSON has no number {value}", hint="Write NULL instead of it, such as with NULLIF."
        )
    return repr(value)
