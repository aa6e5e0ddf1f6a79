"""The local copies of state in workers. They are in Spark's local directories.

An executor has unique local directories, and removes them when it ends. Below the first of them:

    penstock-state/<job id>-<run>/<program digest>-<level>-<subtask>/

All Python workers of the executor share the files. They are removed when the run ends; if that fails
(the executor is unreachable), the executor removes them. Tasks of a batch run spill to the same local
directories (`runtime.spill.spill_space`), distributed over all of them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

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
        run: Job id and run.
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
