"""Reads ranges of rows of a table's files, as columns of the types that the source declares.

Who reads a file goes on where the last read ended, so an open file is kept with its place. Reading a row group
again for each few thousand rows would cost the square of its size.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from penstock.connectors.delta.values import DataFile, RowsOfFile
from penstock.errors import SourceError

CHANGE_TYPE = "_change_type"
BATCH_ROWS = 8192
_MOST_OPEN = 8


class _OpenFile:
    """A file that is read from its beginning to its end."""

    def __init__(self, path: Path, names: list[str], first: int) -> None:
        """Open it at a row."""
        # Spark writes INT96, which would be nanoseconds.
        self._file = pyarrow.parquet.ParquetFile(path, coerce_int96_timestamp_unit="us")
        self.row = self._end = 0
        metadata = self._file.metadata
        groups = []
        for number in range(metadata.num_row_groups):
            self._end += metadata.row_group(number).num_rows
            if self._end > first:
                groups.append(number)
            else:
                self.row = self._end
        there = [name for name in names if name in self._file.schema_arrow.names]
        # A name with a dot would be taken for a path into a struct.
        chosen = None if any("." in name for name in there) else there
        self._batches: Iterator[Any] = self._file.iter_batches(BATCH_ROWS, groups, chosen)
        self._rest: Any = None
        while self.row < first:
            self.take(first - self.row)

    def take(self, most: int) -> pa.RecordBatch:
        """Return the next rows, `most` at most; at least one, if the file has not ended."""
        found = next(self._batches) if self._rest is None else self._rest
        self._rest = found.slice(most) if found.num_rows > most else None
        found = found.slice(0, most)
        self.row += found.num_rows
        return found

    @property
    def has_ended(self) -> bool:
        """True if all rows were taken."""
        return self.row >= self._end

    def close(self) -> None:
        """Close the file."""
        self._file.close()


_open: dict[tuple[Path, tuple[str, ...]], _OpenFile] = {}


def close_files() -> None:
    """Close the files that are kept open."""
    while _open:
        _open.popitem()[1].close()


def take_rows(
    directory: Path, file: DataFile, schema: pa.Schema, first: int, most: int
) -> tuple[pa.RecordBatch, list[str] | None]:
    """Return rows of a file, and what each of them is if they say it themselves.

    Raises:
        SourceError: The file is gone, or a column has another type.
    """
    path = directory / file.path
    is_marked = file.rows is RowsOfFile.MARKED
    names = [*schema.names, CHANGE_TYPE] if is_marked else list(schema.names)
    key = (path, tuple(names))
    opened = _open.pop(key, None)  # others of this process may read it too
    if opened is not None and opened.row != first:
        opened.close()
        opened = None
    try:
        opened = opened or _OpenFile(path, names, first)
        found = opened.take(most)
    except FileNotFoundError as cause:
        raise SourceError(
            f"the file {path} of the Delta table is gone: the table was vacuumed, or its directory changed",
            hint="Keep removed files for longer than the job may stand still "
            "(delta.deletedFileRetentionDuration). Restore the file, or start in a new checkpoint directory, "
            "which reads the table as it is now.",
        ) from cause
    _keep(key, opened)
    columns = [_column(found, field, file, path) for field in schema]
    marks = found.column(CHANGE_TYPE).to_pylist() if is_marked else None
    return pa.RecordBatch.from_arrays(columns, schema=schema), marks


def _keep(key: tuple[Path, tuple[str, ...]], opened: _OpenFile) -> None:
    if opened.has_ended:
        opened.close()
        return
    while len(_open) >= _MOST_OPEN:
        _open.pop(next(iter(_open))).close()
    _open[key] = opened


def _column(found: pa.RecordBatch, field: pa.Field, file: DataFile, path: Path) -> pa.Array:
    for name, value in file.partition:
        if name == field.name:
            return pa.repeat(pa.scalar(value, field.type), found.num_rows)
    at = found.schema.get_field_index(field.name)
    if at < 0:
        return pa.nulls(found.num_rows, field.type)
    try:
        return found.column(at).cast(field.type)
    except pa.ArrowException as cause:
        raise SourceError(
            f"column {field.name!r} of {path} has the type {found.column(at).type}, and is read as {field.type}: "
            f"{cause}",
            hint="The column was changed after the program was written. Start in a new checkpoint directory, "
            "or leave the column out with columns(…).",
        ) from cause
