"""The job of `orders_in_files`, whose history is a DataFrame: its rows wait for a file, one by one if they are told to.

Arguments: output directory, the file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit, udf

from penstock.common import Configuration
from penstock.connectors.spark_source import SparkSource
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import HybridSource
from penstock.spark.session.factory import get_session
from tests.spark.jobs.orders_in_files import HISTORY, KEYS, LaterOrders, build

PARTITIONS = 3


def orders_frame(
    session: SparkSession, gate: Path | None = None, count: int = HISTORY
) -> DataFrame:
    """Return the orders of history; no row is there before a file is."""
    path = None if gate is None else str(gate)

    def waiting(n: int) -> int:
        import time  # noqa: PLC0415 - it is pickled by value
        from pathlib import Path  # noqa: PLC0415

        while path is not None and not Path(path).exists():
            time.sleep(0.02)
        return n % 5

    assert KEYS == 5, "the function has no globals"
    numbers = session.range(0, count, 1, PARTITIONS)
    key: Any = udf(waiting, "long", useArrow=False)(col("id"))
    return numbers.select(
        lit("orders").alias("name"), key.alias("key"), lit(1).cast("long").alias("n")
    )


def orders_of(frame: DataFrame) -> HybridSource:
    """Return orders whose history is a DataFrame, and which go on by positions."""
    return HybridSource.builder(SparkSource(frame)).add_source(LaterOrders()).build()


def main(out: str, gate: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    session = get_session(Configuration().set("parallelism.default", 2), 1)
    build(env, Path(out) / "files", orders_of(orders_frame(session, Path(gate))), rate=30)
    env.execute("orders")


if __name__ == "__main__":
    main(*sys.argv[1:])
