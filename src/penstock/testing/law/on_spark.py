"""A way on Spark: a job in a process of its own on `local[2]`, of which a driver or a worker is killed."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Any

from penstock.config.configuration import Configuration
from penstock.config.options import (
    CHECKPOINT_DIR,
    CHECKPOINT_INTERVAL,
    MAX_RECORDS_PER_BATCH,
    RECOVERY_PATH,
    STATE_BACKEND,
    TARGET,
)
from penstock.config.run_options import CATCH_UP_FACTOR
from penstock.errors import EnvironmentSetupError, JobFailedError, PenstockError, WorkerStartError
from penstock.graph.logical import LogicalGraph
from penstock.program.operators import SINK
from penstock.testing.drivers import is_alive, process_at, start_driver
from penstock.testing.law.spark_driver import FAILURE, PROGRAM, EpochFilesSink, kept_records
from penstock.testing.law.ways import DRIVER, WORKER, Way, WayMode
from penstock.wire.user_code import dump

_SECONDS = 600
_EPOCHS = 3
_COMMAND = "import sys; from penstock.testing.law.spark_driver import main; main(sys.argv[1])"
_OBSERVERS = ("metrics.", "openlineage.", "otel.", "ui.")
_PLACES: Mapping[tuple[str, bool], str] = {
    (WORKER, False): "batch.worker.read:1:kill",
    (WORKER, True): "live.worker.read:1:kill",
    (DRIVER, False): "batch.ran:1:kill",
    (DRIVER, True): "epoch.record-linked:1:kill",
}
"""A process to kill, and whether the way begins with a live run, to the place."""


@dataclass(frozen=True, slots=True)
class SparkRun:
    """The outcome of a job on Spark.

    Attributes:
        records: The records of each sink, in order of commit.
        failure: The error of the job; None without one.
        killed: The process that got SIGKILL; None if there was none.
    """

    records: tuple[list[Any], ...]
    failure: PenstockError | None = None
    killed: int | None = None


def run_on_spark(
    graph: LogicalGraph, configuration: Configuration, way: Way, records: int
) -> SparkRun:
    """Run a job, kill what the way names, and start it again if that was its driver."""
    with TemporaryDirectory(prefix="penstock-", ignore_cleanup_errors=True) as root:
        job = _SparkJob(Path(root))
        sinks = graph.of_kind(SINK)
        job.write(graph, _settings(configuration, way, Path(root), records))
        killed = None
        if way.kill is not None:
            killed = job.kill(way.kill, _PLACES[way.kill, way.mode is WayMode.STREAMING])
        if way.kill != WORKER and job.failure() is None:
            job.finish()
        kept = tuple(kept_records(job.output(node.id)) for node in sinks)
        return SparkRun(kept, job.failure(), killed)


class _SparkJob:
    """The files of one job, and its drivers, one after the other."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def output(self, node: int) -> Path:
        return self._root / "output" / str(node)

    def write(self, graph: LogicalGraph, settings: Mapping[str, str]) -> None:
        nodes = (
            replace(node, sink=EpochFilesSink(str(self.output(node.id))))
            if node.kind == SINK
            else node
            for node in graph.nodes
        )
        program = (LogicalGraph(tuple(nodes)), dict(settings))
        (self._root / PROGRAM).write_bytes(dump(program))

    def kill(self, kill: str, place: str) -> int | None:
        """Run a driver until it is killed, or to its end if a worker is; return the killed process, None if the job failed."""
        status, driver, log = self._run(place)
        pid = process_at(self._markers, place)
        if self.failure() is not None:
            return pid
        is_driver = kill == DRIVER
        has_happened = pid is not None and (pid == driver) is is_driver and not is_alive(pid)
        if pid is None or not has_happened or status != (-signal.SIGKILL if is_driver else 0):
            raise self._lost(f"no {kill} was killed at {place}", status, log)
        return pid

    def finish(self) -> None:
        status, _, log = self._run()
        if status != 0:
            raise self._lost("the driver ended without a result", status, log)

    def failure(self) -> PenstockError | None:
        path = self._root / FAILURE
        if not path.exists():
            return None
        error: PenstockError = pickle.loads(path.read_bytes())
        if isinstance(error, EnvironmentSetupError | WorkerStartError):
            raise error
        return error

    @property
    def _markers(self) -> Path:
        return self._root / "markers"

    def _run(self, *places: str) -> tuple[int, int, Path]:
        """Run a driver to its end; return its status, its process and its log."""
        log = self._root / "log"
        with log.open("w", encoding="utf-8") as output:
            command = [sys.executable, "-P", "-c", _COMMAND, str(self._root)]
            # Modules that this process has imported, such as those of tests, are there in the same order.
            path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
            process = start_driver(
                command, self._markers, places, environ={"PYTHONPATH": path}, output=output
            )
            try:
                return process.wait(_SECONDS), process.pid, log
            except TimeoutExpired as cause:
                raise self._lost(f"a job runs for {_SECONDS} s", None, log) from cause
            finally:
                process.kill()

    def _lost(self, problem: str, status: int | None, log: Path) -> PenstockError:
        """Return the error of a driver that did not do its part, with the end of its log."""
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
        return JobFailedError(
            f"the check on Spark is not complete: {problem} (status {status}): {' | '.join(lines)}",
            hint="Run `penstock doctor`, then the same command again; leave --spark out to check in this process only.",
        )


def _settings(configuration: Configuration, way: Way, root: Path, records: int) -> dict[str, str]:
    """Return the settings of the job: those of the program without its directories and reporters."""
    own = configuration.to_dict()
    kept = {key: text for key, text in own.items() if not key.startswith(_OBSERVERS)}
    kept.pop(RECOVERY_PATH.key, None)
    return kept | {
        TARGET.key: "spark",
        CHECKPOINT_DIR.key: str(root / "job"),
        MAX_RECORDS_PER_BATCH.key: str(max(1, -(-records // _EPOCHS))),
        CATCH_UP_FACTOR.key: "1",
        CHECKPOINT_INTERVAL.key: "0 ms",
        STATE_BACKEND.key: way.backend,
        "spark.master": "local[2,4]",
    }
