"""Lines as the declared columns, for Spark SQL. For `mapInArrow`.

Every field of a line is decoded, also where Spark SQL needs few of them: what is wrong in a line is an error whatever is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from penstock.connectors.files.lines.decoder import LineDecoder
from penstock.connectors.spark_source import column_name
from penstock.spark.failures.translation import carrying
from penstock.types import Instant, RowTypeInfo
from penstock.types.arrow import arrow_columns

_NANOS_PER_MICRO = 1_000


@dataclass(frozen=True, slots=True)
class LineColumns:
    """Makes columns of the lines that one task reads.

    Attributes:
        fields: The columns that are made, named by position. An `Instant` among them loses what is below the microsecond.
    """

    lines: LineDecoder
    fields: RowTypeInfo

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make columns of batches of lines."""
        with carrying():
            lines = replace(self.lines)  # it counts those of one task
            for batch in batches:
                for decoded in lines.decoded(batch) if batch.num_rows else ():
                    yield self._columns(decoded)

    def _columns(self, records: pa.RecordBatch | list[Any]) -> pa.RecordBatch:
        names = self.fields.field_names
        if isinstance(records, pa.RecordBatch):
            columns = [records.column(name) for name in names]
        else:
            rows = [tuple(map(_in_column, (row[name] for name in names))) for row in records]
            columns = arrow_columns(self.fields, rows)
        return pa.RecordBatch.from_arrays(columns, list(map(column_name, range(len(names)))))


def _in_column(value: Any) -> Any:
    if isinstance(value, Instant):
        return Instant(value.seconds, value.nanos - value.nanos % _NANOS_PER_MICRO)
    return value
