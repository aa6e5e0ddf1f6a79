"""The cache of a worker process, and the local copies of state: they are in Spark's local directories."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession

from penstock.state.backends.base import KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.backends.lmdb.backend import LmdbBackend

IN_MEMORY = "hashmap"
"""The backend without files."""

_FOLDER = "penstock-state"


@dataclass(frozen=True, slots=True)
class LocalCopies:
    """The local copies of state of a run's subtasks.

    Attributes:
        backend: `state.backend.type`.
        digest: Digest of the level's program: state of another program is never read.
    """

    backend: str
    run: str
    digest: str

    def factory(self, level: int, subtask: int) -> Callable[[], KeyedStateBackend]:
        """Return a function that makes the backend of one subtask in a worker.

        Files that earlier attempts of the run left for the subtask are removed.
        """
        if self.backend == IN_MEMORY:
            return HashBackend
        subtask_name = f"-{level}-{subtask}"
        name = f"{self.digest}{subtask_name}"
        folder = _run_folder(self.run)
        for old in folder.glob(f"*{subtask_name}"):
            if old.name != name:
                shutil.rmtree(old, ignore_errors=True)
        return partial(LmdbBackend, folder / name, f"{self.run}/{name}")


def remove_local_copies(session: SparkSession, run: str, backend: str) -> None:
    """Remove the files of a run from every reachable executor, if its backend has files."""
    if backend == IN_MEMORY:
        return
    context = session.sparkContext
    # several tasks per core, so that every executor probably gets one
    tasks = 4 * context.defaultParallelism
    context.parallelize(range(tasks), tasks).foreachPartition(partial(_remove, run))


def _remove(run: str, _: object) -> None:
    shutil.rmtree(_run_folder(run), ignore_errors=True)


def spill_directory(task: int) -> Path:
    """Return the local directory of a batch task's spill files."""
    local = _local_directories()
    return Path(local[task % len(local)])


def _run_folder(run: str) -> Path:
    return Path(_local_directories()[0]) / _FOLDER / run


def _local_directories() -> list[str]:
    # Which directory is the temporary one Python finds out by writing to it, which fails on a full disk.
    named = os.environ.get("SPARK_LOCAL_DIRS")
    return named.split(",") if named else [tempfile.gettempdir()]


_IDLE_SECONDS = 600.0
_ENDED_RUNS = 200

_logger = logging.getLogger("penstock")


class Closeable(Protocol):
    """A cached object."""

    def close(self) -> None:
        """Close it."""


@dataclass(frozen=True, slots=True)
class LiveAttempt:
    """The attempt of a live run that a task belongs to, and the runs that have ended.

    Attributes:
        number: Number of the attempt: epoch of the driver, restarts within it.
        ended: Other runs that had ended when the run started.
    """

    run: str
    number: tuple[int, int]
    ended: frozenset[str] = frozenset()


@dataclass(slots=True)
class WorkerMemory:
    """The cached objects by run."""

    clock: Callable[[], float] = time.monotonic
    _runs: dict[str, _OfRun] = field(default_factory=dict)

    def of(self, attempt: LiveAttempt) -> dict[Hashable, Closeable]:
        """Return the cached objects of an attempt, to be changed in place; close those of ended runs."""
        now = self.clock()
        known = self._runs.get(attempt.run)
        if known is not None and known.number > attempt.number:
            return {}  # a late task of an earlier attempt: its objects are not cached
        if known is None or known.number < attempt.number:
            self._forget(attempt, now)
            known = self._runs[attempt.run] = _OfRun(attempt.number)
        known.used = now
        return known.kept

    def _forget(self, attempt: LiveAttempt, now: float) -> None:
        for run, known in list(self._runs.items()):
            idle = now - known.used > _IDLE_SECONDS
            if run == attempt.run or run in attempt.ended or idle:
                del self._runs[run]
                for part in known.kept.values():
                    _close(part, run)


@dataclass(slots=True)
class _OfRun:
    number: tuple[int, int]
    kept: dict[Hashable, Closeable] = field(default_factory=dict)
    used: float = 0.0


def _close(part: Closeable, run: str) -> None:
    try:
        part.close()
    except Exception as failure:  # noqa: BLE001 - of the user's code, in a task of another job
        _logger.warning("a subtask of run %s could not be closed: %s", run, failure)


memory = WorkerMemory()
"""The cache of this worker process."""

_ended: dict[str, None] = {}
_ended_lock = threading.Lock()
"""In the driver: live runs that ended in this process, the latest last."""


def note_ended(run: str) -> None:
    """Record in the driver that a run has ended, or that an attempt of it has failed."""
    with _ended_lock:
        _ended[run] = None
        if len(_ended) > _ENDED_RUNS:
            del _ended[next(iter(_ended))]


def live_attempt(run: str, number: tuple[int, int]) -> LiveAttempt:
    """Return in the driver the attempt for its tasks. The run has not ended."""
    with _ended_lock:
        _ended.pop(run, None)
        return LiveAttempt(run, number, frozenset(_ended))
