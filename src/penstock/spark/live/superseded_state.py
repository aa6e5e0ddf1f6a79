"""Removes files of initial state that a live run has copied into Spark's checkpoint.

    run-0.done            names files of run-0/snapshot, the only copy of the state
    run-1/spark/commits/0 the first micro-batch has read them: Spark's checkpoint contains the state
    second micro-batch,   the files are removed
    or end of the run

Between the last two both exist, and the newer one counts. A driver that is killed while it removes files
leaves some; the next one removes them before it starts. If Spark's commits are lost afterwards, the
missing files are an error that names them, and never an empty state.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.failpoint import failpoint
from penstock.spark.job.job_directory import JobDirectory


class FirstState:
    """The files of initial state of a live run.

    Attributes:
        files: The files; empty after they are superseded, None if the job begins with this run.
    """

    def __init__(self, directory: JobDirectory, run: int, files: Sequence[Path] | None) -> None:
        """Make it; `run` is the index of the run whose initial state is in the files."""
        self._directory = directory
        self._run = run
        self.files = files

    def size_bytes(self) -> int:
        """Return the size of the files that are still needed."""
        return sum(path.stat().st_size for path in self.files or ())

    def begin_micro_batch(self, number: int) -> None:
        """Remove the files if a micro-batch was committed before this one.

        Raises:
            JobFencedError: Another driver has taken over.
        """
        if number:
            self._remove()

    def end(self) -> None:
        """Remove the files if the run has committed a micro-batch; it has ended.

        Raises:
            JobFencedError: Another driver has taken over.
        """
        if is_superseded(self._directory, self._run):
            self._remove()

    def _remove(self) -> None:
        if self.files:
            files, self.files = self.files, ()
            remove_superseded(self._directory, files)


def is_superseded(directory: JobDirectory, run: int) -> bool:
    """Return whether a run no longer needs its files of initial state.

    Args:
        directory: Checkpoint directory of the job.
        run: Index of the run.
    """
    if directory.step(f"run-{run}.done") is not None:
        return True
    commits = directory.path / f"run-{run}" / "spark" / "commits"
    return any(path.name.isdigit() for path in commits.glob("*"))


def remove_superseded(directory: JobDirectory, files: Sequence[Path]) -> None:
    """Remove files of state that no run needs, and their directory if it is empty.

    Raises:
        JobFencedError: Another driver has taken over.
    """
    directory.fence()
    for path in files:
        path.unlink(missing_ok=True)
        failpoint("state.superseded")
    for parent in {path.parent for path in files}:
        if parent.is_dir() and not any(parent.iterdir()):
            parent.rmdir()
