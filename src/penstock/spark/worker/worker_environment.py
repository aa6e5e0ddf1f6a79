"""The Python dependencies of a job in workers: search path and current directory.

Spark unpacks the bundle of a job (see `dependencies`) in the executor's directory:

    penstock-<digest>/paths/0/       each of these is on the module search path
    penstock-<digest>/archives/      the current directory, if the job has archives

A worker process outlives a job, and the next job reuses it. So each task sets up the process for its
job before it unpickles user code, and removes modules that another job imported from its bundle.
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkFiles


@dataclass(frozen=True, slots=True)
class WorkerEnvironment:
    """The environment of a job's workers.

    Attributes:
        name: Name of the bundle and of its unpacked directory.
        paths: Number of directories on the search path.
        has_archives: True if workers change their current directory.
    """

    name: str
    paths: int
    has_archives: bool

    def directories(self, root: Path) -> list[str]:
        """Return the directories for the search path, below the unpacked bundle."""
        return [str(root / "paths" / str(number)) for number in range(self.paths)]


@dataclass(slots=True)
class _Process:
    """The current environment of this process."""

    entered: WorkerEnvironment | None = None
    root: Path | None = None
    original_directory: str | None = None


_process = _Process()


def enter(environment: WorkerEnvironment | None) -> None:
    """Set up this worker process for a job. It does nothing in the driver."""
    if environment == _process.entered or not SparkFiles._is_running_on_worker:  # noqa: SLF001
        return
    _leave()
    if environment is None:
        return
    root = Path(SparkFiles.getRootDirectory()).absolute() / environment.name
    sys.path[:0] = environment.directories(root)
    importlib.invalidate_caches()
    if environment.has_archives:
        _process.original_directory = str(Path.cwd())
        os.chdir(root / "archives")
    _process.entered, _process.root = environment, root


def _leave() -> None:
    root = _process.root
    if root is not None:
        sys.path[:] = [entry for entry in sys.path if not _is_below(entry, root)]
        for name, module in list(sys.modules.items()):
            if _is_below(getattr(module, "__file__", None), root):
                del sys.modules[name]
    if _process.original_directory is not None:
        os.chdir(_process.original_directory)
    _process.entered = _process.root = _process.original_directory = None


def _is_below(path: object, root: Path) -> bool:
    return isinstance(path, str) and path.startswith(f"{root}{os.sep}")
