"""The settings of a job in its session, which are restored at its end.

Jobs of one session may run at the same time. The first job sets the settings of all jobs, and the last
one restores the user's, so that no job changes the settings of a running one.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.conf import RuntimeConfig

BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
MAX_BATCH_BYTES = 8 << 20

RUNTIME = {
    # Hadoop's local files, and other file systems, have their own checksums.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    # A frame is a large row: Arrow batches are bounded by bytes, else one could have a gigabyte.
    BATCH_BYTES: str(MAX_BATCH_BYTES),
    # Columns of SQL_TIME in Parquet files.
    "spark.sql.timeType.enabled": "true",
    # Spark shortens tracebacks of functions of DataFrames only, by a variable of the worker's environment, and
    # processes with different environments are not shared: each kind would have workers of its own.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}
"""Settings that a job needs in any session, also the user's."""

POOL = "spark.scheduler.pool"
"""Spark's local property with the scheduler pool of the jobs that a thread starts."""

_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
_ADAPTIVE = "spark.sql.adaptive.enabled"
_FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_RENAMING = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""Renames a file of a local directory with one system call, as safely as Spark's default. The default
starts a process `readlink` for each file, which takes a third of a small micro-batch."""
_UNSET = "python3"
"""Spark's default interpreter."""

_query_lock = threading.Lock()


@dataclass(slots=True)
class _UserSettings:
    """The user's settings of a session with running jobs.

    Attributes:
        values: Setting to value, None if it was not set.
    """

    executable: str
    values: Mapping[str, str | None] = field(default_factory=dict)
    jobs: int = 0


_sessions: dict[str, _UserSettings] = {}
_sessions_lock = threading.Lock()


@contextmanager
def job_settings(session: SparkSession, executable: str | None) -> Iterator[None]:
    """Set the settings of a job inside the context.

    A setting that the user changes meanwhile keeps the user's value.
    """
    context = session.sparkContext
    name = str(session._jsparkSession.sessionUUID())  # noqa: SLF001 - a Java session may have several Python wrappers
    with _sessions_lock:
        users = _sessions.get(name)
        if users is None:
            users = _sessions[name] = _UserSettings(context.pythonExec, _set(session.conf, RUNTIME))
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
                _restore(session.conf, users.values, RUNTIME)


def keep_settings(session: SparkSession) -> None:
    """Set the settings for reading state permanently: the user computes a DataFrame of state later."""
    executable = default_interpreter(session)
    if executable is not None:
        session.sparkContext.pythonExec = executable
    _set(session.conf, RUNTIME)


def default_interpreter(session: SparkSession) -> str | None:
    """Return this process's interpreter if Spark has no setting for that of workers, else None.

    Spark's default, `python3` of the search path, need not have Penstock installed.
    """
    is_set = (
        session.conf.get("spark.pyspark.python", None) is not None
        or "PYSPARK_PYTHON" in os.environ
        or session.sparkContext.pythonExec != _UNSET
    )
    return None if is_set else sys.executable


@contextmanager
def query_settings(session: SparkSession, shuffle_partitions: int) -> Iterator[None]:
    """Set the settings of queries of streaming DataFrames that are started inside the context.

    A query copies the settings of its session when it starts. One job at a time starts queries, so
    that no query gets the settings of another job. The user's settings are restored.
    """
    ours = {_SHUFFLE_PARTITIONS: str(shuffle_partitions)}
    with _query_lock:
        if session.conf.get(_FILE_MANAGER, None) is None:
            ours[_FILE_MANAGER] = _RENAMING
        before = _set(session.conf, ours)
        try:
            yield
        finally:
            _restore(session.conf, before, ours)


def plan_with_partitions(frame: DataFrame, partitions: int, *, adapts: bool) -> None:
    """Let Spark plan a DataFrame now, with a number of partitions for each exchange that has no number of its own.

    Its default, 200, is a file per partition and task, and to find out that fewer will do is a Spark job more. The settings of the
    session are as before afterwards.
    """
    planned = frame._jdf  # noqa: SLF001 - it may have a session of its own (`unlimited_batches`)
    conf = RuntimeConfig(planned.sparkSession().conf())
    most = int(str(conf.get(_SHUFFLE_PARTITIONS)))
    ours = {_SHUFFLE_PARTITIONS: str(min(partitions, most))}
    if not adapts:
        ours[_ADAPTIVE] = "false"
    with _query_lock:
        before = _set(conf, ours)
        try:
            planned.queryExecution().executedPlan()  # Python has no other way to plan
        finally:
            _restore(conf, before, ours)


def _set(conf: RuntimeConfig, ours: Mapping[str, str]) -> dict[str, str | None]:
    """Set what differs, and return the users' values of that; a session that we made differs in nothing.

    Each call is one to the JVM.
    """
    known = {key: conf.get(key, None) for key in ours}
    before = {key: users for key, users in known.items() if users != ours[key]}
    for key in before:
        conf.set(key, ours[key])
    return before


def _restore(
    conf: RuntimeConfig, before: Mapping[str, str | None], ours: Mapping[str, str]
) -> None:
    for key, users in before.items():
        if conf.get(key, None) != ours[key]:
            continue  # changed by the user
        if users is None:
            conf.unset(key)
        else:
            conf.set(key, users)
