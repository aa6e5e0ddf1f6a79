"""Programs as Python functions over Arrow batches, with our lambda called once per record.

`mapInArrow` combines in every partition before the shuffle, and merges behind it; `applyInArrow`
(option `call`: `apply`) gets the records of one key per call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from frame_peer import FramePeer
from pyspark.sql import DataFrame

from benchmarks.answers import aggregate_records, reduce_records
from benchmarks.systems.serve import serve

Combine = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Loop:
    """A keyed reduce.

    Attributes:
        columns: SQL of the records' columns over `id`; the first one is the key.
        schema: Of a record, and of a result.
        combine: The lambda.
    """

    columns: Callable[[int], tuple[str, ...]]
    schema: str
    combine: Combine


LOOPS = {
    "reduce": Loop(
        lambda keys: (f"id % {keys} AS key", "id AS v", "1L AS n"),
        "key LONG, v LONG, n LONG",
        reduce_records.combine,
    ),
    "aggregate": Loop(
        lambda keys: (f"id % {keys} AS key", "1.0D AS value"),
        "key LONG, value DOUBLE",
        aggregate_records.combine,
    ),
}


def combined(combine: Combine, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return one record per key of all batches."""
    totals: dict[int, Any] = {}
    schema = None
    for batch in batches:
        schema = batch.schema
        for record in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            key = record[0]
            before = totals.get(key)
            totals[key] = record if before is None else combine(before, record)
    if schema is not None:
        arrays = zip(*totals.values(), strict=True)
        columns = [pa.array(each, field.type) for each, field in zip(arrays, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def of_one_key(combine: Combine, table: pa.Table) -> pa.Table:
    """Return the one record of a key."""
    records = zip(*(column.to_pylist() for column in table.columns), strict=True)
    total = next(records)
    for record in records:
        total = combine(total, record)
    return pa.table([[each] for each in total], schema=table.schema)


class ArrowPeer(FramePeer):
    """A loop of `LOOPS`."""

    def outputs(self) -> DataFrame:
        """Return the program's rows."""
        loop = LOOPS[self.specification.program]
        records = self.session.range(
            0, self.shape.records, numPartitions=self.shape.parallelism
        ).selectExpr(*loop.columns(self.shape.keys))
        if self.specification.options["call"] == "apply":
            combine = loop.combine

            # Not a `partial`: Spark decides by the number of parameters what to pass.
            def of_key(table: pa.Table) -> pa.Table:
                return of_one_key(combine, table)

            return records.groupBy("key").applyInArrow(of_key, loop.schema)
        step = partial(combined, loop.combine)
        return (
            records.mapInArrow(step, loop.schema)
            .repartition(self.shape.parallelism, "key")
            .mapInArrow(step, loop.schema)
        )


if __name__ == "__main__":
    serve(ArrowPeer)
