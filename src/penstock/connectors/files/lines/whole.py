r"""Records of files that are read whole, because a record may have several lines (`multiLine`).

    a,"x\r\ny"\r\nb,z     ──▶  (1, a,"x\r\ny")  (3, b,z)
    [{"a": 1},\n{"a": 2}]  ──▶  (1, {"a": 1})  (2, {"a": 2})

Each record comes with the number of its first line. What is no record comes as one, too: its decoder has the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from penstock.wire.text import CsvForm

Record = tuple[int, bytes]
_MARK = "\ufeff".encode()
_OPENING, _CLOSING = frozenset({b"[", b"{"}), frozenset({b"]", b"}"})
_no_blank = re.compile(rb"[^ \t\r\n]").search
_json_marks = re.compile(rb'"(?:[^"\\]|\\.)*+"|[][{},]', re.DOTALL).finditer


def whole_records(format_name: str, form: CsvForm) -> Callable[[bytes], Iterator[Record]]:
    """Return the function from the bytes of a file to its records."""
    find = _json_records if format_name == "json" else _csv_finder(form)
    return lambda data: _numbered(data.removeprefix(_MARK), find)


def _numbered(data: bytes, find: Callable[[bytes], Iterator[tuple[int, int]]]) -> Iterator[Record]:
    number, counted = 1, 0
    for begin, end in find(data):
        number += _line_ends(data, counted, begin)
        counted = begin
        yield number, data[begin:end]


def _line_ends(data: bytes, begin: int, end: int) -> int:
    """Return how many lines end in a part of a file; a return before a line feed is one end with it."""
    returns = data.count(b"\r", begin, end)
    return data.count(b"\n", begin, end) + (
        returns and returns - data.count(b"\r\n", begin, end + 1)
    )


def _csv_finder(form: CsvForm) -> Callable[[bytes], Iterator[tuple[int, int]]]:
    """Return the function that finds the records of CSV: a line end inside quotes is text."""
    between = re.escape(form.delimiter.encode())
    bare = b"[^" + between + rb"\r\n]*+"
    cell = bare
    if form.quote is not None:
        quote = re.escape(form.quote.encode())
        inside = b"(?:[^" + quote + b"]++|" + quote * 2 + b")*+"
        cell = b"(?:" + quote + inside + quote + b")?+" + bare
    record = re.compile(cell + b"(?:" + between + cell + b")*+", re.DOTALL)
    line_end = re.compile(rb"\r\n|\n|\r|\Z")

    def find(data: bytes) -> Iterator[tuple[int, int]]:
        at, size = 0, len(data)
        while at < size:
            found = record.match(data, at)
            assert found is not None, "an empty record matches everywhere"
            yield at, found.end()
            ended = line_end.match(data, found.end())
            assert ended is not None, "a record goes on to it"
            at = ended.end()

    return find


def _json_records(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the objects of a file, one after the other or in arrays."""
    for begin, end in _values(data):
        if data[begin : begin + 1] == b"[" and data[end - 1 : end] == b"]":
            yield from _elements(data, begin, end)
        else:
            yield begin, end


def _values(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield arrays and objects that are inside of no other, and what is between them with the one behind it."""
    depth, begin = 0, _next(data, 0)
    for found in _json_marks(data, begin):
        mark = found[0]
        depth += (mark in _OPENING) - (mark in _CLOSING)
        if depth < 0:
            break
        if depth == 0 and mark in _CLOSING:
            yield begin, found.end()
            begin = _next(data, found.end())
    if begin < len(data):
        yield begin, len(data)


def _elements(data: bytes, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the elements of an array; one that is missing is the mark behind it."""
    depth, at = 0, _next(data, begin + 1)
    for found in _json_marks(data, begin, end):
        mark = found[0]
        depth += (mark in _OPENING) - (mark in _CLOSING)
        if depth == 1 and mark == b",":
            yield at, max(at + 1, found.start())
            at = _next(data, found.end())
    is_empty = at == end - 1 and data[begin + 1 : at].strip() == b""
    if not is_empty:
        yield at, max(at + 1, end - 1)


def _next(data: bytes, at: int) -> int:
    """Return the position of the first byte from a position on that is no blank."""
    found = _no_blank(data, at)
    return len(data) if found is None else found.start()
