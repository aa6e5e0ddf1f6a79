r"""Records of lines: the columns of a batch where Arrow reads it as declared, else record by record.

    line BINARY, file STRING, start LONG, NULL     ──▶  a batch of columns, or records; an error with file and line
    NULL,        file STRING, start LONG, end LONG ──▶  the same of all the lines of a piece, which are read here

The lines of a piece of a file are adjacent, in their order. A piece that begins at byte 0 begins with the header. It has
the lines that begin behind its first byte, up to the one that begins at its end; the first piece of a file has its first
line, too. That is how Hadoop cuts files. A line ends with `\n`, `\r\n` or `\r`, and is read with `\n` in their place.

A file is read whole if a record may have several lines (`multiLine`). Each record comes with the number of its first line;
what is no record comes as one, too: its decoder has the error.

    a,"x\r\ny"\r\nb,z     ──▶  (1, a,"x\r\ny")  (3, b,z)
    [{"a": 1},\n{"a": 2}]  ──▶  (1, {"a": 1})  (2, {"a": 2})
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import islice, pairwise
from typing import Any, BinaryIO
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from penstock.connectors.files.lines.columns import fast_columns, joined
from penstock.connectors.files.lines.form import LineForm, local_name, names_of_path, record_reader
from penstock.connectors.files.partitions import columns_of_buckets
from penstock.errors import CallSite, SourceError
from penstock.types import RowTypeInfo, TypeInformation
from penstock.types.arrow import arrow_columns, arrow_schema
from penstock.types.row import row_factory
from penstock.wire.text import CsvForm, TextError, TextRules, csv_codec
from penstock.wire.text.csv_codec import CsvSyntax

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
    """Count the lines that end in a part of a file; a return before a line feed is one end with it."""
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
        position, size = 0, len(data)
        while position < size:
            match = record.match(data, position)
            assert match is not None, "an empty record matches everywhere"
            yield position, match.end()
            ended = line_end.match(data, match.end())
            assert ended is not None, "a record goes on to it"
            position = ended.end()

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
    for match in _json_marks(data, begin):
        mark = match[0]
        depth += (mark in _OPENING) - (mark in _CLOSING)
        if depth < 0:
            break
        if depth == 0 and mark in _CLOSING:
            yield begin, match.end()
            begin = _next(data, match.end())
    if begin < len(data):
        yield begin, len(data)


def _elements(data: bytes, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the elements of an array; one that is missing is the mark behind it."""
    depth, position = 0, _next(data, begin + 1)
    for match in _json_marks(data, begin, end):
        mark = match[0]
        depth += (mark in _OPENING) - (mark in _CLOSING)
        if depth == 1 and mark == b",":
            yield position, max(position + 1, match.start())
            position = _next(data, match.end())
    is_empty = position == end - 1 and data[begin + 1 : position].strip() == b""
    if not is_empty:
        yield position, max(position + 1, end - 1)


def _next(data: bytes, position: int) -> int:
    """Return the position of the first byte from a position on that is no blank."""
    match = _no_blank(data, position)
    return len(data) if match is None else match.start()


_BLOCK = 512 << 10
"""Bytes that are read at once: the lines of a block are some ten thousand, as Spark has in an Arrow batch."""

_LOOK = 4 << 10
_line_end = re.compile(rb"\r\n|\n|\r").search


def blocks_of(name: str, start: int, end: int) -> Iterator[bytes]:
    r"""Yield the lines of a piece of a file, many at once, with `\n` between them."""
    with open(name, "rb", buffering=0) as file:  # noqa: PTH123 - a path as the file system has it
        first = _behind_line(file, start) if start else _behind_mark(file)
        left = _behind_line(file, end) - first
        file.seek(first)
        rest = b""
        # The block grows with a line that is longer, so that no byte is copied more than some times.
        while left > 0:
            read = file.read(min(max(_BLOCK, len(rest)), left))
            if not read:
                raise OSError(f"it has {left} bytes less than when it was listed")
            left -= len(read)
            data = rest + read
            cut = _behind_last_line(data) if left else len(data)
            rest = data[cut:]
            if cut:
                yield _with_line_feeds(data[:cut])


def _behind_mark(file: BinaryIO) -> int:
    return len(_MARK) if file.read(len(_MARK)) == _MARK else 0


def _behind_line(file: BinaryIO, start: int) -> int:
    """Return the first byte behind the line that a byte is in."""
    file.seek(start)
    position = start
    while block := file.read(_LOOK):
        match = _line_end(block)
        if match is not None:
            is_cut = match[0] == b"\r" and match.end() == len(block)
            return position + match.end() + (is_cut and file.read(1) == b"\n")
        position += len(block)
    return position


def _behind_last_line(data: bytes) -> int:
    """Return the number of bytes up to the end of the last line; a return at the very end may be half of one."""
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1


def _with_line_feeds(data: bytes) -> bytes:
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.removesuffix(b"\n")


_RECORDS = 8192
"""Records of a file that is read whole, at a time."""

_LOCAL = re.compile("^file:///")
"""Beginning of the URI of a local file in a task; elsewhere there is one slash."""

_BLANK = (b"", b"\n")
_HINTS = {
    "csv": "Correct the file, or the declared type. Values with line ends need options={'multiLine': 'true'}; with "
    "{'mode': 'PERMISSIVE'} Spark's reader returns None for values that it cannot read.",
    "json": "Correct the file, or the declared type; or set options={'mode': 'PERMISSIVE'}: Spark's reader then returns None for it.",
    "text": "Name the encoding of the files: options={'encoding': 'latin-1'}.",
}


@dataclass(slots=True)
class _Piece:
    """A piece of a file, of which lines were read.

    Attributes:
        path: Path of the file, as a URI.
        start: Its first byte.
        lines: Number of lines read.
    """

    path: str
    start: int
    lines: int = 0

    def at(self, number: int) -> str:
        behind = f" behind byte {self.start}" if self.start else ""
        return f"{self.path}, line {number}{behind}"


@dataclass(slots=True)
class LineDecoder:
    """Makes records of the lines that one task reads.

    Attributes:
        origin: The user's line that made the source.
        count: Gets the number of lines of each piece that was read; None does not count.
    """

    form: LineForm
    origin: CallSite | None = None
    count: Callable[[int], None] | None = None
    _piece: _Piece = field(init=False, default_factory=lambda: _Piece("", -1))
    _files: dict[tuple[tuple[str, str | None], ...], _FieldsOfFile] = field(
        init=False, default_factory=dict
    )

    def decoded(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch | list[Any]]:
        """Yield columns or records of a batch of lines, in order."""
        values, paths, starts, ends = batch.columns
        if values.null_count:
            pieces = zip(paths.to_pylist(), starts.to_pylist(), ends.to_pylist(), strict=True)
            for path, start, end in pieces:
                yield from self._read(_LOCAL.sub("file:/", path), start, end)
            return
        for path, start, first, last in _pieces(paths, starts):
            if (path, start) != (self._piece.path, self._piece.start):
                self._piece = _Piece(path, start)
            for numbers, some in self._numbered(values.slice(first, last - first)):
                records = self._of_piece(numbers, some)
                if records is not None:
                    yield records

    def _read(self, path: str, start: int, end: int) -> Iterator[pa.RecordBatch | list[Any]]:
        """Yield columns or records of a piece of a local file."""
        self._piece = piece = _Piece(path, start)
        blocks = blocks_of(local_name(path), start, end)
        while True:
            try:
                data = next(blocks, None)
            except OSError as cause:
                raise self._unread(cause) from cause
            if data is None:
                break
            count = data.count(b"\n") + 1
            numbers = range(piece.lines + 1, piece.lines + 1 + count)
            piece.lines += count
            records = self._of_block(numbers, data)
            if records is not None:
                yield records
        if self.count is not None:
            self.count(piece.lines)

    def _of_block(self, numbers: range, data: bytes) -> pa.RecordBatch | list[Any] | None:
        piece, form = self._piece, self.form
        if form.format == "text":
            return self._texts(data.split(b"\n"), numbers[0])
        has_header = form.header and numbers[0] == 1 and piece.start == 0
        if has_header or b"\n\n" in data or data[:1] in _BLANK or data[-1:] in _BLANK:
            return self._of_piece(numbers, pa.array(data.split(b"\n"), pa.binary()))
        fields = self._fields_of(piece.path)
        columns = None
        if fields.fast is not None:
            columns = fields.fast(pa.array([data], pa.binary()), len(numbers))
        if columns is not None:
            return fields.with_partitions(columns)
        return self._records(fields, numbers, data.split(b"\n"))

    def _numbered(self, lines: pa.BinaryArray) -> Iterator[tuple[Sequence[int], pa.BinaryArray]]:
        """Yield the lines of a piece with their numbers, or the records of a file that is a row."""
        if not self.form.is_whole:
            first = self._piece.lines + 1
            self._piece.lines += len(lines)
            yield range(first, first + len(lines)), lines
            return
        find = whole_records(self.form.format, self.form.csv)
        for whole in lines.to_pylist():
            records = find(whole)
            while some := list(islice(records, _RECORDS)):
                records_of_file = pa.array([record for _, record in some], pa.binary())
                yield [number for number, _ in some], records_of_file

    def _of_piece(
        self, numbers: Sequence[int], lines: pa.BinaryArray
    ) -> pa.RecordBatch | list[Any] | None:
        piece, form = self._piece, self.form
        if form.format == "text":
            return self._texts(lines.to_pylist(), numbers[0])
        fields = self._fields_of(piece.path)
        if form.header and numbers[0] == 1 and piece.start == 0:
            self._check_header(lines[0].as_py(), fields)
            lines, numbers = lines[1:], numbers[1:]
        if form.format == "json" or len(fields.names) > 1:
            has_text = pc.greater(pc.binary_length(lines), 0)
            if pc.all(has_text).as_py() is False:
                numbers = [numbers[index] for index in pc.indices_nonzero(has_text).to_pylist()]
                lines = lines.filter(has_text)
        if not len(lines):
            return None
        columns = None if fields.fast is None else fields.fast(joined(lines), len(lines))
        if columns is not None:
            return fields.with_partitions(columns)
        return self._records(fields, numbers, lines.to_pylist())

    def _records(
        self, fields: _FieldsOfFile, numbers: Sequence[int], lines: list[bytes]
    ) -> pa.RecordBatch | list[Any]:
        records = []
        for number, line in zip(numbers, lines, strict=True):
            try:
                records.append(fields.record(self._text(line)))
            except TextError as cause:
                raise self._refused(number, str(cause)) from None
        rows: list[Any] = row_factory(tuple(fields.all_names))(map(fields.completed, records))
        return rows if fields.needs_records else fields.batch(rows)

    def _texts(self, lines: list[bytes], number: int) -> list[Any]:
        try:
            return [line.decode(self.form.encoding) for line in lines]
        except UnicodeDecodeError:
            for index, line in enumerate(lines, number):
                try:
                    self._text(line)
                except TextError as cause:
                    raise self._refused(index, str(cause)) from None
            raise

    def _text(self, line: bytes) -> str:
        try:
            return line.decode(self.form.encoding)
        except UnicodeDecodeError as cause:
            raise TextError(
                f"the line is not {self.form.encoding}: byte {cause.start + 1} of it is "
                f"0x{line[cause.start]:02x}"
            ) from None

    def _refused(self, number: int, problem: str) -> SourceError:
        return SourceError(
            f"{self._piece.at(number)}: {problem}",
            hint=_HINTS[self.form.format],
            origin=self.origin,
        )

    def _unread(self, cause: OSError) -> SourceError:
        return SourceError(
            f"{self._piece.path} cannot be read: {cause.strerror or cause}",
            hint="Every file of the source must exist, be complete and not change while the job runs; workers must be able to read it.",
            origin=self.origin,
        )

    def _check_header(self, line: bytes, fields: _FieldsOfFile) -> None:
        if self.form.skips_header:
            return
        try:
            header = [text for text, _ in fields.syntax.split(self._text(line))]
        except TextError as cause:
            raise self._refused(1, str(cause)) from None
        if header == fields.names:
            return
        problem = f"the header is {', '.join(header)}, and the declared columns are {', '.join(fields.names)}"
        hint = "Declare the columns in the order of the header; or header=False if the files have none."
        if header[:1] == [""]:
            hint = (
                "The first column has no name, as pandas writes the index: write with to_csv(index=False), or "
                "skip headers with options={'enforceSchema': 'true'} and declare a column for it."
            )
        raise SourceError(f"{self._piece.at(1)}: {problem}", hint=hint, origin=self.origin)

    def _fields_of(self, path: str) -> _FieldsOfFile:
        assert self.form.type_info is not None, "lines of text have no fields"
        known_names = self.form.type_info.field_names
        values = _partitions(path, self.form.depth)
        chosen = {name: text for name, text in values.items() if name in known_names}
        key = tuple(chosen.items())
        fields = self._files.get(key)
        if fields is None:
            try:
                fields = self._files[key] = _FieldsOfFile(self.form, chosen)
            except TextError as cause:
                raise SourceError(
                    f"{path}: {cause}, which the name of its directory has",
                    hint="Rename the directory, or declare the column as a string.",
                    origin=self.origin,
                ) from None
        return fields


def _pieces(paths: Any, starts: Any) -> Iterator[tuple[str, int, int, int]]:
    """Yield path and start of adjacent lines of a piece, and the numbers of their first row and of that behind it."""
    rows = len(paths)
    if rows == 0:
        return
    changed = pc.or_(
        pc.not_equal(paths.slice(1), paths.slice(0, rows - 1)),
        pc.not_equal(starts.slice(1), starts.slice(0, rows - 1)),
    )
    firsts = [0, *(pc.indices_nonzero(changed).to_numpy() + 1).tolist(), rows]
    for first, last in pairwise(firsts):
        path = _LOCAL.sub("file:/", paths[first].as_py())
        yield path, starts[first].as_py(), first, last


def _partitions(path: str, depth: int) -> dict[str, str | None]:
    """Return the columns that the names of a file's directories have, of those below a depth."""
    values = columns_of_buckets(names_of_path(path)[depth:-1])
    return {unquote(name): None if text is None else unquote(text) for name, text in values.items()}


class _FieldsOfFile:
    """The fields of the lines of a file, and those that its path has."""

    def __init__(self, form: LineForm, partitions: dict[str, str | None]) -> None:
        assert form.type_info is not None, "lines of text have no fields"
        self._type: RowTypeInfo = form.type_info
        self.all_names = list(form.type_info.field_names)
        types = dict(zip(self.all_names, form.type_info.field_types, strict=True))
        self._fixed = {
            name: None if text is None else _fixed(types[name], name, text, form.zone)
            for name, text in partitions.items()
        }
        self.names = [name for name in self.all_names if name not in partitions]
        inside = RowTypeInfo([types[name] for name in self.names], self.names)
        self.record = record_reader(form, inside)
        self.syntax = CsvSyntax(form.csv)
        self.needs_records = form.uncolumned_because is not None
        self.fast = None if self.needs_records else fast_columns(form, inside)

    def completed(self, values: Any) -> list[Any]:
        """Return the values of a record in the declared order."""
        if not self._fixed:
            return list(values)
        whole = dict(zip(self.names, values, strict=True)) | self._fixed
        return [whole[name] for name in self.all_names]

    def batch(self, rows: list[Any]) -> pa.RecordBatch:
        """Return records as columns."""
        schema = arrow_schema(self._type)
        return pa.RecordBatch.from_arrays(arrow_columns(self._type, rows), schema=schema)

    def with_partitions(self, columns: pa.RecordBatch) -> pa.RecordBatch:
        """Return columns in the declared order, with those that the path has."""
        if not self._fixed:
            return columns
        schema = arrow_schema(self._type)
        arrays = [
            pa.repeat(pa.scalar(self._fixed[f.name], f.type), columns.num_rows)
            if f.name in self._fixed
            else columns.column(f.name)
            for f in schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _fixed(type_info: TypeInformation, name: str, text: str, zone: tzinfo) -> Any:
    try:
        return csv_codec(type_info, rules=TextRules(zone=zone)).read(text, is_quoted=True)
    except TextError as cause:
        raise TextError(f"field {name!r}: {cause}") from None
