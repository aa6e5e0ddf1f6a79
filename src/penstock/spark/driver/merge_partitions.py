"""Number of partitions of merges and queries of Spark SQL in a batch run: those of one task, while their keys fit in memory."""

from __future__ import annotations

from pyspark.sql import DataFrame

from penstock.connectors.spark_source import SparkSource
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.spark.sources.read_context import Pinned

_MERGED_BYTES = 32 << 20
"""Size of the files whose records are merged at once."""

_EXCHANGE = "Exchange"
"""Part of the names of nodes of physical plans that exchange rows, or read exchanged ones again."""


def merge_partitions(plan: PhysicalPlan, run: RunPlan, pinned: Pinned, tasks: int) -> int | None:
    """Return the number of partitions, a multiple of the number of tasks; None if nothing is exchanged, or Spark chooses.

    Spark chooses if a DataFrame of the user's has exchanges of its own, of which it may know more.
    """
    has_queries = any(plan.source(each.source).is_query for each in run.readings)
    if not has_queries and not merges_by_key(plan, run):
        return None
    size_bytes = 0
    for reading in run.readings:
        for number in reading.parts:
            part, files = (
                plan.source(reading.source).parts[number],
                pinned.files.get((reading.source, number)),
            )
            if files is not None:
                size_bytes += sum(size for size, _ in files.files.values())
            elif isinstance(part, SparkSource):
                estimated = _scanned_bytes(part.dataframe)
                if estimated is None:
                    return None
                size_bytes += estimated
    return tasks * max(1, size_bytes // (tasks * _MERGED_BYTES))


def merges_by_key(plan: PhysicalPlan, run: RunPlan) -> bool:
    """Return whether Spark SQL merges parts of aggregates by key in a run."""
    return any(each.run == run.index and each.merged_for is not None for each in plan.projections)


def _scanned_bytes(frame: DataFrame) -> int | None:
    """Return Spark's estimate of the size of a DataFrame, None if it has exchanges."""
    planned = frame._jdf.queryExecution()  # noqa: SLF001 - Python shows plans as text only
    if _EXCHANGE in str(planned.executedPlan().toString()):
        return None
    return int(str(planned.optimizedPlan().stats().sizeInBytes()))
