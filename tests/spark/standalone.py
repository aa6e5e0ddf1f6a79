"""A standalone cluster of processes on loopback: a master and a worker, by the classes that PySpark comes with."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from benchmarks.measuring.processes import members, signal_all
from tests.faults.processes import processes_below, wait_for

ROOT = Path(__file__).parents[2]
SPARK = Path(pyspark.__file__).parent
SECONDS = 120
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Successfully registered with master")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that runs.

    Attributes:
        master: Its URL.
        worker: Process of its worker.
        logs: Directory of what its processes and those of drivers print.
    """

    master: str
    worker: int
    logs: Path

    def drivers(self) -> list[int]:
        """Return the JVMs of drivers that the worker has started: those of cluster mode."""
        return [p.pid for p in processes_below(self.worker) if "DriverWrapper" in p.command]

    def executors(self) -> list[int]:
        """Return the JVMs of executors."""
        found = processes_below(self.worker)
        return [p.pid for p in found if "CoarseGrainedExecutorBackend" in p.command]

    def printed(self) -> str:
        """Return what drivers have printed in cluster mode."""
        paths = sorted(self.logs.glob("work/driver-*/std*"))
        return "\n".join(path.read_text(errors="replace") for path in paths)

    def submit(self, *arguments: str, directory: Path) -> subprocess.CompletedProcess[str]:
        """Run `spark-submit` as in an activated environment."""
        settings = [
            "spark.ui.enabled=false",
            "spark.executor.memory=512m",
            "spark.driver.memory=512m",
            "spark.cores.max=2",
        ]
        told = [part for each in settings for part in ("--conf", each)]
        return subprocess.run(
            ["spark-submit", "--master", self.master, *told, *arguments],
            cwd=directory,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )


def environment() -> dict[str, str]:
    """Return the variables of all processes of a cluster. Nobody tells workers an interpreter."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_")}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        # Ten JVMs that live for seconds: the second compiler and a concurrent collector would take a core each.
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


@contextmanager
def standalone_cluster(logs: Path) -> Iterator[Cluster]:
    """Start a cluster of three cores, one of which is for drivers; end all its processes."""
    with ExitStack() as stack:
        ports = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        master = stack.enter_context(_process("master.Master", ports, logs / "master.log"))
        del master
        url = _told(logs / "master.log", _MASTER)[1]
        resources = ["--cores", "3", "--memory", "3g", "--work-dir", str(logs / "work")]
        worker = stack.enter_context(
            _process("worker.Worker", [*ports, *resources, url], logs / "worker.log")
        )
        _told(logs / "worker.log", _REGISTERED)
        yield Cluster(url, worker, logs)


@contextmanager
def _process(name: str, arguments: list[str], log: Path) -> Iterator[int]:
    """Start a class of Spark's in a session of its own; end all that is in it."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment(),
        )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(SECONDS)
        signal_all(process.pid, signal.SIGKILL)
        wait_for(lambda: not members(process.pid), SECONDS, "processes of a cluster are left")


def _told(log: Path, pattern: re.Pattern[str]) -> re.Match[str]:
    """Wait until a log has a line; return the match."""
    wait_for(lambda: pattern.search(log.read_text()) is not None, SECONDS, log.read_text())
    found = pattern.search(log.read_text())
    assert found is not None
    return found
