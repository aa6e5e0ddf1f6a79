"""The Spark session of a job, the user's or one made for the job, with the start and the end of its JVM.

A JVM that starts Spark reads, checks and links some 15,000 classes, which is half of the time until a small job
has its first output. An archive has them as they are after that, and is mapped into memory.

    ~/.cache/penstock/classes-<digest>.jsa      XDG_CACHE_HOME in place of ~/.cache

The digest is of what the JVM would check: which Java, which jars. An archive that does not fit is not used.
It takes ten seconds of a core, a gigabyte of memory and 160 MB of disk to make one, so that is done by
a command (`penstock prepare`), and by no job.

While the JVM and its session start, this process does what would be waited for afterwards:

* Modules that PySpark imports with the first calls to the JVM. Until the JVM runs, this process only waits.
* The first Python workers. They are needed after the job is planned, and the session takes a core meanwhile.

If the JVM has ended, PySpark only reports "Connection refused" for a port that means nothing to the user, so the
end and its reason are detected here.

For each Unix socket of a collected result and of a stateful task Spark calls `File.deleteOnExit`. Java keeps
the path until it ends, also when Spark has removed the file: some 170 bytes per socket, which is
hundreds of megabytes a day for a live run of small micro-batches. There is no public way to take a path
back. So the set is exchanged for an empty one now and then, and paths of files that exist are added again.

A path that is being added during the exchange may be lost. Then its file is left in the directory of
temporary files of the session, which is removed as a whole.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from weakref import WeakSet

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from penstock.config.configuration import Configuration
from penstock.config.options import JOB_NAME
from penstock.errors import EnvironmentSetupError
from penstock.plan.options import plan_options
from penstock.spark.session.java_runtime import JavaRuntime, find_java, java_option
from penstock.spark.session.job_settings import RUNTIME, keep_settings
from penstock.spark.session.jvm_output import pass_on
from penstock.spark.session.settings import (
    JAVA_OPTIONS,
    TEMPORARY_FILES,
    check_settings,
    on_command_line,
)
from penstock.spark.session.temporary_directory import TemporaryDirectory, socket_settings

_PERIOD_SECONDS = 600.0
_SETTLE_SECONDS = 2.0
"""Time in which a call that has read the old set has certainly added its path to it."""

_gateways: WeakSet[JavaGateway] = WeakSet()


def forget_removed_files(gateway: JavaGateway, settle_seconds: float = _SETTLE_SECONDS) -> None:
    """Make the JVM forget the files to remove at its end that do not exist."""
    jvm: Any = gateway.jvm
    # Spark starts every JVM with this package open to reflection.
    field = jvm.java.lang.Class.forName("java.io.DeleteOnExitHook").getDeclaredField("files")
    field.setAccessible(True)
    files = field.get(None)
    if files is None:
        return  # the JVM is ending
    field.set(None, jvm.java.util.LinkedHashSet())
    time.sleep(settle_seconds)
    for name in jvm.java.lang.String.join("\n", files).splitlines():
        if Path(name).exists():
            jvm.java.io.File(name).deleteOnExit()


def start_forgetting(gateway: JavaGateway) -> None:
    """Call `forget_removed_files` in a background thread from time to time, until the JVM ends."""
    if gateway in _gateways:  # another session of the same JVM
        return
    _gateways.add(gateway)
    threading.Thread(
        target=_forget, args=(gateway,), name="penstock-exit-files", daemon=True
    ).start()


def _forget(gateway: JavaGateway) -> None:
    while True:
        time.sleep(_PERIOD_SECONDS)
        try:
            forget_removed_files(gateway)
        except (Py4JError, OSError):
            return


_OUT_OF_MEMORY = 52
"""Spark's exit status for lack of memory, `SparkExitCode.OOM`."""

_KILLED = frozenset({137, -9})
_WAIT_SECONDS = 5
"""Time to wait for the end of the JVM: its sockets close before its process ends."""


def lost_jvm(error: BaseException) -> str | None:
    """Return the reason why the JVM has ended if an error is a refused connection, None if it runs.

    A user's sink may cause such an error too, so the function checks the process.
    """
    if not isinstance(error, Py4JNetworkError | ConnectionError):
        return None
    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - PySpark has no public access to the process
    if process is None:
        unknown = isinstance(error, Py4JNetworkError)
        return "Spark's JVM does not answer any more" if unknown else None
    try:
        status = process.wait(_WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    if status == _OUT_OF_MEMORY:
        return f"Spark's JVM ran out of memory and ended (exit status {status})"
    killed = "; killed, perhaps because the machine ran out of memory" if status in _KILLED else ""
    return f"Spark's JVM has ended (exit status {status}{killed})"


_DAEMON = "spark.python.daemon.module"
_INTERPRETERS = ("spark.pyspark.python", "spark.pyspark.driver.python")
_IMPORTED_LATE = ("pyspark.testing.utils", "IPython", "pyspark.sql.pandas.types")
"""Spark's converter of arguments checks for NumPy with the first one, which imports pandas; methods of
DataFrames look for the second one, to name the line that called them."""

_logger = logging.getLogger("penstock")


def worker_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a local session whose workers are forked from `worker.daemon`; empty for others.

    Workers with another interpreter than this process may have to import other modules.
    """
    interpreter = os.environ.get("PYSPARK_PYTHON", sys.executable)
    is_local = settings["spark.master"].startswith("local")
    if _DAEMON in settings or not is_local or interpreter != sys.executable:
        return {}
    if any(settings.get(key, interpreter) != interpreter for key in _INTERPRETERS):
        return {}
    return {_DAEMON: "penstock.spark.worker.daemon"}


def import_early(also: Sequence[str]) -> None:
    """Import in a thread what PySpark imports later, as far as it is installed, and further modules.

    Code that needs a module imports it again, which waits for the thread; if the import has failed, it fails there too.
    """
    names = (*_IMPORTED_LATE, *also)
    threading.Thread(target=_import, args=(names,), name="penstock-imports", daemon=True).start()


def _import(names: Iterable[str]) -> None:
    for name in names:
        with suppress(ImportError):
            import_module(name)


def start_workers(context: SparkContext, workers: int) -> None:
    """Start Python workers in a thread. If that fails, the job fails too, and reports the reason."""
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


_OTHER_CLASSES = "spark.driver.extraClassPath"
"""With it the class path begins differently than that of the archive."""
_QUIET = "-Xlog:cds=off"
"""The JVM would print which classes it leaves out, thousands of lines."""


def archive_path(java: JavaRuntime, environ: Mapping[str, str]) -> Path:
    """Return where the archive for a Java runtime and the installed Spark is, or would be."""
    digest = hashlib.sha256(f"{java.path.resolve()} {java.version}\n".encode())
    for jar in sorted(Path(_find_spark_home(), "jars").glob("*.jar")):
        status = jar.stat()
        digest.update(f"{jar} {status.st_size} {status.st_mtime_ns}\n".encode())
    cache = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache, "penstock", f"classes-{digest.hexdigest()[:16]}.jsa")


def reading_options(java: JavaRuntime, settings: Mapping[str, str]) -> str:
    """Return the JVM's options for using the archive, empty if there is none that fits."""
    path = archive_path(java, os.environ)
    if _OTHER_CLASSES in settings or not path.exists():
        return ""
    return f"{java_option(f'-XX:SharedArchiveFile={path}')} {_QUIET}"


def writing_options(path: Path) -> str:
    """Return the JVM's options for writing an archive at its end."""
    return f"{java_option(f'-XX:ArchiveClassesAtExit={path}')} {_QUIET}"


def end_jvm() -> None:
    """Stop the session and wait until its JVM has ended, which writes the archive last."""
    session = SparkSession.getActiveSession()
    gateway = SparkContext._gateway  # noqa: SLF001 - there is no other way to its process
    if session is not None:
        session.stop()
    if gateway is not None:
        gateway.proc.stdin.close()  # what a JVM sees of the end of its parent
        gateway.proc.wait()


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
    """Return the user's session, or make a local one."""
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
    """Return the session for reading state; its settings stay."""
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
