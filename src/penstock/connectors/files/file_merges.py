"""Merges files of one format into one: a table from extension to the function."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet

from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.file_writers import ROW_GROUP_ROWS, ParquetBatchFile

Check = Callable[[], None]
"""Called between files, and between pieces of one; its exception ends the merge."""

_CHUNK_BYTES = 1024 * 1024


def merge_files(
    paths: Sequence[Path], target: BinaryIO, delimiter: bytes = b"", check: Check = lambda: None
) -> int:
    """Write the records of files into one, in order; return how many files there are in it.

    These are the first ones, of which all have the columns of the first: a job that was upgraded may have written others.

    Raises:
        OSError: A file cannot be read or written.
        ArrowException: A file is damaged.
    """
    return _MERGES[paths[0].suffix](paths, target, delimiter, check)


def _merge_parquet(paths: Sequence[Path], target: BinaryIO, _: bytes, check: Check) -> int:
    schema = pyarrow.parquet.read_schema(paths[0])
    merged = ParquetBatchFile(target, schema)
    try:
        count = _append_parquet(paths, merged, schema, check)
    except BaseException:
        merged.discard()
        raise
    merged.finish()
    return count


def _append_parquet(
    paths: Sequence[Path], merged: ParquetBatchFile, schema: pa.Schema, check: Check
) -> int:
    for count, path in enumerate(paths):
        with pyarrow.parquet.ParquetFile(path) as file:
            if not file.schema_arrow.equals(schema):
                return count
            for batch in file.iter_batches(ROW_GROUP_ROWS):
                check()
                merged.append(batch)
    return len(paths)


def _merge_csv(paths: Sequence[Path], target: BinaryIO, _: bytes, check: Check) -> int:
    first: bytes | None = None
    for count, path in enumerate(paths):
        with path.open("rb") as file:
            header = _header_of(file)
            if first is None:
                target.write(header)
                first = header
            elif header != first:
                return count
            _copy(file, target, check)
    return len(paths)


def _header_of(file: BinaryIO) -> bytes:
    """Return the first record of a CSV file; the name of a column may have line ends, between quotes."""
    header = b""
    while line := file.readline():
        header += line
        if header.count(b'"') % 2 == 0:
            break
    return header


def _merge_lines(paths: Sequence[Path], target: BinaryIO, delimiter: bytes, check: Check) -> int:
    for number, path in enumerate(paths):
        if number:
            target.write(delimiter)
        with path.open("rb") as file:
            _copy(file, target, check)
    return len(paths)


def _copy(file: BinaryIO, target: BinaryIO, check: Check) -> None:
    check()
    shutil.copyfileobj(file, target, _CHUNK_BYTES)


_MERGES: dict[str, Callable[[Sequence[Path], BinaryIO, bytes, Check], int]] = {
    f".{SPECS[FileFormat.PARQUET].extension}": _merge_parquet,
    f".{SPECS[FileFormat.CSV].extension}": _merge_csv,
    f".{SPECS[FileFormat.JSON].extension}": _merge_lines,
    f".{SPECS[FileFormat.TEXT].extension}": _merge_lines,
}
"""Every extension of the file sink; `test_file_merges` compares them."""
