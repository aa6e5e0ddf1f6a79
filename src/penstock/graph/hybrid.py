"""Hybrid sources: bounded sources followed by a last one, read one after the other; and logs whose first part is a snapshot.

All but the last are backlog (FLIP-309: the enumerator reports `isProcessingBacklog` for every
contained source except the last).

The splits of a snapshot are files in the job's directory. It is captured once per job and recorded, so that a
restart reads it again.

    log          ┌─ snapshot part: the records when the job started            backlog
                 └─ the log from the positions on at which the snapshot was taken
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, cast

from penstock.errors import ArgumentError, CallSite, GraphError, SourceError
from penstock.graph.backlog_end import BacklogEnd, Cut, LogSourcePart, SourcePart, part_of
from penstock.graph.dataset import Dataset
from penstock.graph.log_source import LogSource
from penstock.graph.log_values import LogBatch, LogSplit
from penstock.graph.source import PositionedSource, Source
from penstock.graph.source_switch import Factory, SwitchColumns, SwitchedSource
from penstock.types import TypeInformation

_END = BacklogEnd(is_snapshot=True)


@dataclass(frozen=True, slots=True)
class Captured:
    """A capture.

    Attributes:
        directory: Where the files are.
        files: Name and number of records of each file.
        tail: Where each split is read on, and where it ends.
    """

    directory: str
    files: tuple[tuple[str, int], ...]
    tail: tuple[Cut, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the form to record; it lacks the directory."""
        return {
            "files": [list(file) for file in self.files],
            "tail": [cut.to_json() for cut in self.tail],
        }

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any], directory: Path) -> Captured:
        """Return what `to_json` recorded, whose files are in `directory`."""
        files = tuple((name, records) for name, records in recorded["files"])
        return cls(str(directory), files, tuple(Cut(*cut) for cut in recorded["tail"]))

    def check_files(self, described: str) -> None:
        """Refuse a snapshot whose files are gone."""
        gone = [name for name, _ in self.files if not Path(self.directory, name).is_file()]
        if gone:
            raise SourceError(
                f"the snapshot of {described} is incomplete: {Path(self.directory, gone[0])} is missing",
                hint="Restore the file, or start in a new checkpoint directory, with a new snapshot.",
            )


@dataclass(frozen=True, slots=True)
class SnapshotPart(SourcePart, LogSource):
    """The snapshot of a log, one split per file, numbered records.

    Attributes:
        captured: The captured snapshot; None before.
    """

    source: LogSource
    end: BacklogEnd = _END
    is_backlog: bool = True
    decided: tuple[Cut, ...] | None = None
    captured: Captured | None = None

    kind: ClassVar[str] = "snapshot"
    is_dense: ClassVar[bool] = True

    @property
    def makes_records_anew(self) -> bool:  # type: ignore[override]
        """True if records are new every time."""
        return self.source.makes_records_anew

    def capture(self, directory: Path) -> Captured:
        """Let the log capture what is there."""
        taken = self.source.exact_take_snapshot(directory)
        files = () if taken is None else tuple(taken.files.items())
        positions = {} if taken is None else dict(taken.positions)
        splits = self.source.exact_discover(positions)
        # A split that is not in the snapshot has no records there.
        begins = [positions.get(split.id, split.start or split.earliest) for split in splits]
        ends = [split.head if self.source.is_bounded else None for split in splits]
        tail = (
            Cut(begin, begin, end, split.id)
            for begin, end, split in zip(begins, ends, splits, strict=True)
        )
        return Captured(str(directory), files, tuple(tail))

    def sampled(self, directory: Path, records: int) -> SnapshotPart | None:
        """Return the part with the first records of the log; None if the log cannot give them outside a job."""
        taken = self.source.exact_sample_snapshot(directory, records)
        if taken is None:
            return None
        return replace(self, captured=Captured(str(directory), tuple(taken.files.items()), ()))

    def discover(self, known: Mapping[str, int]) -> Sequence[LogSplit]:
        """Return the files."""
        del known
        files = () if self.captured is None else self.captured.files
        return [LogSplit(name, 0, records) for name, records in files]

    def read(self, split: str, start: int, end: int) -> LogBatch:
        """Return records of a file."""
        assert self.captured is not None, "it is captured before it is read"
        return self.source.read_snapshot(Path(self.captured.directory, split), start, end)


def with_snapshot_part(source: Source) -> tuple[Source, ...]:
    """Return the snapshot and the tail of a log that takes a snapshot; any other source alone."""
    if not source.takes_snapshot:
        return (source,)
    log = cast("LogSource", source)
    return (SnapshotPart(log), LogSourcePart(log, _END, is_backlog=False))


def snapshot_part_of(parts: Sequence[Source]) -> tuple[int, SnapshotPart] | None:
    """Return the part of a source that is a snapshot, with its index; None if there is none."""
    indexed_parts = enumerate(parts)
    return next(
        ((index, part) for index, part in indexed_parts if isinstance(part, SnapshotPart)), None
    )


def with_captured(parts: tuple[Source, ...], captured: Captured) -> tuple[Source, ...]:
    """Return the parts of a source with its captured snapshot."""
    indexed_part = snapshot_part_of(parts)
    assert indexed_part is not None, "it has captured something"
    index, part = indexed_part
    snapshot = replace(part, captured=captured)
    tail = replace(cast("LogSourcePart", parts[index + 1]), decided=captured.tail)
    return (*parts[:index], snapshot, tail, *parts[index + 2 :])


# FLIP-327, rule 15.
@dataclass(frozen=True, slots=True)
class HybridSource(Source):
    """Several sources read one after the other.

    Build one with `HybridSource.builder(first).add_source(next).build()`.

    Attributes:
        parts: At least two sources of one type; all but the last bounded.
    """

    kind: ClassVar[str] = "hybrid"
    parts: tuple[Source, ...]

    def __post_init__(self) -> None:
        """Check the parts."""
        if len(self.parts) < 2:  # noqa: PLR2004 - hybrid means more than one
            raise GraphError.here(
                f"a hybrid source needs at least two sources, got {len(self.parts)}",
                hint="Add the source that follows with add_source.",
            )
        for part in self.parts[:-1]:
            if not part.is_bounded:
                raise GraphError.here(
                    f"{part.describe()} is unbounded, so the sources after it are never read",
                    hint="Put the unbounded source last.",
                )
        types = {str(part.get_produced_type()) for part in self.parts}
        if len(types) > 1:
            raise GraphError.here(
                f"the sources of a hybrid source have different types: {sorted(types)}",
                hint="Give them the same schema, column order included.",
            )

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """Return a builder that starts with `first_source`."""
        return HybridSourceBuilder((first_source,))

    @staticmethod
    def until_position(source: PositionedSource, *positions: int) -> HybridSource:
        """Return a source whose records before a position are its backlog.

        Args:
            source: The source.
            positions: The first position that is not backlog, per split (of a log in order of
                discovery) or for all of them.

        Raises:
            GraphError: `source` is not read by positions, or a position is none.
        """
        if not positions or any(
            type(position) is not int or position < 0 for position in positions
        ):
            raise GraphError.here(
                f"backlog cannot end at the positions {list(positions)}",
                hint="Pass one position from 0 for all splits, or one for each.",
            )
        return _split_at(source, BacklogEnd(positions=positions))

    @staticmethod
    def until_timestamp(source: PositionedSource, timestamp_ms: int) -> HybridSource:
        """Return a source whose records before the first of a time are its backlog.

        Args:
            source: The source; it gives its records timestamps.
            timestamp_ms: In epoch milliseconds.

        Raises:
            GraphError: `source` is not read by positions, or the timestamp is no int.
        """
        if type(timestamp_ms) is not int:
            raise GraphError.here(
                f"backlog cannot end at the timestamp {timestamp_ms!r}",
                hint="Pass epoch milliseconds as an int.",
            )
        return _split_at(source, BacklogEnd(timestamp_ms=timestamp_ms))

    @staticmethod
    def until_head(source: PositionedSource) -> HybridSource:
        """Return a source whose records that are there when the job starts are its backlog.

        Args:
            source: A log, or a source with heads.

        Raises:
            GraphError: `source` is not read by positions.
        """
        return _split_at(source, BacklogEnd())

    def is_processing_backlog(self, part: int) -> bool:
        """Return whether a part is backlog: all parts but the last are."""
        return part < len(self.parts) - 1

    @property
    def is_bounded(self) -> bool:
        """True if the last source is bounded."""
        return self.parts[-1].is_bounded

    def beside(self) -> HybridSource:
        """Return the source with the parts of a shadow."""
        return HybridSource(tuple(part.beside() for part in self.parts))

    def get_produced_type(self) -> TypeInformation:
        """Return the type all parts share."""
        return self.parts[0].get_produced_type()

    def datasets(self) -> Sequence[Dataset]:
        """Return what the parts read, each once."""
        return tuple(dict.fromkeys(dataset for part in self.parts for dataset in part.datasets()))

    def describe(self) -> str:
        """Return the parts, joined by `then`."""
        return ", then ".join(part.describe() for part in self.parts)


@dataclass(frozen=True, slots=True)
class HybridSourceBuilder:
    """Collects the sources of a `HybridSource`; every call returns a new builder."""

    parts: tuple[Source, ...]

    def add_source(
        self,
        source: Source | Factory,
        *,
        timestamp: str | None = None,
        position: str | None = None,
        split: str | None = None,
        is_bounded: bool = False,
    ) -> HybridSourceBuilder:
        """Add the source that follows: one, or a function that makes it from the end of the source before.

        The function is called in the driver when the source before it is complete, or all of it is known. Its
        argument is recorded: a job that is started again calls it with the same value. It returns a
        `LogSource`, such as a `KafkaSource`, of the type of the sources before.

        Args:
            source: The source, or a function of a `SourceSwitch`. The other arguments are for a function.
            timestamp: Column of the records before which has their times: timestamps, or epoch milliseconds. Without
                it the source must give timestamps itself.
            position: Column which has their positions.
            split: Column which has the splits of positions, such as a partition.
            is_bounded: Whether the source that the function makes ends.

        Raises:
            ArgumentError: It is neither, or a source has arguments of a function.

        Example:
            >>> from penstock.connectors.files.file_source import FileSource
            >>> from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
            >>> from penstock.types.types import Types
            >>> order = Types.ROW_NAMED(["at", "amount"], [Types.LONG(), Types.LONG()])
            >>> kafka = KafkaSource.builder().set_bootstrap_servers("localhost:9092").set_topics("orders")
            >>> def live(switch):
            ...     since = KafkaOffsetsInitializer.timestamp(switch.next_timestamp)
            ...     return kafka.set_starting_offsets(since).build()
            >>> files = FileSource.parquet("orders/", type_info=order)
            >>> HybridSource.builder(files).add_source(live, timestamp="at").build().is_bounded
            False
        """
        if isinstance(source, Source):
            if timestamp or position or split or is_bounded:
                raise ArgumentError.here(
                    f"add_source got {source.describe()}, and columns of the sources before it",
                    hint="Pass a function of a SourceSwitch that makes the source, or no columns.",
                )
            return HybridSourceBuilder((*self.parts, source))
        if not callable(source):
            raise ArgumentError.here(
                f"add_source got {source!r}",
                hint="Pass a source, or a function of a SourceSwitch that makes it.",
            )
        columns = SwitchColumns(timestamp, position, split)
        type_info = self.parts[0].get_produced_type()
        switched = SwitchedSource(source, columns, type_info, is_bounded, CallSite.of_caller())
        return HybridSourceBuilder((*self.parts, switched))

    def build(self) -> HybridSource:
        """Return the hybrid source.

        Raises:
            GraphError: See `HybridSource`.
        """
        return HybridSource(self.parts)


def _split_at(source: PositionedSource, end: BacklogEnd) -> HybridSource:
    if not isinstance(source, PositionedSource):
        raise GraphError.here(
            f"the backlog of {source!r} cannot end within it: it is not read by positions",
            hint="Use a SplitSource or LogSource, or a HybridSource of the sources before and behind.",
        )
    if source.takes_snapshot:
        raise GraphError.here(
            f"the backlog of {source.describe()} is its snapshot, and cannot end elsewhere",
            hint="Pass the source itself to from_source.",
        )
    return HybridSource(
        (part_of(source, end, is_backlog=True), part_of(source, end, is_backlog=False))
    )


def parts_of(source: Source | None) -> tuple[Source, ...]:
    """Return the sources that are read one after the other: the parts, or the source itself.

    A log that takes a snapshot is two of them. Those of a query are read together.
    """
    if source is None:
        return ()
    own = source.parts if isinstance(source, HybridSource) else (source,)
    parts = source.query_parts or own
    return tuple(subpart for part in parts for subpart in with_snapshot_part(part))
