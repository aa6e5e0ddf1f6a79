"""Registers a separate positions source for every query, so that the jobs of a process do not share it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from penstock.spark.sources.positions import PositionsSource

_lock = threading.Lock()


@contextmanager
def own_positions(session: SparkSession) -> Iterator[None]:
    """Let one query read its positions stream inside the context, with a new registration.

    A query uses the source that is registered under the name, and so one Java map: the environment of
    its Python processes. Each starting query adds entries to that map in its own thread without a
    lock (Spark's `PythonStreamingSourceRunner.init`). If two add the same new key at the same time,
    one entry is lost, but the map counts two. Java serializes the count and the entries, so every
    task with the map fails with `OptionalDataException` at every attempt. Therefore each query
    registers the source again, under a lock until its stream is read.

    Args:
        session: The session that reads the stream.
    """
    with _lock:
        session.dataSource.register(PositionsSource)
        yield
