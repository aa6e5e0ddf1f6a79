"""The process from which Spark forks the Python workers of a local session, with our modules loaded.

Spark's own daemon loads next to nothing, so every worker imports pyarrow and Penstock again, which takes
most of a second of a core. Here that is done once, before the first fork, and workers share the pages.

    JVM ─▶ python -m penstock.spark.worker.daemon pyspark.worker ─▶ fork per worker

Spark puts a zip of PySpark first on the search path of workers, and a zip has no compiled modules: every process
compiles the modules that it imports from the zip. Where PySpark is an installed package, workers use that package.

A comment in Spark's daemon gives the reason why it loads no modules: a thread that exists at a fork is not in the child,
and its locks stay locked. Among the modules loaded here only pyarrow has a thread, of the allocator jemalloc, which takes
its locks around a fork itself. A test counts the threads.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

PRELOADED = (
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "penstock.spark.worker.level_tasks",
    "penstock.spark.worker.sink_task",
    "penstock.spark.live.epochs.epoch_tasks",
    "penstock.spark.live.epochs.epoch_stages",
)
"""Modules that tasks of batch runs and of epochs import."""


def use_installed_pyspark() -> None:
    """Take Spark's zips of PySpark and Py4J off the search path if Spark is an installed package."""
    home = Path(os.environ.get("SPARK_HOME", ""))
    is_package = home.name == "pyspark" and (home / "__init__.py").exists()
    if is_package and str(home.parent) in sys.path:
        zips = home / "python" / "lib"
        sys.path[:] = [entry for entry in sys.path if Path(entry).parent != zips]


def preload() -> None:
    """Import what workers need, and keep the garbage collector away from it, so that pages stay shared."""
    for name in PRELOADED:
        import_module(name)
    gc.collect()
    gc.freeze()


def ended_by_hang_up(worker: Callable[..., int]) -> Callable[..., int]:
    """Return a worker that ends without a traceback if the JVM closes its connection.

    The JVM does so when it cancels a task, for example of a driver that lost its job. Spark's daemon would print the
    traceback of the failed write into the terminal of the job.
    """

    def work(*given: Any) -> int:
        try:
            return worker(*given)
        except (BrokenPipeError, ConnectionResetError):
            os._exit(1)

    return work


def main() -> None:
    """Be Spark's daemon."""
    use_installed_pyspark()
    preload()
    daemon = import_module("pyspark.daemon")
    daemon.worker = ended_by_hang_up(daemon.worker)  # type: ignore[attr-defined]
    daemon.manager()


if __name__ == "__main__":
    main()
