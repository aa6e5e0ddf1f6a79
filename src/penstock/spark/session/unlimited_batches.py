"""Arrow batches whose bytes Spark does not count, for rows that cannot be large.

Spark fills a batch for a worker until it has `maxRecordsPerBatch` rows or `maxBytesPerBatch` bytes, and adds up its bytes after
every row, which costs as much as reading the row from a file and sending it. It does not if there is no limit. A row of
numbers and times has a size that is known before, so a batch of them needs no limit of bytes.

Tasks read the limit from the session of their query, and other jobs of the user's session have frames, which are large rows. So the
query gets a session of its own: a copy of the user's, as every streaming query of Spark has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as sql

from penstock.spark.session.job_settings import BATCH_BYTES, MAX_BATCH_BYTES

_MAX_BATCH_RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"

_NO_LIMIT = str((1 << 31) - 1)
"""Spark compares with this number, and then it does not count."""

_BYTES: Mapping[type[sql.DataType], int] = {
    sql.BooleanType: 1,
    sql.ByteType: 1,
    sql.ShortType: 2,
    sql.IntegerType: 4,
    sql.LongType: 8,
    sql.FloatType: 4,
    sql.DoubleType: 8,
    sql.DecimalType: 16,
    sql.DateType: 4,
    sql.TimestampType: 8,
    sql.TimestampNTZType: 8,
}
"""Types whose values have one size in Arrow; all others have no greatest one."""


def has_small_batches(rows: DataFrame) -> bool:
    """Return whether a batch of so many rows as it may have is within the limit of bytes, whatever is in them."""
    most = int(str(rows.sparkSession.conf.get(_MAX_BATCH_RECORDS)))
    sizes = [_BYTES.get(type(field.dataType)) for field in rows.schema.fields]
    known = [size for size in sizes if size is not None]
    return most > 0 and len(known) == len(sizes) and most * sum(known) <= MAX_BATCH_BYTES


def without_limit(frame: DataFrame) -> DataFrame:
    """Return a DataFrame that is computed without a limit of bytes; only if all rows that workers get are small."""
    planned: Any = frame._jdf  # noqa: SLF001 - Python has no other way to a copy of a session
    jvm: Any = frame.sparkSession._jvm  # noqa: SLF001
    session = planned.sparkSession().cloneSession()
    session.conf().set(BATCH_BYTES, _NO_LIMIT)
    made = jvm.org.apache.spark.sql.classic.Dataset.ofRows(
        session, planned.queryExecution().analyzed()
    )
    return DataFrame(made, frame.sparkSession)
