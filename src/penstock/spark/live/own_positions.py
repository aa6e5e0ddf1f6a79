"""A positions source of its own for every query, so that jobs of one process share nothing of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from penstock.spark.sources.positions import PositionsSource

_lock = threading.Lock()


@contextmanager
def own_positions(session: SparkSession) -> Iterator[None]:
    """Make positions streams that are read inside those of one query, as the only one.

    Reading takes what is registered under the name, whoever registered it, and with it one Java map,
    the environment of its Python processes. Each query that starts puts entries into that map, in a
    thread of its own and without a lock (Spark's `PythonStreamingSourceRunner.init`). When two put
    the same new key at once, one entry is lost and the map counts two. Java writes that count and the
    entries there are, so every task that has the map ends with `OptionalDataException`, each time it
    is tried. So a query registers the source anew, and no other one does before its stream is read.

    Args:
        session: In which the streams are read.
    """
    with _lock:
        session.dataSource.register(PositionsSource)
        yield
