"""The Spark session of peers: what ours has, without Penstock."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

PROVIDERS = {
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "memory": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
}
"""Option `state` to state store."""


def make_session(cores: int, state: str, local: Path) -> SparkSession:
    """Return a local session.

    Args:
        cores: Cores, and partitions of every shuffle.
        state: A key of `PROVIDERS`.
        local: For shuffle files.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(local),
        # While the process is stopped no heartbeat comes, and it is no reason to give up.
        "spark.network.timeout": "100000s",
        "spark.sql.shuffle.partitions": str(cores),
        # It would coalesce a small shuffle into one partition, which leaves cores idle.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.streaming.stateStore.providerClass": PROVIDERS[state],
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.minBatchesToRetain": "10",
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName("peer")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
