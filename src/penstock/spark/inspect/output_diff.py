"""The outputs of a job, as far as they can be read back without a server, and the differences between those of two jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from penstock.connectors.delta.delta_source import DeltaSource
from penstock.connectors.files.digest_sink import DIGEST, RowDigest, digest_of, recorded_digest
from penstock.connectors.files.written_files import StoredRow, rows_of_batch, rows_of_files
from penstock.errors import ArgumentError, JobDirectoryError, PenstockError, SourceError
from penstock.observe.events.event_log import events_in
from penstock.observe.events.job_events import JobStarted
from penstock.spark.inspect.row_differences import (
    OutputComparison,
    OutputDifference,
    check_columns,
)
from penstock.spark.job.observed_job import ObservedJob

_GIVE_PATHS = "Give the directories of a copy: --sink {}=PATH_A,PATH_B."


@dataclass(frozen=True, slots=True)
class JobOutput:
    """The output of a sink.

    Attributes:
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
        return tuple(chain.from_iterable(dataset.get("keys", ()) for dataset in self.datasets))

    @property
    def path(self) -> Path:
        """Its directory."""
        places = [f"{dataset['name']} in {dataset['namespace']}" for dataset in self.datasets]
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
        return any(dataset.get("format") == DIGEST for dataset in self.datasets)

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
    position = split.earliest
    while position < split.head:
        batch = source.read(split.id, position, split.head)
        yield list(rows_of_batch(batch.records))
        position = batch.next_position


def outputs_of(directory: Path) -> tuple[JobOutput, ...]:
    """Return the outputs of a job, of its newest start."""
    job = ObservedJob.at(directory)
    try:
        started = [e for e in events_in(job.path).events() if isinstance(e, JobStarted)]
    except OSError as cause:
        raise JobDirectoryError.unreadable(f"the events in {directory}", cause) from cause
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


StrPath = str | os.PathLike[str]
Sinks = Mapping[str, tuple[StrPath, StrPath] | None]
Pair = tuple[JobOutput | None, JobOutput | None]


def compare_outputs(
    first: StrPath | None = None,
    second: StrPath | None = None,
    *,
    sinks: Sinks | None = None,
    how: OutputComparison | None = None,
) -> list[OutputDifference]:
    """Compare what two jobs have written, sink by sink.

    Files of the file sink and Delta tables are read back. The comparison is strict: 1 and 1.0 differ.

    Args:
        first: Checkpoint directory of the first job; None if all directories are in `sinks`.
        second: That of the second job.
        sinks: Uid or name of the sinks to compare; None is all. Two directories take the place of those that the jobs
            have recorded.
        how: The way to compare rows.

    Returns:
        One per sink; those whose outputs cannot be compared have a `problem`.

    Raises:
        JobDirectoryError: One is no checkpoint directory, or its job has recorded no sinks.
        ArgumentError: There is no sink to compare.
        UnknownFieldError: The column of a tolerance or of the time is in no output.

    Example:
        >>> import pathlib, tempfile
        >>> old, new = (pathlib.Path(tempfile.mkdtemp()) for _ in range(2))
        >>> _ = (old / "part.json").write_text('{"carrier": "AA", "n": 7}')
        >>> _ = (new / "part.json").write_text('{"carrier": "AA", "n": 8}')
        >>> by_carrier = OutputComparison(keys=["carrier"])
        >>> (found,) = compare_outputs(sinks={"totals": (old, new)}, how=by_carrier)
        >>> found.verdict, found.different, found.examples[0].after
        ('different', 1, {'carrier': 'AA', 'n': 8})
    """
    how = how or OutputComparison()
    known = [() if path is None else outputs_of(Path(path)) for path in (first, second)]
    pairs = _matched(*known) if sinks is None else _chosen(known, sinks)
    if not pairs or (first is None) is not (second is None):
        raise ArgumentError(
            "there are no two jobs to compare",
            hint="Name the checkpoint directories of two jobs, or --sink NAME=PATH_A,PATH_B.",
        )
    differences = [_compared(name, pair, how) for name, pair in pairs.items()]
    columns = dict.fromkeys(chain.from_iterable(difference.columns for difference in differences))
    if columns:
        check_columns([*how.tolerances, *filter(None, [how.time])], columns)
    return differences


def _matched(first: Sequence[JobOutput], second: Sequence[JobOutput]) -> dict[str, Pair]:
    """Return the sinks of two jobs: those with the same uid, or else the only ones with the same name."""
    others = {output.uid: output for output in second}
    pairs: dict[str, Pair] = {one.uid: (one, others.pop(one.uid, None)) for one in first}
    for uid, (one, other) in pairs.items():
        named = [output for output in others.values() if one and output.name == one.name]
        if other is None and len(named) == 1:
            pairs[uid] = one, others.pop(named[0].uid)
    return pairs | {uid: (None, output) for uid, output in others.items()}


def _chosen(known: Sequence[Sequence[JobOutput]], sinks: Sinks) -> dict[str, Pair]:
    """Return sinks with their outputs: those that are given, or those of the uid, or else of the name."""
    pairs = {}
    for name, paths in sinks.items():
        if paths is None:
            one, other = (_named(name, outputs) for outputs in known)
        else:
            one, other = (JobOutput.at(name, Path(path)) for path in paths)
        pairs[name] = one, other
    return pairs


def _named(name: str, outputs: Sequence[JobOutput]) -> JobOutput | None:
    matches = ([o for o in outputs if getattr(o, by) == name] for by in ("uid", "name"))
    return next(chain.from_iterable(matches), None)


def _compared(sink: str, pair: Pair, how: OutputComparison) -> OutputDifference:
    outputs = [output for output in pair if output is not None]
    keys = how.keys or next((output.keys for output in outputs if output.keys), ())
    difference = OutputDifference(sink, replace(how, keys=keys))
    try:
        one, other = _both(sink, pair)
        if one.is_digest or other.is_digest:
            _compare_digests(difference, one, other)
            return difference
        difference.compare(one.rows(), other.rows(), one.size_bytes + other.size_bytes)
    except PenstockError as problem:
        difference.problem = problem
    return difference


def _compare_digests(difference: OutputDifference, one: JobOutput, other: JobOutput) -> None:
    """Compare counts and digests, which are of all rows as they are."""
    if difference.how.keys or difference.how.tolerances or difference.how.ignored:
        raise ArgumentError(
            f"sink {difference.sink!r} has kept a digest of its rows, which has neither keys nor columns",
            hint="Run the shadow with --sinks files.",
        )
    digests = one.digest(), other.digest()
    difference.rows_a, difference.rows_b = (digest.rows for digest in digests)
    difference.digests = digests[0].text, digests[1].text


def _both(sink: str, pair: Pair) -> tuple[JobOutput, JobOutput]:
    """Return two outputs, which are in two places."""
    one, other = pair
    if one is None or other is None:
        lacks = "no job" if one is other else "only one job"
        problem = f"{lacks} has a sink {sink!r}"
    elif one.path == other.path:
        problem = f"both jobs write sink {sink!r} to {one.path}"
    else:
        return one, other
    raise ArgumentError(problem, hint=f"Name the outputs: --sink {sink}=PATH_A,PATH_B.")
