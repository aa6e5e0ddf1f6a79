"""The Spark session a job runs in: the user's, or one made for the job."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from penstock.config.configuration import Configuration
from penstock.config.options import JOB_NAME
from penstock.errors import EnvironmentSetupError
from penstock.plan.options import plan_options
from penstock.spark.jvm_output import pass_on
from penstock.spark.session_settings import check_settings

_MIN_JAVA = 17
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
_FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_RENAMING = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""Renames a file of a local directory with one system call, as safely as Spark's default, which
starts a process for each, `readlink`: a third of a small micro-batch."""
_settings_lock = threading.Lock()

_STATIC = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # The JVM carries bytes and plans; Python works. The second compiler, C2, would take a third of a
    # core for minutes and gain nothing.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    # With one task per path, to list many of them would take longer than to do it in place.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1024",
}
"""For a session we make ourselves; the user's `spark.*` keys win."""

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


def get_session(configuration: Configuration) -> SparkSession:
    """Return the user's session, or make a local one.

    Raises:
        EnvironmentSetupError: There is no Java runtime Spark can use, or the program is a
            client of Spark Connect.
    """
    if is_remote():
        raise EnvironmentSetupError(
            "the program has a session of Spark Connect, and jobs need the JVM of Spark's driver",
            hint="Run it where the driver runs: with spark-submit, or without builder.remote and "
            "SPARK_REMOTE. Building, planning and penstock.testing work here too.",
        )
    session = SparkSession.getActiveSession()
    if session is None and SparkContext._active_spark_context is not None:  # noqa: SLF001
        session = SparkSession.builder.getOrCreate()  # active in another thread
    if session is None:
        session = _make_session(configuration)
    else:
        check_settings(session, configuration)
    for key, value in RUNTIME.items():
        session.conf.set(key, value)
    return session


@contextmanager
def query_settings(session: SparkSession, shuffle_partitions: int) -> Iterator[None]:
    """Set what only queries of ours need, for those that are started inside.

    A query copies the settings of its session when it starts. One job at a time, so that no
    query gets the settings of another job, and the user's own come back.
    """
    wanted = {_SHUFFLE_PARTITIONS: str(shuffle_partitions)}
    with _settings_lock:
        if session.conf.get(_FILE_MANAGER, None) is None:
            wanted[_FILE_MANAGER] = _RENAMING
        before = {key: session.conf.get(key, None) for key in wanted}
        for key, value in wanted.items():
            session.conf.set(key, value)
        try:
            yield
        finally:
            for key, users in before.items():
                if users is None:
                    session.conf.unset(key)
                else:
                    session.conf.set(key, users)


def check_java() -> None:
    """Refuse to start without a Java runtime of version 17 or later.

    Raises:
        EnvironmentSetupError: None is found, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    hint = (
        "Install one, on Debian with `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME "
        "to one."
    )
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise EnvironmentSetupError(f"there is no Java runtime in {where}", hint=hint)
    ran = subprocess.run(  # noqa: S603 - the path of a Java, no shell
        [java, "-version"], capture_output=True, text=True, check=False
    )
    found = re.search(r'version "(\d+)', ran.stderr + ran.stdout)
    if found is None or int(found[1]) < _MIN_JAVA:
        version = found[1] if found else "unknown"
        raise EnvironmentSetupError(
            f"Java at {java} has version {version}; Spark needs {_MIN_JAVA} or later", hint=hint
        )


def _make_session(configuration: Configuration) -> SparkSession:
    check_java()
    # The worker must be the interpreter that has Penstock and the user's packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    cores = plan_options(configuration).parallelism
    settings = {
        # [n,4]: with plain local[n] the first failed task fails the job.
        "spark.master": f"local[{cores},4]",
        "spark.app.name": configuration.get(JOB_NAME),
        **_STATIC,
        **{k: v for k, v in configuration.to_dict().items() if k.startswith("spark.")},
    }
    conf = SparkConf().setAll(list(settings.items()))
    if SparkContext._gateway is None:  # noqa: SLF001 - the JVM outlives a stopped context
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        gateway = launch_gateway(conf, popen_kwargs=pipes)  # type: ignore[no-untyped-call]
        pass_on(gateway.proc.stdout, "stdout")
        pass_on(gateway.proc.stderr, "stderr")
        SparkContext(conf=conf, gateway=gateway)
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    session.sparkContext.setLogLevel(settings.get("spark.log.level", "OFF"))
    return session
