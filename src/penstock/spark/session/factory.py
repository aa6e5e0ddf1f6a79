"""The Spark session of a job: the user's, or one made for the job."""

from __future__ import annotations

import atexit
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from penstock.config.configuration import Configuration
from penstock.config.options import JOB_NAME
from penstock.errors import EnvironmentSetupError
from penstock.plan.options import plan_options
from penstock.spark.session.class_archive import reading_options
from penstock.spark.session.early_work import import_early, start_workers, worker_settings
from penstock.spark.session.exit_files import start_forgetting
from penstock.spark.session.java_runtime import find_java, java_option
from penstock.spark.session.job_settings import RUNTIME, keep_settings
from penstock.spark.session.jvm_output import pass_on
from penstock.spark.session.lost_jvm import lost_jvm
from penstock.spark.session.secret_settings import on_command_line
from penstock.spark.session.settings import JAVA_OPTIONS, TEMPORARY_FILES, check_settings
from penstock.spark.session.temporary_directory import TemporaryDirectory
from penstock.spark.session.worker_sockets import socket_settings

_GATEWAY = "PYSPARK_GATEWAY_PORT"
"""Environment variable of a process that spark-submit started, also in cluster mode: its JVM's port."""

_CALLING = re.compile(r"An error occurred while calling [^:]*:\s*")
"""The prefix that py4j adds to Java's message."""

_STATIC = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # A crash of an extension module then names the program's line.
    "spark.python.worker.faulthandler.enabled": "true",
    # The next free slot is for the pipeline that has the fewest tasks.
    "spark.scheduler.mode": "FAIR",
    # Listing many paths with one task per path takes longer than listing them in the driver.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1024",
}
"""Settings of a session that we make; the user's `spark.*` keys override them."""

_FIRST_COMPILER = "-XX:TieredStopAtLevel=1"
"""For a JVM that moves bytes and plans, while Python does the work. The second compiler, C2, would take a third of a core
for minutes without a benefit. Where Spark decodes files or merges records, code of C2 is worth it."""


def get_session(
    configuration: Configuration,
    tasks_beside: int = 0,
    *,
    computes: bool = False,
    meanwhile: Sequence[str] = (),
) -> SparkSession:
    """Return the user's session, or make a local one.

    Raises:
        EnvironmentSetupError: There is no Java runtime Spark can use, or the program is a
            client of Spark Connect.
    """
    if is_remote():
        raise EnvironmentSetupError(
            "the program has a session of Spark Connect, and jobs need the JVM of Spark's driver: it holds "
            "their checkpoint directory, cancels their Spark jobs and commits their micro-batches",
            hint="Run it where the driver runs: with spark-submit, or without builder.remote and "
            "SPARK_REMOTE. Building, planning and penstock.testing work here too.",
        )
    session = SparkSession.getActiveSession()
    if session is None and SparkContext._active_spark_context is not None:  # noqa: SLF001
        session = SparkSession.builder.getOrCreate()  # active in another thread
    if session is None:
        with _starting():
            session = _make_session(
                configuration, tasks_beside, computes=computes, meanwhile=meanwhile
            )
    else:
        check_settings(session, configuration)
    return session


@contextmanager
def _starting() -> Iterator[None]:
    """Raise our error where Spark's JVM ends, or refuses its settings, before there is a session."""
    try:
        yield
    except (Py4JError, PySparkException, OSError) as error:
        reason = lost_jvm(error) or _CALLING.sub("", str(error)).strip().partition("\n")[0]
        raise EnvironmentSetupError(
            f"Spark has not started: {reason}",
            hint="Look at what Java printed; spark.driver.memory must fit in the machine, and every spark.* setting be one of "
            "Spark's. `penstock doctor` tries the same.",
        ) from error


def get_state_session() -> SparkSession:
    """Return the session for reading state; its settings stay.

    Raises:
        EnvironmentSetupError: See `get_session`.
    """
    session = get_session(Configuration())
    keep_settings(session)
    return session


def _make_session(
    configuration: Configuration, tasks_beside: int, *, computes: bool, meanwhile: Sequence[str]
) -> SparkSession:
    # The worker must be the interpreter that has Penstock and the user's packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    users = {k: v for k, v in configuration.to_dict().items() if k.startswith("spark.")}
    if _GATEWAY in os.environ:
        return _submitted_session(users)
    java = find_java(os.environ)
    cores = plan_options(configuration).parallelism
    settings = {
        # [n,4]: with plain local[n] the first failed task fails the job. Spark does not interrupt tasks:
        # while those of one pipeline read history, there is room for tasks of each other pipeline, and so there is
        # while a DataFrame is written beside epochs.
        "spark.master": f"local[{cores + tasks_beside},4]",
        "spark.default.parallelism": str(cores),
        "spark.app.name": configuration.get(JOB_NAME),
        **_STATIC,
        **users,
        **RUNTIME,
    }
    if JAVA_OPTIONS not in users:
        compiler = "" if computes else _FIRST_COMPILER
        settings[JAVA_OPTIONS] = f"{compiler} {reading_options(java, settings)}".strip()
    forked = worker_settings(settings)
    settings = {**forked, **settings}
    temporary = TemporaryDirectory()
    sockets = socket_settings(settings, temporary)
    settings = {**sockets, **settings}
    if SparkContext._gateway is None:  # noqa: SLF001 - the JVM outlives a stopped context
        settings = _with_temporary_files(settings, temporary.path)
        import_early(meanwhile)
        context = SparkContext(conf=_conf(settings), gateway=_launched(settings, temporary))
        if forked:
            start_workers(context, cores)
    session = SparkSession.builder.config(conf=_conf(settings)).getOrCreate()
    session.sparkContext.setLogLevel(settings.get("spark.log.level", "OFF"))
    gateway = SparkContext._gateway  # noqa: SLF001 - see above
    if sockets and gateway is not None:
        start_forgetting(gateway)
    return session


def _launched(settings: dict[str, str], temporary: TemporaryDirectory) -> JavaGateway:
    """Start a JVM with settings; its output is passed on."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with on_command_line(settings) as shown:
        gateway = launch_gateway(_conf(shown), popen_kwargs=pipes)  # type: ignore[no-untyped-call]
    temporary.note_jvm(gateway.proc.pid)
    pass_on(gateway.proc.stdout, "stdout")
    pass_on(gateway.proc.stderr, "stderr")
    return gateway


def _conf(settings: dict[str, str]) -> SparkConf:
    return SparkConf().setAll(list(settings.items()))


def _with_temporary_files(settings: dict[str, str], path: Path) -> dict[str, str]:
    """Return settings that put temporary files in a directory; the user's settings override them.

    Spark's own files are there too. Setting `spark.local.dir` would have the same effect, but log a warning
    at every start.
    """
    java = settings[JAVA_OPTIONS]
    if "java.io.tmpdir" not in java:
        java += f" {java_option(f'{TEMPORARY_FILES}{path}')}"
    return {**settings, JAVA_OPTIONS: java}


def _submitted_session(users: dict[str, str]) -> SparkSession:
    """Return a session in the JVM of spark-submit, which started this process.

    spark-submit determines its master, name, memory and addresses, and configures Spark's log.
    """
    builder = SparkSession.builder
    for key, value in {**users, **RUNTIME}.items():
        builder = builder.config(key, value)
    ours = SparkContext._active_spark_context is None  # noqa: SLF001 - asking must not make one
    session = builder.getOrCreate()
    if ours:
        # The JVM runs on when Python ends. Services that Spark stops only at its shutdown would start
        # new executors meanwhile, and log pages of errors after the program's last output.
        atexit.register(_stop, session)
    return session


def _stop(session: SparkSession) -> None:
    with suppress(Py4JError, OSError):  # the JVM has ended, and the session with it
        session.stop()
