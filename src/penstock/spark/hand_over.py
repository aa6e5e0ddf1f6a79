"""State between runs: recorded by the run that ends, read by the one that begins.

Keyed state is a Parquet table (level, key_group, blob) in `run-N/snapshot`; watermarks and what
operators keep beside state are in the run's record. Only files the record names are read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.errors import StateError
from penstock.plan.programs import HandOver
from penstock.runtime.report import Report
from penstock.runtime.routing import live_routes


def describe_hand_over(report: Report, state_files: list[str]) -> dict[str, Any]:
    """Return what the ending run records."""
    return {
        "watermarks": {
            str(channel): {str(group): mark for group, mark in groups.items()}
            for channel, groups in report.watermarks.items()
        },
        "memory": report.memory,
        "state_files": state_files,
    }


def read_hand_over(recorded: dict[str, Any]) -> HandOver:
    """Return watermarks and memory of a record."""
    return HandOver(
        watermarks={
            int(channel): {int(group): mark for group, mark in groups.items()}
            for channel, groups in recorded["watermarks"].items()
        },
        memory=dict(recorded["memory"]),
    )


def greatest_watermark(handed: HandOver) -> int | None:
    """Return the greatest watermark handed over, None if there is none."""
    marks = [
        mark
        for groups in handed.watermarks.values()
        for mark in groups.values()
        if abs(mark) < 2**62  # neither Long.MIN nor Long.MAX
    ]
    return max(marks, default=None)


def initial_state(
    session: SparkSession,
    snapshot: Path,
    files: list[str],
    level: int,
    parallelism: int,
    max_parallelism: int,
) -> DataFrame:
    """Return the state rows of a level as (route, blob).

    Raises:
        StateError: A file that was recorded is gone.
    """
    paths = [snapshot / name for name in files]
    for path in paths:
        if not path.exists():
            raise StateError(
                f"the state file {path} is gone",
                hint="Restore the checkpoint directory from a copy, or start in a new one.",
            )
    routes = live_routes(parallelism)
    if not paths:
        return session.createDataFrame([], "route INT, blob BINARY")
    subtask = sf.expr(f"CAST(key_group * {parallelism} DIV {max_parallelism} AS INT)")
    route = sf.element_at(sf.array(*(sf.lit(r) for r in routes)), subtask + 1)
    rows = session.read.parquet(*map(str, paths)).where(sf.col("level") == level)
    return rows.select(route.alias("route"), "blob")
