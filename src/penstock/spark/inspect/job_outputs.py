"""The sinks of a job, and what they have written, as far as it can be read back without a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from penstock.connectors.delta.delta_source import DeltaSource
from penstock.connectors.files.digest_sink import DIGEST, RowDigest, digest_of, recorded_digest
from penstock.connectors.files.written_files import StoredRow, rows_of_batch, rows_of_files
from penstock.errors import JobDirectoryError, SourceError
from penstock.observe.events.event_files import events_in
from penstock.observe.events.job_events import JobStarted
from penstock.spark.job.observed_job import ObservedJob

_GIVE_PATHS = "Give the directories of a copy: --sink {}=PATH_A,PATH_B."


@dataclass(frozen=True, slots=True)
class JobOutput:
    """The output of a sink.

    Attributes:
        uid: The sink.
        datasets: Its outputs, as the start of the job recorded them.
    """

    uid: str
    name: str
    datasets: Sequence[Mapping[str, Any]]

    @classmethod
    def at(cls, name: str, path: Path) -> JobOutput:
        """Return the output in a directory."""
        return cls(name, name, [{"namespace": "file", "name": str(path.absolute())}])

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns by which the sink replaces rows."""
        return tuple(chain.from_iterable(each.get("keys", ()) for each in self.datasets))

    @property
    def path(self) -> Path:
        """Its directory."""
        places = [f"{each['name']} in {each['namespace']}" for each in self.datasets]
        if len(places) != 1 or self.datasets[0]["namespace"] != "file":
            writes = f"writes {', '.join(places)}" if places else "keeps no output that is known"
            raise SourceError(
                f"sink {self.uid!r} {writes}; only local files and Delta tables are read back",
                hint=_GIVE_PATHS.format(self.uid),
            )
        return Path(self.datasets[0]["name"])

    @property
    def size_bytes(self) -> int:
        """Size of its files, about; what is staged counts, too."""
        path = self.path
        files = path.rglob("*") if path.is_dir() else (path,)
        return sum(file.stat().st_size for file in files if file.is_file())

    @property
    def is_digest(self) -> bool:
        """True if a shadow has discarded its rows."""
        return any(each.get("format") == DIGEST for each in self.datasets)

    def digest(self) -> RowDigest:
        """Return the digest of its rows."""
        return recorded_digest(self.path) if self.is_digest else digest_of(self.rows())

    def rows(self) -> Iterator[Sequence[StoredRow]]:
        """Yield the rows in lists, in the order in which they were written."""
        if (self.path / "_delta_log").is_dir():
            return _rows_of_table(self.path)
        return rows_of_files(self.path, self.datasets[0].get("format", ""))


def _rows_of_table(path: Path) -> Iterator[Sequence[StoredRow]]:
    """Yield the rows of the newest version of a table."""
    source = DeltaSource.table(path).bounded()
    (split,) = source.discover({})
    at = split.earliest
    while at < split.head:
        batch = source.read(split.id, at, split.head)
        yield list(rows_of_batch(batch.records))
        at = batch.next_position


def outputs_of(directory: Path) -> tuple[JobOutput, ...]:
    """Return the outputs of a job, of its newest start."""
    job = ObservedJob.at(directory)
    try:
        started = [e for e in events_in(job.path).events() if isinstance(e, JobStarted)]
    except OSError as cause:
        raise JobDirectoryError(
            f"the events in {directory} cannot be read: {cause}",
            hint="Run this as a user who may read the checkpoint directory.",
        ) from cause
    if not started:
        raise JobDirectoryError(
            f"{directory} has no record of the sinks of its job",
            hint="Name the directories of the outputs: --sink NAME=PATH_A,PATH_B.",
        )
    return tuple(
        JobOutput(node["uid"], node["name"], node.get("datasets", ()))
        for node in started[-1].nodes
        if node["kind"] == "sink"
    )
