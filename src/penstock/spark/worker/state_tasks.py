"""Reading state in workers: decodes blobs. For `mapInArrow`.

    blob rows, unsorted                            ->  survey: states, schemas and kinds of keys
    blob rows, sorted by operator and key group    ->  rows of entries

Blob rows are those of `state_sources`.

Writes rows of state to files in workers. For `mapInArrow`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import StateError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.failures.translation import carrying
from penstock.spark.worker.state_sources import STATE_SCHEMA, batches_of, rows_of
from penstock.state.log.blob import Section, encode_blob, encode_blobs
from penstock.state.replay import GroupReplay, open_blob, replay
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateSchema
from penstock.state.schema.stored_form import stored_codec
from penstock.types.value_serializer import StoredForm
from penstock.wire.job_files import new_file

NAMES_DDL = "name STRING"


@dataclass(frozen=True, slots=True)
class WriteStateFiles:
    """State rows to rows of `NAMES_DDL`: one Parquet file per task that has rows.

    An attempt that fails late may leave a file that nobody names.

    Attributes:
        directory: Where the files are.
    """

    directory: JobPath

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of one task."""
        with carrying():
            try:
                names = self._written(batches)
            except OSError as cause:
                raise StateError(
                    f"state cannot be written to {self.directory}: {cause}",
                    hint="Make room, or make the checkpoint directory writable, and try again.",
                ) from cause
            yield pa.RecordBatch.from_pydict({"name": pa.array(names, pa.string())})

    def _written(self, batches: Iterable[pa.RecordBatch]) -> list[str]:
        full = (batch for batch in batches if batch.num_rows)
        first = next(full, None)
        if first is None:
            return []
        file = new_file(self.directory / f"{uuid.uuid4().hex}.parquet")
        try:
            with pq.ParquetWriter(file, STATE_SCHEMA, compression="lz4") as writer:
                writer.write_batch(_typed(first))
                for batch in full:
                    writer.write_batch(_typed(batch))
            file.finish()
        except BaseException:
            file.discard()
            raise
        return [file.path.name]


def _typed(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [batch.column(field.name).cast(field.type) for field in STATE_SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=STATE_SCHEMA)


COUNT_SCHEMA = pa.schema(
    [
        pa.field("operator", pa.string()),
        pa.field("state", pa.string()),
        pa.field("schema", pa.string()),
        pa.field("entries", pa.int64()),
        pa.field("keys", pa.int64()),
        pa.field("bytes", pa.int64()),
    ]
)
COUNT_DDL = "operator STRING, state STRING, schema STRING, entries LONG, keys LONG, bytes LONG"

Visit = Callable[[str, int, GroupReplay], Iterable[pa.RecordBatch]]
"""Makes rows of the entries of an operator in a (signed) key group."""


@dataclass(frozen=True, slots=True)
class ReplayGroups:
    """Blob rows to rows of entries. Blob rows are sorted by all columns except the blob.

    Attributes:
        visit: Makes the rows.
    """

    visit: Visit

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Replay the key groups of one task, one at a time.

        Raises:
            StateError: A blob is damaged, or a class of a stored value cannot be imported.
        """
        with carrying():
            rows = rows_of(batches)
            for (operator, group), of_group in groupby(rows, key=itemgetter(0, 1)):
                entries = replay((row[2], row[4]) for row in of_group)
                yield from self.visit(operator, group, entries)


def snapshot_rows(operator: str, key_group: int, entries: GroupReplay) -> Iterator[pa.RecordBatch]:
    """Yield rows of `STATE_SCHEMA`. A `Visit`."""
    blobs = encode_blobs(operator, key_group & BROADCAST_GROUP, entries.sections())
    return batches_of(STATE_SCHEMA, ((operator, key_group, blob) for blob in blobs))


def count_rows(operator: str, key_group: int, entries: GroupReplay) -> Iterator[pa.RecordBatch]:
    """Yield rows of `COUNT_SCHEMA`. A `Visit`."""
    return batches_of(
        COUNT_SCHEMA,
        (
            (
                operator,
                section.state,
                section.schema,
                _entries_in(section),
                0 if key_group < 0 else len(set(section.keys)),
                len(encode_blob(operator, key_group & BROADCAST_GROUP, [section])),
            )
            for section in entries.sections()
        ),
    )


def _entries_in(section: Section) -> int:
    schema = StateSchema.parse(section.schema)
    if schema.kind.is_list:
        codec = stored_codec(schema)
        # The values are chunks; plain ones are counted without decoding them.
        if codec is not None and schema.form is StoredForm.CODED:
            return sum(map(len, codec.from_plain(section.values)))
        return sum(map(len, section.values))
    return len(section)


SURVEY_DDL = "operator STRING, state STRING, schema STRING, part STRING, kind STRING"
SURVEY_SCHEMA = pa.schema(
    [pa.field(part.split()[0], pa.string()) for part in SURVEY_DDL.split(",")]
)


@dataclass(frozen=True, slots=True)
class Survey:
    """Blob rows to the states, schemas, and kinds of keys and subkeys in them.

    Attributes:
        kind_of: Returns the kind of a list of values, for columns.
    """

    kinds_of: Callable[[list[Any]], set[str]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Survey the blobs of one task; each finding is returned once."""
        with carrying():
            found = {
                (row[0], section.state, section.schema, part, kind)
                for row in rows_of(batches)
                for section in open_blob(row[2], row[4])
                for part, kind in self._findings(section)
            }
            yield from batches_of(SURVEY_SCHEMA, sorted(found))

    def _findings(self, section: Section) -> Iterator[tuple[str, str]]:
        yield "schema", ""
        for part, values in (("key", section.keys), ("subkey", section.subkeys or [])):
            for kind in self.kinds_of(values):
                yield part, kind
