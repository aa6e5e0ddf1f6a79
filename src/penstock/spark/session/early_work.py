"""Work beside the start of a JVM and its session that would be waited for afterwards.

* Modules that PySpark imports with the first calls to the JVM. Until the JVM runs, this process only waits.
* The first Python workers. They are needed after the job is planned, and the session takes a core meanwhile.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

_DAEMON = "spark.python.daemon.module"
_INTERPRETERS = ("spark.pyspark.python", "spark.pyspark.driver.python")
_IMPORTED_LATE = ("pyspark.testing.utils", "IPython", "pyspark.sql.pandas.types")
"""Spark's converter of arguments asks the first one whether NumPy is there, which imports pandas; methods of
DataFrames look for the second one, to name the line that called them."""

_logger = logging.getLogger("penstock")


def worker_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a local session whose workers are forked from `worker.daemon`; empty for others.

    Workers with another interpreter than this process may have to import other modules.
    """
    told = os.environ.get("PYSPARK_PYTHON", sys.executable)
    is_local = settings["spark.master"].startswith("local")
    if _DAEMON in settings or not is_local or told != sys.executable:
        return {}
    if any(settings.get(key, told) != told for key in _INTERPRETERS):
        return {}
    return {_DAEMON: "penstock.spark.worker.daemon"}


def import_early(also: Sequence[str]) -> None:
    """Import in a thread what PySpark imports later, as far as it is installed, and further modules.

    Who needs a module imports it again, which waits for the thread; if the import has failed, it fails there too.
    """
    names = (*_IMPORTED_LATE, *also)
    threading.Thread(target=_import, args=(names,), name="penstock-imports", daemon=True).start()


def _import(names: Iterable[str]) -> None:
    for name in names:
        with suppress(ImportError):
            import_module(name)


def start_workers(context: SparkContext, workers: int) -> None:
    """Start Python workers in a thread. If that fails, so does the job, which says why."""
    threading.Thread(
        target=_run_nothing, args=(context, workers), name="penstock-first-workers", daemon=True
    ).start()


def _run_nothing(context: SparkContext, tasks: int) -> None:
    try:
        context.parallelize(range(tasks), tasks).foreachPartition(_nothing)
    except (Py4JError, PySparkException, OSError) as error:
        _logger.debug("no worker was started early: %s", error)


def _nothing(items: Iterable[int]) -> None:
    for _ in items:
        pass
