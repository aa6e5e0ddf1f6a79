"""Rows of the files that a sink has written, in the order in which it wrote them, without their declared type.

    parquet          values of the columns
    csv              texts; an empty field is None, and `""` is an empty text
    json             values; a line that is no object is the column `record`
    other files      the column `line`

The columns that are in the names of directories are texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from penstock.connectors.files.local_listing import Listed, list_local, name_of_local
from penstock.connectors.files.partitions import columns_of_buckets
from penstock.errors import SourceError
from penstock.types.arrow_lists import columns_to_lists

StoredRow = dict[str, Any]
"""Column to value."""

LINE, RECORD = "line", "record"
"""Column of a file without columns, and of a line of JSON that is not an object."""

_ROWS = 8192
_NUMBERED = re.compile(r"^(.*)-(\d+)-(\d+)-(\d+)(\.[^.]*)?$")
"""Name of a file of a sink: beginning, which its job and sink have, then run, epoch and index."""


class EpochRows(list[StoredRow]):
    """Rows that belong to one epoch.

    Attributes:
        epoch: Place among the files, and the name of the epoch in its job.
    """

    epoch: tuple[int, str] | None = None


def rows_of_files(directory: Path, form: str = "") -> Iterator[list[StoredRow]]:
    """Yield the rows of a directory in lists, or those of a single file.

    An empty format is that of the end of each name.
    """
    if not directory.exists():
        raise SourceError(f"there is no output at {directory}", hint="Correct the path.")
    try:
        listed = list_local([str(directory)], recursively=True)
        for place, path in enumerate(_in_order(listed)):
            numbered = _NUMBERED.match(path.name)
            below = path.relative_to(directory).parts[:-1] if path != directory else ()
            columns = columns_of_buckets(below)
            rows = _READERS.get(form or path.suffix[1:], _lines)(path)
            while some := list(islice(rows, _ROWS)):
                chunk = EpochRows(columns | row for row in some) if columns else EpochRows(some)
                if numbered is not None:
                    chunk.epoch = place, f"{numbered[2]}-{numbered[3]}"
                yield chunk
    except (OSError, ValueError) as cause:  # ArrowInvalid is a ValueError
        raise SourceError(
            f"the output at {directory} cannot be read: {cause}",
            hint="Compare what a sink has written, in files that are whole.",
        ) from cause


def _in_order(listed: list[Listed]) -> list[Path]:
    """Return files in the order of their epochs; those of several jobs in the order of the first file of each."""
    begins: dict[str, int] = {}
    files = []
    for modified, name, _ in listed:
        path = Path(name.removeprefix(name_of_local("")))
        numbered = _NUMBERED.match(path.name)
        group = numbered[1] if numbered else ""
        begins[group] = min(modified, begins.get(group, modified))
        number = tuple(map(int, numbered.group(2, 3, 4))) if numbered else (modified,)
        files.append((group, number, path))
    return [path for _, _, path in sorted(files, key=lambda file: (begins[file[0]], *file))]


def rows_of_batch(batch: pa.RecordBatch) -> Iterator[StoredRow]:
    """Yield the rows of an Arrow batch."""
    names = batch.schema.names
    return (
        dict(zip(names, row, strict=True)) for row in zip(*columns_to_lists(batch), strict=True)
    )


def _parquet(path: Path) -> Iterator[StoredRow]:
    with pyarrow.parquet.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        for batch in file.iter_batches(_ROWS):
            yield from rows_of_batch(batch)


def _csv(path: Path) -> Iterator[StoredRow]:
    syntax = pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    with pyarrow.csv.open_csv(path, parse_options=syntax) as file:
        names = file.schema.names
    options = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    with pyarrow.csv.open_csv(path, parse_options=syntax, convert_options=options) as file:
        for batch in file:
            yield from rows_of_batch(batch)


def _json(path: Path) -> Iterator[StoredRow]:
    for row in _lines(path):
        value = json.loads(row[LINE], parse_float=_number)
        yield value if isinstance(value, dict) else {RECORD: value}


def _number(text: str) -> float | Decimal:
    """Return the number of a text: as a double if that has all of its digits."""
    number = float(text)
    return number if repr(number) == text else Decimal(text)


def _lines(path: Path) -> Iterator[StoredRow]:
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield {LINE: line.removesuffix("\n")}


_READERS: dict[str, Callable[[Path], Iterator[StoredRow]]] = {
    "parquet": _parquet,
    "csv": _csv,
    "json": _json,
}
