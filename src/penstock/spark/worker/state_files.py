"""Writes rows of state to files in workers. For `mapInArrow`."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import StateError
from penstock.filesystem.stored_path import JobPath
from penstock.spark.failures.translation import carrying
from penstock.spark.worker.state_sources import STATE_SCHEMA
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
