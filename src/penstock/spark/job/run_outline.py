"""What a savepoint says about a live run whatever its micro-batch, and where that stood.

The outline is made from the plan when the run starts and recorded in the checkpoint directory
(`run-N.outline.json`), so that a savepoint can be made without the program.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.spark_source import SparkSource
from penstock.graph.endpoints import Source, SplitSource
from penstock.plan.compat.identity import channel_ends, source_uids
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.runtime.task.report import Report
from penstock.spark.sources.file_paths import plain
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.source_reads import Pinned
from penstock.spark.sources.stream_positions import files_read, stream_offsets
from penstock.state.savepoint import (
    EVERY_SUBTASK,
    OperatorRecord,
    Savepoint,
    SourceRecord,
    StateFile,
    WatermarkRecord,
)


class StreamKind(Enum):
    """How the position of a source is known."""

    SPLITS = auto()
    """Positions in the positions stream."""

    BOUNDED_FILES = auto()
    """Spark's log of files read; the rest of the pinned ones is left."""

    FILES = auto()
    """Spark's log of files read."""

    WRITTEN_FRAME = auto()
    """Spark's log of files read, of those a batch DataFrame was written to."""

    FOREIGN = auto()
    """Offsets that mean something only to the user's stream."""


def stream_kind(part: Source) -> StreamKind:
    """Return how the position of a part of a source is known."""
    if isinstance(part, SplitSource):
        return StreamKind.SPLITS
    if isinstance(part, FileSource):
        return StreamKind.BOUNDED_FILES if part.is_bounded else StreamKind.FILES
    if isinstance(part, SparkSource) and part.is_bounded:
        return StreamKind.WRITTEN_FRAME
    return StreamKind.FOREIGN


@dataclass(frozen=True, slots=True)
class SourceOutline:
    """One source in a live run.

    Attributes:
        id: In the plan.
        uid: Stable identity.
        name: For people.
        kinds: Of its parts.
        part: The part this run reads, None if none.
        kind: Name of a `StreamKind`, None without part.
        first_stream: Index of its first stream among the offsets of a micro-batch; the positions
            stream is 0.
        streams: Number of its streams.
        first_source: Index of its first stream among reports of progress and logs of files; a
            stream that is united with itself counts once there. As `first_stream` if None.
    """

    id: int
    uid: str
    name: str
    kinds: tuple[str, ...]
    part: int | None = None
    kind: str | None = None
    first_stream: int = 0
    streams: int = 0
    first_source: int | None = None

    @property
    def log(self) -> int:
        """Index of its log of files, and of its part of a report of progress."""
        return self.first_stream if self.first_source is None else self.first_source


@dataclass(frozen=True, slots=True)
class ChannelOutline:
    """One channel between operators, or from a source to one.

    Attributes:
        sender: uid of the operator or source.
        receiver: uid of the operator.
        sources: Ids of the sources whose watermarks it carries; None if it carries those of
            the sender's subtasks.
    """

    sender: str
    receiver: str
    sources: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class RunOutline:
    """A live run.

    Attributes:
        job_id: Of the job.
        job_name: Of the job.
        run: Name of the run.
        parallelism: Number of subtasks.
        max_parallelism: Number of key groups.
        operators: All operators.
        sources: All sources.
        channels: By channel id.
    """

    job_id: str
    job_name: str
    run: str
    parallelism: int
    max_parallelism: int
    operators: tuple[OperatorRecord, ...]
    sources: tuple[SourceOutline, ...]
    channels: dict[int, ChannelOutline]

    def to_json(self) -> dict[str, Any]:
        """Return the form that is recorded."""
        return asdict(self)

    @classmethod
    def from_json(cls, recorded: dict[str, Any]) -> RunOutline:
        """Return what `to_json` gave."""
        return cls(
            **recorded
            | {
                "operators": tuple(OperatorRecord(**each) for each in recorded["operators"]),
                "sources": tuple(
                    SourceOutline(**each | {"kinds": tuple(each["kinds"])})
                    for each in recorded["sources"]
                ),
                "channels": {
                    int(channel): ChannelOutline(
                        each["sender"],
                        each["receiver"],
                        None if each["sources"] is None else tuple(each["sources"]),
                    )
                    for channel, each in recorded["channels"].items()
                },
            }
        )

    def savepoint(
        self,
        savepoint_id: str,
        report: Report,
        sources: tuple[SourceRecord, ...],
        files: tuple[StateFile, ...],
        *,
        drained: bool,
    ) -> Savepoint:
        """Return the manifest of a savepoint of this run, taken now."""
        return Savepoint(
            id=savepoint_id,
            taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
            job_id=self.job_id,
            job_name=self.job_name,
            run=self.run,
            parallelism=self.parallelism,
            max_parallelism=self.max_parallelism,
            drained=drained,
            operators=self.operators,
            sources=sources,
            # An input that was ended for the savepoint has not really ended.
            watermarks=() if drained else self._watermarks(report),
            memory=report.memory,
            files=files,
        )

    def _watermarks(self, report: Report) -> tuple[WatermarkRecord, ...]:
        uids = {source.id: source.uid for source in self.sources} | {-1: EVERY_SUBTASK}
        return tuple(
            WatermarkRecord(
                self.channels[channel].sender,
                self.channels[channel].receiver,
                {uids[group]: mark for group, mark in groups.items()},
            )
            for channel, groups in sorted(report.watermarks.items())
        )


def outline_of(plan: PhysicalPlan, run: RunPlan, job_id: str, job_name: str) -> RunOutline:
    """Return the outline of a live run."""
    uids = source_uids(plan)
    unnamed = {node.id for node in plan.graph.nodes if node.uid is None}
    parts = {reading.source: reading.parts[0] for reading in run.readings}
    sources: dict[int, SourceOutline] = {
        source.id: SourceOutline(
            source.id, uids[source.id], source.name, tuple(part.kind for part in source.parts)
        )
        for source in plan.sources
    }
    streams = 1
    distinct: list[Any] = ["positions"]
    for source_id, part in parts.items():
        described = plan.source(source_id).parts[part]
        kind = stream_kind(described)
        found = [] if kind is StreamKind.SPLITS else _streams_of(described)
        count, first_source = len(found), len(distinct)
        for stream in found:
            if stream not in distinct:
                distinct.append(stream)
        sources[source_id] = SourceOutline(
            source_id,
            uids[source_id],
            sources[source_id].name,
            sources[source_id].kinds,
            part,
            kind.name,
            streams if count else 0,
            count,
            first_source if count else 0,
        )
        streams += count
    return RunOutline(
        job_id=job_id,
        job_name=job_name,
        run=run.name,
        parallelism=plan.options.parallelism,
        max_parallelism=plan.options.max_parallelism,
        operators=tuple(
            OperatorRecord(op.uid, op.name, op.kind.name, op.id in unnamed)
            for level in plan.levels
            for op in level.operators
        ),
        sources=tuple(sources.values()),
        channels={
            channel: ChannelOutline(
                sender, receiver, None if spec.source_level > 0 else spec.sources
            )
            for channel, (sender, receiver) in channel_ends(plan).items()
            for spec in [plan.channels[channel]]
        },
    )


def source_records(
    outline: RunOutline,
    pinned: Pinned,
    earlier: Mapping[tuple[int, int], PinnedFiles],
    run_directory: Path,
    batch: int,
) -> tuple[SourceRecord, ...]:
    """Return where reading stood at the end of a micro-batch.

    Args:
        outline: The run.
        pinned: What it reads.
        earlier: What was read of files before it.
        run_directory: Of the run, in the checkpoint directory.
        batch: The micro-batch.

    Raises:
        StateError: Spark's checkpoint cannot be understood.
    """
    offsets = stream_offsets(run_directory / "spark", batch)
    records = []
    for source in outline.sources:
        read = {part: files for (owner, part), files in earlier.items() if owner == source.id}
        position: dict[str, Any] = {}
        if source.part is not None and source.kind is not None:
            reading = _Reading(source, source.part, pinned, run_directory, offsets)
            position, now = _POSITIONS[StreamKind[source.kind]](reading)
            if now:
                before = read.get(source.part, PinnedFiles({}, ""))
                read[source.part] = PinnedFiles(before.files | now, before.schema)
        records.append(
            SourceRecord(
                source.uid,
                source.name,
                source.kinds,
                source.part,
                position,
                {str(part): files.to_json() for part, files in sorted(read.items())},
            )
        )
    return tuple(records)


@dataclass(frozen=True, slots=True)
class _Reading:
    source: SourceOutline
    part: int
    pinned: Pinned
    run_directory: Path
    offsets: list[str | None]

    def files(self) -> dict[str, tuple[int, int]]:
        """Return the files read; their size is not in Spark's log."""
        offset = self.offsets[self.source.first_stream]
        read = files_read(self.run_directory / "spark", self.source.log, offset)
        return {uri: (-1, time_ms) for uri, time_ms in read.items()}


_Position = tuple[dict[str, Any], dict[str, tuple[int, int]]]
"""Position, and the files read."""


def _at_splits(reading: _Reading) -> _Position:
    splits = reading.pinned.splits[reading.source.id, reading.part]
    first = reading.offsets[0]
    at = [start for start, _ in splits]
    if first is not None:
        at = json.loads(first)[str(reading.source.id)]
    return {"splits": [[position, end] for position, (_, end) in zip(at, splits, strict=True)]}, {}


def _at_bounded_files(reading: _Reading) -> _Position:
    pinned = reading.pinned.files[reading.source.id, reading.part]
    seen = {plain(uri) for uri in reading.files()}
    left = {uri: facts for uri, facts in pinned.files.items() if plain(uri) not in seen}
    read = {uri: facts for uri, facts in pinned.files.items() if uri not in left}
    return {"left": PinnedFiles(left, pinned.schema).to_json()}, read


def _at_files(reading: _Reading) -> _Position:
    return {}, reading.files()


def _at_written_frame(reading: _Reading) -> _Position:
    written = reading.run_directory / f"dataframe-{reading.source.id}"
    names = {path.name for path in written.glob("*.parquet")}
    seen = {unquote(uri).rsplit("/", 1)[-1] for uri in reading.files()}
    return {"rows_left": bool(names - seen)}, {}


def _at_offsets(reading: _Reading) -> _Position:
    first = reading.source.first_stream
    return {"offsets": reading.offsets[first : first + reading.source.streams]}, {}


_POSITIONS = {
    StreamKind.SPLITS: _at_splits,
    StreamKind.BOUNDED_FILES: _at_bounded_files,
    StreamKind.FILES: _at_files,
    StreamKind.WRITTEN_FRAME: _at_written_frame,
    StreamKind.FOREIGN: _at_offsets,
}


def _streams_of(part: Source) -> list[Any]:
    """Return the streams a part brings into the query; equal ones are one stream to Spark."""
    if not isinstance(part, SparkSource) or part.is_bounded:
        return [object()]
    leaves = part.dataframe._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001
    found = (leaves.apply(index) for index in range(leaves.size()))
    return [leaf for leaf in found if leaf.isStreaming()]
