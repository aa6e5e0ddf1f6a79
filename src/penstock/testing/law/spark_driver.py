"""The driver of a way on Spark: a program that another process has pickled, and the sink that keeps its records."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from penstock.api.environment.job import executor_for
from penstock.config.configuration import Configuration
from penstock.connectors.spool import SpoolWriter, spool_directory
from penstock.connectors.staged import StagingDirectory
from penstock.errors import PenstockError
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.plan.planner import plan_job
from penstock.wire.atomic_file import write_atomically
from penstock.wire.user_code import load

PROGRAM = "program"
FAILURE = "failure"
"""Files in the directory of a driver."""


@dataclass(frozen=True, slots=True)
class EpochFilesSink(Sink):
    """Writes the records of each epoch into a file of its own, whichever driver commits it."""

    kind: ClassVar[str] = "epoch files"
    directory: str

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer whose records travel with the commit."""
        return _KeptWriter(context)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer that writes the file of an epoch."""
        return _EpochFiles(Path(self.directory), context)


class _KeptWriter(SpoolWriter):
    most_kept_bytes = (
        1 << 40
    )  # a file would not survive the driver that is killed before its commit


class _EpochFiles(Committer):
    def __init__(self, directory: Path, context: SinkContext) -> None:
        self._directory = directory
        self._context = context
        self._staged = StagingDirectory(spool_directory(context), "values", context)

    def recover(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        path = self._directory / epoch
        if not path.exists():
            records = [value for chunk in self._staged.chunks(committables) for value in chunk]
            write_atomically(path, pickle.dumps(records), self._context.may_commit)


def kept_records(directory: Path) -> list[Any]:
    """Return the records of the files of a sink, in order of epoch."""
    files = [path for path in directory.glob("*-*") if not path.name.startswith(".")]
    files.sort(key=lambda path: tuple(map(int, path.name.split("-"))))
    return [record for path in files for record in pickle.loads(path.read_bytes())]


def main(directory: str) -> None:
    """Run the program in a directory to its end, and leave the error there if it fails."""
    graph, settings = load((Path(directory) / PROGRAM).read_bytes())
    configuration = Configuration.from_dict(settings)
    try:
        client = executor_for(configuration).submit(plan_job(graph, configuration), configuration)
        client.get_job_execution_result().result()
    except PenstockError as error:
        write_atomically(Path(directory) / FAILURE, pickle.dumps(error))
