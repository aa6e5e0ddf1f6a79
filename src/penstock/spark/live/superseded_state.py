"""Removes files of initial state that a live run has copied into its checkpoint.

    run-0.done             names files of run-0/snapshot, the only copy of the state
    run-1/spark/commits/0, the first micro-batch has read them: the checkpoint of the query, or the
    run-1/epochs/records/… records of the loop, contain the state
    second micro-batch,    the files are removed
    or end of the run

Between the last two both exist, and the newer one counts. A driver that is killed while it removes files
leaves some; the next one removes them before it starts. If the commits are lost afterwards, the
missing files are an error that names them, and never an empty state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath
from penstock.spark.job.job_directory import JobDirectory
from penstock.wire.job_files import byte_count

_COMMITS = ("spark/commits", "epochs/records")
"""Directories of a run with a file per committed micro-batch, of the query and of the loop of epochs."""

_FEW_RECORDS = 16
_LARGE_STATE_BYTES = 64 << 20


class FirstState:
    """The files of initial state of a live run.

    Attributes:
        files: The files; empty after they are superseded, None if the job begins with this run.
    """

    def __init__(
        self, directory: JobDirectory, runs: Collection[int], files: Sequence[JobPath] | None
    ) -> None:
        """Make it.

        Args:
            directory: Checkpoint directory of the job.
            runs: Indexes of the runs whose initial state is in the files: several if the job began with
                a savepoint over several pipelines. The last one that needs no files removes them.
            files: The files.
        """
        self._directory = directory
        self._runs = runs
        self.files = files

    def size_bytes(self) -> int:
        """Return the size of the files that are still needed."""
        return sum(byte_count(path) for path in self.files or ())

    def first_records(self) -> int:
        """Return the size of the first micro-batch: small, if much state must be decoded; 0 is usual.

        A key group is decoded when it is first needed, and few records need few key groups.
        """
        return _FEW_RECORDS if self.size_bytes() >= _LARGE_STATE_BYTES else 0

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
        if is_superseded(self._directory, self._runs):
            self._remove()

    def _remove(self) -> None:
        if self.files:
            files, self.files = self.files, ()
            if len(self._runs) == 1 or is_superseded(self._directory, self._runs):
                remove_superseded(self._directory, files)


def is_superseded(directory: JobDirectory, runs: Iterable[int]) -> bool:
    """Return whether no run of several needs its files of initial state any more.

    Args:
        directory: Checkpoint directory of the job.
        runs: Indexes of the runs.
    """
    return all(_is_superseded(directory, run) for run in runs)


def _is_superseded(directory: JobDirectory, run: int) -> bool:
    if directory.step(f"run-{run}.done") is not None:
        return True
    commits = (directory.path / f"run-{run}" / folder for folder in _COMMITS)
    return any(path.name.isdigit() for folder in commits for path in folder.glob("*"))


def remove_superseded(directory: JobDirectory, files: Sequence[JobPath]) -> None:
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
