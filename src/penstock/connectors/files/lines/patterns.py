r"""Patterns of lines that Arrow's parser of CSV reads as `wire.text` does, and objects of JSON as such lines.

    {"id":1,"name":"x"}\n{"id":2,"name":null}  ──Objects.flat──▶  1,"x"\n2,null

One pattern is matched with all the lines of a batch at once: RE2 reads each byte once, whatever the pattern is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.wire.text import CsvForm

_DIGITS = "-?[0-9]+"
_FLAT_TEXT = r'"[^"\\\x00-\x1f]*"'
_INTEGER = "-?(?:0|[1-9][0-9]*)"
_NUMBER = _INTEGER + r"(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_ANY = f"{_FLAT_TEXT}|{_NUMBER}|true|false"
_plain_key = re.compile(r"[\w.-]+").fullmatch


def joined(lines: Any) -> Any:
    """Return an array of one value: lines with line ends between them."""
    whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    return pc.binary_join(whole, pa.scalar(b"\n", pa.binary()))


def matches(data: Any, pattern: str) -> bool:
    """Return whether each of joined lines is what a pattern describes."""
    found = pc.match_substring_regex(data, rf"\A(?:(?:{pattern})(?:\n|\z))+\z")
    return bool(found[0].as_py())


def csv_pattern(schema: pa.Schema, form: CsvForm) -> str:
    """Return the pattern of lines of CSV whose quotes enclose values, without texts that Arrow would read otherwise."""
    separator = re.escape(form.delimiter)
    null = "" if form.null_literal is None else f"|{re.escape(form.null_literal)}"
    return separator.join(f"(?:{_csv_value(field.type, form)}{null})?" for field in schema)


def _csv_value(kind: pa.DataType, form: CsvForm) -> str:
    quote = "" if form.quote is None else re.escape(form.quote)
    plain = _csv_form(kind)
    if plain is not None:
        return f"{plain}|{quote}(?:{plain}){quote}"
    bare = rf"[^{re.escape(form.delimiter)}{quote}\r\n]*"
    return bare if not quote else rf"{bare}|{quote}(?:[^{quote}\r\n]|{quote}{quote})*{quote}"


def _csv_form(kind: pa.DataType) -> str | None:
    if pa.types.is_integer(kind):
        return _DIGITS
    if pa.types.is_floating(kind):
        return "[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?"
    return "true|false" if pa.types.is_boolean(kind) else None


@dataclass(frozen=True, slots=True)
class Objects:
    """The form of objects that have the same fields in the same order, and neither arrays, objects nor escapes inside.

    Attributes:
        names: Of the fields.
        comma: Characters between fields.
        colon: Characters between a name and its value.
        pattern: Of a line.
    """

    names: tuple[str, ...]
    comma: str
    colon: str
    pattern: str

    def flat(self, data: Any) -> pa.Buffer:
        """Return joined lines that match the pattern as lines of CSV.

        Without escapes every quote begins or ends a name or a text, so that what is replaced is never inside of a text.
        """
        first, *others = (f'"{name}"{self.colon}' for name in self.names)
        data = pc.replace_substring(data, "}\n{" + first, "\n")
        for name in others:
            data = pc.replace_substring(data, self.comma + name, ",")
        return data[0].as_buffer()[len(first.encode()) + 1 : -1]


def objects_like(line: bytes, kinds: Mapping[str, pa.DataType]) -> Objects | None:
    """Return the form of the objects that are like one; None if it is no object whose form has a pattern."""
    try:
        pairs = json.loads(line, object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        return None
    if not isinstance(pairs, tuple) or b"\\" in line:
        return None
    if any(map(pa.types.is_nested, kinds.values())):
        return None
    names = tuple(name for name, _ in pairs)
    if not kinds.keys() <= set(names) or len(set(names)) < len(names):
        return None
    if not all(map(_plain_key, names)):
        return None
    comma, colon = (", " if b', "' in line else ","), (": " if b'": ' in line else ":")
    return _objects(names, tuple(kinds.get(name) for name in names), comma, colon)


@lru_cache(64)
def _objects(
    names: tuple[str, ...], kinds: tuple[pa.DataType | None, ...], comma: str, colon: str
) -> Objects:
    fields = (
        f'"{re.escape(name)}"{colon}(?:{_json_form(kind)}|null)'
        for name, kind in zip(names, kinds, strict=True)
    )
    return Objects(names, comma, colon, r"\{" + comma.join(fields) + r"\}")


def _json_form(kind: pa.DataType | None) -> str:
    if kind is None:
        return _ANY
    if pa.types.is_boolean(kind):
        return "true|false"
    if pa.types.is_integer(kind):
        return _INTEGER
    return _NUMBER if pa.types.is_floating(kind) else _FLAT_TEXT
