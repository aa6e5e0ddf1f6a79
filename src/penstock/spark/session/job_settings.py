"""What a job sets in the session it runs in, and gives back.

Jobs of one session may run at the same time. The first that begins sets what all of them need and the
last that ends puts back what the user had, so that neither takes it from under the other.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

RUNTIME = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # Hadoop's local files have checksums of their own, and other file systems, too.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    # A frame is a large row: bound Arrow batches by bytes, or one could hold a gigabyte.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
    # The end of a bounded source shows in a progress report in which it had nothing new.
    "spark.sql.streaming.noDataProgressEventInterval": "500",
    "spark.sql.streaming.minBatchesToRetain": "10",
}
"""What a job needs; set on any session, the user's included."""

_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
_FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_RENAMING = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""Renames a file of a local directory with one system call, as safely as Spark's default, which
starts a process for each, `readlink`: a third of a small micro-batch."""
_UNTOLD = "python3"
"""What Spark starts if nobody tells it another interpreter."""

_query_lock = threading.Lock()


@dataclass(slots=True)
class _Users:
    """What the user had in a session in which jobs run.

    Attributes:
        executable: The interpreter of workers.
        values: Setting to value, None where it was not set.
        jobs: How many run.
    """

    executable: str
    values: Mapping[str, str | None] = field(default_factory=dict)
    jobs: int = 0


_sessions: dict[str, _Users] = {}
_sessions_lock = threading.Lock()


@contextmanager
def job_settings(session: SparkSession, executable: str | None) -> Iterator[None]:
    """Set what a job needs while it runs.

    A setting that the user changed meanwhile stays as the user wants it.

    Args:
        session: Of the job.
        executable: The interpreter that workers are started with; None leaves that of the session. It
            holds for everything the session starts meanwhile, jobs of others included.
    """
    context = session.sparkContext
    name = str(session._jsparkSession.sessionUUID())  # noqa: SLF001 - one may have several wrappers
    with _sessions_lock:
        users = _sessions.get(name)
        if users is None:
            users = _sessions[name] = _Users(context.pythonExec, _set(session, RUNTIME))
        users.jobs += 1
        if executable is not None:
            context.pythonExec = executable
    try:
        yield
    finally:
        with _sessions_lock:
            users.jobs -= 1
            if users.jobs == 0:
                del _sessions[name]
                context.pythonExec = users.executable
                _restore(session, users.values, RUNTIME)


def keep_settings(session: SparkSession) -> None:
    """Set what reading state needs, for good: a DataFrame of state is computed later, by the user."""
    executable = untold_interpreter(session)
    if executable is not None:
        session.sparkContext.pythonExec = executable
    _set(session, RUNTIME)


def untold_interpreter(session: SparkSession) -> str | None:
    """Return this process's interpreter if nobody told Spark which one workers have, else None.

    What Spark takes by itself, the `python3` of the search path, need not have Penstock.
    """
    is_told = (
        session.conf.get("spark.pyspark.python", None) is not None
        or "PYSPARK_PYTHON" in os.environ
        or session.sparkContext.pythonExec != _UNTOLD
    )
    return None if is_told else sys.executable


@contextmanager
def query_settings(session: SparkSession, shuffle_partitions: int) -> Iterator[None]:
    """Set what only queries of ours need, for those that are started inside.

    A query copies the settings of its session when it starts. One job at a time, so that no
    query gets the settings of another job, and the user's own come back.
    """
    wanted = {_SHUFFLE_PARTITIONS: str(shuffle_partitions)}
    with _query_lock:
        if session.conf.get(_FILE_MANAGER, None) is None:
            wanted[_FILE_MANAGER] = _RENAMING
        before = _set(session, wanted)
        try:
            yield
        finally:
            _restore(session, before, wanted)


def _set(session: SparkSession, wanted: Mapping[str, str]) -> dict[str, str | None]:
    before = {key: session.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        session.conf.set(key, value)
    return before


def _restore(
    session: SparkSession, before: Mapping[str, str | None], ours: Mapping[str, str]
) -> None:
    for key, users in before.items():
        if session.conf.get(key, None) != ours[key]:
            continue  # changed by the user
        if users is None:
            session.conf.unset(key)
        else:
            session.conf.set(key, users)
