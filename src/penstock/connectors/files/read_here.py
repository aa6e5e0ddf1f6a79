"""Records of local files without Spark: lines by the strict decoders of workers, Parquet by Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.files.lines.decoder import LineDecoder
from penstock.connectors.files.local_listing import FILTERS, Listed, list_path
from penstock.errors import CallSite, SourceError
from penstock.wire.row_columns import rows_of


def records_of_files(
    source: FileSource, most: int, origin: CallSite | None = None
) -> Iterator[list[Any]]:
    """Yield the records of each local file, in the order in which a job reads them."""
    options = {name.lower(): value for name, value in source.options.items()}
    recursively = options.get("recursivefilelookup") == "true"
    files = None
    if FILTERS.isdisjoint(options):
        try:
            files = list_path(source.path, recursively=recursively)
        except OSError as cause:
            raise _unread(source, f"cannot be listed: {cause}", origin) from cause
    if files is None:
        raise _unread(source, "are listed by Spark only", origin)
    for listed in sorted(files):
        yield list(islice(_records(source, listed, origin), most))


def _records(source: FileSource, listed: Listed, origin: CallSite | None) -> Iterator[Any]:
    _, name, size = listed
    form = source.by_lines
    if form is not None and not form.is_whole:
        pieces = pa.record_batch(
            {
                "line": pa.array([None], pa.binary()),
                "file": [name],
                "start": pa.array([0], pa.int64()),
                "end": pa.array([size], pa.int64()),
            }
        )
        batches: Any = LineDecoder(form, origin).decoded(pieces) if size else ()
    elif source.format == "parquet" and not source.options:
        fields = source.type_info
        names = None if fields is None else list(fields.field_names)
        path = name.removeprefix("file:")
        try:
            batches = pq.ParquetFile(path).iter_batches(columns=names)
        except (OSError, pa.ArrowException) as cause:
            raise _unread(source, f"cannot be read: {cause}", origin) from cause
    else:
        raise _unread(source, "are read by Spark only", origin)
    return chain.from_iterable(
        batch if isinstance(batch, list) else rows_of(batch) for batch in batches
    )


def _unread(source: FileSource, why: str, origin: CallSite | None) -> SourceError:
    return SourceError(
        f"{source.describe()} {why}",
        hint="Declare the columns of CSV and JSON with type_info; or pass records in place of the files.",
        origin=origin,
    )
